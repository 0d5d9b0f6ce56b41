"""Programs around scopes: `global`, classes, imports and functions inside functions."""

# ruff: noqa: F821, F722, F823, F842

import functools

import jax.numpy as jnp

from . import codes
from .harness import case

COUNT = 0
TABLE = {"k": 1}
MISSING_LATER = 5


# --- global --------------------------------------------------------------------------------------


@case((1.0,), (-1.0,))
def reads_a_declared_name(x):
    global COUNT
    if x > COUNT:
        return x
    return COUNT - x


@case((1,), (2,), error_ok=codes.EFFECT)
def writes_a_global(n):
    global COUNT
    COUNT = COUNT + n
    return COUNT


@case((1,), (2,), error_ok=codes.EFFECT)
def writes_a_constant_to_a_global(n):
    global COUNT
    COUNT = 10
    return n


@case((1,), (-2,), error_ok=codes.EFFECT)
def writes_a_global_under_a_condition(n):
    global COUNT
    if n > 0:
        if n > -5:
            COUNT = 7
    return COUNT + n


@case((2,), (0,), error_ok=codes.EFFECT)
def writes_a_global_in_a_loop(n):
    global COUNT
    for i in range(n):
        COUNT = COUNT + i + 1
    return COUNT


@case((1,), (-1,), error_ok=codes.EFFECT)
def global_before_an_exception(n):
    global COUNT
    try:
        COUNT = 10
        if n < 0:
            raise ValueError("negative")
        COUNT = 20
    except ValueError:
        n = COUNT
    return n, COUNT


@case((1,), (-1,), error_ok=codes.EFFECT)
def global_left_by_an_exception(n):
    global COUNT
    COUNT = 10
    if n < 0:
        raise ValueError("negative")
    return n


@case((1,), (2,))
def global_declared_in_a_branch(n):
    if n is None:
        global COUNT
        COUNT = 1
    return n + COUNT


@case((1,), (2,), error_ok=codes.EFFECT)
def deletes_a_global(n):
    global MISSING_LATER
    kept = MISSING_LATER
    del MISSING_LATER
    try:
        MISSING_LATER
    except NameError as e:
        n = n + len(str(e))
    MISSING_LATER = kept
    return n


@case((1,), (2,), error_ok=codes.EFFECT)
def inner_function_writes_a_global(n):
    def inner():
        global COUNT
        COUNT = n

    inner()
    return COUNT


@case((1,), (2,), flavours=("static",))
def same_name_global_and_local(n):
    def inner():
        COUNT = n + 100
        return COUNT

    return inner(), COUNT


@case((1,), (2,))
def builtin_names_may_be_hidden(n):
    def len(x):
        return 40 + n

    max = 5
    return len([1]), max


# --- classes inside ------------------------------------------------------------------------------


@case((1.0,), (-1.0,))
def class_with_control_flow_in_methods(x):
    class Gate:
        def __init__(self, low):
            self.low = low

        def __call__(self, v):
            if v > self.low:
                return v * 2
            return self.low

    return Gate(0.5)(x) + Gate(-3.0)(x)


@case((3,), (-3,))
def class_body_with_control_flow(n):
    class Made:
        total = 0
        for k in range(3):
            if k == 1:
                continue
            total += k
        else:
            done = True
        try:
            other = missing
        except NameError:
            other = 5
        while total < 10:
            total += 4
        with_n = n

    return Made.total, Made.done, Made.other, Made.with_n, Made.k


@case((3.0,), (-3.0,), error_ok=codes.TRUTH)
def run_time_condition_in_a_class_body(x):
    class Made:
        if x > 0:
            y = 1
        else:
            y = 2

    return Made.y


@case((1.0,), (-1.0,))
def super_in_a_local_class(x):
    class Base:
        def f(self, v):
            if v > 0:
                return v + 1
            return v - 1

        @classmethod
        def g(cls, v):
            return cls.__name__, v

    class Derived(Base):
        def f(self, v):
            if v > 5:
                return 0.0
            return super().f(v) * 2

        @classmethod
        def g(cls, v):
            return super().g(v)

        def h(self, v):
            return super(Derived, self).f(v) if v > 0 else super().f(-v)

    d = Derived()
    return d.f(x), d.h(x), Derived.g(x)[1]


@case((1,), (2,), flavours=("static",))
def super_in_inner_functions(n):
    class Base:
        def f(self):
            return n

    class Derived(Base):
        def f(self):
            def inner():
                return super(Derived, self).f()

            return inner() + (lambda: super(Derived, self).f())()

        def g(self):
            return [super(Derived, self).f() for _ in range(2)]

        def h(self):
            return __class__.__name__, type(super()).__name__

    return Derived().f(), Derived().g(), Derived().h()


