"""Programs whose state is in entries and attributes of objects."""

import jax.numpy as jnp
import numpy as np

from . import codes
from .harness import case


class Cell:
    def __init__(self, **values):
        self.__dict__.update(values)


class Watched:
    """A property that must be read only where the program reads it."""

    def __init__(self):
        self.reads = 0

    @property
    def value(self):
        self.reads += 1
        return 5.0


class Strict:
    def __getattr__(self, name):
        raise RuntimeError(f"nobody asked for {name}")


@case((1.0,), (-1.0,), grad=True)
def entry_of_a_dict_in_a_branch(x):
    d = {"k": x, "other": 1.0}
    if x > 0:
        d["k"] = d["k"] * 2
    return d


@case((1.0,), (-1.0,))
def entry_of_a_list_in_a_branch(x):
    items = [x, 1.0]
    if x > 0:
        items[0] = x * 3
    else:
        items[-1] = 7.0
    return items


@case((1.0,), (-1.0,), error_ok=(*codes.CHANGE, *codes.STRUCTURE))
def new_key_on_one_side(x):
    d = {"k": x}
    if x > 0:
        d["new"] = 1.0
    return d


@case((1.0,), (-1.0,), error_ok=(*codes.CHANGE, *codes.STRUCTURE))
def new_key_in_else_of_a_nested_dict(x):
    d = {"in": {"k": x}}
    if x > 0:
        d["in"]["k"] = 2.0
    else:
        d["in"]["new"] = x
    return d


@case((1.0,), (-1.0,), error_ok=codes.CHANGE)
def new_key_on_both_sides(x):
    d = {}
    if x > 0:
        d["k"] = x
    else:
        d["k"] = -x
    return d


@case((3,), (0,))
def entry_of_a_dict_in_a_while(n):
    d = {"i": 0, "sum": 0}
    while d["i"] < n:
        d["i"] = d["i"] + 1
        d["sum"] = d["sum"] + d["i"]
    return d


@case((3,), (0,))
def entries_of_a_list_in_a_for(n):
    items = [0, 1]
    count = 0
    for i in range(n):
        items[0], items[1] = items[1], items[0] + items[1]
        count = count + 1
    return items, count


@case((1.0,), (-1.0,))
def attribute_in_a_branch(x):
    c = Cell(a=x, b=1.0)
    if x > 0:
        c.a = c.a + 1
    else:
        c.b = x
    return c.a, c.b


@case((1.0,), (-1.0,), error_ok=(*codes.CHANGE, *codes.UNBOUND, *codes.OBJECTS))
def attribute_without_a_value_before(x):
    c = Cell()
    if x > 0:
        c.a = x
    return hasattr(c, "a") and c.a


@case((1.0,), (-1.0,))
def several_attributes(x):
    c, d = Cell(v=x, w=1.0), Cell(v=2.0)
    if x > 0:
        c.v, d.v = d.v, c.v
    else:
        c.w = d.v + x
    return c.v, c.w, d.v


@case((4,), (0,))
def attribute_in_a_while(n):
    c = Cell(i=0, total=0)
    while c.i < n:
        if c.i % 2 == 0:
            c.total = c.total + c.i
        c.i += 1
    return c.total, c.i


@case((4,), (0,), error_ok=(*codes.CHANGE, *codes.UNBOUND, *codes.OBJECTS))
def attribute_made_in_a_loop(n):
    c = Cell()
    for i in range(n):
        c.last = i
    return getattr(c, "last", -1)


@case((4,), (1,))
def object_made_in_a_loop_is_local(n):
    total = 0
    for i in range(n):
        c = Cell(v=i)
        c.v = c.v + 1
        total = total + c.v
    return total


@case((3,), (0,))
def objects_in_containers(n):
    cells = [Cell(v=0), Cell(v=10)]
    named = {"c": cells[1]}
    for i in range(n):
        cells[0].v = cells[0].v + i
        named["c"].v = named["c"].v - 1
    return cells[0].v, cells[1].v, named["c"] is cells[1]


@case((1.0,), (-1.0,))
def two_names_for_one_list(x):
    a = [x, 0.0]
    b = a
    if x > 0:
        a[1] = 5.0
    b[0] = b[0] + 1
    return a, b, a is b


@case((1,), (0,))
def variable_and_literal_subscripts(k):
    items = [10, 20]
    d = {"a": 1, "b": 2}
    for key in ("a", "b"):
        if k > 0:
            d[key] = d[key] * 10
    for j in range(2):
        items[j] = items[j] + k
    return items, d


