# case: a name is marked as unbound

def f(x):
    y = x
    del y
    return x

# output

def f(x):
    y = x
    y = d2s.delete('y', y)
    return x


# case: items and attributes are deleted one by one

def f(d, o):
    del d['k'], o.a, d[1:2]

# output

def f(d, o):
    del d['k']
    del o.a
    del d[1:2]


# case: several targets, in their order

def f(x, d):
    a, b = x
    del a, (d[0], [b])
    return d

# output

def f(x, d):
    a, b = x
    a = d2s.delete('a', a)
    del d[0]
    b = d2s.delete('b', b)
    return d


# case: no targets at all

def f(x):
    del ()
    return x

# output

def f(x):
    pass
    return x


# case: a name of the module is deleted as it is

def f():
    global count
    del count


# case: a read afterwards is checked

def f(x):
    y = x
    del y
    return y

# output

def f(x):
    y = x
    y = d2s.delete('y', y)
    return d2s.read(y)


# case: in a branch

def f(x):
    y = 1
    if x > 0:
        del y
    return y

# output

def f(x):
    y = 1
    def then_3(y):
        return d2s.delete('y', y)
    def else_3(y):
        return y
    y = d2s.cond(x > 0, then_3, else_3, y)
    return d2s.read(y)


# case: in a loop, where the next iteration may read it

def f(xs):
    t = 0
    for x in xs:
        t = t + x
        if x > 3:
            del t
    return t

# output

def f(xs):
    t = 0
    def body_3(x, t):
        t = d2s.read(t) + x
        def then_5(t):
            return d2s.delete('t', t)
        def else_5(t):
            return t
        return d2s.cond(x > 3, then_5, else_5, t)
    t = d2s.for_loop(xs, body_3, t)
    return d2s.read(t)


# case: a name of the function around, converted with it

def f(x):
    y = x
    def g():
        nonlocal y
        del y
    g()
    return y

# output

def f(x):
    y = x
    def g():
        nonlocal y
        y = d2s.delete('y', d2s.read(y, free=True))
    d2s.fn(g)()
    return d2s.read(y)
