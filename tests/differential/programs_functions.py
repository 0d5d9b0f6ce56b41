"""Programs around functions: closures, late binding, nonlocal, methods, higher-order calls."""

import functools
from collections import namedtuple
from dataclasses import dataclass

import jax
import jax.numpy as jnp

from . import codes
from .harness import case

SCALE = 3.0
TABLE = {"low": 1.0, "high": jnp.array(2.0)}
Pair = namedtuple("Pair", "left right")

# jax itself traces a part of the function, so the pure Python backend cannot run it.
STAGED_INSIDE = ("converted", "static")


def clip(x, low=0.0, high=1.0):
    if x < low:
        return low
    if x > high:
        return high
    return x


def power(x, n):
    result = 1.0
    for _ in range(n):
        result = result * x
    return result


def factorial(n):
    if n <= 1:
        return 1
    return n * factorial(n - 1)


def is_even(n):
    return True if n == 0 else is_odd(n - 1)


def is_odd(n):
    return False if n == 0 else is_even(n - 1)


@dataclass
class Line:
    slope: float
    offset: float = 0.0

    def __call__(self, x):
        if x > 0:
            return self.slope * x
        return self.offset

    def twice(self, x):
        return self(x) + self(x - 1)

    @staticmethod
    def sign(x):
        return 1 if x > 0 else -1

    @classmethod
    def steep(cls, x):
        return cls(10.0).twice(x)

    @property
    def doubled(self):
        return self.slope * 2


class Bent(Line):
    def twice(self, x):
        if x > 2:
            return super().twice(x) + 100.0
        return -x


class Point(Pair):
    def larger(self):
        if self.left > self.right:
            return self.left
        return self.right


LINE = Line(2.0, -1.0)


@case((0.5,), (-1.0,), (2.0,), grad=True)
def calls_a_global_function(x):
    return clip(x) + clip(x, high=0.25) + clip(x, -5.0, 5.0)


@case((2.0, 3), (2.0, 0))
def calls_a_function_with_a_loop(x, n):
    return power(x, n) + power(x, 2)


@case((1.0,), (2.0,))
def every_kind_of_argument(x):
    def f(a, /, b, *rest, key, other=5.0, **more):
        if a > b:
            return a + key + sum(rest) + more.get("extra", 0.0)
        return b - other

    values = (x, 1.5)
    named = {"key": x, "extra": 2.0}
    return f(*values, key=1.0), f(x, *values, x, **named), f(3.0, b=1.0, key=x, other=0.0)


@case((1.0,), (-1.0,))
def call_in_argument_and_chain(x):
    return clip(clip(x, -2.0, 2.0) * 3.0, high=2.0) + jnp.sin(clip(x)).sum()


def make_adder(k):
    def add(x):
        if x > k:
            return x + k
        return x - k

    return add


case((1.0,), (5.0,), name="factory_made", grad=True)(make_adder(3.0))


def make_counter():
    count = 0

    def step(x):
        nonlocal count
        count = count + 1
        return x * count

    return step


case((1.0,), (2.0,), name="writes_a_closure_cell", error_ok=codes.EFFECT)(make_counter())


@case((1.0,), (-1.0,))
def closure_sees_the_latest_value(x):
    y = 1.0

    def read():
        return y

    a = read()
    if x > 0:
        y = x * 5
    return a, read()


@case((3, 1.0), (0, 1.0))
def closure_sees_loop_writes(n, x):
    def scaled():
        return x * 2

    total = 0.0
    for i in range(n):
        x = x + 1
        total = total + scaled()
    return total, scaled()


@case((1.0,), (2.0,))
def late_binding_of_lambdas(x):
    fs = [lambda: x * i for i in range(3)]
    gs = [lambda i=i: x * i for i in range(3)]
    x = x + 1
    return [f() for f in fs], [g() for g in gs]


@case((1.0,), (2.0,))
def lambda_made_in_a_loop(x):
    f = None
    g = None
    for i in range(3):
        f = lambda: i * x
        if i == 1:
            g = lambda k=i: k * x
    i = 50
    return f(), g()


@case((3,), (1,))
def nested_function_writes_nonlocal_in_a_loop(n):
    total = 0

    def add(k):
        nonlocal total
        total += k

    for i in range(n):
        add(i + 1)
    return total


@case((1.0,), (-1.0,))
def nonlocal_under_a_traced_condition(x):
    y = 0.0

    def note():
        nonlocal y
        y = y + x

    if x > 0:
        note()
        note()
    else:
        y = 7.0
    return y


