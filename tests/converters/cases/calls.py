# case: a name

def f(g, x):
    return g(x, 1, k=x)

# output

def f(g, x):
    return d2s.fn(g)(x, 1, k=x)


# case: a method, stars and double stars

def f(o, xs, named):
    return o.run(*xs, 1, *xs, k=1, **named)

# output

def f(o, xs, named):
    return d2s.fn(o.run)(*xs, 1, *xs, k=1, **named)


# case: the result of a call is called

def f(g):
    return g()()

# output

def f(g):
    return d2s.fn(d2s.fn(g)())()


# case: calls in arguments

def f(g, x):
    return g(g(x), k=g(x))

# output

def f(g, x):
    return d2s.fn(g)(d2s.fn(g)(x), k=d2s.fn(g)(x))


# case: builtins

def f(xs):
    return len(xs), print(xs)

# output

def f(xs):
    return d2s.fn(len)(xs), d2s.fn(print)(xs)


# case: array functions that take functions

def f(h, x):
    return jnp.vectorize(h)(x)

# output

def f(h, x):
    return d2s.fn(d2s.fn(jnp.vectorize)(h))(x)


# case: a parameter that hides the library

def f(jnp, x):
    return jnp.sum(x)

# output

def f(jnp, x):
    return d2s.fn(jnp.sum)(x)


# case: in a lambda and a default

def f(g):
    def h(x=g()):
        return lambda: g(x)
    return h

# output

def f(g):
    def h(x=d2s.fn(g)()):
        return lambda: d2s.fn(g)(x)
    return h


# case: array functions stay

def f(x):
    return jnp.sum(x) + jnp.where(x > 0, x, 0)


# case: updates of arrays stay

def f(x):
    return x.at[0].set(2).at[1:].add(x)