@case((1.0,), (-1.0,))
def slice_kept_in_a_local(x):
    items = [x, 2.0, 3.0]
    part = items[:2]
    if x > 0:
        part[0] = 9.0
    return items, part


@case((1.0,), (-1.0,))
def properties_are_read_only_where_the_program_reads(x):
    w = Watched()
    for _ in range(2):
        if x > 0:
            x = x + 1
    y = w.value
    return x + y, w.reads


@case((1.0,), (-1.0,))
def objects_that_nobody_touches(x):
    s = Strict()
    keep = [s]
    while x < 3:
        x = x + 1
        if x > 2:
            x = x + 1
    return x, keep[0] is s


@case((1.0,), (-1.0,))
def array_entries_of_a_dict(x):
    d = {"w": jnp.zeros(2), "n": 0}
    for i in range(3):
        d["w"] = d["w"].at[i % 2].add(x)
        if x > 0:
            d["n"] += 1
    return d


@case((2,), (0,))
def method_that_changes_its_object(n):
    class Counter:
        def __init__(self):
            self.total = 0

        def add(self, k):
            if k > 0:
                self.total += k
            return self

    c = Counter()
    for i in range(n):
        c.add(i).add(1)
    return c.total


@case((3,), (0,))
def state_changed_by_a_helper(n):
    def push(d, v):
        d["v"] = d["v"] * 2 + v

    d = {"v": 1}
    for i in range(n):
        push(d, i)
    return d["v"]


@case((1.0,), (-1.0,), flavours=("static", "traced"), error_ok=codes.EFFECT)
def attribute_of_a_closed_over_object(x):
    if x > 0:
        SHARED.v = x
    return x


SHARED = Cell(v=0.0)


@case((1.0,), (2.0,), error_ok=codes.EFFECT)
def constant_attribute_of_a_global_object(x):
    SHARED.v = 5.0
    return x


@case((1.0,), (-1.0,), error_ok=codes.EFFECT)
def list_changed_before_an_exception(x):
    LOG.append(1)
    if x < 0:
        raise ValueError("negative")
    return x


@case((1.0,), (-1.0,), error_ok=codes.EFFECT)
def list_changed_before_a_sure_exception(x):
    LOG.append(1)
    raise ValueError("always")


@case((1.0, [0]), (-1.0, [0]), keep=(1,), error_ok=codes.EFFECT)
def argument_changed_before_an_exception(x, log):
    log.append(1)
    raise ValueError("always")


LOG: list[int] = []


class Trouble(Exception):
    pass


# -- written, and written back: a failure in between shows it ------------------------------------


@case((1,), (4,), (6,))
def attribute_set_and_set_back_around_a_failure(x):
    cell = Cell(busy=0)
    try:
        if x > 0:
            cell.busy = 1
            if x > 5:
                raise Trouble("x")
            cell.busy = 0
    except Trouble:
        pass
    return cell.busy


@case((1,), (4,), (6,))
def attribute_set_and_set_back_in_a_loop(x):
    cell = Cell(busy=0)
    try:
        for i in range(x):
            cell.busy = 1
            if x + i > 8:
                raise Trouble("x")
            cell.busy = 0
    except Trouble:
        pass
    return cell.busy


@case((1,), (4,), (6,))
def variable_set_and_set_back_in_a_while(x):
    busy = 0
    try:
        while x > 0:
            busy = 1
            if x > 5:
                raise Trouble("x")
            busy = 0
            x -= 1
    except Trouble:
        pass
    return busy


@case((0,), (1,), (4,), (6,))
def variable_set_and_set_back_before_a_finally(x):
    seen, k = 0, 0
    for i in range(3):
        try:
            if x > i:
                k = 1
                if x > 5:
                    raise Trouble("x")
                k = 0
        except Trouble:
            break
        finally:
            seen += k
    return seen


@case((1, [0]), (6, [0]), keep=(1,))
def argument_set_and_set_back_around_a_failure(x, log):
    log[0] = 1
    if x > 5:
        raise Trouble("x")
    log[0] = 0


@case((1, [0]), (6, [0]), keep=(1,), error_ok=codes.EFFECT)
def entry_added_and_taken_back_around_a_failure(x, log):
    log.append(x)
    if x > 5:
        raise Trouble("x")
    log.pop()


@case((1,), (6,), error_ok=codes.EFFECT)
def entry_added_and_taken_back_before_a_handler(x):
    log = []
    try:
        if x > 0:
            log.append(x)
            if x > 5:
                raise Trouble("x")
            log.pop()
    except Trouble:
        pass
    return log