@case((3,), (0,))
def nonlocal_loop_inside(n):
    seen = 0

    def run():
        nonlocal seen
        k = n
        while k > 0:
            seen += k
            k -= 1
        return k

    last = run()
    return seen, last


@case((1.0,), (-1.0,))
def def_inside_a_branch(x):
    if x > 0:

        def f(v):
            return v * 2

        y = f(x)
    else:

        def f(v):
            return v - 1

        y = f(f(x))
    return y


@case((3, 2.0), (2, -1.0))
def function_defined_in_a_loop(n, x):
    total = 0.0
    for i in range(n):

        def f(v):
            if v > i:
                return v
            return v * i

        total = total + f(x)
    return total


@case((1.0,), (-1.0,))
def argument_names_clash_with_loop_variables(x):
    k = 0
    while k < 2:
        f = lambda x, k: x * k if k > 0 else x
        x = f(x, k) + 1.0
        k += 1
    return x, k


@case((1,), (5,), keep=(0,))
def recursion_of_static_depth(n):
    return factorial(n), is_even(n)


@case((2,), (4,), error_ok=codes.RECURSION)
def recursion_ended_by_a_traced_value(n):
    return factorial(n)


@case((1.0,), (2.0,))
def recursion_of_a_local_function(x):
    def go(depth, v):
        if depth == 0:
            return v
        if v > 3:
            v = v - 1
        return go(depth - 1, v * 2)

    return go(3, x)


@case((0.5,), (3.0,), (-3.0,))
def partial_of_a_function(x):
    f = functools.partial(clip, low=-1.0)
    g = functools.partial(f, high=2.0)
    return f(x), g(x), g(x, low=0.0)


case((1.0,), (-1.0,), (9.0,), name="is_a_partial")(functools.partial(clip, low=-0.5, high=2.0))


@case((1.0,), (-1.0,), grad=True)
def methods(x):
    line = Line(3.0)
    return line.twice(x), Line.twice(line, x), line.sign(x), Line.steep(x), line.doubled * x


case((1.0,), (-1.0,), name="is_a_bound_method")(LINE.twice)
case((1.0,), (-1.0,), name="is_a_callable_object")(LINE)
case((1.0,), (-1.0,), name="is_a_static_method")(Line.sign)
case((1.0,), (-1.0,), name="is_a_class_method")(Line.steep)
case((1.0,), (3.0,), name="calls_super")(Bent(2.0).twice)
case((1.0,), (-1.0,), name="is_a_lambda")(lambda x: x * 2 if x > 0 else x)


@case((1.0,), (-1.0,))
def callable_object_argument(x):
    def apply(f, v):
        if v > 0:
            return f(v)
        return f(-v) * 2

    return apply(LINE, x) + apply(Line(5.0), x) + apply(LINE.twice, x)


@case((1.0, 2.0), (3.0, 2.0))
def namedtuple_with_a_method(a, b):
    p = Point(a, b)
    q = p._replace(left=b + 1) if a > b else p
    return p.larger(), q, Pair(right=a, left=b)


@case((1.0,), (-1.0,))
def reads_globals(x):
    if x > 0:
        return x * SCALE + TABLE["high"]
    return x * TABLE["low"]


@case((1.0,), (-1.0,))
def function_as_parameter(x):
    def both(f, g, v):
        return f(v) + g(v)

    return both(clip, lambda v: v * 2 if v < 0 else v, x), both(jnp.sin, abs, x)


@case((1.0,), (-1.0,))
def functions_in_containers(x):
    steps = {"a": clip, "b": [make_adder(1.0), LINE]}
    return steps["a"](x) + steps["b"][0](x) + steps["b"][1](x)


@case((1.0,), (-1.0,), grad=True)
def gradient_inside(x):
    def loss(v):
        if v > 0:
            return v * v * v
        return -v

    return jax.grad(loss)(x * 1.0)


def mapped_by_hand(v):
    return jnp.stack([clip(e) if e > -1 else e * 2 for e in v])


@case(
    (jnp.array([1.0, -2.0, 0.5]),),
    (jnp.array([-1.5, 2.0, 5.0]),),
    grad=True,
    oracle=mapped_by_hand,
    modes=STAGED_INSIDE,
)
def vmap_inside(v):
    return jax.vmap(lambda e: clip(e) if e > -1 else e * 2)(v)


