"""What is changed and cannot be: each cause has its code, and names the variable and the line.

The line that the error must show ends with a comment, an arrow.
"""

from __future__ import annotations

import copy
import inspect
import sys
import types
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

import d2s

V, X, N = jnp.float32(1), jnp.arange(3.0), jnp.int32(1)
HERE = types.ModuleType("names")
OUTSIDE = jnp.zeros(3)
HELD = np.zeros(3)
LIST = []
CASES = []


def case(code, *parts, args=(V,), way=d2s.to_static):
    """A function that is refused with a code, and what its error must say."""

    def add(function):
        CASES.append(pytest.param(function, code, parts, args, way, id=function.__name__))
        return function

    return add


class Box:
    def __init__(self, n=0.0):
        self.n, self.log = n, []


# -- D2S024: changed where the change would be lost -----------------------------------------------


@case("D2S074", "`seen`")
def a_set_in_a_branch(x):
    seen = set()
    if x > 0:
        seen.add("positive")  # <-
    return len(seen)


@case("D2S074", "`box.n`", args=(X,))
def a_set_in_a_loop(xs):
    box = Box(set())
    for v in xs:
        if v > 0:
            box.n.add("positive")  # <-
    return len(box.n)


# -- D2S070: other names and views ----------------------------------------------------------------


@case("D2S070", "`y`", "(line ", "x.copy()", args=(X,))
def another_name(x):
    y = x
    x[0] = 5.0
    return y + 1  # <-


@case("D2S070", "`row`", "(line ", args=(jnp.ones((2, 2)),))
def a_view_is_written(x):
    row = x[0]
    row[0] = 5.0  # <-
    return x


@case("D2S070", "`x`", args=(X,))
def rows_of_what_is_written(x):
    for v in x:  # <-
        x[0] = v
    return x


@case("D2S070", "`a`", "`b`")
def numpy_with_two_names(v):
    a = np.zeros(3)
    b = a
    a[0] = v  # <-
    return b


@case("D2S070", "`a`")
def jax_array_with_two_names(v):
    a = jnp.zeros(3)
    l = [a]
    a[0] = v  # <-
    return l


@case("D2S070", "`c`")
def may_be_another(v):
    a, c = jnp.ones(3), jnp.zeros(3)
    if v > 0:
        c = a
    c[0] = 4.0  # <-
    return a


@case("D2S070", "`row`", args=(jnp.ones((2, 2)),))
def a_view_gets_a_new_value(x):
    x[0, 0] = 2.0
    row = x[0]
    row += 1.0  # <-
    return x


# -- D2S071: arrays from outside ------------------------------------------------------------------


@case("D2S071", "`x`", "jnp.array(x)", args=(np.zeros(3),))
def an_argument_of_numpy(x):
    x[0] = 5.0  # <-
    return x


@case("D2S070", "`x`")
def a_global_jax_array(v):
    x = OUTSIDE
    x[0] = v  # <-
    return x


class Shared:
    table = jnp.zeros(3)


@case("D2S071", "`x`", "jnp.array(x)")
def an_array_of_a_class(v):
    x = Shared.table
    x[0] = v  # <-
    return x


@case("D2S071", "`HELD`")
def a_global_numpy_array(v):
    HELD[0] = v  # <-
    return v


@case("D2S071", "`HELD.shape`")
def the_shape_of_a_global_array(v):
    HELD.shape = 3, 1  # <-
    return v


# -- D2S072: NumPy in place -----------------------------------------------------------------------


@case("D2S072", "np.copyto", "x.at[...].set", args=(X,))
def copyto(x):
    np.copyto(x, x)  # <-
    return x


@case("D2S072", "`out=`", "np.add", args=(X,))
def out(x):
    total = np.zeros(3)
    np.add(x, 1, out=total)  # <-
    return total


@case("D2S072", "np.add.at", "x.at[indices].add", args=(X,))
def ufunc_at(x):
    np.add.at(x, [0], 1)  # <-
    return x


@case("D2S072", "np.nan_to_num", "x = np.nan_to_num(x)", args=(X,))
def without_a_copy(x):
    np.nan_to_num(x, copy=False)  # <-
    return x


@case("D2S072", "`x.sort()`", "jnp.sort", args=(X,))
def sort(x):
    x.sort()  # <-
    return x


@case("D2S072", "`a`", "a = a + x")
def added_in_place(v):
    def add(a, x):
        a += x  # <-
        return a

    return d2s.do_not_convert(add)(np.zeros(3), v)


@case("D2S072", "`names`", "object")
def array_of_objects(v):
    names = np.array(["a", None], dtype=object)
    names[0] = v  # <-
    return v


