# case: a function of plain statements passes

def f(x, *rest, k=1, **named):
    """Text."""
    y, (a, *b) = x, rest
    y += k
    z: int = y
    return [v * z for v in b], {**named}, a


# case: a function that reads its own frame

def f(x):
    return locals()

# error

# D2S003: `locals()` shows names of a frame that conversion splits
#   File "example.py", line 2, in f
#     return locals()
#            ^^^^^^^^
# Write instead: the names themselves


# case: text that is run

def f(x):
    y = 1
    exec('y = 2')
    return y

# error

# D2S003: `exec()` shows names of a frame that conversion splits
#   File "example.py", line 3, in f
#     exec('y = 2')
#     ^^^^^^^^^^^^^
# Write instead: the names themselves


# case: an expression in text, inside a lambda

def f(x):
    return (lambda: eval(x))()

# error

# D2S003: `eval()` shows names of a frame that conversion splits
#   File "example.py", line 2, in f
#     return (lambda: eval(x))()
#                     ^^^^^^^
# Write instead: the names themselves


# case: vars and dir without an argument

def f(x):
    if x:
        return dir()
    return vars()

# error

# D2S003: `dir()` shows names of a frame that conversion splits
#   File "example.py", line 3, in f
#     return dir()
#            ^^^^^
# Write instead: the names themselves


# case: in a function inside

def f(x):
    def g():
        return vars()
    return g

# error

# D2S003: `vars()` shows names of a frame that conversion splits
#   File "example.py", line 3, in f
#     return vars()
#            ^^^^^^
# Write instead: the names themselves


# case: with an argument they show an object
# until: Fence

def f(x):
    return vars(x), dir(x), globals()


# case: a method of the same name is an ordinary call
# until: Fence

def f(x):
    return x.locals(), x.eval(1)


# case: a class, an import and a generator inside pass
# until: Fence

def f(x):
    import math

    class A:
        y = x

    def g():
        yield x
    return A, g, math


# case: the first of several is named

def f(x):
    with x:
        del x
    y = locals()
    return eval('y')

# error

# D2S003: `locals()` shows names of a frame that conversion splits
#   File "example.py", line 4, in f
#     y = locals()
#         ^^^^^^^^
# Write instead: the names themselves
