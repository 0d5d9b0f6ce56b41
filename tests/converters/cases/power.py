# case: an exponent that may be a run-time value

def f(x, n):
    return x ** n

# output

def f(x, n):
    return d2s.power(x, n)


# case: operands are converted too

def f(x, n):
    return g(x) ** (n if n > 0 else 1)

# output

def f(x, n):
    return d2s.power(d2s.fn(g)(x), d2s.cond(n > 0, lambda: n, lambda: 1))


# case: a power of a power

def f(x, n):
    return x ** n ** 2 + 2 ** -n

# output

def f(x, n):
    return d2s.power(x, n ** 2) + d2s.power(2, -n)


# case: constant exponents stay

def f(x):
    return x ** 2 + x ** 0.5


# case: negative exponents make floats of integers

def f(x):
    return x ** -1

# output

def f(x):
    return d2s.power(x, -1)


# case: other operators stay

def f(x, n):
    return x * n + x // n - x @ n