def scanned_by_hand(v, x):
    seen = []
    for e in v:
        x = x + e if e > 0 else x * 2.0
        seen = [*seen, x - e]
    return x, jnp.stack(seen)


@case(
    (jnp.array([1.0, -2.0]), 1.0),
    (jnp.array([-1.0, 2.0]), 2.0),
    oracle=scanned_by_hand,
    modes=STAGED_INSIDE,
)
def scan_inside(v, x):
    def step(carry, e):
        if e > 0:
            carry = carry + e
        else:
            carry = carry * 2.0
        return carry, carry - e

    return jax.lax.scan(step, jnp.asarray(x), v)


def not_jitted(x):
    def f(v):
        return v * 2 if v > 0 else v - 1

    return f(x) + f(x + 1.5)


@case((1.0,), (-1.0,), oracle=not_jitted, modes=STAGED_INSIDE)
def jit_inside(x):
    @jax.jit
    def f(v):
        if v > 0:
            return v * 2
        return v - 1

    return f(x) + f(x + 1.5)


@case((3.0,), (-3.0,))
def explicit_lax_calls(x):
    y = jax.lax.cond(x > 0, lambda v: v * 2.0, lambda v: v - 1.0, jnp.asarray(x))
    if y > 5:
        y = jax.lax.fori_loop(0, 3, lambda i, v: v + i, y)
    return y


@case((1.0, 2.0), (3.0, 2.0))
def reduce_and_map(a, b):
    larger = functools.reduce(lambda p, q: p if p > q else q, [a, b, 2.5])
    return larger, list(map(lambda v: v + 1 if v > 2 else v, [a, b]))


@case((1.0,), (2.0,))
def decorated_helper(x):
    def doubled(f):
        @functools.wraps(f)
        def inner(*args):
            return f(*args) * 2

        return inner

    @doubled
    def helper(v):
        if v > 1.5:
            return v + 1
        return v

    return helper(x)


@case((1.0,), (-1.0,))
def default_is_evaluated_once(x):
    calls = 0

    def make():
        nonlocal calls
        calls += 1
        return 5.0

    def f(v, extra=make()):
        if v > 0:
            return v + extra
        return extra

    return f(x) + f(-x), calls


@case((2.0,), (-2.0,))
def shadowed_names(x):
    def inner(x):
        y = x + 1
        if y > 0:
            x = y
        return x

    y = inner(x * 2)
    abs = lambda v: v - 1
    return x, y, abs(x)


@case((1.0,), (2.0,))
def result_of_a_helper_is_unpacked(x):
    def pair(v):
        if v > 1:
            return v, v * 2
        return v - 1, v

    a, b = pair(x)
    (c, d), e = pair(a), b
    return a, b, c, d, e


@case((1.0, [1.0, 2.0]), (-1.0, [3.0]), error_ok=codes.EFFECT)
def argument_is_mutated(x, items):
    items.append(x)
    return len(items)


def tally(start):
    total = start

    def add(v):
        nonlocal total
        total = total + v
        return total

    return add


def collector():
    items, last = [], {}

    def add(v):
        items.append(v)
        last["value"] = v
        return sum(items) + last["value"]

    return add


@case((1.0,), (-1.0,))
def counters_made_in_a_branch(x):
    outside = tally(x)
    if x > 0:
        inside, other = tally(x + 1), collector()
        inside(2.0)
        y = inside(x) + outside(1.0) + other(x) + other(2.0)
    else:
        y = outside(3.0)
    return y, outside(0.0)


@case((2.0, 3), (-1.0, 0))
def counters_made_in_a_loop(x, n):
    i = 0
    while i < n:
        add, other = tally(x), collector()
        x = add(1.0) + add(0.5) + other(x)
        i += 1
    return x


@case((2.0,), (-1.0,))
def counter_made_in_a_branch_that_fails(x):
    seen = tally(0.0)
    try:
        if x > 0:
            add = tally(x)
            add(1.0)
            seen(add(2.0))
            raise ValueError(f"at {add(0.0)}")
    except ValueError as error:
        print(error)
    return seen(0.0)


@case((1.0,), (-1.0,))
def counter_of_a_variable_around(x):
    total = 0.0

    def counter(step):
        def add(v):
            nonlocal total
            total = total + v + step
            return total

        return add

    if x > 0:
        add = counter(x)
        add(1.0)
        add(2.0)
    return total
