# case: nothing leaves early
# until: Exits

def f(x):
    while x < 10:
        if x > 3:
            x = x + 2
        x = x + 1
    return x


# case: an early return takes the rest into the else
# until: Exits

def f(x):
    if x < 0:
        return -x
    y = x * 2
    return y

# output

def f(x):
    if x < 0:
        return -x
    else:
        y = x * 2
        return y


# case: a return in the else takes the rest into the body
# until: Exits

def f(x):
    if x < 0:
        y = -x
    else:
        return 0
    return y

# output

def f(x):
    if x < 0:
        y = -x
        return y
    else:
        return 0


# case: a function that falls off its end returns None there
# until: Exits

def f(x):
    if x < 0:
        return -x
    x.update()

# output

def f(x):
    if x < 0:
        return -x
    else:
        x.update()
        return None


# case: code after both sides returned is dropped
# until: Exits

def f(x):
    if x < 0:
        return 1
    else:
        return 2
    return 3

# output

def f(x):
    if x < 0:
        return 1
    else:
        return 2


# case: break
# until: Exits

def f(x):
    while x < 100:
        if x == 7:
            break
        x = x * 2
    return x

# output

def f(x):
    broke_2 = False
    while not broke_2 and x < 100:
        if x == 7:
            broke_2 = True
        else:
            x = x * 2
    return x


# case: continue as the last of a branch needs no flag
# until: Exits

def f(xs):
    total = 0
    for x in xs:
        if x < 0:
            continue
        total = total + x
    return total

# output

def f(xs):
    total = 0
    for x in xs:
        if x < 0:
            pass
        else:
            total = total + x
    return total


# case: continue that only some paths take needs one, reset by every iteration
# until: Exits

def f(xs, c):
    total = 0
    for x in xs:
        if x < 0:
            total = total - 1
            if c:
                continue
            total = total - 2
        total = total + x
    return total

# output

def f(xs, c):
    total = 0
    for x in xs:
        continued_3 = False
        if x < 0:
            total = total - 1
            if c:
                continued_3 = True
            else:
                total = total - 2
        if not continued_3:
            total = total + x
    return total


# case: a return in a loop leaves by flag and value
# until: Exits

def f(x, n):
    while x < n:
        if x == 7:
            return x
        x = x + 1
    return n

# output

def f(x, n):
    returned = False
    result = d2s.unbound()
    while not returned and x < n:
        if x == 7:
            result = x
            returned = True
        else:
            x = x + 1
    if returned:
        return result
    else:
        return n


# case: an inner loop keeps its break to itself
# until: Exits

def f(n):
    for i in n:
        for j in i:
            if j:
                break
        n = i
    return n

# output

def f(n):
    for i in n:
        broke_3 = False
        for j in i:
            if j:
                broke_3 = True
        n = i
    return n


# case: while True that returns needs no code after it
# until: Exits

def f(x):
    while True:
        x = x + 1
        if x > 9:
            return x

# output

def f(x):
    returned = False
    result = d2s.unbound()
    while not returned:
        x = x + 1
        if x > 9:
            result = x
            returned = True
    return result


# case: a return in a try block
# until: Exits

def f(x):
    try:
        return g(x)
    except ValueError:
        x = 0
    return x

# output

def f(x):
    returned = False
    result = d2s.unbound()
    try:
        result = g(x)
        returned = True
    except ValueError:
        x = 0
    if returned:
        return result
    else:
        return x


# case: break and return of one loop
# until: Exits

def f(xs):
    for x in xs:
        if x < 0:
            break
        elif x > 9:
            return x
        xs = x
    return xs

# output

def f(xs):
    returned = False
    result = d2s.unbound()
    broke_2 = False
    for x in xs:
        if x < 0:
            broke_2 = True
        elif x > 9:
            result = x
            returned = True
        else:
            xs = x
    if returned:
        return result
    else:
        return xs


# case: the else of a try whose body returned does not run
# until: Exits

def f(x):
    try:
        if x:
            return 1
    except ValueError:
        x = 0
    else:
        x = 2
    return x

# output

def f(x):
    returned = False
    result = d2s.unbound()
    try:
        if x:
            result = 1
            returned = True
    except ValueError:
        x = 0
    else:
        if not returned:
            x = 2
    if returned:
        return result
    else:
        return x


# case: an inner function has exits of its own
# until: Exits

def f(xs):
    def g(y):
        if y:
            return 1
        return 2
    for x in xs:
        g(x)
    return g

# output

def f(xs):
    def g(y):
        if y:
            return 1
        else:
            return 2
    for x in xs:
        g(x)
    return g
