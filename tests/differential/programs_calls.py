"""Programs around calls: arguments, kinds of callables, decorators, and functions of libraries."""

import abc
import functools
import itertools
import operator
from collections import namedtuple
from dataclasses import dataclass, field

import jax
import jax.numpy as jnp

import d2s

from . import codes
from .harness import case

# jax itself traces a part of the function, so the pure Python backend cannot run it.
STAGED_INSIDE = ("converted", "static")


def sign(v):
    if v > 0:
        return 1.0
    return -1.0


def every_kind(a, b=10.0, /, c=20.0, *rest, d, e=50.0, **more):
    if a > b:
        return a, b, c, rest, d, e, sorted(more)
    return b, a, c, rest, d, e, sorted(more)


def logged(f):
    @functools.wraps(f)
    def run(*args, **kwargs):
        result = f(*args, **kwargs)
        return result + 1 if result > 0 else result

    return run


@logged
def decorated(v):
    """Text."""
    if v > 1:
        return v * 2
    return -v


@functools.lru_cache(maxsize=None)
def remembered(n):
    total = 0
    for k in range(n):
        total += k
    return total


@functools.cache
def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


@functools.singledispatch
def kind_of(v):
    return "object"


@kind_of.register
def _(v: str):
    return "text"


@kind_of.register(list)
def _(v):
    return "list of " + kind_of(v[0])


@jax.jit
def jitted(v):
    return jnp.where(v > 0, v * 2, v)


@jax.custom_vjp
def doubled_slope(v):
    return v * 3


doubled_slope.defvjp(lambda v: (v * 3, None), lambda _, g: (g * 6,))


@jax.custom_jvp
def halved_slope(v):
    return v * 3


@halved_slope.defjvp
def _(primals, tangents):
    return primals[0] * 3, tangents[0] * 1.5


@jax.custom_jvp
def tripled_slope(v):
    if v > 0:
        return v * 2
    return v


tripled_slope.defjvps(lambda tangent, result, v: tangent * 3 + 0 * result)


class Base(abc.ABC):
    scale = 2.0

    @abc.abstractmethod
    def f(self, v): ...

    def __call__(self, v):
        return self.f(v) * self.scale


class Derived(Base):
    def __init__(self, low):
        self.low = low
        self.keep = self.f

    def f(self, v):
        if v > self.low:
            return v
        return self.low

    @classmethod
    def make(cls, low=0.0):
        return cls(low)

    @staticmethod
    def plain(v):
        return v + 1 if v > 0 else v

    @functools.cached_property
    def costly(self):
        total = 0.0
        for k in range(3):
            total += self.low + k
        return total

    partly = functools.partialmethod(lambda self, a, b: a - b if a > b else b - a, 3.0)


@dataclass(order=True)
class Item:
    weight: float
    name: str = field(default="x", compare=False)

    def heavier(self, limit):
        return self.weight if self.weight > limit else limit


class Duck:
    def __getattr__(self, name):
        if name.startswith("has_"):
            return lambda v: v * 2 if v > 0 else v
        raise AttributeError(name)


class Add(namedtuple("Add", "left right")):
    def total(self):
        if self.left > self.right:
            return self.left + self.right
        return self.right


# --- arguments -----------------------------------------------------------------------------------


@case((1.0,), (30.0,))
def arguments_of_every_kind(x):
    a, k = (x, 1.0), {"d": 2.0, "z": 3.0}
    return (
        every_kind(x, d=1.0),
        every_kind(*a, **k),
        every_kind(x, 1.0, 2.0, 3.0, *a, d=4.0, e=5.0),
        every_kind(*a, *a, *[], **{**k, "e": x}),
    )


@case((1.0,), (2.0,), flavours=("static",))
def missing_argument(x):
    return every_kind(x)


@case((1.0,), (2.0,), flavours=("static",))
def positional_only_by_name(x):
    return sign(w=x)


