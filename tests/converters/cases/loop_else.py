# case: a break decides
# until: LoopElse

def f(xs):
    for x in xs:
        if x > 3:
            break
    else:
        x = None
    return x

# output

def f(xs):
    for x in xs:
        if x > 3:
            break
    if not broke_2:
        x = None
    return x


# case: without a break the else just follows
# until: LoopElse

def f(x):
    while x > 3:
        x = x - 1
    else:
        x = -x
    return x

# output

def f(x):
    while x > 3:
        x = x - 1
    x = -x
    return x


# case: a break in the else belongs to the loop around
# until: LoopElse

def f(xs):
    for x in xs:
        while x:
            x = x - 1
        else:
            break
    return x

# output

def f(xs):
    for x in xs:
        while x:
            x = x - 1
        break
    return x


# case: a break of a loop inside is none of this loop
# until: LoopElse

def f(xs):
    for x in xs:
        for y in x:
            break
    else:
        return 0
    return 1

# output

def f(xs):
    for x in xs:
        for y in x:
            break
    return 0
    return 1


# case: a loop with an else in another one
# until: LoopElse

def f(xs):
    for x in xs:
        for y in x:
            if y:
                break
        else:
            break
    else:
        return 0
    return 1

# output

def f(xs):
    for x in xs:
        for y in x:
            if y:
                break
        if not broke_3:
            break
    if not broke_2:
        return 0
    return 1


# case: where the exits set the flag

def f(x):
    while x < 9:
        if x == 5:
            break
        x = x + 1
    else:
        x = -x
    return x

# output

def f(x):
    broke_2 = False
    def test_2(x, broke_2):
        return d2s.all_(d2s.not_(broke_2), lambda: x < 9)
    def body_2(x, broke_2):
        def then_3(x, broke_2):
            broke_2 = True
            return x, broke_2
        def else_3(x, broke_2):
            x = x + 1
            return x, broke_2
        return d2s.cond(x == 5, then_3, else_3, x, broke_2)
    x, broke_2 = d2s.while_loop(test_2, body_2, x, broke_2)
    def then_7(x):
        return -x
    def else_7(x):
        return x
    x = d2s.cond(d2s.not_(broke_2), then_7, else_7, x)
    return x


# case: no else
# until: LoopElse

def f(xs):
    for x in xs:
        if x:
            break
    return xs
