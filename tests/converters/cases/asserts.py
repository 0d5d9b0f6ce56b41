# case: a test alone

def f(x):
    assert x > 0

# output

def f(x):
    d2s.assert_(x > 0)


# case: a message is made when it is needed

def f(x):
    assert x > 0, "no"

# output

def f(x):
    d2s.assert_(x > 0, lambda: 'no')


# case: values in the message are shown at the failure

def f(x):
    assert x > 0, f"not positive: {x}"

# output

def f(x):
    d2s.assert_(x > 0, lambda: f'not positive: {d2s.quoted(x)}')


# case: the test is converted too

def f(x, y):
    assert x and g(y), h(x)

# output

def f(x, y):
    d2s.assert_(d2s.all_(x, lambda: d2s.fn(g)(y)), lambda: d2s.fn(h)(x))


# case: in a loop

def f(n):
    while n > 0:
        assert n < 9
        n = n - 1

# output

def f(n):
    def test_2(n):
        return n > 0
    def body_2(n):
        d2s.assert_(n < 9)
        return n - 1
    n = d2s.while_loop(test_2, body_2, n)


# case: raise is not an assert

def f(x):
    raise AssertionError
