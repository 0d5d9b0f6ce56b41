# case: values, singletons and the case for everything else
# until: MatchStmt

def f(x):
    match x:
        case 'a' | Kind.B:
            y = 1
        case None:
            y = 2
        case -1.5:
            y = 3
        case _:
            y = 4
    return y

# output

def f(x):
    if x == 'a' or x == Kind.B:
        y = 1
    elif x is None:
        y = 2
    elif x == -1.5:
        y = 3
    else:
        y = 4
    return y


# case: a subject that is no name is evaluated once
# until: MatchStmt

def f(x):
    match g(x), 1:
        case [0, 1]:
            return 0
        case other:
            return other

# output

def f(x):
    subject_2 = (g(x), 1)
    if (parts_3 := d2s.match_sequence(subject_2, 2)) is not None and parts_3[0] == 0 and (parts_3[1] == 1):
        return 0
    else:
        other = subject_2
        return other


# case: a capture that rebinds the subject keeps the old value for the cases after it
# until: MatchStmt

def f(x):
    match x:
        case [x, 0]:
            return x
        case [0, x]:
            return -x
    return x

# output

def f(x):
    subject_2 = x
    if (parts_3 := d2s.match_sequence(subject_2, 2)) is not None and parts_3[1] == 0:
        x = parts_3[0]
        return x
    elif (parts_5 := d2s.match_sequence(subject_2, 2)) is not None and parts_5[0] == 0:
        x = parts_5[1]
        return -x
    return x


# case: sequences, with and without a star
# until: MatchStmt

def f(x):
    match x:
        case []:
            return 0
        case [_, _]:
            return 2
        case [a, *_]:
            return a
        case [*rest, b]:
            return rest, b

# output

def f(x):
    if d2s.match_sequence(x, 0) is not None:
        return 0
    elif d2s.match_sequence(x, 2) is not None:
        return 2
    elif (parts_7 := d2s.match_sequence(x, 1, 0)) is not None:
        a = parts_7[0]
        return a
    elif (parts_9 := d2s.match_sequence(x, 0, 1, star=True)) is not None:
        rest = parts_9[0]
        b = parts_9[1]
        return rest, b


# case: mappings
# until: MatchStmt

def f(x):
    match x:
        case {}:
            return 0
        case {'a': 1, Kind.B: b}:
            return b
        case {'c': c, **rest}:
            return c, rest

# output

def f(x):
    if d2s.match_mapping(x) is not None:
        return 0
    elif (parts_5 := d2s.match_mapping(x, 'a', Kind.B)) is not None and parts_5[0] == 1:
        b = parts_5[1]
        return b
    elif (parts_7 := d2s.match_mapping(x, 'c', rest=True)) is not None:
        c = parts_7[0]
        rest = parts_7[1]
        return c, rest


# case: classes, by position and by name
# until: MatchStmt

def f(x):
    match x:
        case int():
            return 0
        case Point(0, y=b):
            return b
        case str() as s:
            return s

# output

def f(x):
    if d2s.match_class(x, int, 0) is not None:
        return 0
    elif (parts_5 := d2s.match_class(x, Point, 1, 'y')) is not None and parts_5[0] == 0:
        b = parts_5[1]
        return b
    elif d2s.match_class(x, str, 0) is not None:
        s = x
        return s


# case: a guard sees the captures, and what it read stays bound
# until: MatchStmt

def f(x):
    match x:
        case n if n > 3:
            return n
        case [a, b] if a > b:
            return a
    return 0

# output

def f(x):
    if [(n := x)] and n > 3:
        return n
    elif (parts_5 := d2s.match_sequence(x, 2)) is not None and [(a :=
        parts_5[0]), (b := parts_5[1])] and a > b:
        return a
    return 0


# case: a guard alone
# until: MatchStmt

def f(x, y):
    match x:
        case _ if y:
            x = 1
    return x

# output

def f(x, y):
    if y:
        x = 1
    return x


# case: alternatives with captures
# until: MatchStmt

def f(x):
    match x:
        case [0, a] | [a, 1]:
            return a
    return x

# output

def f(x):
    if (parts_3 := d2s.match_sequence(x, 2)) is not None and parts_3[0] == 0 and [(a_3 := parts_3[1])] and True or ((parts_3a := d2s.match_sequence(x, 2)) is not None and parts_3a[1] == 1 and [(a_3 := parts_3a[0])] and True):
        a = a_3
        return a
    return x


# case: patterns inside patterns
# until: MatchStmt

def f(x):
    match x:
        case {'k': [int() | float() as n, *_]}:
            return n
    return 0

# output

def f(x):
    if (parts_3 := d2s.match_mapping(x, 'k')) is not None and (parts_3a :=
        d2s.match_sequence(parts_3[0], 1, 0)) is not None and (d2s.
        match_class(parts_3a[0], int, 0) is not None or d2s.match_class(
        parts_3a[0], float, 0) is not None):
        n = parts_3a[0]
        return n
    return 0


# case: a case that always matches, and nothing else
# until: MatchStmt

def f(x):
    match x:
        case y:
            x = y + 1
    return x

# output

def f(x):
    y = x
    x = y + 1
    return x


# case: integers become one choice

def f(n, x):
    match n:
        case 0:
            return x
        case 1 | 2:
            return -x
        case _:
            return x * x

# output

def f(n, x):
    def case_3():
        return x
    def case_5():
        return -x
    def else_3():
        return x * x
    return d2s.switch(n, {0: case_3, 1: case_5, 2: case_5}, else_3)


# case: a name called match is no statement
# until: MatchStmt

def f(match, case):
    match['k'] = case
    return match
