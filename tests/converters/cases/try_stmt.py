# case: what the body wrote stays visible

def f(x):
    y = 0
    try:
        y = 1
        x = x / y
    except ZeroDivisionError:
        x = y
    return x

# output

def f(x):
    y = 0
    def try_3():
        nonlocal x, y
        y = 1
        x = x / y
    def except_6(error_6):
        nonlocal x
        x = y
    d2s.try_except(try_3, (ZeroDivisionError, except_6))
    return x


# case: handlers, their names and their order

def f(x):
    try:
        y = x[0]
    except (KeyError, OSError):
        y = 1
    except e.E as e2:
        y = e2
    except:
        y = 3
    return y

# output

def f(x):
    y = d2s.unbound('y')
    def try_2():
        nonlocal y
        y = x[0]
    def except_4(error_4):
        nonlocal y
        y = 1
    def except_6(e2):
        nonlocal y
        y = e2
    def except_8(error_8):
        nonlocal y
        y = 3
    d2s.try_except(try_2, ((KeyError, OSError), except_4), (lambda: e.E, except_6), (None, except_8))
    return y


# case: else

def f(x):
    try:
        y = x[0]
    except KeyError:
        y = 1
    else:
        y = y + 1
    return y

# output

def f(x):
    y = d2s.unbound('y')
    def try_2():
        nonlocal y
        y = x[0]
    def except_4(error_4):
        nonlocal y
        y = 1
    def else_7():
        nonlocal y
        y = y + 1
    d2s.try_except(try_2, (KeyError, except_4), orelse=else_7)
    return y


# case: the handler's name is unbound afterwards

def f(x):
    e = 1
    try:
        x = x[0]
    except KeyError as e:
        x = e
    return e

# output

def f(x):
    e = 1
    def try_3():
        nonlocal x
        x = x[0]
    def except_5(error_5):
        nonlocal e, x
        e = error_5
        try:
            x = e
        finally:
            e = d2s.unbound('e')
    d2s.try_except(try_3, (KeyError, except_5))
    return d2s.read(e)


# case: a temporary of the body is its own

def f(x):
    try:
        t = x[0]
        x = t
    except KeyError:
        pass
    return x

# output

def f(x):
    def try_2():
        nonlocal x
        t = x[0]
        x = t
    def except_5(error_5):
        pass
    d2s.try_except(try_2, (KeyError, except_5))
    return x


# case: an if inside writes through as well

def f(x):
    y = 0
    try:
        if x:
            y = 1
        x = x[0]
    except KeyError:
        pass
    return y

# output

def f(x):
    y = 0
    def try_3():
        nonlocal x
        def then_4():
            nonlocal y
            y = 1
        def else_4():
            pass
        d2s.cond(x, then_4, else_4)
        x = x[0]
    def except_7(error_7):
        pass
    d2s.try_except(try_3, (KeyError, except_7))
    return y


# case: classes that may not be there are looked up when needed

def f(x):
    try:
        x = 1
    except kinds[0]:
        x = 2
    return x

# output

def f(x):
    def try_2():
        nonlocal x
        x = 1
    def except_4(error_4):
        nonlocal x
        x = 2
    d2s.try_except(try_2, (lambda: kinds[0], except_4))
    return x


# case: no try, no change

def f(x):
    raise x
