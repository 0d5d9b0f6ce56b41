# case: a chain

def f(x):
    return 0 < x <= 3

# output

def f(x):
    return d2s.compare(0, '<', x, '<=', lambda: 3)


# case: every symbol

def f(a, b, c):
    x = a == b != c
    y = a < b >= c
    z = a > b <= c
    u = a is b == c
    v = a in b is not c
    return a == b not in c

# output

def f(a, b, c):
    x = d2s.compare(a, '==', b, '!=', lambda: c)
    y = d2s.compare(a, '<', b, '>=', lambda: c)
    z = d2s.compare(a, '>', b, '<=', lambda: c)
    u = d2s.compare(a, 'is', b, '==', lambda: c)
    v = d2s.compare(a, 'in', b, 'is not', lambda: c)
    return d2s.compare(a, '==', b, 'not in', lambda: c)


# case: in

def f(a, b):
    if a in (1, 2) and a not in b:
        return "a" in b
    return a in b in a

# output

def f(a, b):
    def then_2():
        return 'a' in b
    def else_2():
        return d2s.compare(a, 'in', b, 'in', lambda: a)
    return d2s.cond(d2s.all_(d2s.in_(a, (1, 2)), lambda: d2s.not_(d2s.in_(a, b))), then_2, else_2)


# case: operands are converted too

def f(x):
    return 0 < g(x) < h(x) < 9

# output

def f(x):
    return d2s.compare(0, '<', d2s.fn(g)(x), '<', lambda: d2s.fn(h)(x), '<', lambda: 9)


# case: in a loop test

def f(n):
    while 0 < n < 9:
        n = n * 2
    return n

# output

def f(n):
    def test_2(n):
        return d2s.compare(0, '<', n, '<', lambda: 9)
    def body_2(n):
        return n * 2
    n = d2s.while_loop(test_2, body_2, n)
    return n


# case: one operator stays

def f(a, b):
    return a < b, a is not None, a == b


# case: identities of what may be numbers

def f(a, b, c):
    return a is b, a is b is not c

# output

def f(a, b, c):
    return (d2s.compare(a, 'is', b), d2s.compare(a, 'is', b, 'is not', lambda: c))


# case: what such an identity decides stays Python

def f(a, b):
    if a is b:
        a = 1
    return not (a is b), 1 if a is b else 2

# output

def f(a, b):
    if d2s.compare(a, 'is', b):
        a = 1
    return (not d2s.compare(a, 'is', b), 1 if d2s.compare(a, 'is', b) else 2)
