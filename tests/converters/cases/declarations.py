# case: a declaration in a branch moves to the top
# until: Declarations

def f(x):
    if x is None:
        global count
        count = 0
    return x

# output

def f(x):
    global count
    if x is None:
        count = 0
    return x


# case: it stays below the docstring
# until: Declarations

def f(x):
    """Text."""
    for n in x:
        global last
        last = n

# output

def f(x):
    """Text."""
    global last
    for n in x:
        last = n


# case: several, in their order; a block of nothing else keeps a pass
# until: Declarations

def f(x):
    try:
        global a, b
    finally:
        global c
        c = x

# output

def f(x):
    global a, b
    global c
    try:
        pass
    finally:
        c = x


# case: each function has its own
# until: Declarations

def f(x):
    n = 0
    def g(y):
        while y:
            nonlocal n
            n = n + 1
            y = y - 1
    g(x)
    return n

# output

def f(x):
    n = 0
    def g(y):
        nonlocal n
        while y:
            n = n + 1
            y = y - 1
    g(x)
    return n


# case: where a block writes the name it is declared again

def f(x):
    global count
    if x > 0:
        count = count + 1
    return count

# output

def f(x):
    global count
    def then_3():
        global count
        count = count + 1
    def else_3():
        pass
    d2s.cond(x > 0, then_3, else_3)
    return count


# case: a class has a scope of its own
# until: Declarations

def f(x):
    class A:
        global kept
        kept = x
    return A


# case: already at the top
# until: Declarations

def f(x):
    global count
    count = x
