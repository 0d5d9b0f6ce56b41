"""Programs around `raise`, `assert`, `try` and unbound variables."""

import jax.numpy as jnp

from . import codes
from .harness import case


class Refused(Exception):
    pass


@case((1.0,), (-1.0,), (2.0,))
def raises_under_a_condition(x):
    if x < 0:
        raise ValueError("negative")
    return x * 2


@case((1.0,), (-1.0,), (5.0,))
def raises_on_two_paths(x):
    if x < 0:
        raise ValueError("negative")
    if x > 3:
        raise Refused("too large", 3)
    return x


@case((1.0,), (-1.0,))
def raises_in_else(x):
    if x > 0:
        y = x
    else:
        raise Refused
    return y


@case((1,), (-1,), error_ok=codes.MESSAGE)
def message_with_a_value(n):
    if n < 0:
        raise ValueError(f"negative: {n}")
    return n


@case((3,), (-3,))
def assertion(n):
    assert n >= 0
    assert n < 100, "too many"
    return n + 1


@case((-3,), (3,), (300,), error_ok=codes.MESSAGE)
def assertion_with_a_value(n):
    assert n >= 0, f"negative {n}"
    assert n < 100, n
    return n + 1


@case((3,), (4,))
def static_assertions(n):
    v = jnp.zeros((2, 3))
    assert v.shape == (2, 3), "wrong shape"
    assert len(v) == 2
    return v + n


@case((3,), (-1,))
def failed_assertion_ends_the_function(n):
    assert n >= 0, "negative"
    while n != 0:
        n -= 1
    return n


@case((2, 1), (5, 3), (5, 9))
def raises_half_way_through_a_loop(n, bad):
    total = 0
    for i in range(n):
        if i == bad:
            raise RuntimeError("bad round")
        total += i
    return total


@case((2, 1), (5, 3), (5, 9))
def raises_half_way_through_a_while(n, bad):
    total = 0
    while n > 0:
        n -= 1
        if n == bad:
            raise RuntimeError("bad round")
        total += n
    return total


@case((5,), (2,), error_ok=codes.HANDLER)
def writes_before_an_exception_stay(n):
    x = 0
    try:
        while n > 0:
            x += 1
            if x == 3:
                raise ValueError
            n -= 1
    except ValueError:
        pass
    return x, n


@case((5.0,), (2.0,))
def static_writes_before_an_exception_stay(x):
    done = 0
    last = -1
    try:
        for i in range(5):
            done += 1
            if i == 2:
                raise ValueError("stop")
            last = i
    except ValueError:
        x = x + last
    return x, done, last, i


@case((-1.0,), (2.0,), error_ok=codes.HANDLER)
def raised_and_caught_here(x):
    try:
        if x < 0:
            raise ValueError("neg")
        y = x * 2
    except ValueError as e:
        y = 1.0 * len(str(e))
    return y


@case((1.0, "a"), (1.0, "b"))
def static_try_with_several_handlers(x, key):
    table = {"a": 2.0}
    try:
        y = table[key] * x
    except (TypeError, ValueError):
        y = -1.0
    except KeyError as e:
        y = x - len(str(e))
    return y


@case((1.0,), (-1.0,))
def try_with_else(x):
    try:
        y = x + 1
    except ValueError:
        y = 0.0
    else:
        y = y * 2
    return y


@case((1.0,), (-1.0,))
def control_flow_inside_try(x):
    try:
        if x > 0:
            y = x
        else:
            y = -x * 2
        for i in range(3):
            y = y + i
    except ZeroDivisionError:
        y = 0.0
    return y


@case((1.0,), (-1.0,))
def control_flow_inside_a_handler(x):
    try:
        [].pop()
    except IndexError:
        if x > 0:
            y = x * 2
        else:
            y = x - 1
    return y


@case((1.0,), (-1.0,))
def name_of_a_handler_is_unbound_afterwards(x):
    e = 1
    try:
        raise KeyError("k")
    except KeyError as e:
        pass
    return e, x


@case((1.0,), (-1.0,))
def exception_leaves_nested_blocks(x):
    total = 0.0
    try:
        for i in range(3):
            total = total + x
            for j in range(3):
                if i * j == 2:
                    raise Refused("deep")
                total = total + j
    except Refused:
        total = total * 10
    return total, i, j


@case((1.0,), (-1.0,))
def raise_from_and_raise_again(x):
    y = 0.0
    try:
        try:
            raise KeyError("inner")
        except KeyError as e:
            raise ValueError("outer") from e
    except ValueError as e:
        y = 1.0 if isinstance(e.__cause__, KeyError) else 2.0
    return x + y


@case((1.0,), (2.0,))
def handler_in_a_static_loop(x):
    good = 0
    for item in [1.0, "text", 2.0]:
        try:
            x = x + item / 1
        except TypeError:
            continue
        good += 1
    return x, good


