# case: in a message

def f(x):
    raise ValueError(f"negative: {x:.2f}")

# output

def f(x):
    raise ValueError(f'negative: {d2s.quoted(x):.2f}')


# case: anywhere else

def f(x):
    return f"{x}"

# output

def f(x):
    return f'{d2s.shown(x)}'


# case: conversion and format stay

def f(x):
    return f"{x!r:>10} {x.y=}"

# output

def f(x):
    return f'{d2s.shown(x)!r:>10} x.y={d2s.shown(x.y)!r}'


# case: a width that is a value

def f(x, w):
    return f"{x:{w}}"

# output

def f(x, w):
    return f'{d2s.shown(x):{d2s.shown(w)}}'


# case: expressions

def f(x):
    return f"{x + 1} {g(x)}"

# output

def f(x):
    return f'{d2s.shown(x + 1)} {d2s.shown(d2s.fn(g)(x))}'


# case: an assert inside an if

def f(x):
    if x is None:
        assert x, f"{x}"
    return f"{x}"

# output

def f(x):
    if x is None:
        d2s.assert_(x, lambda: f'{d2s.quoted(x)}')
    return f'{d2s.shown(x)}'


# case: text without fields, and constants

def f(x):
    return f"text", f"{1}", "{x}", "%s"
