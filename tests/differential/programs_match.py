"""Programs around `match`: every kind of pattern, on Python values and on run-time values."""

import enum
from collections import OrderedDict, namedtuple
from dataclasses import dataclass

import jax.numpy as jnp

from . import codes
from .harness import case


class Colour(enum.IntEnum):
    RED = 1
    BLUE = 2


@dataclass
class Point:
    x: object
    y: object


class Segment:
    __match_args__ = ("start", "end")

    def __init__(self, start, end):
        self.start, self.end = start, end

    @property
    def length(self):
        return self.end - self.start


Pair = namedtuple("Pair", "left right")


class Odd:
    """Says yes to every comparison, and counts them."""

    def __init__(self):
        self.asked = 0

    def __eq__(self, other):
        self.asked += 1
        return other == 3


# --- values --------------------------------------------------------------------------------------


@case((0, 2.0), (1, 2.0), (2, 2.0), (7, 2.0), (-1, 2.0), vmap=True)
def integers(n, x):
    match n:
        case 0:
            y = x
        case 1 | 2:
            y = x * 10.0
        case -1:
            y = -x
        case _:
            y = x * x
    return y


@case((0, 2.0), (3, -2.0), (9, 2.0))
def integers_that_return(n, x):
    match n:
        case 0:
            return x
        case 3:
            if x > 0:
                return x + 1
            return x - 1
        case 4 | 5 | 6:
            return 0.0
    return x * n


@case((0,), (1,), (2,))
def no_case_for_the_rest(n):
    y = 5
    match n:
        case 0:
            y = 1
        case 1:
            y = y * 2
    return y


@case((lambda: (jnp.int8(127),)), (lambda: (jnp.int8(126),)), (lambda: (jnp.int8(-2),)))
def integers_at_the_end_of_their_type(n):
    match n:
        case 126:
            return 1
        case 127:
            return 2
        case _:
            return 3


@case((1.5,), (2.0,), (-2.5,), (0.0,))
def floats(x):
    match x:
        case 1.5:
            return 1
        case -2.5:
            return 2
        case 2:
            return 3
        case _:
            return 4


@case((True,), (False,), error_ok=codes.RETURN_NONE)
def truth_values_as_integers(flag):
    match flag:
        case 0:
            return "no"
        case 1:
            return "yes"


@case((1,), (2,), (3,))
def named_constants(n):
    match n:
        case Colour.RED:
            return 10
        case Colour.BLUE:
            return 20
        case _:
            return 30


@case(("up", 1.0), ("down", 1.0), ("left", 1.0), keep=(0,))
def texts(way, x):
    match way:
        case "up":
            return x + 1
        case "down" | "below":
            return x - 1
        case other:
            return other, x


@case((None,), (True,), (False,), (1,), ("a",), flavours=("static",))
def singletons(x):
    match x:
        case None:
            return "none"
        case True:
            return "true"
        case False:
            return "false"
        case 1:
            return "one"
    return "other"


@case((1,), (0,), error_ok=codes.TRUTH)
def a_run_time_bool_is_a_singleton(n):
    match n > 0:
        case True:
            return 1
        case False:
            return 2
        case _:
            return 3


@case((2 + 1j,), (1,), flavours=("static",))
def complex_value(z):
    match z:
        case 2 + 1j:
            return "here"
        case _:
            return "elsewhere"


@case((1, 2), (2, 2), (5, 4))
def subject_is_an_expression(a, b):
    match a + b:
        case 3:
            return a
        case 4:
            return b
        case total:
            return total


@case((1,), (2,), flavours=("static",))
def subject_is_evaluated_once(n):
    log = []

    def value():
        log.append(n)
        return n

    match value():
        case 5:
            log.append("five")
        case 2:
            log.append("two")
        case 1:
            log.append("one")
    return log


@case((1,), (2,), flavours=("static",))
def comparisons_are_counted(n):
    odd = Odd()
    match odd:
        case 1 | 2:
            got = "few"
        case 3:
            got = "three"
        case 4:
            got = "four"
    return got, odd.asked + n


