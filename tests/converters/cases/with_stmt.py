# case: the manager is looked at

def f(x):
    with x as y:
        z = y
    return z

# output

def f(x):
    with d2s.manager(x) as y:
        z = y
    return z


# case: several managers

def f(x):
    with x.a as b, x.c:
        b = b + 1
    return b

# output

def f(x):
    with d2s.manager(x.a) as b, d2s.manager(x.c):
        b = b + 1
    return b


# case: a return inside

def f(x):
    with x:
        return 1

# output

def f(x):
    with d2s.manager(x):
        return 1


# case: a return on some paths, and what follows

def f(x, y):
    with x:
        if y > 0:
            return y
        y = y + 1
    return y

# output

def f(x, y):
    returned = False
    result = d2s.unbound()
    with d2s.manager(x):
        def then_3(y, returned):
            nonlocal result
            result = y
            returned = True
            return y, returned
        def else_3(y, returned):
            y = y + 1
            return y, returned
        y, returned = d2s.cond(y > 0, then_3, else_3, y, returned)
    def then_2():
        return result
    def else_2():
        return y
    return d2s.cond(returned, then_2, else_2)


# case: a break inside

def f(xs, m):
    for x in xs:
        with m:
            if x > 3:
                break
            m = x
    return m

# output

def f(xs, m):
    broke_2 = False
    def test_2(m, broke_2):
        return d2s.not_(broke_2)
    def body_2(x, m, broke_2):
        with d2s.manager(m):
            def then_4(m, broke_2):
                broke_2 = True
                return m, broke_2
            def else_4(m, broke_2):
                m = x
                return m, broke_2
            m, broke_2 = d2s.cond(x > 3, then_4, else_4, m, broke_2)
        return m, broke_2
    m, broke_2 = d2s.for_loop(xs, body_2, m, broke_2, test=test_2)
    return m


# case: an exit that an exception may undo

def f(m, x):
    with m:
        with m:
            if x > 0:
                return x
        x = x + 1
    return x

# output

def f(m, x):
    returned = False
    result = d2s.unbound()
    through_2 = False
    with d2s.manager(m):
        with d2s.manager(m):
            def then_4(returned):
                nonlocal result
                result = x
                return True
            def else_4(returned):
                return returned
            returned = d2s.cond(x > 0, then_4, else_4, returned)
        def then_6(x):
            return x + 1
        def else_6(x):
            return x
        x = d2s.cond(d2s.not_(returned), then_6, else_6, x)
        through_2 = True
    def then_2(returned):
        return False
    def else_2(returned):
        return returned
    returned = d2s.cond(d2s.not_(through_2), then_2, else_2, returned)
    def then_2a():
        return result
    def else_2a():
        return x
    return d2s.cond(returned, then_2a, else_2a)


# case: handlers for groups stay, around a body that must not fail at run time

def f(x):
    try:
        y = x
    except* ValueError:
        y = 0
    return y

# output

def f(x):
    try:
        with d2s.certain('except*'):
            y = x
    except* ValueError:
        y = 0
    return y


# case: no with, no change

def f(x):
    y = x
    return y


# case: before blocks become functions it stays
# until: Exits

def f(x):
    with x as y:
        z = y
    return z
