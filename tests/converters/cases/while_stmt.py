# case: state is what the loop writes and somebody reads

def f(n):
    steps = 0
    while n > 1:
        n = n // 2
        steps += 1
    return steps

# output

def f(n):
    steps = 0
    def test_3(n, steps):
        return n > 1
    def body_3(n, steps):
        n = n // 2
        steps += 1
        return n, steps
    n, steps = d2s.while_loop(test_3, body_3, n, steps)
    return steps


# case: what the loop only reads is no state

def f(n, limit):
    while n < limit:
        n = n * 2
    return n

# output

def f(n, limit):
    def test_2(n):
        return n < limit
    def body_2(n):
        return n * 2
    n = d2s.while_loop(test_2, body_2, n)
    return n


# case: a temporary of one iteration is no state

def f(n):
    while n > 1:
        half = n // 2
        n = half
    return n

# output

def f(n):
    def test_2(n):
        return n > 1
    def body_2(n):
        half = n // 2
        return half
    n = d2s.while_loop(test_2, body_2, n)
    return n


# case: a value that crosses the iterations is

def f(n):
    a, b = 0, 1
    while n > 0:
        t = a + b
        a = b
        b = t
        n = n - 1
    return a

# output

def f(n):
    a, b = (0, 1)
    def test_3(n, a, b):
        return n > 0
    def body_3(n, a, b):
        t = a + b
        a = b
        b = t
        n = n - 1
        return n, a, b
    n, a, b = d2s.while_loop(test_3, body_3, n, a, b)
    return a


# case: no state at all

def f(xs):
    while xs:
        xs.at[0].set(0)

# output

def f(xs):
    def test_2():
        return xs
    def body_2():
        xs.at[0].set(0)
    d2s.while_loop(test_2, body_2)


# case: nested loops

def f(n):
    s = 0
    while n > 0:
        m = n
        while m > 0:
            s = s + m
            m = m - 1
        n = n - 1
    return s

# output

def f(n):
    s = 0
    def test_3(n, s):
        return n > 0
    def body_3(n, s):
        m = n
        def test_5(s, m):
            return m > 0
        def body_5(s, m):
            s = s + m
            m = m - 1
            return s, m
        s, m = d2s.while_loop(test_5, body_5, s, m)
        n = n - 1
        return n, s
    n, s = d2s.while_loop(test_3, body_3, n, s)
    return s


# case: a name that is first bound in the loop and read after it

def f(n):
    while n > 0:
        last = n
        n = n - 1
    return last

# output

def f(n):
    last = d2s.unbound('last')
    def test_2(n, last):
        return n > 0
    def body_2(n, last):
        last = n
        n = n - 1
        return n, last
    n, last = d2s.while_loop(test_2, body_2, n, last)
    return d2s.read(last)


# case: no loop, no change

def f(n):
    steps = 0
    return n, steps