@case((3.0,), (-3.0,), (0.0,))
def elements_of_an_array(x):
    v = jnp.array([1, 2, 3])
    total = 0.0
    for n in v:
        match n:
            case 1:
                total = total + x
            case 2:
                total = total * 2
            case _:
                total = total - 1
    return total


@case((4,), (0,), (9,))
def in_a_while_loop(n):
    steps = []
    state = 0
    count = 0
    while count < n:
        match state:
            case 0:
                state = 1
            case 1:
                state = 2
                if count > 3:
                    state = 0
            case _:
                state = 0
                count = count + 1
        count = count + 1
    return state, count, steps


@case(([0, 1, 2, 1, 9, 0],), ([1, 1, 1, 1, 1, 1],))
def break_and_continue_in_cases(codes_):
    total = 0
    for op in codes_:
        match op:
            case 0:
                continue
            case 9:
                break
            case 1:
                total = total + 1
        total = total + 10
    return total


@case((2, 1.0), (5, 1.0), (0, 1.0))
def nested_matches(n, x):
    match n:
        case 0:
            y = x
        case 2 | 5:
            match n - 2:
                case 0:
                    y = x + 10
                case 3:
                    y = x + 20
                case _:
                    y = 0.0
        case _:
            y = -x
    return y


@case((1,), (7,), (3,))
def a_value_twice(n):
    match n:
        case 1:
            return 10
        case 3:
            return 30
        case 1:
            return 11
        case _:
            return 0


@case((0,), (1,), (4,), error_ok=codes.UNBOUND)
def bound_in_some_cases(n):
    match n:
        case 0:
            y = 1
        case 1:
            y = 2
    return y


@case((0,), (1,), (4,))
def raises_in_a_case(n):
    match n:
        case 0:
            y = 1.0
        case 1:
            raise ValueError("one")
        case _:
            y = 2.0
    return y


@case((0, 1), (1, 1), error_ok=codes.STRUCTURE)
def cases_of_different_structure(n, x):
    match n:
        case 0:
            y = (x, x)
        case 1:
            y = [x]
        case _:
            y = x
    return y


# --- guards and captures -------------------------------------------------------------------------


@case((5,), (2,), (-3,), (0,))
def guards(n):
    match n:
        case 0:
            return 100
        case m if m > 3:
            return m * 2
        case m if m < 0:
            return -m
        case m:
            return m + 50


@case((1, 1.0), (1, -1.0), (2, 1.0), (3, 1.0))
def guards_on_values(n, x):
    match n:
        case 1 if x > 0:
            return 1
        case 1:
            return 2
        case 2 | 3 if x > 0:
            return 3
        case _:
            return 4


@case((5,), (1,), error_ok=codes.UNBOUND)
def a_failed_guard_leaves_its_capture(n):
    match n:
        case seen if seen > 3:
            got = "large"
        case _:
            got = "small"
    return seen


@case(([1, 2],), ([3, 2],), ([0, 0],), flavours=("static", "traced"))
def captures_of_a_failed_guard(items):
    a = b = -1
    match items:
        case [a, b] if a > b:
            got = 1
        case [a, 0]:
            got = 2
        case _:
            got = 3
    return got, a, b


@case((3,), (-3,))
def guard_that_binds(n):
    match n:
        case m if (twice := m * 2) > 0:
            return twice + m
        case _:
            return twice


@case((3,), (-3,), flavours=("static",))
def guard_that_calls(n):
    log = []

    def ask(value):
        log.append(value)
        return value > 0

    match n:
        case 7 if ask(n):
            return log, "seven"
        case m if ask(m):
            return log, m
        case _ if ask(0) or ask(1):
            return log, "last"


@case((3,), (5,), flavours=("static",))
def guard_that_rebinds_the_subject(n):
    match n:
        case 3 if (n := 10) < 5:
            return "never"
        case 3:
            return "still three", n
        case 5 if n := 6:
            return n


