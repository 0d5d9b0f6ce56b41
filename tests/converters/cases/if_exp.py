# case: two thunks

def f(x):
    return -x if x < 0 else x

# output

def f(x):
    return d2s.cond(x < 0, lambda: -x, lambda: x)


# case: nested

def f(x):
    return -1 if x < 0 else 1 if x > 0 else 0

# output

def f(x):
    return d2s.cond(x < 0, lambda: -1, lambda: d2s.cond(x > 0, lambda: 1, lambda: 0))


# case: inside a lambda

def f(x):
    return lambda y: x if y else y

# output

def f(x):
    return lambda y: d2s.cond(y, lambda: x, lambda: y)


# case: in a comprehension

def f(xs):
    return [x if x > 0 else 0 for x in xs]

# output

def f(xs):
    return [d2s.cond(x > 0, lambda: x, lambda: 0) for x in xs]


# case: calls inside the arms are converted

def f(x):
    return g(x) if x else h(x)

# output

def f(x):
    return d2s.cond(x, lambda: d2s.fn(g)(x), lambda: d2s.fn(h)(x))


# case: a test that is a Python bool stays

def f(x, y):
    return (x if y is None else y), (1 if not (x is None) else 2), (3 if True else 4)