@case((1.0,), (2.0,), flavours=("static",))
def argument_given_twice(x):
    return sign(x, **{"v": x})


@case((1.0,), (2.0,), flavours=("static",))
def clashing_keywords(x):
    return every_kind(x, **{"d": 1}, **{"d": 2})


@case((1.0,), (2.0,), flavours=("static",))
def not_callable(x):
    return x(1)


@case((1.0,), (-2.0,))
def keywords_of_the_machinery(x):
    def f(function=1.0, args=2.0, kwargs=3.0, self=4.0, test=5.0, state=6.0):
        return function + args * kwargs - self if test > 0 else state

    return f(function=x, args=x, kwargs=x, self=x, test=x, state=x)


@case((3,), (4,), flavours=("static",))
def order_of_evaluation(n):
    log = []

    def say(v):
        log.append(v)
        return v

    def f(*args, **kwargs):
        return args, kwargs

    got = (lambda: (say("f"), f)[1])()(say(1), *[say(2)], k=say(3), **{"z": say(4)})
    d = {say("k1"): say("v1"), say("k2"): say("v2")}
    d[say("k3")] = say("v3")
    (a, b) = say((n, n))
    [say(5), say(6)][say(1)]
    return got, log, d, a + b


@case((1.0,), (-1.0,))
def calls_in_arguments_and_chains(x):
    make = lambda k: lambda v: v + k if v > 0 else v - k
    return make(sign(x))(sign(sign(x) * 2)), [sign, abs][0](x), (sign if x is not None else abs)(x)


@case((3,), (0,))
def defaults_are_shared(n):
    def f(v, seen=[]):
        seen.append(v)
        return len(seen)

    return f(n), f(n), f(n, [])


# --- kinds of callables --------------------------------------------------------------------------


@case((1.0,), (-1.0,))
def methods_of_every_kind(x):
    d = Derived.make(0.5)
    method = d.f
    return d(x), method(x), Derived.f(d, x), d.keep(x), d.plain(x), Derived.plain(x), d.costly


@case((1.0,), (5.0,))
def partial_methods(x):
    return Derived(0.0).partly(x)


@case((1.0,), (-1.0,))
def partials(x):
    f = functools.partial(every_kind, x, d=1.0)
    g = functools.partial(f, 2.0, e=3.0)
    g.keywords["e"] = 4.0
    return f(), g(7.0), functools.partial(jnp.maximum, 0.0)(x)


@case((1.0,), (-1.0,), error_ok=codes.NOT_CONVERTED)
def operator_helpers(x):
    item = Item(x)
    return (
        operator.attrgetter("weight")(item),
        operator.methodcaller("heavier", 0.0)(item),
        operator.itemgetter(1)([0.0, x]),
        operator.add(x, 1.0),
    )


@case((1.0,), (-1.0,))
def attributes_made_on_demand(x):
    return Duck().has_it(x), getattr(Duck(), "nothing", 5)


@case((1.0, 2.0), (2.0, 1.0))
def named_tuple_with_a_method(a, b):
    return Add(a, b).total(), Add(b, a)._replace(left=5.0).total()


@case((1.0,), (-1.0,))
def dataclasses_inside(x):
    @dataclass
    class Line:
        slope: float
        offset: float = 1.0

        def __post_init__(self):
            if self.offset > 0:
                self.offset = self.offset + 1

        def at(self, v):
            return self.slope * v + self.offset if v > 0 else self.offset

    return Line(2.0).at(x), Line(2.0) == Line(2.0)


@case((1,), (2,), flavours=("static",))
def abstract_class(n):
    return Base(n)


@case((1.0,), (-1.0,))
def aliased_builtins(x):
    size, biggest = len, max
    return size([x, x]), biggest(x, 0.0), (abs if size([]) == 0 else min)(x)


@case((1.0,), (-1.0,))
def do_not_convert_at_the_call_site(x):
    @d2s.do_not_convert
    def f(v):
        return v * 2

    return f(x) + 1


