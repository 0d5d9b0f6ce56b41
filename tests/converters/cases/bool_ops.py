# case: and

def f(x, y):
    return x and y

# output

def f(x, y):
    return d2s.and_(x, lambda: y)


# case: or of three

def f(x, y, z):
    return x or y or z

# output

def f(x, y, z):
    return d2s.or_(x, lambda: y, lambda: z)


# case: not

def f(x):
    return not x

# output

def f(x):
    return d2s.not_(x)


# case: mixed

def f(x, y):
    return x > 0 and not y or x

# output

def f(x, y):
    return d2s.or_(d2s.and_(x > 0, lambda: d2s.not_(y)), lambda: x)


# case: in a test

def f(x, y):
    if x and y:
        x = 1
    return x

# output

def f(x, y):
    def then_2(x):
        return 1
    def else_2(x):
        return x
    x = d2s.cond(d2s.all_(x, lambda: y), then_2, else_2, x)
    return x


# case: a doubtful operand in front of a Python bool

def f(x):
    return x > 0 and x is not None

# output

def f(x):
    return d2s.and_(x > 0, lambda: x is not None)


# case: every operand but the last is a Python bool

def f(x, y):
    return x is not None and y is not None and x > 0


# case: not of a Python bool, and the other unary operators

def f(x):
    return not (x is None), -x, ~x, +x


# case: only the truth counts

def f(x, n):
    while not (x or n > 3):
        x = bool(x and n)
    return 1 if x and (n or x) else x and n

# output

def f(x, n):
    def test_2(x):
        return d2s.not_(d2s.any_(x, lambda: n > 3))
    def body_2(x):
        return d2s.fn(bool)(d2s.all_(x, lambda: n))
    x = d2s.while_loop(test_2, body_2, x)
    return d2s.cond(d2s.all_(x, lambda: d2s.any_(n, lambda: x)), lambda: 1, lambda: d2s.and_(x, lambda: n))