@case((1.0,), (2.0,))
def break_and_return_inside_try(x):
    for i in range(5):
        try:
            if i == 1:
                continue
            if i == 3:
                break
            x = x + i
        except ValueError:
            return -1.0
    return x, i


@case((1.0,), (-1.0,), error_ok=codes.HANDLER)
def traced_return_inside_try(x):
    try:
        if x > 0:
            return x * 2
        y = x + 1
    except ValueError:
        return 0.0
    return y


@case((1.0,), (-1.0,))
def exception_of_a_helper(x):
    def checked(v):
        if v < 0:
            raise ValueError("helper refuses")
        return v + 1

    return checked(x) * 2


@case((1.0,), (-1.0,), error_ok=codes.HANDLER)
def exception_of_a_helper_is_caught(x):
    def checked(v):
        if v < 0:
            raise ValueError("helper refuses")
        return v + 1

    try:
        y = checked(x)
    except ValueError:
        y = 0.5
    return y


@case((1.0,), (-1.0,))
def first_failure_wins(x):
    if x < 0:
        raise ValueError("first")
    if x < 5:
        raise KeyError("second")
    return x


@case((1.0,), (2.0,))
def always_raises(x):
    y = x + 1
    raise Refused("always")


@case((1.0,), (2.0,))
def static_exception_half_way(x):
    y = x + 1
    z = {"a": y}
    return z["b"]


@case((1.0,), (-1.0,))
def raise_in_an_untaken_static_branch(x):
    if x is None:
        raise TypeError("x is required")
    return x + 1 if x > 0 else x


@case((1.0,), (2.0,))
def unbound_from_the_start(x):
    if x is None:
        y = 1
    return y + x


@case((1.0,), (2.0,))
def read_before_assignment(x):
    x = x + later  # noqa: F821
    later = 1.0
    return x


@case((1.0,), (2.0,))
def augmented_before_assignment(x):
    for i in range(2):
        total += x  # noqa: F821
    return total


@case((1.0,), (2.0,))
def unbound_in_a_nested_function(x):
    def read():
        return y

    if x is None:
        y = 1.0
    return read()


@case((1.0,), (2.0,))
def name_that_does_not_exist(x):
    return x + no_such_name  # noqa: F821


@case((1, 3), (5, 3), error_ok=codes.UNBOUND)
def possibly_unbound_in_a_loop(n, m):
    total = 0
    for i in range(m):
        if i + 1 > n:
            extra = 10
        if i + 1 > n:
            total += extra
    return total


@case((1, 3), (0, 3), (-1, 3), error_ok=codes.UNBOUND)
def unbound_half_way(n, m):
    total = 0
    for i in range(m):
        if i > n:
            total += extra  # noqa: F821
        if i >= n:
            extra = 10
    return total


@case((1.0,), (-1.0,), error_ok=codes.UNBOUND)
def unbound_after_a_handler(x):
    try:
        if x < 0:
            raise ValueError
        y = x
    except ValueError:
        z = 1.0
    return y


@case((1.0,), (2.0,))
def caught_unbound_variable(x):
    try:
        x = x + y  # noqa: F821
        y = 1.0
    except UnboundLocalError:
        x = -x
    return x


@case((1.0,), (2.0,))
def prints_in_order(x):
    print("begin")
    for name in ["a", "b"]:
        print("item", name, sep=": ")
    print("end", end="!\n")
    return x


class Spilt(Exception):
    def __init__(self, amount, unit):
        super().__init__(f"{amount} of {unit}")
        self.amount = amount
        self.unit = unit


@case((1.0,), (5.0,), (-5.0,))
def handler_reads_run_time_values(x):
    try:
        if x > 3:
            raise Spilt(x * 2, "milk")
        if x < -3:
            raise ValueError("low", x)
        y = x
    except Spilt as e:
        y = e.amount + len(e.unit)
    except ValueError as e:
        y = e.args[1] * 10
    return y


@case((1,), (5,))
def handler_prints_its_exception(n):
    try:
        if n > 3:
            raise ValueError(f"too many: {n}")
    except ValueError as e:
        print("caught", e)
        print(f"{e}!", str(e))
        return n + 1
    return n


@case((1,), (5,))
def handler_raises_another_with_its_text(n):
    try:
        if n > 3:
            raise ValueError(f"too many: {n}")
    except ValueError as e:
        raise RuntimeError(f"in vain: {e}") from None
    return n


@case((1,), (5,))
def handler_that_names_an_exception_in_vain(n):
    tries = 0
    try:
        if n > 3:
            raise ValueError(f"too many: {n}")
    except ValueError as e:  # noqa: F841
        tries += 1
    return n + tries


@case((1,), (5,), error_ok=codes.MESSAGE)
def surely_raised_with_a_value(n):
    try:
        raise ValueError(f"always {n}", n)
    except ValueError as e:
        return e.args[1] + 1


@case((1.0,), (-1.0,), (5.0,))
def retries_with_formatted_counts(x):
    for k in range(4):
        try:
            if x + k < 3:
                raise ConnectionError("try %d" % k)
            return x + k
        except ConnectionError:
            pass
    return -1.0