# --- decorators ----------------------------------------------------------------------------------


case((3.0,), (-1.0,), (0.5,), name="is_decorated")(decorated)


@case((3.0,), (-1.0,))
def calls_a_decorated_function(x):
    return decorated(x), decorated.__doc__, decorated.__wrapped__(x)


@case((4,), (6,), flavours=("static",))
def remembered_results(n):
    return remembered(n), fibonacci(n + 5)


@case((4,), (6,), keep=(0,))
def remembered_locally(n):
    calls = []

    @functools.lru_cache
    def f(k):
        calls.append(k)
        return k * 2 if k > 3 else k

    return f(n), f(n), f(1), calls


@case(("a",), (["b"],), flavours=("static",))
def single_dispatch(v):
    return kind_of(v), kind_of([v])


@case((1.0,), (-1.0,), grad=True)
def calls_a_jitted_function(x):
    if x > 0:
        return jitted(x) + 1
    return jitted(-x)


@case((1.0,), (-1.0,), grad=True)
def calls_functions_with_their_own_gradient(x):
    if x > 0:
        return doubled_slope(x)
    return halved_slope(x)


@case((2.0,), (-1.0,))
def derivatives_inside(x):
    value, slope = jax.value_and_grad(lambda v: v * v if v > 0 else v)(x)
    return value + slope


@case((3.0,), (-1.0,))
def decorated_by_a_class(x):
    class Counted:
        def __init__(self, f):
            self.f, self.calls = f, 0

        def __call__(self, *args):
            self.calls += 1
            return self.f(*args)

    @Counted
    def f(v):
        return v * 2 if v > 0 else v

    return f(x) + f(1.0), f.calls


@case((3.0,), (-1.0,))
def descriptor_decorator(x):
    class Lazy:
        def __init__(self, f):
            self.f = f

        def __get__(self, obj, kind=None):
            return self.f(obj)

    class Holder:
        @Lazy
        def value(self):
            return x if x > 0 else 0.0

    return Holder().value


# --- builtins ------------------------------------------------------------------------------------


@case((2.5,), (-2.5,))
def casts(x):
    return int(x), float(int(x)), bool(x), abs(x), round(x)


@case((2,), (-7,))
def arithmetic_builtins(n):
    return divmod(n, 3), pow(n, 2), min(n, 0), max(n, 0, 5), sum([n, n], 1), abs(-n)


@case((3.0, 1.0), (1.0, 2.0))
def min_and_max(a, b):
    return min([a, b]), max((a, b)), min(a, b, 1.5), max([], default=0), max([1, 3, 2])


@case((3.0, 1.0), (1.0, 2.0), error_ok=codes.KEYED)
def min_and_max_by_key(a, b):
    return min([a, b], key=lambda v: -v), max(a, b, key=lambda v: v * v)


@case((3.0, 1.0), (1.0, 2.0))
def any_and_all(a, b):
    return any([a > b, False]), all([a > 0, b > 0]), any([]), all([])


@case(([3, 1, 2],), ([1, 2, 3],), flavours=("static",))
def sorted_by_key(items):
    return sorted(items), sorted(items, key=lambda v: -v if v > 1 else 10), sorted(items)[::-1]


@case(([3, 1, 2],), ([1, 2, 3],), flavours=("static", "traced"), error_ok=codes.KEYED)
def sorted_run_time_values(items):
    return sorted(items)


@case(([3, -1, 2],), ([-1, -2, 3],), flavours=("static",))
def map_and_filter(items):
    kept = filter(lambda v: v > 0, items)
    return list(map(lambda v: v * 2 if v > 1 else v, kept)), list(map(pow, items, (2, 2, 2)))


@case(([3, -1, 2],), ([-1, -2, 3],), flavours=("static", "traced"))
def map_of_run_time_values(items):
    return list(map(lambda v: v * 2 if v > 1 else v, items))