@case("D2S072", "`a.flat`")
def through_flat(v):
    a = np.zeros((2, 2))
    a.flat[1] = v  # <-
    return a


@case("D2S072", "`a`", args=(np.arange(3), X))
def values_that_do_not_fit(a, x):
    a += x  # <-
    return a


# -- D2S073: no place for the new array -----------------------------------------------------------


@case("D2S073", "no name", args=(X,))
def without_a_name(x):
    x.copy()[0] = 1.0  # <-
    return x


@case("D2S073", "`pair[0]`", "tuple", args=(X,))
def in_a_tuple(x):
    pair = (x, 1.0)
    pair[0][0] = 1.0  # <-
    return pair


# -- D2S074: entries that depend on a run-time value ----------------------------------------------


@case("D2S074", "the list `items`", "counter", args=(N,))
def grows_in_a_while(n):
    items = []
    while n > 0:
        items.append(n)  # <-
        n = n - 1
    return len(items)


@case("D2S074", "the object `box`")
def an_attribute_on_one_side(x):
    box = Box()
    if x > 0:
        box.late = 1.0  # <-
    return box.n


@case("D2S074", "the dict `d`", "another order")
def another_order(x):
    d = {}
    if x > 0:  # <-
        d["a"], d["b"] = x, 1.0
    else:
        d["b"], d["a"] = x, 1.0
    return list(d)


# -- D2S075: failures -----------------------------------------------------------------------------


@case("D2S075", "the list `LIST`")
def appended_after_a_check(x):
    if x < 0:
        raise ValueError("negative")
    LIST.append(x)  # <-
    return x


@case("D2S075", "the list `items`")
def appended_before_a_failure(x):
    items = []
    try:
        items.append(x)
        if x > 0:
            raise ValueError("positive")
        items.append(2.0)  # <-
    except ValueError:
        pass
    return items


@case("D2S075", "the list `items`", args=(X,))
def a_loop_that_may_fail(xs):
    items = []
    try:
        for v in xs:
            if v > 5:
                raise ValueError("large")
            items.append(v)  # <-
    except ValueError:
        pass
    return items


@case("D2S075", "the list `LIST`", args=(X,))
def a_loop_whose_caller_sees_the_list(xs):
    for v in xs:
        if v > 5:
            raise ValueError("large")
        LIST.append(v)  # <-
    return xs


# -- D2S076: lists that loops append to -----------------------------------------------------------


@case("D2S076", "`items`", "in a variable", args=(X,))
def read_in_the_loop(xs):
    items, total = [], 0.0
    for v in xs:
        items.append(v)
        total = total + sum(items)  # <-
    return total


@case("D2S076", "`box.log`", args=(X,))
def read_by_way_of_an_object(xs):
    box = Box()
    for v in xs:
        box.log.append(v)
        box.n = box.n + len(list(box.log))  # <-
    return box.n


@case("D2S076", "`items`", args=(X,))
def in_a_tuple_too(xs):
    items = []
    pair = (items, 1)
    for v in xs:  # <-
        items.append(v)
        pair[0]
    return pair


# -- D2S077: chosen by a run-time value -----------------------------------------------------------


@case("D2S077", "the list `items`")
def another_name_of_a_chosen_list(x):
    items = [x, 1.0]
    same = items
    if x > 0:
        items = [1.0, x]
    items.append(2.0)  # <-
    return same


@case("D2S077", "`items`", way=lambda f: jax.jit(d2s.convert(f)))
def outside_a_static_function(x):
    items = [x, 1.0]
    same = items
    if x > 0:  # <-
        items = [1.0, x]
    return same, items


@case("D2S077", "`last`", args=(X,))
def carried_and_changed(xs):
    last = [0.0]
    for v in xs:
        last.append(v)  # <-
        last = [v]
    return last


class Swarm:
    def __init__(self):
        self.all = [Box(0.0), Box(1.0)]
        self.best = self.all[0]

    def elect(self, x):
        for one in self.all:
            if one.n > x:
                self.best = one
        return x

    def reward(self, x):
        self.best.n = self.best.n + x
        return x


def test_what_an_earlier_call_has_chosen():
    swarm = Swarm()
    d2s.to_static(swarm.elect)(V)
    with pytest.raises(d2s.Error) as caught:
        d2s.to_static(swarm.reward)(V)
    assert caught.value.code == "D2S077"
    assert "`swarm.best`" in caught.value.what and "copy.copy" in caught.value.fix


# -- D2S078: transformations ----------------------------------------------------------------------