@case((1.0,), (5.0,))
def handler_that_only_raises(x):
    try:
        if x > 3:
            raise ValueError("v")
        d = 0
    except ValueError:
        raise KeyError("k") from None
    return d % 3


@case((2, 0.0), (0, 0.5), (3, 1.5), (0, 0.0))
def truth_of_different_kinds(n, x):
    found = 0
    if n and x:
        found += 1
    if not (n or x):
        found += 2
    while found < 8 and (x or n):
        found += 4
    assert found or n or x or True, "nothing"
    return found, bool(n and x), 1 if x or n else 2


@case((1.0,), (5.0,), (7.0,))
def raised_from_one_with_a_value(x):
    try:
        if x > 3:
            raise ValueError(f"too large: {x}")
    except ValueError as e:
        raise KeyError("key") from e
    return x


class OutOfRange(ValueError):
    def __init__(self, value, *, limit=3.0, name="x"):
        super().__init__(f"{name}: {value} is not below {limit:.1f}")
        self.value = value
        self.over = value - limit


class FarOutOfRange(OutOfRange):
    def __init__(self, value):
        super().__init__(value, limit=10.0, name="far")
        self.args = (*self.args, "much too large")


class Spoken(Exception):
    def __init__(self, value):
        self.value = value

    def __str__(self):
        if self.value > 5:
            return "large: %.2f" % self.value
        return f"small: {self.value}"


@case((1.0,), (4.0,), (20.0,))
def constructors_with_messages(x):
    if x > 10:
        raise FarOutOfRange(x)
    if x > 3:
        raise OutOfRange(x, name="y")
    return x


@case((1.0,), (4.0,), (20.0,))
def attributes_that_constructors_compute(x):
    try:
        if x > 10:
            raise FarOutOfRange(x)
        if x > 3:
            raise OutOfRange(x)
        return x
    except OutOfRange as e:
        print(e.value)
        return e.over


@case((1.0,), (4.0,))
def messages_of_constructors_in_handlers(x):
    try:
        if x > 3:
            raise OutOfRange(x, limit=2)
    except OutOfRange as e:
        print("caught", e)
        raise RuntimeError(f"no: {e}") from e
    return x


@case((1.0,), (4.0,), (20.0,), error_ok=codes.LETTERS + codes.MISMATCH + ("D2S013",))
def exceptions_with_a_text_of_their_own(x):
    try:
        if x > 3:
            raise Spoken(x)
    except Spoken as e:
        print(e)
    return x


@case((1.0,), (4.0,), (20.0,))
def fields_of_the_exceptions_of_python(x):
    if x > 10:
        raise FileNotFoundError(2, "no such file", f"{x:.1f}.txt")
    try:
        if x > 3:
            raise PermissionError(13, f"not {x}")
    except OSError as e:
        print(e, e.strerror, e.errno)
        return e.errno + x
    return x


class Tagged(Exception):
    def __init__(self, tag):
        super().__init__("tagged")
        self.tag = tag


@case((0.0,), (1.0,), (2.0,), (3.0,))
def attributes_tell_rounds_apart(x):
    try:
        for k in range(3):
            if x > 2 - k:
                raise Tagged(k)
    except Tagged as e:
        return e.tag
    return -1


class Upper(Exception):
    def __init__(self, message):
        super().__init__(message.upper(), len(message))


@case((1.0,), (4.0,), error_ok=codes.LETTERS)
def constructors_that_need_the_letters(x):
    if x > 3:
        raise Upper(f"value {x}")
    return x


@case((jnp.float32(1),), (jnp.ones(2),), (3,), (2.5,), (True,))
def attribute_that_is_missing(x):
    try:
        return x.grad
    except AttributeError as error:
        return str(error), error.name


@case((jnp.float32(1),), (jnp.float32(-1),))
def attribute_that_is_missing_in_a_branch(x):
    y = x * 2
    try:
        if y > 0:
            y.summ()
    except AttributeError as error:
        print(error)
        return y
    return -y


@case((jnp.array([1.0, 2.0]),), (jnp.array([-1.0, 2.0]),))
def attribute_that_nobody_has_caught(x):
    if x[0] > 0:
        return x.summ()
    return x.sum()


@case((jnp.ones(2),), (3,), (2.5,), (1 + 2j,))
def attributes_asked_for(x):
    names = ("grad", "real", "bit_length", "is_integer", "devices", "shape", "requires_grad")
    return [hasattr(x, name) for name in names], getattr(x, "grad", None), getattr(x, "nope", 7)


class Wrapped:
    def __init__(self, value):
        self.value = value

    def norm(self):
        for name in ("detached", "flattened", "sum"):
            try:
                return getattr(self.value, name)()
            except AttributeError:
                pass
        return None


@case((jnp.ones(2),), (jnp.array([3.0, 4.0]),))
def attributes_tried_in_turn(x):
    return Wrapped(x).norm()