@case(([1, 2],), ([2, 0],), ([7],), flavours=("static", "traced"), error_ok=codes.RETURN_NONE)
def capture_of_the_subjects_name(x):
    match x:
        case [x, 2]:
            return x
        case [2, x]:
            return x + 100
        case [x]:
            return x + 200


@case((1,), (4,))
def wildcard_only(n):
    match n:
        case _:
            n = n + 1
    return n


@case((1,), (4,))
def capture_only(n):
    match n:
        case m:
            m = m + 1
    return n, m


# --- sequences -----------------------------------------------------------------------------------


@case(([],), ([1],), ([1, 2],), ([1, 2, 3],), ([0, 5],), flavours=("static", "traced"))
def lengths(items):
    match items:
        case []:
            return 0
        case [a]:
            return a
        case [0, b]:
            return b * 100
        case [a, b]:
            return a + b * 10
        case _:
            return -1


@case((1, 2), (0, 2), (0, 0))
def pairs_of_values(a, b):
    match a, b:
        case 0, 0:
            return "origin" if a is None else 0
        case 0, y:
            return y
        case x, 0:
            return x
        case x, y:
            return x * y


@case(([1, 2, 3],), ([1],), ([],), flavours=("static", "traced"), error_ok=codes.RETURN_NONE)
def stars(items):
    match items:
        case [first, *rest]:
            return first, rest
        case [*everything]:
            return everything


@case(([1, 2, 3, 4],), ([1, 2],), ([5],), flavours=("static", "traced"), error_ok=codes.RETURN_NONE)
def star_in_the_middle(items):
    match items:
        case [a, *middle, z]:
            return a, middle, z
        case [*_]:
            return None


@case(([1, 2, 3],), ([4, 2, 3],), ([4],), flavours=("static", "traced"), error_ok=codes.RETURN_NONE)
def unnamed_star(items):
    match items:
        case [1, *_]:
            return 1
        case [*_, 3]:
            return 3
        case [_]:
            return 0


@case(
    ([1, [2, 3]],),
    ([1, [2, 4]],),
    ([0, []],),
    flavours=("static", "traced"),
    error_ok=codes.STRUCTURE,
)
def sequences_in_sequences(items):
    match items:
        case [a, [b, 3]]:
            return a + b
        case [_, [b, c] as inner]:
            return inner, c
        case (_, []):
            return -1


@case(("ab",), (b"ab",), ([1, 2],), ((1, 2),), (range(2),), flavours=("static",))
def what_counts_as_a_sequence(x):
    match x:
        case [a, b]:
            return a, b
        case _:
            return "none"


@case((lambda: (jnp.array([1.0, 2.0]),)), (lambda: (jnp.array([3.0, 4.0]),)))
def an_array_is_no_sequence(v):
    match v:
        case [a, b]:
            return a
        case _:
            return v * 2


@case((Pair(1, 2),), (Pair(0, 5),), flavours=("static", "traced"), error_ok=codes.RETURN_NONE)
def named_tuples(p):
    match p:
        case (0, right):
            return right
        case Pair(left, right=2):
            return left + 10
    return None


@case(([1, 2],), ([3, 2],), ([1, 5],), flavours=("static", "traced"), error_ok=codes.RETURN_NONE)
def alternatives_with_captures(items):
    match items:
        case [1, x] | [x, 2]:
            return x
        case _:
            return None


@case(([1, 2],), ([3, 2],), ([4, 5],), flavours=("static", "traced"))
def alternatives_inside(items):
    match items:
        case [(1 | 3) as first, 2 as second]:
            return first * 10 + second
        case [a, b]:
            return a - b


# --- mappings ------------------------------------------------------------------------------------


@case(
    ({"op": 1, "x": 2.0},),
    ({"op": 2, "x": 2.0},),
    ({"op": 2, "y": 2.0},),
    ({},),
    flavours=("static", "traced"),
)
def mappings(d):
    match d:
        case {"op": 1, "x": x}:
            return x
        case {"op": op, "x": x}:
            return x * op
        case {"y": y, **rest}:
            return y, rest
        case {}:
            return "empty"