@case((1,), (2,), flavours=("static",))
def super_inside_a_nested_function_fails_alike(n):
    class Base:
        def f(self):
            return n

    class Derived(Base):
        def f(self):
            def inner():
                return super().f()

            return inner()

    return Derived().f()


@case((1.0,), (-1.0,))
def properties_and_private_names(x):
    class Hidden:
        __scale = 3.0

        def __init__(self, v):
            self.__v = v

        @property
        def value(self):
            if self.__v > 0:
                return self.__v * self.__scale
            return self.__twice()

        @value.setter
        def value(self, v):
            self.__v = v + 1

        def __twice(self):
            __local = 2
            return self.__v * __local

        @staticmethod
        def plain(v):
            return v if v > 0 else -v

    h = Hidden(x)
    first = h.value
    h.value = x
    return first, h.value, Hidden.plain(x)


@case((1,), (2,), flavours=("static",))
def private_names_are_mangled(n):
    class Hidden:
        def __init__(self):
            self.__x = n
            for __k in range(2):
                self.__x = self.__x + __k

        def f(self, __y=5):
            __z = __y
            if __z > 3:
                __z = __z + 1
            return __z

    return vars(Hidden()), Hidden().f(_Hidden__y=2), Hidden().f()


@case((1.0,), (-1.0,))
def class_attributes_and_closures(x):
    scale = 2.0

    class Made:
        scale = 10.0

        def f(self):
            return scale * x

        g = lambda self: self.scale * x

    scale = 3.0
    return Made().f(), Made().g()


@case((1.0,), (-1.0,))
def class_in_a_branch(x):
    flag = True
    if flag:

        class Made:
            def f(self, v):
                return v if v > 0 else 0.0

    else:
        Made = None
    return Made().f(x)


@case((3,), (1,))
def class_in_a_loop(n):
    total = 0
    for k in (1, 2):

        class Made:
            value = k

            def f(self):
                return self.value + n + k

        total = total + Made().f()
    return total


@case((1,), (2,), flavours=("static",))
def decorated_and_derived_class(n):
    def named(cls):
        cls.name = cls.__name__.lower()
        return cls

    class Meta(type):
        def __call__(cls, *args):
            made = super().__call__(*args)
            made.built = len(args)
            return made

    @named
    class Made(dict, metaclass=Meta):
        def __init__(self, v):
            super().__init__(v=v)
            if v > 1:
                self["big"] = True

        def __missing__(self, key):
            return key * 2

    m = Made(n)
    return m["v"], m.get("big"), m["ab"], m.built, m.name


@case((1.0,), (-1.0,), error_ok=codes.OBJECTS)
def operators_of_a_local_class(x):
    class Signed:
        def __init__(self, v):
            self.v = v

        def __add__(self, other):
            if other.v > 0:
                return Signed(self.v + other.v)
            return Signed(self.v - other.v)

        def __bool__(self):
            return True

        def __getitem__(self, k):
            return self.v * k

    s = Signed(x) + Signed(x * 2)
    return s.v, s[3], 1 if s else 2


@case((1,), (2,), flavours=("static",))
def class_reads_unbound_and_outer_names(n):
    k = n

    class Made:
        a = k
        try:
            b = later
        except NameError as e:
            b = type(e).__name__

    later = 3
    return Made.a, Made.b, later


# --- imports inside ------------------------------------------------------------------------------


@case((1.0,), (-1.0,))
def imports_inside(x):
    import math
    import os.path as path
    from functools import partial
    from functools import reduce as fold

    if x > 0:
        y = x * math.pi
    else:
        y = x
    return y, fold(lambda a, b: a + b, [1, 2]), partial(pow, 2)(3), path.sep


@case((True, 1.0), (False, 1.0), keep=(0,))
def import_in_a_static_branch(flag, x):
    if flag:
        import math

        x = x * math.e
    else:
        from math import tau

        x = x * tau
    return x


@case((1.0,), (-1.0,))
def import_in_a_run_time_branch(x):
    if x > 0:
        import math

        y = x * math.pi
    else:
        from math import tau as circle

        y = x * circle
    return y


@case((1,), (2,), flavours=("static",))
def import_that_fails(n):
    try:
        import no_such_module_anywhere
    except ImportError as e:
        return n, type(e).__name__, e.name
    return no_such_module_anywhere


@case((1,), (2,))
def import_in_a_loop(n):
    total = 0
    for k in range(2):
        from math import floor

        total = total + floor(k + 0.5) + n
    return total


# --- functions inside ----------------------------------------------------------------------------


@case((1.0,), (-1.0,))
def functions_in_both_branches(x):
    flag = "a"
    if flag == "a":

        def f(v):
            return v + 1 if v > 0 else v

    else:

        def f(v):
            return v

    return f(x)


