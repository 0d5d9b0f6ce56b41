# case: two integers and the rest

def f(n):
    if n == 0:
        y = 1
    elif n == 1:
        y = 2
    else:
        y = 3
    return y

# output

def f(n):
    def case_2():
        return 1
    def case_4():
        return 2
    def else_2():
        return 3
    y = d2s.switch(n, {0: case_2, 1: case_4}, else_2)
    return y


# case: what the cases take and give

def f(n, x, y):
    if n == 0:
        x = x + 1
    elif n == -1:
        y = y + 1
        x = y
    return x, y

# output

def f(n, x, y):
    def case_2(x, y):
        x = x + 1
        return x, y
    def case_4(x, y):
        y = y + 1
        x = y
        return x, y
    def else_2(x, y):
        return x, y
    x, y = d2s.switch(n, {0: case_2, -1: case_4}, else_2, x, y)
    return x, y


# case: alternatives

def f(n):
    if n == 3 or n == 4:
        return 0
    elif n == 5:
        return 1
    return 2

# output

def f(n):
    def case_2():
        return 0
    def case_4():
        return 1
    def else_2():
        return 2
    return d2s.switch(n, {3: case_2, 4: case_2, 5: case_4}, else_2)


# case: early returns are a chain as well

def f(n, x):
    if n == 0:
        return x
    if n == 1:
        return -x
    return 0

# output

def f(n, x):
    def case_2():
        return x
    def case_4():
        return -x
    def else_2():
        return 0
    return d2s.switch(n, {0: case_2, 1: case_4}, else_2)


# case: the chain ends at another test

def f(n, x):
    if n == 0:
        y = 1
    elif n == 1:
        y = 2
    elif x > 0:
        y = 3
    else:
        y = 4
    return y

# output

def f(n, x):
    def case_2():
        return 1
    def case_4():
        return 2
    def else_2():
        def then_6():
            return 3
        def else_6():
            return 4
        return d2s.cond(x > 0, then_6, else_6)
    y = d2s.switch(n, {0: case_2, 1: case_4}, else_2)
    return y


# case: an integer twice ends the chain

def f(n):
    if n == 0:
        y = 1
    elif n == 1:
        y = 2
    elif n == 0:
        y = 3
    else:
        y = 4
    return y

# output

def f(n):
    def case_2():
        return 1
    def case_4():
        return 2
    def else_2():
        def then_6():
            return 3
        def else_6():
            return 4
        return d2s.cond(n == 0, then_6, else_6)
    y = d2s.switch(n, {0: case_2, 1: case_4}, else_2)
    return y


# case: in a loop

def f(ops, x):
    for op in ops:
        if op == 0:
            x = x + 1
        elif op == 1:
            x = x * 2
    return x

# output

def f(ops, x):
    def body_2(op, x):
        def case_3(x):
            return x + 1
        def case_5(x):
            return x * 2
        def else_3(x):
            return x
        return d2s.switch(op, {0: case_3, 1: case_5}, else_3, x)
    x = d2s.for_loop(ops, body_2, x)
    return x


# case: one test is no chain
# until: FindChains

def f(n):
    if n == 0:
        y = 1
    else:
        y = 2
    return y


# case: neither are two names, other numbers or other comparisons
# until: FindChains

def f(n, m):
    if n == 0:
        y = 1
    elif m == 1:
        y = 2
    elif m == 2.0:
        y = 3
    elif m == True:
        y = 4
    elif m < 3:
        y = 5
    elif m.k == 4:
        y = 6
    else:
        y = 7
    return y
