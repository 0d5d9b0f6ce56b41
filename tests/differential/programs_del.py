"""Programs around `del`: names, items and attributes, in branches, loops and closures."""

# ruff: noqa: F821

from . import codes
from .harness import case


class Box:
    def __init__(self, **values):
        self.__dict__.update(values)


@case((1.0,), (2.0,))
def a_name_that_is_not_read_again(x):
    y = x * 2
    z = y + 1
    del y
    return z


@case((1.0,), (2.0,))
def read_after(x):
    y = x
    del y
    return y


@case((1.0,), (2.0,))
def bound_again(x):
    y = x
    del y
    y = x + 1
    return y


@case((1.0,), (2.0,))
def twice(x):
    y = x
    del y
    del y
    return x


@case((1.0,), (2.0,))
def a_name_without_a_value(x):
    if x is None:
        y = 1
    del y
    return x


@case((1.0,), (2.0,))
def never_bound(x):
    del y
    y = x


@case((1.0,), (2.0,))
def a_parameter(x):
    y = x
    del x
    try:
        return x
    except UnboundLocalError:
        return y


@case((1, 2), (3, 4))
def several_targets(a, b):
    c = [a, b, a + b]
    d = {"k": a}
    e = b
    del a, (b, [c[0], d["k"]])
    return c, d, e


@case((1.0,), (-1.0,), error_ok=codes.UNBOUND)
def in_a_branch_then_read(x):
    y = x
    if x > 0:
        del y
    return y


@case((1.0,), (-1.0,), error_ok=codes.UNBOUND)
def in_both_branches_then_read(x):
    y = x
    if x > 0:
        del y
    else:
        x = x + 1
        del y
    return y


@case((1.0,), (-1.0,), error_ok=codes.UNBOUND)
def in_else_then_read(x):
    y = x
    if x > 0:
        y = y + 1
    else:
        del y
    return y + x


@case((1.0,), (-1.0,))
def in_a_branch_and_not_read(x):
    y = x * 2
    if x > 0:
        z = y
        del y
    else:
        z = -y
    return z


@case((1.0,), (-1.0,))
def deleted_and_rebound_in_a_branch(x):
    y = x
    if x > 0:
        del y
        y = x * 10
    return y


@case((1.0,), (-1.0,), error_ok=codes.UNBOUND)
def rebound_later_under_the_same_condition(x):
    y = x
    if x > 0:
        del y
    if x > 0:
        y = 5.0
    return y


@case((3,), (0,), (1,))
def a_temporary_in_a_loop(n):
    total = 0
    for i in range(n):
        t = i * 2
        total = total + t
        del t
    return total


@case((3,), (0,), error_ok=codes.UNBOUND)
def the_loop_variable(n):
    i = 100
    total = 0
    for i in range(n):
        total = total + i
        del i
    return total, i


@case((3,), (0,), (1,), error_ok=codes.UNBOUND)
def read_by_the_next_iteration(n):
    t = 5
    total = 0
    for i in range(n):
        total = total + t
        del t
    return total


@case((3,), (0,))
def deleted_at_the_end_and_bound_at_the_start(n):
    i = total = 0
    while i < n:
        t = i + 1
        if t > 1:
            total = total + t
        i = t
        del t
    return total


@case((3,), (0,), flavours=("static",))
def in_a_static_loop(n):
    y = 1
    log = []
    for k in ["a", "b"]:
        try:
            log.append((k, y))
            del y
        except UnboundLocalError as e:
            log.append(str(e))
    return log, n


@case((3, 1), (3, 7), error_ok=codes.UNBOUND)
def under_a_condition_in_a_loop(n, at):
    t = 5
    total = 0
    for i in range(n):
        if i == at:
            del t
            t = 7
        total = total + t
    return total


@case((1.0,), (-1.0,))
def in_try_and_handler(x):
    y = x
    try:
        del y
        if x < 0:
            raise ValueError("negative")
        y = 1.0
    except ValueError:
        y = 2.0
    return y


@case((1.0,), (-1.0,), error_ok=codes.UNBOUND)
def before_an_exception(x):
    y = x
    try:
        if x < 0:
            del y
            raise ValueError("negative")
    except ValueError:
        x = x * 2
    return y + x


@case((1.0,), (-1.0,))
def in_finally(x):
    y = x
    try:
        z = y + 1
    finally:
        del y
    return z


@case((1,), (2,), flavours=("static",))
def closure_reads_a_deleted_name(n):
    y = n
    f = lambda: y
    before = f()
    del y
    try:
        f()
    except NameError as e:
        after = str(e)
    y = n + 1
    return before, after, f()


@case((1,), (2,))
def closure_is_called_after_the_deletion(n):
    y = n

    def f():
        return y

    del y
    return f()


@case((1,), (2,))
def inner_function_deletes(n):
    y = n

    def f():
        nonlocal y
        del y

    f()
    return y


@case((1,), (2,))
def inner_function_deletes_twice(n):
    y = n

    def f():
        nonlocal y
        del y

    f()
    f()
    return n


@case((1,), (2,))
def inner_function_deletes_and_binds(n):
    y = n

    def f():
        nonlocal y
        del y
        y = n * 2

    f()
    return y


@case((1,), (-2,), error_ok=(*codes.UNBOUND, *codes.EFFECT))
def inner_function_deletes_under_a_condition(n):
    y = n

    def f():
        nonlocal y
        if n > 0:
            del y

    f()
    return y


@case(([1, 2, 3],), ([4, 5, 6],), flavours=("static",), error_ok=codes.EFFECT)
def items_of_an_argument(items):
    del items[0]
    return items


@case((1, 2), (3, 4))
def items_of_a_local_list(a, b):
    items = [a, b, a + b, 0]
    del items[0], items[-1]
    del items[5:]
    return items


@case((1, 2), (3, 4))
def entries_and_attributes(a, b):
    d = {"a": a, "b": b}
    box = Box(p=a, q=b)
    del d["a"], box.p
    return d, vars(box)


@case((1,), (2,))
def a_missing_entry(n):
    d = {"a": n}
    del d["b"]
    return d


@case((1,), (2,))
def a_missing_attribute(n):
    box = Box(a=n)
    del box.b
    return n


@case((1.0,), (-1.0,), error_ok=(*codes.CHANGE, *codes.STRUCTURE))
def an_entry_under_a_condition(x):
    d = {"a": x, "b": 2.0}
    if x > 0:
        del d["b"]
    return d


@case((1,), (-1,), flavours=("static",))
def in_a_class_body(n):
    class Made:
        a = n
        b = a + 1
        del a

    return hasattr(Made, "a"), Made.b


@case((1,), (2,))
def the_name_of_a_function(n):
    def f():
        return n

    got = f()
    del f
    return got


@case((1,), (2,))
def empty_deletion(n):
    del ()
    del []
    return n
