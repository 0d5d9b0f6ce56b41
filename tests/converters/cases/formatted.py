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
    return d2s.text(f'{d2s.quoted(x)}')


# case: conversion and format stay

def f(x):
    return f"{x!r:>10} {x.y=}"

# output

def f(x):
    return d2s.text(f"{d2s.quoted(x, 'r'):>10} x.y={d2s.quoted(x.y)!r}")


# case: a width that is a value

def f(x, w):
    return f"{x:{w}}"

# output

def f(x, w):
    return d2s.text(f'{d2s.quoted(x):{d2s.concrete(w)}}')


# case: expressions

def f(x):
    return f"{x + 1} {g(x)}"

# output

def f(x):
    return d2s.text(f'{d2s.quoted(x + 1)} {d2s.quoted(d2s.fn(g)(x))}')


# case: an assert inside an if

def f(x):
    if x is None:
        assert x, f"{x}"
    return f"{x}"

# output

def f(x):
    if x is None:
        d2s.assert_(x, lambda: f'{d2s.quoted(x)}')
    return d2s.text(f'{d2s.quoted(x)}')


# case: text without fields, and constants

def f(x):
    return f"text", f"{1}", "{x}", "%s"


# case: percent with a text on its left

def f(x, n, form):
    return "%d" % n, f"{x}%s" % n, n % 2, form % x

# output

def f(x, n, form):
    return (
        d2s.percent('%d', n),
        d2s.percent(d2s.text(f'{d2s.quoted(x)}%s'), n),
        n % 2,
        form % x,
    )


# case: the message of an exception is no other text

def f(x):
    raise ValueError(f"{x}", len(f"{x}"))

# output

def f(x):
    raise ValueError(f'{d2s.quoted(x)}', d2s.fn(len)(d2s.text(f'{d2s.quoted(x)}')))


# case: the text of a value in its turn

def f(x):
    return f"{x!a}", f"{x!s}", f"{x!s:^9}"

# output

def f(x):
    return (
        d2s.text(f"{d2s.quoted(x, 'a')}"),
        d2s.text(f'{d2s.quoted(x)!s}'),
        d2s.text(f"{d2s.quoted(x, 's'):^9}"),
    )
