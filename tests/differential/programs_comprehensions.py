"""Programs around comprehensions, f-strings, slices and other compound expressions."""

import jax.numpy as jnp

from . import codes
from .harness import case


@case(([1, 2, 3],), ([4, -5, 6],), flavours=("static", "traced"))
def of_all_four_kinds(items):
    a = [x * 2 for x in items]
    b = {k: x + 1 for k, x in enumerate(items)}
    c = sum(x for x in items)
    d = {len(str(k)) for k in range(3)}
    return a, b, c, d


@case(([1, 2, 3],), ([4, -5, 6],), flavours=("static",))
def with_conditions(items):
    return [x for x in items if x > 1 if x % 2 == 0], {x: -x for x in items if x > 0}


@case(([1, 2, 3],), ([4, -5, 6],), flavours=("static", "traced"), error_ok=codes.TRUTH)
def with_a_run_time_condition(items):
    return [x for x in items if x > 1]


@case(([1, 2, 3],), ([4, -5, 6],), flavours=("static", "traced"))
def with_a_run_time_ternary(items):
    return [x if x > 1 else -x for x in items], {k: (v or 7) for k, v in enumerate(items)}


@case(([[1, 2], [3, 4]],), ([[5, 6], [7, -8]],), flavours=("static", "traced"))
def nested(rows):
    flat = [x for row in rows for x in row]
    turned = [[row[k] for row in rows] for k in range(2)]
    picked = [(a, b) for k, a in enumerate(flat) for b in flat[k + 1 :] if k < 2]
    return flat, turned, picked


@case(([1, 2, 3],), ([4, 5, 6],), flavours=("static", "traced"))
def with_a_call_and_a_lambda(items):
    def half(v):
        if v > 2:
            return v // 2
        return v

    fs = [lambda v, k=k: v * k for k in range(2)]
    return [half(x) for x in items], [f(x) for f in fs for x in items]


@case((3,), (0,), flavours=("static",))
def of_a_static_range(n):
    return [k * k for k in range(n)], list(k for k in range(n) if k), {k: [] for k in range(n)}


@case((3,), (2,), flavours=("static", "traced"), error_ok=(*codes.TRUTH, *codes.ITERATOR))
def of_a_run_time_range(n):
    return [k * 2 for k in range(n)]


@case((lambda: (jnp.arange(3.0),)), (lambda: (jnp.arange(3.0) - 5,)))
def over_an_array(v):
    return [x * 2 if x > 0 else x for x in v], sum([x for x in v])


@case((3,), (-1,))
def in_a_loop(n):
    total = 0
    for k in range(3):
        parts = [k * j + n for j in range(2)]
        if parts[0] > 2:
            total = total + sum(parts)
    return total


@case((3,), (-1,))
def in_the_test_of_a_branch(n):
    if sum([n, k := 2]) > 3 and len([x for x in range(4)]) == 4:
        return k
    return -k


@case(([3, 1, 2],), ([0, 0, 1],), flavours=("static",))
def generators_are_lazy(items):
    log = []
    g = (log.append(x) or x for x in items)
    first = next(g)
    return first, log[:], list(g), log


@case(([3, 1, 2],), ([0, 5, 1],), flavours=("static",))
def any_stops_at_the_first(items):
    log = []

    def ask(v):
        log.append(v)
        return v > 2

    return any(ask(x) for x in items), all(ask(x) for x in items), log


@case(([3, 1, 2],), ([0, 5, 1],), flavours=("static",))
def any_leaves_the_rest_of_an_iterator(items):
    it = iter(items)
    return any(x > 2 for x in it), list(it)


@case((3,), (4,), flavours=("static",))
def late_binding_of_a_generator(n):
    k = 1
    g = (x * k for x in range(n))
    k = 10
    return list(g)


@case((3,), (4,), flavours=("static",))
def first_iterable_is_evaluated_at_once(n):
    try:
        g = (x for x in range(missing) if other)  # noqa: F821
    except NameError as e:
        return str(e), n
    return g


@case((3, "a"), (4, "b"), flavours=("static",))
def f_strings(n, s):
    w = 6
    return f"{n} {n!r:>{w}} {s!r} {n + 1:03d} {{}} {s:{'^'}{w}} {n=}", f"{'x' if n > 3 else 'y'}"


@case((3.0,), (4.0,), error_ok=codes.MESSAGE)
def f_string_of_a_run_time_value(x):
    text = f"{x + 1}"
    return len(text) > 0, x


@case(([1, 2, 3, 4, 5],), ([5, 4, 3, 2, 1],), flavours=("static", "traced"))
def slices(items):
    return items[1:3], items[::2], items[:-1], items[::-1], items[:], items[-2:], items[10:]


@case((lambda: (jnp.arange(12.0).reshape(3, 4), 1)), (lambda: (-jnp.arange(12.0).reshape(3, 4), 2)))
def slices_of_arrays(m, k):
    return m[1], m[:, 1], m[1:, ::2], m[..., -1], m[None, 0], m[k], m[0, k]


@case(([1, 2, 3],), ([4, 5, 6],), flavours=("static", "traced"))
def starred(items):
    a, *b = items
    *c, d = items
    e, (f, *g) = 1, items
    h = [*items, *(0,), *"ab"]
    i = {**{"k": a}, "l": d}
    j = *b, *c
    return a, b, c, d, e, f, g, h, i, j


@case(([1, 2],), ([1],), flavours=("static", "traced"))
def wrong_number_to_unpack(items):
    a, b = items
    return a + b


@case((1, 2), (3, 4))
def chained_and_augmented_targets(a, b):
    x = y = [a]
    x += [b]
    z = {"k": a}
    z["k"] += b
    a, b = b, a
    p = q, r = a, b
    y[0], y[1] = y[1], y[0]
    return x, y is x, z, a, b, p, q, r


@case((1.0,), (-1.0,))
def conditional_expressions_everywhere(x):
    def f(a=1 if True else 2, *rest):
        return a

    d = {("a" if x is None else "b"): x if x > 0 else -x}
    v = [x, -x][0 if len(d) else 1]
    lam = lambda t: t if t > 0 else (0.0 if t < -5 else t * 2)
    return d, v, lam(x), f(), (x if x > 0 else -x) ** 2, -(x if x < 0 else 1.0)


@case((3,), (-3,))
def booleans_of_values(n):
    return n or 5, n and 5, not n, (n > 0 and n < 10) or None is None, n == 3 != 4


@case((1, 2, 3), (3, 2, 1))
def comparisons_of_every_kind(a, b, c):
    text = "ab"
    return a < b < c, a <= b != c, "a" in text not in ("x",), a is not None, not a == b


@case((1, 2), (3, 4), flavours=("static",))
def chained_comparison_of_sequences(a, b):
    return [a] < [b] < [b, 1], (a, b) == (a, b) != (b, a), {a} <= {a, b}


@case((5,), (-5,))
def integer_operators(n):
    return n // 2, n % 3, n << 1, n >> 1, n & 6, n | 1, n ^ 3, ~n, -n, +n, n**2, n / 2


@case((1.0,), (2.0,))
def matrix_product(x):
    m = jnp.eye(2) * x
    m @= m
    return m @ jnp.ones(2)
