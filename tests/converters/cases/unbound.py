# case: bound on one side

def f(c):
    if c:
        y = 1
    return y

# output

def f(c):
    y = d2s.unbound('y')
    def then_2(y):
        return 1
    def else_2(y):
        return y
    y = d2s.cond(c, then_2, else_2, y)
    return d2s.read(y)


# case: bound by a loop that may not run

def f(xs):
    for x in xs:
        y = x
    return y

# output

def f(xs):
    y = d2s.unbound('y')
    def body_2(x, y):
        return x
    y = d2s.for_loop(xs, body_2, y)
    return d2s.read(y)


# case: an augmented assignment asks first

def f(c):
    if c:
        y = 1
    y += 1
    return y

# output

def f(c):
    y = d2s.unbound('y')
    def then_2(y):
        return 1
    def else_2(y):
        return y
    y = d2s.cond(c, then_2, else_2, y)
    y = d2s.read(y)
    y += 1
    return y


# case: once it is assigned nobody asks

def f(c):
    if c:
        y = 1
    y = 2
    return y

# output

def f(c):
    def then_2():
        y = 1
    def else_2():
        pass
    d2s.cond(c, then_2, else_2)
    y = 2
    return y


# case: a read in an inner function

def f(c):
    if c:
        y = 1
    return lambda: y

# output

def f(c):
    y = d2s.unbound('y')
    def then_2():
        nonlocal y
        y = 1
    def else_2():
        pass
    d2s.cond(c, then_2, else_2)
    return lambda: d2s.read(y, free=True)


# case: a read that never happens needs no mark

def f(c):
    if c:
        y = 1
        c = y
    return c

# output

def f(c):
    def then_2(c):
        y = 1
        return y
    def else_2(c):
        return c
    c = d2s.cond(c, then_2, else_2, c)
    return c


# case: bound on both sides

def f(c):
    if c:
        y = 1
    else:
        y = 2
    return y

# output

def f(c):
    def then_2():
        return 1
    def else_2():
        return 2
    y = d2s.cond(c, then_2, else_2)
    return y


# case: bound before the block

def f(c, y):
    z = y
    return z
