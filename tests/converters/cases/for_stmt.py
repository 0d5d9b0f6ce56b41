# case: the target is the parameter

def f(xs):
    total = 0
    for x in xs:
        total = total + x
    return total

# output

def f(xs):
    total = 0
    def body_3(x, total):
        return total + x
    total = d2s.for_loop(xs, body_3, total)
    return total


# case: a target that is read after the loop is state

def f(xs):
    x = 0
    for x in xs:
        pass
    return x

# output

def f(xs):
    x = 0
    def body_3(item_3, x):
        x = item_3
        pass
        return x
    x = d2s.for_loop(xs, body_3, x)
    return x


# case: a tuple target is unpacked inside

def f(xs):
    total = 0
    for a, (b, *c) in xs:
        total = total + a * b
    return total

# output

def f(xs):
    total = 0
    def body_3(item_3, total):
        a, (b, *c) = item_3
        return total + a * b
    total = d2s.for_loop(xs, body_3, total)
    return total


# case: an attribute as target

def f(p, xs):
    for p.x in xs:
        pass
    return p

# output

def f(p, xs):
    def body_2(item_2):
        p.x = item_2
        pass
    d2s.for_loop(xs, body_2)
    return p


# case: break adds a test

def f(xs):
    for x in xs:
        if x < 0:
            break
    return xs

# output

def f(xs):
    broke_2 = False
    def test_2(broke_2):
        return d2s.not_(broke_2)
    def body_2(x, broke_2):
        def then_3(broke_2):
            return True
        def else_3(broke_2):
            return broke_2
        return d2s.cond(x < 0, then_3, else_3, broke_2)
    broke_2 = d2s.for_loop(xs, body_2, broke_2, test=test_2)
    return xs


# case: no state

def f(xs, out):
    for x in xs:
        out['k'] = x

# output

def f(xs, out):
    def body_2(x):
        out['k'] = x
    d2s.for_loop(xs, body_2)


# case: nested, the inner one reads the outer target

def f(xs):
    total = 0
    for x in xs:
        for y in x:
            total = total + x * y
    return total

# output

def f(xs):
    total = 0
    def body_3(x, total):
        def body_4(y, total):
            return total + x * y
        return d2s.for_loop(x, body_4, total)
    total = d2s.for_loop(xs, body_3, total)
    return total


# case: the target is captured by a lambda

def f(xs):
    x = 0
    g = lambda: x
    for x in xs:
        pass
    return g

# output

def f(xs):
    x = 0
    g = lambda: x
    def body_4(item_4):
        nonlocal x
        x = item_4
        pass
    d2s.for_loop(xs, body_4)
    return g


# case: comprehensions are left alone

def f(xs):
    return [x + 1 for x in xs if x is not None]
