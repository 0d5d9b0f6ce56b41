"""Programs around `if`, `elif` and `else`."""

import jax.numpy as jnp

from . import codes
from .harness import case

LIMIT = 2.0
EMPTY: list[float] = []


@case((1.0,), (-1.0,), grad=True, vmap=True)
def one_variable(x):
    if x > 0:
        x = x * 2.0
    return x


@case((1.0,), (-1.0,), grad=True, vmap=True)
def one_variable_both_sides(x):
    if x > 0:
        y = x * x
    else:
        y = -x
    return y


@case((1.0, 2.0), (-1.0, 2.0), (3.0, -2.0), grad=True, vmap=True)
def two_variables(a, b):
    if a > b:
        a, b = b, a
    return a, b


@case((1.0, 2.0), (5.0, 2.0))
def two_variables_both_sides(a, b):
    if a < b:
        low = a
        high = b
    else:
        low = b
        high = a
    return {"low": low, "high": high, "spread": high - low}


@case((1.0,), (-1.0,))
def no_outputs(x):
    if x > 0:
        x * 2
    else:
        pass
    return x + 1


@case((1.0,), (-1.0,))
def no_outputs_and_no_else(x):
    if x > 0:
        pass
    return x


@case((1.0,), (2.0,))
def created_in_if_only_and_taken(x):
    if x > 0:
        y = x + 1
    return y


@case((1.0,), (-1.0,), error_ok=codes.UNBOUND)
def created_in_if_only(x):
    if x > 0:
        y = x + 1
    return y


@case((-1.0,), (1.0,), error_ok=codes.UNBOUND)
def created_in_else_only(x):
    if x > 0:
        x = x - 1
    else:
        made = x * 3
    return made + x


@case((1.0,), (-1.0,), error_ok=codes.UNBOUND)
def unbound_read_under_the_same_condition(x):
    if x > 0:
        y = x + 1
    if x > 0:
        x = y * 2
    return x


@case((True,), (False,), keep=(0,))
def created_under_a_static_flag(flag):
    if flag:
        y = 1
    return y


@case((1.0,), (-1.0,), error_ok=codes.STATIC_VALUES)
def none_on_one_side(x):
    y = x
    other = 1.0
    if x > 0:
        y = None
        other = x
    return y, other


@case((1.0,), (-1.0,))
def none_on_both_sides(x):
    y = x
    if x > 0:
        y = None
        z = 1
    else:
        y = None
        z = 2
    return y, z


@case((1.0, True), (1.0, False), keep=(1,))
def none_by_a_static_flag(x, flag):
    bias = None
    if flag:
        bias = x + 1
    if bias is not None:
        x = x + bias
    return x


@case((1.0,), (-1.0,))
def local_of_a_branch_is_no_output(x):
    if x > 0:
        t = x * 3
        u = t + 1
        x = t * u
    return x


@case((1.0,), (-1.0,))
def local_of_both_branches(x):
    if x > 0:
        t = x * 3
        y = t
    else:
        t = (x, x + 1)
        y = t[0] * t[1]
    return y


@case((1.0,), (-1.0,))
def dead_afterwards(x):
    y = 0.0
    if x > 0:
        y = x * 2
        x = y + 1
    y = 5.0
    return x + y


@case((1.0,), (-1.0,), (0.0,), grad=True)
def successive_with_the_same_names(x):
    y = x
    if x > 0:
        y = y * 2
    if y > 1:
        y = y + x
    else:
        x = x - 1
    if x < 0:
        y = x * y
    return x, y


@case((1.0, 1), (-1.0, 1), (1.0, -1), (-1.0, -1), grad=True, vmap=True)
def four_leaves(x, n):
    if x > 0:
        if n > 0:
            y = x * 2
        else:
            y = x * 3
    else:
        if n > 0:
            y = x * 5
        else:
            y = x * 7
    return y


@case((1.0, True), (-1.0, True), (1.0, False), keep=(1,))
def static_and_traced_conditions(x, flag):
    y = x
    if flag:
        if x > 0:
            y = y + 10
    if x > 0:
        if flag:
            y = y * 2
        else:
            y = y * 3
    return y


@case((1.0,), (3.0,), (-1.0,), grad=True)
def inner_depends_on_outer_write(x):
    limit = 0.0
    if x > 0:
        limit = x - 2
        if limit > 0:
            x = x * limit
    return x + limit


@case((1.0, 2), (-1.0, 2), (1.0, 9))
def inner_writes_two_outer_variables(x, n):
    a = b = 0.0
    if x > 0:
        if n > 5:
            a, b = x, x + 1
        a = a + 1
    return a, b


@case(0, 1, 2, 3, 7, vmap=True)
def elif_chain_on_one_integer(n):
    if n == 0:
        y = 10
    elif n == 1:
        y = 11
    elif n == 2:
        y = 12
    elif n == 3:
        y = 13
    else:
        y = -1
    return y


@case((0.5,), (1.5,), (2.5,), (-1.0,), grad=True)
def elif_chain_of_intervals(x):
    if x < 0:
        y = -x
    elif x < 1:
        y = x * x
    elif x < 2:
        y = 3 * x
    else:
        y = x + LIMIT
    return y


@case((0.5,), (1.5,), (-1.5,))
def elif_without_else(x):
    y = 0.0
    if x > 1:
        y = x
    elif x < -1:
        if x > -2:
            y = -x
        elif x > -3:
            y = x * x
    return y


