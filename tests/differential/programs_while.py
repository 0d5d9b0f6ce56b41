"""Programs around `while`."""

import jax.numpy as jnp

from . import codes
from .harness import case


@case(5, 0, 12, vmap=True)
def one_variable(n):
    while n > 3:
        n = n - 2
    return n


@case((0.0, 5), (1.0, 0), (2.0, -3), vmap=True)
def two_variables(x, n):
    k = 0
    while k < n:
        x = x + k
        k += 1
    return x, k


@case((6,), (27,), (1,))
def collatz(n):
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


@case((2.0,), (9.0,), (0.25,))
def newton(a):
    x = a
    step = 0
    while abs(x * x - a) > 1e-3 and step < 30:
        x = (x + a / x) / 2
        step = step + 1
    return x


@case((48, 18), (7, 13), (5, 0))
def gcd(a, b):
    while b:
        a, b = b, a % b
    return a


@case((1.0,), (4.0,))
def static_test_and_array_state(x):
    k = 0
    while k < 3:
        x = x * 2
        k = k + 1
    return x, k


@case((1.0,), (4.0,), grad=True)
def static_trip_count_with_gradient(x):
    k = 0
    y = x
    while k < 3:
        y = y * x + k
        k += 1
    return y


@case((3, 2.0), (0, 2.0))
def successive_loops_share_names(n, x):
    i = 0
    while i < n:
        x = x + i
        i += 1
    i = 0.5
    while i < x:
        i = i * 2
    return i, x


@case((3, 2), (0, 4), (2, 0))
def nested(n, m):
    total = 0
    i = 0
    while i < n:
        j = 0
        while j < m:
            total = total + i * j
            j += 1
        i += 1
    return total


@case((4,), (1,), (0,))
def nested_and_dependent(n):
    pairs = 0
    i = 0
    while i < n:
        j = i
        while j < n:
            pairs += j
            j += i + 1
        i += 1
    return pairs


@case((3,), (5,))
def created_inside_and_run(n):
    while n > 1:
        y = n * 2
        n -= 1
    return y


@case((3,), (0,), error_ok=codes.UNBOUND)
def created_inside_or_not(n):
    while n > 0:
        y = n
        n -= 1
    return y


@case((3,), (1,), error_ok=codes.UNBOUND)
def created_inside_as_structure(n):
    while n > 0:
        pair = (n, {"half": n / 2})
        n -= 1
    return pair


@case((3,), (2,), (0,))
def created_depends_on_itself(n):
    total = 0
    while n > 0:
        if total == 0:
            last = 1
        last = last + n
        total += last
        n -= 1
    return total


@case((2,), (0,))
def strings_and_objects_pass_through(n):
    name = "constant"
    f = jnp.sin
    total = 0.0
    while n > 0:
        total = total + f(n * 1.0)
        tag = name
        name = tag
        n -= 1
    return name, total


@case((2,), (1,), error_ok=codes.STATIC_VALUES)
def string_changes(n):
    name = "first"
    while n > 0:
        name = "later"
        n -= 1
    return name


@case((2,), (1,), error_ok=codes.STATIC_VALUES)
def becomes_none(n):
    y = 1.0
    while n > 0:
        y = None
        n -= 1
    return y


@case((5,), (2,), error_ok=codes.EFFECT)
def side_effect_in_the_test(n):
    asked = 0

    def more(k):
        nonlocal asked
        asked += 1
        return k > 0

    while more(n):
        n -= 2
    return n, asked


@case((1,), (3,))
def test_becomes_traced_after_two_rounds(x):
    a = b = False
    n = 0
    while not a:
        a = b
        b = x > 0
        n += 1
    return n


@case((2.5,), (0.5,))
def static_start_then_traced(x):
    total = 0
    go = True
    while go:
        total = total + x
        go = total < 4
    return total


@case((3, 0.5), (0, 0.5))
def int_start_joins_float(n, x):
    y = 0
    while n > 0:
        y = y + x
        n -= 1
    return y


@case((3,), (5,))
def chain_of_joins(n):
    a = b = c = 0
    while n > 0:
        c = b
        b = a
        a = a + 0.5
        n -= 1
    return a, b, c


@case((3,), (1,), error_ok=codes.SHAPE)
def shape_grows(n):
    v = jnp.zeros(1)
    while n > 0:
        v = jnp.concatenate([v, v])
        n -= 1
    return v


@case((3,), (1,), error_ok=codes.STRUCTURE)
def structure_grows(n):
    t = ()
    while n > 0:
        t = (*t, 1.0)
        n -= 1
    return t


@case((3,), (0,), (-1,), error_ok=codes.MULTI_ELEMENT_TEST)
def test_with_two_elements(n):
    v = jnp.array([1, 2]) * n
    while v > 0:
        v = v - 1
    return v


@case((3,), (0,))
def float_as_test(n):
    x = n * 0.5
    while x:
        x = x - 0.5
    return x


@case((jnp.array([5.0]),), (jnp.array([-5.0]),))
def one_element_array_in_the_test(x):
    while x > 0:
        x = x - 2.0
    return x


@case((3, 1.0), (0, 1.0))
def structures_as_state(n, x):
    state = {"z": x, "a": (x, [0.0])}
    while n > 0:
        a, (b,) = state["a"]
        state = {"z": state["z"] + 1, "a": (b, [a + b])}
        n -= 1
    return "".join(state), state


@case((3, 1.0), (0, 1.0))
def names_that_clash(state, body_4):
    d2s = 0
    test_4 = 1.0
    carry = 0.0
    while state > 0:
        body_7 = body_4 * test_4
        d2s = d2s + 1
        carry = carry + body_7
        state -= 1
    return d2s, carry, state


@case((5, 3.0), (0, 3.0))
def swaps(n, x):
    a, b = x, 1.0
    while n > 0:
        a, b = b, a + b
        n -= 1
    return a, b


@case((7,), (2,))
def dead_temporaries(n):
    total = 0
    while n > 0:
        t = n * n
        if t > 9:
            u = t - 9
            total += u
        n -= 1
    return total


@case((3,), (0,))
def test_calls_a_local_function(n):
    limit = 2

    def more(k):
        if k > limit:
            return True
        return k > 0

    total = 0
    while more(n):
        total += n
        n -= 1
    return total


@case((3,), (4,))
def while_true_with_traced_break(n):
    k = 0
    while True:
        k += n
        if k > 10:
            break
    return k


@case((1.0,), (-1.0,), grad=True)
def never_entered(x):
    while False:
        x = x.no_such_attribute
    return x * 2


@case((3, True), (3, False), keep=(1,))
def static_flag_inside(n, flag):
    total = 0
    while n > 0:
        if flag:
            total = total + n
        else:
            total = total - n
        n -= 1
    return total


@case((jnp.array([3.0, 4.0]),), (jnp.array([0.1, 0.1]),))
def array_norm(v):
    k = 0
    while jnp.sum(v * v) > 1.0:
        v = v * 0.5
        k += 1
    return v, k


@case((10,), (0,))
def returns_one_tuple(n):
    t = (n,)
    while t[0] > 4:
        t = (t[0] - 3,)
    return t


@case((20,), (7,))
def integer_state_stays_integer(n):
    bits = 0
    while n > 0:
        bits = bits + n % 2
        n = n // 2
    return bits, n
