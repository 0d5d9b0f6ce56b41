# case: a function of plain statements passes

def f(x, *rest, k=1, **named):
    """Text."""
    y, (a, *b) = x, rest
    y += k
    z: int = y
    return [v * z for v in b], {**named}, a


# case: match is refused at its own line

def f(x):
    y = x
    match y:
        case 0:
            return 1
    return 2

# error

# D2S003: `match` is not converted yet
#   File "example.py", line 3, in f
#     match y:
#     ^^^^^^^^
# Write instead: an if/elif chain


# case: a class inside

def f(x):
    class A:
        pass
    return A

# error

# D2S003: a class inside a function is not converted yet
#   File "example.py", line 2, in f
#     class A:
#     ^^^^^^^^
# Write instead: define the class at module level


# case: an import inside

def f(x):
    import math
    return math.pi * x

# error

# D2S003: an import inside a function is not converted yet
#   File "example.py", line 2, in f
#     import math
#     ^^^^^^^^^^^
# Write instead: import at the top of the module


# case: the else of a loop

def f(xs):
    for x in xs:
        if x:
            break
    else:
        return 0
    return x

# error

# D2S003: `else` of a `for` is not converted yet
#   File "example.py", line 6, in f
#     return 0
#     ^^^^^^^^
# Write instead: a flag set before `break`


# case: finally

def f(x):
    try:
        x = 1
    finally:
        x = 2
    return x

# error

# D2S003: `finally` is not converted yet
#   File "example.py", line 5, in f
#     x = 2
#     ^^^^^
# Write instead: the statements after the try block


# case: a generator inside a function that is none

def f(xs):
    def g():
        yield xs
    return g

# error

# D2S003: a generator is not converted yet
#   File "example.py", line 3, in f
#     yield xs
#     ^^^^^^^^
# Write instead: build the values in a loop and return them


# case: a function that reads its own frame

def f(x):
    return locals()

# error

# D2S003: `locals()` is not converted yet
#   File "example.py", line 2, in f
#     return locals()
#            ^^^^^^^^
# Write instead: the names themselves


# case: a method of the same name is an ordinary call
# until: Fence

def f(x):
    return x.locals(), x.eval(1)


# case: the first of several is named

def f(x):
    with x:
        del x

# error

# D2S003: `with` is not converted yet
#   File "example.py", line 2, in f
#     with x:
#     ^^^^^^^
# Write instead: call the context manager around the static function