@case(([3, -1, 2],), ([-1, -2, 3],), flavours=("static", "traced"), error_ok=codes.TRUTH)
def filter_of_run_time_values(items):
    return list(filter(lambda v: v > 0, items))


@case(([3, -1, 2],), ([-1, -2, 3],), flavours=("static", "traced"))
def iterators(items):
    it = iter(items)
    first = next(it)
    pairs = list(zip(items, itertools.count(1)))
    numbered = dict(enumerate(items, start=1))
    return first, list(it), next(it, -1), pairs, numbered, list(reversed(items))


@case(([1, 2, 3, 4],), ([4, 3, 2, 1],), flavours=("static", "traced"))
def itertools_helpers(items):
    total = 0
    for a, b in itertools.pairwise(items):
        total = total + a * b
    for a, b in itertools.product(items[:2], repeat=2):
        if a > b:
            total = total + 1
    sums = list(itertools.accumulate(items, lambda p, q: p + q if p > q else q))
    return total, sums, list(itertools.chain(items, [0]))


@case(([1, 2, 3],), ([4, 5, 6],), flavours=("static", "traced"))
def containers_of_containers(items):
    return list(items), tuple(items), dict(zip("abc", items)), len(items), [*items, *items]


@case((1.0,), (2.0,))
def lengths(x):
    class Sized:
        def __len__(self):
            return 3 if True else 0

    return len(jnp.zeros((4, 2)) + x), len([x]), len("ab"), len(Sized()), len({"a": x})


@case((1.0,), (2.0,))
def length_of_a_number(x):
    return len(jnp.asarray(x))


@case(("12",), ("x",), flavours=("static",))
def text_to_number(s):
    return int(s, 16), int(s)


@case((3,), (4,))
def reduce_with_a_condition(n):
    return functools.reduce(lambda a, b: a if a > b else b, [1, n, 2], 0)


@case((3,), (-4,))
def getattr_and_friends(n):
    item = Item(n)
    setattr(item, "weight", getattr(item, "weight") + 1)
    has = hasattr(item, "weight"), hasattr(item, "nothing")
    return item.weight, has, isinstance(item, Item), callable(item), type(item).__name__


# --- recursion -----------------------------------------------------------------------------------


@case((3,), (6,), flavours=("static",))
def mutual_recursion(n):
    def even(k):
        return True if k == 0 else odd(k - 1)

    def odd(k):
        if k == 0:
            return False
        return even(k - 1)

    return even(n), odd(n)


@case(([1, [2, [3, 4]], 5],), ([[[1]]],), flavours=("static", "traced"), error_ok=codes.KIND)
def recursion_over_a_structure(tree):
    def total(t):
        if isinstance(t, list):
            s = 0
            for part in t:
                s = s + total(part)
            return s
        return t * 2 if t > 2 else t

    return total(tree)


# --- what a converted function looks like --------------------------------------------------------


@case((1.0,), (2.0,), flavours=("static",))
def looks_of_an_inner_function(x):
    def f(a: int, /, b: float = 2.0, *, c: "str" = "z") -> None:
        """One line.

        And more.
        """
        if a > 0:
            return b

    return f.__name__, f.__doc__, f.__defaults__, f.__kwdefaults__, f.__annotations__, f(x)


# -- rules that hold the function they are of ------------------------------------------------------


@case((1.5,), (-2.0,), modes=STAGED_INSIDE)
def own_rule_by_defjvps(x):
    return tripled_slope(x), jax.grad(tripled_slope)(x)


@case((1.5,), (-2.0,), grad=True)
def activations_by_other_names(x):
    for act in (jax.nn.relu, jnp.tanh, jax.nn.relu6):
        x = act(x + 1)
    return x


@case((jnp.array([1.5, -2.0]),), (jnp.array([-1.5, 2.0]),), modes=STAGED_INSIDE)
def activations_handed_on(x):
    return jax.tree.map(jax.nn.relu, {"a": x}), jax.vmap(jax.nn.relu)(x)