@case((jnp.array([1.0]),), (jnp.array([-1.0]),), (jnp.array([0.0]),))
def one_element_array_as_test(x):
    if x > 0:
        return x + 1
    return x - 1


@case((jnp.array([[3]]),), (jnp.array([[0]]),))
def integer_array_as_test(n):
    if n:
        n = n * 2
    else:
        n = n - 1
    return n


@case(0, 3, -2)
def integer_truth(n):
    if n:
        return n + 1
    return 100


@case(0.0, 0.25, float("nan"))
def float_truth(x):
    if x:
        return 1
    return 2


@case((jnp.array([1.0, 2.0]),), (jnp.array([0.0, 1.0]),), error_ok=codes.MULTI_ELEMENT_TEST)
def test_with_two_elements(x):
    if x.sum() > 0:
        if x > 0:
            return x
    return x


@case((1.0, "a"), (1.0, ""), (2.0, None), (2.0, "a"))
def static_truth_of_other_objects(x, s):
    if s:
        x = x + 1
    if not EMPTY:
        x = x * 3
    if [0]:
        x = x - 1
    if s is None or s == "":
        x = -x
    return x


@case((1.0, 2), (-1.0, 2), error_ok=codes.LOSSY_JOIN)
def int_joins_float(x, n):
    y = n
    if x > 0:
        y = 0.5
    return y * 2


@case((1.0,), (-1.0,), error_ok=codes.LOSSY_JOIN)
def large_int_joins_float(x):
    a = 123456789
    if x > 0:
        a = 1.5
    return a % 10


@case((1.0,), (-1.0,), error_ok=codes.STRUCTURE)
def structure_differs(x):
    if x > 0:
        y = (x, x)
    else:
        y = [x, x, x]
    return y


@case((jnp.arange(3.0),), (-jnp.arange(3.0),), error_ok=codes.SHAPE)
def shape_differs(x):
    y = x
    if x.sum() > 0:
        y = x[:2]
    return y


@case((1.0,), (-1.0,))
def nested_structure(x):
    state = {"z": (x, [x + 1]), "a": {"k": x}}
    if x > 0:
        state = {"z": (x * 2, [x]), "a": {"k": x - 1}}
    return state


@case((1.0,), (-1.0,), error_ok=codes.STRUCTURE)
def dict_keys_in_another_order(x):
    if x > 0:
        d = {"b": x, "a": 1.0}
    else:
        d = {"a": 2.0, "b": x}
    return "".join(d), d


@case((1.0,), (-1.0,), error_ok=codes.STATIC_VALUES)
def string_differs(x):
    if x > 0:
        name = "positive"
    else:
        name = "negative"
    return name


@case((1.0,), (-1.0,))
def string_agrees(x):
    name = "start"
    if x > 0:
        name = "end"
        y = 1
    else:
        name = "end"
        y = 2
    return name, y


@case((1.0, 2.0), (-1.0, 2.0))
def names_that_clash(body_3, state):
    then_2 = body_3
    d2s = 1.0
    test_5 = 0.0
    if body_3 > 0:
        then_2 = state
        d2s = d2s + then_2
    else:
        else_5 = state * 2
        test_5 = else_5
    return then_2, d2s, test_5, state


@case((1.0,), (-1.0,))
def own_function_is_called_cond(x):
    def cond(p):
        return p * 3

    def while_loop(p):
        return p + 1

    if x > 0:
        x = cond(x)
    else:
        x = while_loop(x)
    return x


@case((1.0, 2.0), (-1.0, 2.0))
def assignments_of_every_kind(x, z):
    a: float = 0.0
    b = c = x
    if x > 0:
        a += z
        b, (c, *rest) = z, (x, a, b)
        first: float
        first = rest[0]
    else:
        first, *others = (z, x)
        a -= others[0]
        b **= 2
    return a, b, c, first


@case((3, 1.0), (4, 1.0))
def modulo_condition(n, x):
    if n % 2 == 0:
        x /= 2
    else:
        x *= 3
    n //= 2
    return n, x


@case((1.0,), (-1.0,))
def bool_result(x):
    good = x > 5
    if x > 0:
        good = True
    return good


@case((True, 1.0), (False, 1.0))
def bool_argument(flag, x):
    if flag:
        x = x + 1
    return flag, x


@case((1.0,), (-1.0,))
def docstring_and_comments(x):
    """Nothing of this text matters."""
    # neither does this
    if x > 0:  # nor this
        "a string statement"
        x = x + 1
    return x


@case((jnp.arange(6.0).reshape(2, 3),), (-jnp.arange(6.0).reshape(2, 3),), grad=True)
def matrices(w):
    rows, columns = w.shape
    if columns > rows:
        w = w.T
    if w.sum() > 0:
        w = w @ w.T
    else:
        w = w @ w.T * 2.0
    return w


@case((1.0, None), (-1.0, None))
def default_when_none(x, scale):
    if scale is None:
        scale = 2.0
    if x > 0:
        x = x * scale
    return x


@case((0.0,), (1.0,), (-1.0,), grad=True)
def untaken_branch_would_be_nan(x):
    if x > 0:
        y = jnp.log(x)
    else:
        y = x * 2.0
    return y
