# case: both sides write

def f(n):
    if n % 2 == 0:
        n = n // 2
    else:
        n = 3 * n + 1
    return n

# output

def f(n):
    def then_2(n):
        return n // 2
    def else_2(n):
        return 3 * n + 1
    n = d2s.cond(n % 2 == 0, then_2, else_2, n)
    return n


# case: without an else the value passes through

def f(n):
    if n < 0:
        n = -n
    return n

# output

def f(n):
    def then_2(n):
        return -n
    def else_2(n):
        return n
    n = d2s.cond(n < 0, then_2, else_2, n)
    return n


# case: elif nests

def f(n):
    if n < 0:
        s = -1
    elif n > 0:
        s = 1
    else:
        s = 0
    return s

# output

def f(n):
    def then_2():
        return -1
    def else_2():
        def then_4():
            return 1
        def else_4():
            return 0
        return d2s.cond(n > 0, then_4, else_4)
    s = d2s.cond(n < 0, then_2, else_2)
    return s


# case: both sides return

def f(n):
    if n < 0:
        return -n
    else:
        return n

# output

def f(n):
    def then_2():
        return -n
    def else_2():
        return n
    return d2s.cond(n < 0, then_2, else_2)


# case: a dead temporary is no state

def f(n):
    if n < 0:
        t = n * 2
        n = t + 1
    return n

# output

def f(n):
    def then_2(n):
        t = n * 2
        return t + 1
    def else_2(n):
        return n
    n = d2s.cond(n < 0, then_2, else_2, n)
    return n


# case: names of the user's are not taken

def f(then_2, c):
    if c:
        then_2 = c
    return then_2

# output

def f(then_2, c):
    def then_2a(then_2):
        return c
    def else_2a(then_2):
        return then_2
    then_2 = d2s.cond(c, then_2a, else_2a, then_2)
    return then_2


# case: a variable of the user's called d2s

def f(d2s):
    if d2s > 0:
        d2s = 1
    return d2s

# output

def f(d2s):
    def then_2(d2s):
        return 1
    def else_2(d2s):
        return d2s
    d2s = d2s_.cond(d2s > 0, then_2, else_2, d2s)
    return d2s


# case: a side that raises gives nothing

def f(n):
    if n < 0:
        raise ValueError
    else:
        m = n
    return m

# output

def f(n):
    def then_2():
        raise ValueError
    def else_2():
        return n
    m = d2s.cond(n < 0, then_2, else_2)
    return m


# case: a name that an inner function captured is written through

def f(n):
    k = 1
    def g():
        return k
    if n:
        k = 2
    return g

# output

def f(n):
    k = 1
    def g():
        return k
    def then_5():
        nonlocal k
        k = 2
    def else_5():
        pass
    d2s.cond(n, then_5, else_5)
    return g


# case: nothing to give

def f(xs, n):
    if n:
        xs['k'] = n

# output

def f(xs, n):
    def then_2():
        xs['k'] = n
    def else_2():
        pass
    d2s.cond(n, then_2, else_2)


# case: a test that is a Python bool stays

def f(x, y):
    if x is None:
        x = 1
    elif not (y is not None):
        x = 2
    return x