@case(({"a": {"b": [1, 2]}},), ({"a": {"b": [3]}},), flavours=("static", "traced"))
def nested_mappings(d):
    match d:
        case {"a": {"b": [x, y]}}:
            return x + y
        case {"a": {"b": [x]}}:
            return x * 100


@case((OrderedDict(a=1, b=2),), (OrderedDict(b=2),), flavours=("static",))
def other_mappings(d):
    match d:
        case {"a": a, **rest}:
            return a, rest, type(rest).__name__
        case {**rest}:
            return rest


@case(({1: "a", None: "b"},), ({2: "c"},), ([1],), flavours=("static",))
def keys_of_other_kinds(d):
    match d:
        case {1: one, None: none}:
            return one, none
        case {2: "c" | "d" as found}:
            return found
        case _:
            return "no mapping"


# --- classes -------------------------------------------------------------------------------------


@case((1, 2), (0, 3), (4, 0))
def classes(a, b):
    match Point(a, b):
        case Point(0, y):
            return y
        case Point(x=x, y=0):
            return -x
        case Point(x, y) if x < y:
            return x + y
        case Point():
            return 0


@case((1.0, 3.0), (2.0, 2.0))
def attributes_and_properties(a, b):
    match Segment(a, b):
        case Segment(length=0.0):
            return 0.0
        case Segment(start, length=n):
            return start * n
        case Segment(missing=m):
            return m


@case((1,), (2.5,), ("a",), ([1],), (None,), (True,), flavours=("static",))
def builtin_classes(x):
    match x:
        case bool(b):
            return "bool", b
        case int(n):
            return "int", n
        case float():
            return "float"
        case str() | bytes():
            return "text"
        case list([first]):
            return "list", first
        case object():
            return "object"


@case((1,), (2,), error_ok=codes.KIND)
def builtin_classes_of_run_time_numbers(n):
    match n:
        case int():
            return n + 1
        case float():
            return n + 2
        case _:
            return n + 3


@case((1,), (2,), flavours=("static",))
def no_such_attribute(n):
    match Point(n, n):
        case Point(z=1):
            return "z"
        case Segment():
            return "segment"
        case Point(x=2) as p:
            return p.y
        case p:
            return p.x


@case((1,), (2,), flavours=("static",))
def too_many_positions(n):
    match Point(n, n):
        case Point(1, 2, 3):
            return 1


@case((1,), (2,), flavours=("static",))
def not_a_class(n):
    kind = 5
    match n:
        case kind(1):
            return 1


@case((1,), (2,), flavours=("static",))
def no_positions(n):
    match object():
        case object(1):
            return 1
    match n:
        case int(n, 2):
            return n


@case((1,), (2,), (3,), error_ok=codes.CHANGE)
def case_bodies_change_a_list(n):
    log = [0]
    match n:
        case 1:
            log.append(1)
        case 2:
            log[0] = 5
    return log


@case((0,), (1,), (2,))
def case_bodies_change_an_entry(n):
    d = {"a": 1, "b": 2}
    match n:
        case 0:
            d["a"] = d["a"] + 10
        case 1:
            d["b"] = 0
    return d


@case((1,), (2,))
def closures_over_captures(n):
    fs = []
    for k in (1, 2):
        match k:
            case 1 as held:
                fs.append(lambda: held)
            case held:
                fs.append(lambda: held + n)
    return [f() for f in fs]


@case((2,), (0,), (5,))
def in_a_comprehension_helper(n):
    def name(k):
        match k:
            case 0:
                return 1
            case 2 | 5:
                return k * 2
            case _:
                return 0

    return [name(k) for k in (n, n + 1, 0)]


@case((1,), (2,), (3,))
def match_in_try(n):
    try:
        match n:
            case 1:
                raise KeyError("one")
            case 2:
                y = 2
            case _:
                raise ValueError("rest")
    except KeyError:
        y = 10
    except ValueError:
        y = 20
    return y


@case((1,), (2,))
def soft_keywords_are_names(n):
    match = case_ = n
    case = match + 1
    _ = case
    match case:
        case 2:
            _ = _ + 1
    return match, case, case_, _