@case((1.0,), (-1.0,), error_ok=codes.STATIC_VALUES)
def functions_chosen_at_run_time(x):
    if x > 0:

        def f(v):
            return v + 1

    else:

        def f(v):
            return v - 1

    return f(x)


@case((3,), (0,))
def nonlocal_through_two_levels(n):
    total = 0

    def outer():
        def inner(k):
            nonlocal total
            if k > 0:
                total = total + k

        for k in range(n):
            inner(k)

    outer()
    return total


@case((1.0,), (-1.0,))
def decorators_inside(x):
    def twice(f):
        @functools.wraps(f)
        def run(*args, **kwargs):
            return f(f(*args, **kwargs))

        return run

    def plus(k):
        def deco(f):
            return lambda v: f(v) + k

        return deco

    @plus(10)
    @twice
    def f(v):
        if v > 0:
            return v * 2
        return v - 1

    return f(x)


@case((1,), (2,), flavours=("static",))
def attributes_of_functions(n):
    def f():
        f.calls = getattr(f, "calls", 0) + 1
        return f.calls

    f()
    return f(), f.__name__, f.__qualname__.rpartition(".")[2], n


@case((3,), (0,), flavours=("static",))
def generator_inside(n):
    def count(k):
        for i in range(k):
            if i == 1:
                continue
            got = yield i
            if got:
                return got

    g = count(5)
    first = next(g)
    return first, [*count(n)], sum(count(4)), g.send(None)


@case((4,), (0,), error_ok=codes.ITERATOR)
def generator_as_a_loop_source(n):
    def count():
        for k in (1, 2, 3):
            yield k * n

    total = 0
    for k in count():
        if k > 6:
            break
        total = total + k
    return total


@case((4,), (0,))
def lambda_defaults_and_stars(n):
    f = lambda a, /, b=2, *c, d=n, **e: (a, b, c, d, sorted(e))
    return f(1), f(1, 3, 4, d=5, z=6)


@case((1.0,), (-1.0,))
def annotations_are_not_run(x):
    y: missing = x
    z: "also missing"
    w: int

    def f(v: int = 3) -> float:
        u: alsomissing = v
        return u

    if x > 0:
        y: float = y + 1
    return y, f(), f.__annotations__["v"].__name__


@case((1,), (2,), flavours=("static",))
def declared_but_never_bound(n):
    z: int
    try:
        return z
    except UnboundLocalError as e:
        return str(e), n


@case((1.0,), (2.0,))
def comprehension_names_are_their_own(x):
    k = x
    a = [k for k in range(3)]
    b = {k: v for k, v in zip(a, a)}
    c = {k for k in (1,)}
    d = list(k for k in "ab")
    for _ in range(2):
        e = [k * x for k in (1, 2)]
    return k, a, b, c, d, e


@case((3,), (0,), flavours=("static",))
def iteration_variable_of_a_closure(n):
    fs = [lambda: i for i in range(n)]
    gs = [lambda i=i: i for i in range(n)]
    return [f() for f in fs], [g() for g in gs]


@case((1.0,), (-1.0,), error_ok=codes.STRUCTURE)
def names_of_the_machinery(x):
    d2s = get_state = loop_body = then_2 = else_2 = broke_2 = result = returned = x
    for body_2 in range(3):
        if d2s > 0:
            then_2 = then_2 + 1
        if body_2 == 1:
            break
    if x > 0:
        return result + returned + jnp.abs(d2s)
    return get_state, loop_body, then_2, else_2, broke_2


# --- names that only unreachable code binds: local, and without a value --------------------------


@case((1.0,), (-1.0,))
def bound_after_a_return(x):
    if x > 0:
        return COUNT
    return x
    COUNT = 2


@case((0,), (3,))
def bound_after_a_continue(n):
    while n > 1:
        n -= 1
        continue
        COUNT = n
    return COUNT + n


@case((0,), (3,))
def captured_and_bound_after_a_break(n):
    for _ in range(n):
        break
        COUNT = n

    def read():
        return COUNT

    return read()


@case((1.0,), (-1.0,))
def bound_after_both_sides_left(x):
    def read():
        return x if x > 5 else COUNT

    if x > 0:
        raise KeyError
    else:
        return read()
    for COUNT in range(3):
        pass


@case((0,), (3,))
def bound_after_an_endless_loop(n):
    while True:
        n += 1
        if n > 2:
            return COUNT
    COUNT: int


COUNTED = 1


@case((1.0,), (-1.0,))
def declared_where_nothing_reaches(x):
    if x > 0:
        return COUNTED + x
    raise ValueError

    def inside():
        COUNTED = 2
        return COUNTED