@case((0,), (1,), (4,))
def container_that_nobody_sees_after_a_failure(x):
    held = {"b": x}
    if x > 1:
        held.update(k=x)
    else:
        if x > 0:
            late = 1
        held.setdefault("k", late)
    return held["k"]


# -- objects that a name may have, or not --------------------------------------------------------


@case((0,), (4,), (7,))
def object_of_a_name_that_may_be_unbound(w):
    if w > 3:
        cell = Cell(s=1.0)

    def inner():
        return cell

    if w > 5:
        cell.s = 9.0
    return inner().s


@case((0,), (4,), (7,), error_ok=codes.EFFECT)
def list_of_a_name_that_may_be_unbound(w):
    if w > 3:
        held = [1.0, 2.0]

    def inner():
        return held

    for _ in range(w):
        held[0] = held[0] + 1
    return inner()


@case((0,), (1,), (6,))
def object_made_in_a_try_and_changed_in_its_else(w):
    try:
        if w > 5:
            return 2.0
        cell = Cell(s=8.0) if w == 0 else Cell(s=1.0)
    except ValueError:
        pass
    else:
        cell.s = cell.s % 4.0
    return cell.s


# -- exceptions that hold what is changed afterwards ---------------------------------------------


@case((1,), (7,))
def exception_with_a_list_that_grows_later(x):
    held = [1]
    if x > 5:
        raise Trouble(held, {"k": held})
    held.append(2)
    return held


@case((1,), (7,), error_ok=("D2S020",))
def handler_that_reads_a_list_that_grows_later(x):
    try:
        held = [1]
        if x > 5:
            raise Trouble(held)
        held.append(2)
    except Trouble as error:
        return len(error.args[0])
    return 0


@case((1,), (7,), error_ok=("D2S031",))
def exception_with_an_object(x):
    cell = Cell(s=1)
    try:
        if x > 5:
            raise Trouble(cell)
        cell.s = 2
    except Trouble as error:
        return error.args[0].s
    return cell.s


@case(([0], 1), ([0], 7), error_ok=("D2S031",))
def exception_with_a_list_of_the_caller(held, x):
    held[0] = x
    if x > 5:
        raise Trouble(held, 2)
    held[0] = 9
    return x


@case((1,), (20,))
def raised_again_with_a_run_time_value(x):
    try:
        if x > 10:
            raise Trouble("large", f"{x}")
        x = x + 1
    except Trouble:
        raise
    return x


@case((1,), (20,))
def raised_again_after_work(x):
    done = [0]
    try:
        if x > 10:
            raise Trouble(f"large {x}", [f"{x}"])
    except Trouble:
        done[0] = x
        raise
    return done[0]


class Totals:
    def __init__(self):
        self.sums = np.zeros(3)


@case((1.0,), (2.0,), error_ok=("D2S072",))
def numpy_attribute_that_grows_in_place(x):
    held = Totals()
    held.sums += x
    return held.sums.sum()


# -- helpers that change what is outside, where a run-time condition decides ----------------------

TOTAL = [0]
TALLY = {"n": 0}
LEVEL = 0


def add_to_total(x):
    TOTAL[0] += x


def tally(x):
    global LEVEL
    TALLY["n"] = TALLY["n"] + x
    LEVEL = LEVEL + 1


@case((2,), (-2,))
def helper_writes_a_global_list_in_a_branch(x):
    TOTAL[0] = 0
    if x > 0:
        add_to_total(5)
    return TOTAL[0]


@case((2,), (-2,))
def helper_writes_a_global_list_on_both_sides(x):
    TOTAL[0] = 0
    if x > 0:
        add_to_total(5)
    else:
        add_to_total(x)
    return TOTAL[0], x


@case((2,), (-2,), (4,))
def helper_writes_globals_in_loops(x):
    global LEVEL
    TOTAL[0], TALLY["n"], LEVEL = 0, 0, 0
    for i in range(3):
        if i < x:
            add_to_total(i)
    while x > 0:
        tally(x)
        x = x - 1
    return TOTAL[0], TALLY["n"], LEVEL


@case((2,), (-2,))
def helper_writes_a_closure_in_a_branch(x):
    held = [0]
    count = 0

    def note(v):
        nonlocal count
        held[0] += v
        count += 1

    def relay(v):
        note(v)

    if x > 0:
        relay(x)
    return held[0], count


@case((2,), (-2,))
def helper_with_a_mutable_default_in_a_branch(x):
    def note(v, seen=[0]):  # noqa: B006
        seen[0] += v
        return seen[0]

    if x > 0:
        note(x)
    return note(1)
