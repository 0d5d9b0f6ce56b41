# case: in the test of a loop
# until: LoopWalrus

def f(x):
    while (y := x * 2) < 100:
        x = y + 1
    return y

# output

def f(x):
    going_2 = True
    while going_2:
        if (y := (x * 2)) < 100:
            x = y + 1
        else:
            going_2 = False
    return y


# case: an else of the loop, and a break
# until: LoopWalrus

def f(x):
    while (y := x * 2) < 100:
        if y > 50:
            break
        x = y
    else:
        x = 0
    return x

# output

def f(x):
    going_2 = True
    while going_2:
        if (y := (x * 2)) < 100:
            if y > 50:
                break
            x = y
        else:
            going_2 = False
    if not broke_2:
        x = 0
    return x


# case: a continue asks the test again

def f(x):
    while (y := x * 2) < 100:
        x = y + 1
        if x > 5:
            continue
        x = x + 1
    return y

# output

def f(x):
    going_2 = True
    y = d2s.unbound('y')
    def test_2(x, going_2, y):
        return going_2
    def body_2(x, going_2, y):
        def then_2(x, going_2):
            x = y + 1
            def then_4(x):
                pass
                return x
            def else_4(x):
                return x + 1
            x = d2s.cond(x > 5, then_4, else_4, x)
            return x, going_2
        def else_2(x, going_2):
            going_2 = False
            return x, going_2
        x, going_2 = d2s.cond((y := (x * 2)) < 100, then_2, else_2, x, going_2)
        return x, going_2, y
    x, going_2, y = d2s.while_loop(test_2, body_2, x, going_2, y)
    return d2s.read(y)


# case: in an operand that may be left out

def f(x):
    if x > 1 and (y := x + 1) > 3:
        return y
    return x

# output

def f(x):
    y = d2s.unbound('y')
    def then_2():
        return d2s.read(y)
    def else_2():
        return x
    def and_2():
        nonlocal y
        return (y := (x + 1)) > 3
    return d2s.cond(d2s.all_(x > 1, and_2), then_2, else_2)


# case: in a comprehension inside the test
# until: LoopWalrus

def f(xs):
    while any((last := x) > 3 for x in xs):
        xs = xs[1:]
    return last

# output

def f(xs):
    going_2 = True
    while going_2:
        if any(((last := x) > 3 for x in xs)):
            xs = xs[1:]
        else:
            going_2 = False
    return last


# case: everywhere else it stays
# until: LoopWalrus

def f(x):
    if (y := x * 2) < 100:
        x = y
    return [z := x, z + y]


# case: a walrus in a lambda is the lambda's own
# until: LoopWalrus

def f(x):
    while (lambda: (y := x) + y)() < 9:
        x = x + 1
    return x
