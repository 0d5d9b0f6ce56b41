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


# case: an if inside hands out what it writes last

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
        nonlocal x, y
        def then_4(y):
            return 1
        def else_4(y):
            return y
        y = d2s.cond(x, then_4, else_4, y)
        x = x[0]
    def except_7(error_7):
        pass
    d2s.try_except(try_3, (KeyError, except_7))
    return y


# case: an if inside writes through where something may fail afterwards

def f(x):
    y = 0
    try:
        if x:
            y = 1
            y = x[y]
    except KeyError:
        pass
    return y

# output

def f(x):
    y = 0
    def try_3():
        def then_4():
            nonlocal y
            y = 1
            y = d2s.items(x)[y]
        def else_4():
            pass
        d2s.cond(x, then_4, else_4)
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


# case: finally

def f(x):
    y = 0
    try:
        y = g(x)
    finally:
        x = y
    return x

# output

def f(x):
    y = 0
    def try_3():
        nonlocal y
        y = d2s.fn(g)(x)
    def finally_6():
        nonlocal x
        x = y
    d2s.try_finally(try_3, finally_6)
    return x


# case: a return in the try, after which the finally runs

def f(x):
    try:
        return g(x)
    finally:
        h(x)

# output

def f(x):
    result = d2s.unbound()
    def try_2():
        nonlocal result
        result = d2s.fn(g)(x)
    def finally_5():
        d2s.fn(h)(x)
    d2s.try_finally(try_2, finally_5)
    return result


# case: a finally that leaves swallows the exception

def f(xs):
    for x in xs:
        try:
            g(x)
        finally:
            break
    return 0

# output

def f(xs):
    broke_2 = False
    def test_2(broke_2):
        return d2s.not_(broke_2)
    def body_2(x, broke_2):
        def try_3():
            d2s.fn(g)(x)
        def finally_6():
            nonlocal broke_2
            broke_6 = False
            broke_6 = True
            def then_6(broke_2):
                return True
            def else_6(broke_2):
                return broke_2
            broke_2 = d2s.cond(broke_6, then_6, else_6, broke_2)
            return broke_6
        d2s.try_finally(try_3, finally_6)
        return broke_2
    broke_2 = d2s.for_loop(xs, body_2, broke_2, test=test_2)
    return 0


# case: a finally that may leave

def f(x):
    try:
        y = g(x)
    finally:
        if x > 0:
            return x
    return y

# output

def f(x):
    returned = False
    result = d2s.unbound()
    y = d2s.unbound('y')
    def try_2():
        nonlocal y
        y = d2s.fn(g)(x)
    def finally_5():
        nonlocal returned
        returned_5 = False
        result_5 = d2s.unbound()
        def then_5(returned_5, result_5):
            result_5 = x
            returned_5 = True
            return returned_5, result_5
        def else_5(returned_5, result_5):
            return returned_5, result_5
        returned_5, result_5 = d2s.cond(x > 0, then_5, else_5, returned_5, result_5)
        def then_5a(returned):
            nonlocal result
            result = result_5
            return True
        def else_5a(returned):
            return returned
        returned = d2s.cond(returned_5, then_5a, else_5a, returned)
        return returned_5
    d2s.try_finally(try_2, finally_5)
    def then_2():
        return result
    def else_2():
        return d2s.read(y)
    return d2s.cond(returned, then_2, else_2)


# case: handlers and finally

def f(x):
    try:
        g(x)
    except ValueError:
        x = 1
    finally:
        x = x + 1
    return x

# output

def f(x):
    def try_2a():
        def try_2():
            d2s.fn(g)(x)
        def except_4(error_4):
            nonlocal x
            x = 1
        d2s.try_except(try_2, (ValueError, except_4))
    def finally_7():
        nonlocal x
        x = x + 1
    d2s.try_finally(try_2a, finally_7)
    return x


# case: the body of a class runs as it is

def f(x):
    class A:
        try:
            y = x
        except ValueError:
            y = 0
    return A


# case: so does a generator

def f(x):
    def g():
        try:
            yield x
        finally:
            x[0] = 1
    return g