BOX = Box()


@case("D2S078", "`BOX.n`", "jax.vmap", args=(X,), way=lambda f: jax.vmap(d2s.to_static(f)))
def a_static_function_under_vmap(x):
    BOX.n = x  # <-
    return x


@case("D2S078", "`BOX.n`", args=(X,))
def changed_inside_vmap(xs):
    def one(x):
        BOX.n = x  # <-
        return x

    return jax.vmap(one)(xs)


# -- D2S079: ways that cannot be followed ---------------------------------------------------------


def helper():
    return HELD


@case("D2S079", "`__globals__`")
def globals_of_a_function(x):
    return helper.__globals__["HELD"][0] * x  # <-


@case("D2S079", "`exec`")
def exec_with_globals(x):
    exec("HELD = 3", globals())  # <-
    return x


@case("D2S079", "all global names")
def names_cleared(x):
    globals().clear()  # <-
    return x


@case("D2S079", "`eval`")
def function_in_eval(x):
    return eval("lambda: HELD", globals())() * x  # <-


class Node:
    def __init__(self):
        self.me = self
        self.v = 1.0


def test_a_weak_reference():
    node = Node()
    weak = weakref.ref(node)

    def f(x):
        return weak().v * x  # <-

    with pytest.raises(d2s.Error) as caught:
        d2s.to_static(f)(V)
    assert caught.value.code == "D2S079" and "`weak`" in caught.value.what
    assert caught.value.site.line == line_of(f)


# -- D2S080: outside ------------------------------------------------------------------------------


class Counted:
    count = 0


@case("D2S080", "Counted")
def an_attribute_of_a_class(x):
    Counted.count += 1  # <-
    return x


def count():
    Counted.count += 1


def test_the_line_may_be_in_another_function():
    with pytest.raises(d2s.Error) as caught:
        d2s.to_static(lambda x: (count(), x)[1])(V)
    assert caught.value.code == "D2S080" and "`Counted.count`" in caught.value.what
    assert caught.value.site.line == inspect.getsourcelines(count)[1] + 1


def test_a_local_object_that_a_transformation_changes():
    def f(xs):
        box = Box()

        def one(x):
            box.n = x
            return x

        return jax.vmap(one)(xs), box.n

    with pytest.raises(d2s.Error) as caught:
        d2s.to_static(f)(X)
    assert caught.value.code == "D2S078" and "jax transforms" in caught.value.what


@case("D2S080", "`helper.calls`")
def an_attribute_of_a_function(x):
    helper.calls = 1  # <-
    return x


@case("D2S080", "`N`")
def a_name_of_a_module(x):
    sys.modules[__name__].N = x  # <-
    return x


class Other(Box):
    pass


@case("D2S080", "`BOX.__class__`", "Box")
def the_class_of_an_object(x):
    BOX.__class__ = Other  # <-
    return x


class Plain(nnx.Module):
    def __init__(self):
        self.n = 0


@case("D2S080", "`model.n`", "nnx.data", args=(Plain(), X))
def a_constant_of_flax(model, x):
    model.n = x.sum()  # <-
    return x


# -- D2S081: references ---------------------------------------------------------------------------

REF = jax.new_ref(jnp.zeros(3))


class Holder:
    shared = jax.new_ref(jnp.zeros(3))


@case("D2S081", "`REF`", "fori_loop")
def handed_on(x):
    return jax.lax.fori_loop(0, 3, lambda i, r: r, REF)  # <-


@case("D2S081", "`REF.sharding`")
def asked_for_more(x):
    return x + len(str(REF.sharding))  # <-


@case("D2S081", "class")
def of_a_class(x):
    Holder.shared[0] += x  # <-
    return x


@case("D2S081", "memory space", "jax.new_ref(value)")
def with_a_memory_space(x):
    ref = jax.new_ref(x, memory_space="hbm")  # <-
    return ref[...]


def line_of(function):
    lines, first = inspect.getsourcelines(function)
    (found,) = [first + n for n, line in enumerate(lines) if line.rstrip().endswith("# <-")]
    return found


@pytest.mark.filterwarnings("ignore:Setting the shape:DeprecationWarning")  # NumPy 2.5
@pytest.mark.parametrize(("function", "code", "parts", "args", "way"), CASES)
def test_the_code_the_variable_and_the_line(function, code, parts, args, way):
    with pytest.raises(d2s.Error) as caught:
        way(function)(*copy.copy(args))
    error = caught.value
    assert error.code == code
    assert error.fix
    for part in parts:
        assert part in error.what or part in error.fix, part
    assert error.site.line == line_of(function)
