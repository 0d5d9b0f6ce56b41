"""The table of the analysis: for each primitive, the range and the term of its result.

A range is what the result would be if integers had no limits, so that the caller sees whether it
leaves its type: ``add`` of two values in ``0 .. 100`` lies in ``0 .. 200``, which is too much for
an `int8`. None says that nothing is known. Ranges of arrays are those of all their elements.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax.extend.core import primitives as p
from jax.lax import GatherScatterMode

from d2s.backends.lax.jaxprs.ranges.terms import COMPARISONS, Term, Terms
from d2s.libraries import is_library_file

#: the least and the largest value that an integer may have
Span = tuple[int, int]
#: the range of a result, by the equation and the ranges of its operands
SpanRule = Callable[..., Span | None]
#: the term of a result, by what makes terms, the equation, its range and the terms of its operands
TermRule = Callable[..., Term | None]

_iinfo: Any = jnp.iinfo

#: integers up to here are numbers that a float has exactly
_EXACT = 2**24


class Rule(NamedTuple):
    """What is known of a result of a primitive."""

    span: SpanRule
    term: TermRule | None = None


def full(aval: Any) -> Span | None:
    """All values of a type; None for what is no integer."""
    dtype = getattr(aval, "dtype", None)
    if not isinstance(dtype, np.dtype):
        return None
    if dtype.kind == "b":
        return 0, 1
    if not jnp.issubdtype(dtype, jnp.integer):
        return None
    info = _iinfo(dtype)
    return int(info.min), int(info.max)


def hull(*spans: Span | None) -> Span | None:
    """The range of a value that is one of several."""
    known = [span for span in spans if span is not None]
    if len(known) < len(spans) or not known:
        return None
    return min(span[0] for span in known), max(span[1] for span in known)


def inside(span: Span | None, other: Span | None) -> bool:
    return span is not None and other is not None and other[0] <= span[0] and span[1] <= other[1]


# -- ranges ----------------------------------------------------------------------------------------


def _corners(function: Callable[..., int]) -> SpanRule:
    """The rule of a function that has its extremes at the ends of its operands' ranges."""

    def rule(_: Any, one: Span | None, other: Span | None = (0, 0)) -> Span | None:
        if one is None or other is None:
            return None
        found = [function(a, b) for a in one for b in other]
        return min(found), max(found)

    return rule


def _quotient(_: Any, one: Span | None, other: Span | None) -> Span | None:
    """Rounded towards zero. XLA gives -1 for a division by zero."""
    if one is None or other is None:
        return None
    divisors = {n for n in (*other, -1, 1) if n and other[0] <= n <= other[1]}
    found = [_towards_zero(a, b) for a in one for b in divisors]
    found += [-1] if other[0] <= 0 <= other[1] else []
    return min(found), max(found)


def _towards_zero(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _rest(_: Any, one: Span | None, other: Span | None) -> Span | None:
    """What a division towards zero leaves: it has the sign of the first operand.

    XLA gives the first operand itself for a division by zero.
    """
    if one is None or other is None:
        return None
    most = max(map(abs, one))
    if not other[0] <= 0 <= other[1]:
        most = min(most, max(map(abs, other)) - 1)
    return max(one[0], -most) if one[0] < 0 else 0, min(one[1], most) if one[1] > 0 else 0


def _remainder(_: Any, one: Span | None, other: Span | None) -> Span | None:
    """Python's ``%``: it has the sign of the divisor; `jnp.remainder` gives 0 for the divisor 0."""
    if one is None or other is None:
        return None
    if one[0] >= 0 and one[1] < other[0]:
        return one
    return min(other[0] + 1, 0), max(other[1] - 1, 0)


def _floor_quotient(_: Any, one: Span | None, other: Span | None) -> Span | None:
    if one is None or other is None or other[0] <= 0 <= other[1]:
        return None
    return _corners(operator.floordiv)(_, one, other)


def _power(equation: Any, one: Span | None) -> Span | None:
    exponent = equation.params.get("y", 2)
    if one is None or exponent < 0:
        return None
    ends = [a**exponent for a in one]
    return min(*ends, 0) if one[0] <= 0 <= one[1] and exponent else min(ends), max(ends)


def _absolute(_: Any, one: Span | None) -> Span | None:
    if one is None:
        return None
    return 0 if one[0] <= 0 <= one[1] else min(map(abs, one)), max(map(abs, one))


def _clamped(_: Any, low: Span | None, one: Span | None, high: Span | None) -> Span | None:
    if low is None or one is None or high is None:
        return None
    least, most = (min(max(one[n], low[n]), high[n]) for n in (0, 1))
    return least, most


def _bits_of_both(_: Any, one: Span | None, other: Span | None) -> Span | None:
    """`and`: not more than any operand that is not negative."""
    least = [span[1] for span in (one, other) if span is not None and span[0] >= 0]
    return (0, min(least)) if least else None


def _bits_of_any(_: Any, one: Span | None, other: Span | None) -> Span | None:
    """`or` and `xor` of what is not negative: no bit above those of the operands."""
    if one is None or other is None or one[0] < 0 or other[0] < 0:
        return None
    return 0, (1 << max(one[1], other[1]).bit_length()) - 1


def _opposite_bits(equation: Any, one: Span | None) -> Span | None:
    span = full(equation.outvars[0].aval)
    if one is None or span is None:
        return None
    return span[0] + span[1] - one[1], span[0] + span[1] - one[0]


def _shift(function: Callable[[int, int], int], is_logical: bool = False) -> SpanRule:
    """A shift by less than all bits.

    The first bit is the sign to an arithmetic shift, of unsigned integers as well, and part of the
    number to a logical one.
    """

    def rule(equation: Any, one: Span | None, other: Span | None) -> Span | None:
        bits = 8 * equation.outvars[0].aval.dtype.itemsize
        if one is None or other is None or other[0] < 0 or other[1] >= bits:
            return None
        has_first_bit = one[1] >> (bits - 1) > 0 or (is_logical and one[0] < 0)
        if function is operator.rshift and has_first_bit:
            return None
        return _corners(function)(equation, one, other)

    return rule


def _converted(equation: Any, one: Span | None) -> Span | None:
    dtype = equation.params["new_dtype"]
    if one is None:
        return None
    if dtype == jnp.bool_:
        return (0 if one[0] <= 0 <= one[1] else 1), int(one != (0, 0))
    if isinstance(dtype, np.dtype) and jnp.issubdtype(dtype, jnp.integer):
        return one
    is_exact = dtype in (jnp.float32, jnp.float64) and max(map(abs, one)) <= _EXACT
    return one if is_exact else None


def _first(_: Any, one: Span | None, *others: Span | None) -> Span | None:
    return one


def _any_of(_: Any, *spans: Span | None) -> Span | None:
    return hull(*spans)


def _selected(_: Any, index: Span | None, *cases: Span | None) -> Span | None:
    if inside(index, (0, len(cases) - 1)):
        assert index is not None
        return hull(*cases[index[0] : index[1] + 1])
    return hull(*cases)


def _gathered(equation: Any, one: Span | None, *others: Span | None) -> Span | None:
    sure = GatherScatterMode.CLIP, GatherScatterMode.PROMISE_IN_BOUNDS
    return one if equation.params["mode"] in sure else None


def _positions(equation: Any, *_: Span | None) -> Span | None:
    """Of `iota`, and of `argmax` and `argmin`."""
    params = equation.params
    if "axes" in params:
        sizes = [equation.invars[0].aval.shape[axis] for axis in params["axes"]]
    else:
        sizes = [params["shape"][params["dimension"]]]
    if not all(type(size) is int for size in sizes):
        return None
    return 0, max(int(np.prod(sizes)) - 1, 0)


def _total(equation: Any, one: Span | None) -> Span | None:
    """A sum of elements; of `cumsum`, of some of them."""
    shape, params = equation.invars[0].aval.shape, equation.params
    sizes = [shape[n] for n in params.get("axes", (params.get("axis"),))]
    if one is None or not all(type(size) is int for size in sizes):
        return None
    count = int(np.prod(sizes))
    least = 1 if "axis" in params else count
    return _corners(operator.mul)(equation, one, (min(least, count), count))


def _compared(name: str) -> SpanRule:
    def rule(_: Any, one: Span | None, other: Span | None) -> Span | None:
        if one is None or other is None:
            return 0, 1
        if name in ("eq", "ne"):
            is_same = one == other and one[0] == one[1]
            is_apart = one[1] < other[0] or other[1] < one[0]
            sure = (1, 1) if (is_same if name == "eq" else is_apart) else None
            never = (0, 0) if (is_apart if name == "eq" else is_same) else None
            return sure or never or (0, 1)
        holds = getattr(operator, name)
        worst, best = (one[1], other[0]), (one[0], other[1])
        if name in ("gt", "ge"):
            worst, best = best, worst
        return int(holds(*worst)), int(holds(*best))

    return rule


def _count_of_bits(equation: Any, _: Span | None) -> Span | None:
    return 0, 8 * equation.outvars[0].aval.dtype.itemsize


# -- terms -----------------------------------------------------------------------------------------


def _sum(terms: Terms, _: Any, span: Span | None, one: Term, other: Term) -> Term:
    return terms.sum(one, other, 1, span)


def _difference(terms: Terms, _: Any, span: Span | None, one: Term, other: Term) -> Term:
    return terms.sum(one, other, -1, span)


def _negative(terms: Terms, _: Any, span: Span | None, one: Term) -> Term:
    return terms.sum(terms.known(0), one, -1, span)


def _product(terms: Terms, _: Any, span: Span | None, one: Term, other: Term) -> Term | None:
    return terms.product(one, other, span)


def _same(terms: Terms, _: Any, span: Span | None, one: Term, *others: Term) -> Term:
    return one


def _cast(terms: Terms, equation: Any, span: Span | None, one: Term) -> Term | None:
    old, new = equation.invars[0].aval.dtype, equation.outvars[0].aval.dtype
    if new == jnp.bool_ and old != jnp.bool_:
        return terms.make("ne", one, terms.known(0), span=span)
    return one


def _choice(terms: Terms, _: Any, span: Span | None, index: Term, *cases: Term) -> Term:
    return terms.choose(index, cases, span)


def _named(name: str) -> TermRule:
    def rule(terms: Terms, equation: Any, span: Span | None, *given: Term) -> Term | None:
        # `and` of integers works on their bits
        is_flag = equation.outvars[0].aval.dtype == jnp.bool_
        return terms.make(name, *given, span=span) if is_flag else None

    return rule


_ARRANGED = (
    *(p.broadcast_in_dim_p, p.reshape_p, p.squeeze_p, p.copy_p, p.stop_gradient_p),
    *(p.slice_p, p.dynamic_slice_p, p.transpose_p, p.rev_p, p.name_p, p.sharding_constraint_p),
    *(p.reduce_max_p, p.reduce_min_p, p.cummax_p, p.cummin_p, p.reduce_and_p, p.reduce_or_p),
)

#: what is known of the result of each primitive; nothing, of those that are not here
RULES: dict[Any, Rule] = {
    p.add_p: Rule(_corners(operator.add), _sum),
    p.sub_p: Rule(_corners(operator.sub), _difference),
    p.mul_p: Rule(_corners(operator.mul), _product),
    p.max_p: Rule(_corners(max)),
    p.min_p: Rule(_corners(min)),
    p.neg_p: Rule(_corners(lambda a, _: -a), _negative),
    p.abs_p: Rule(_absolute),
    p.sign_p: Rule(_corners(lambda a, _: (a > 0) - (a < 0))),
    p.div_p: Rule(_quotient),
    p.rem_p: Rule(_rest),
    p.integer_pow_p: Rule(_power),
    p.square_p: Rule(_power),
    p.clamp_p: Rule(_clamped),
    p.and_p: Rule(_bits_of_both, _named("and")),
    p.or_p: Rule(_bits_of_any, _named("or")),
    p.xor_p: Rule(_bits_of_any),
    p.not_p: Rule(_opposite_bits, _named("not")),
    p.shift_left_p: Rule(_shift(operator.lshift)),
    p.shift_right_arithmetic_p: Rule(_shift(operator.rshift)),
    p.shift_right_logical_p: Rule(_shift(operator.rshift, is_logical=True)),
    p.population_count_p: Rule(_count_of_bits),
    p.clz_p: Rule(_count_of_bits),
    p.convert_element_type_p: Rule(_converted, _cast),
    p.select_n_p: Rule(_selected, _choice),
    p.concatenate_p: Rule(_any_of),
    p.pad_p: Rule(_any_of),
    p.dynamic_update_slice_p: Rule(lambda _, one, new, *at: hull(one, new)),
    p.scatter_p: Rule(lambda _, one, at, new: hull(one, new)),
    p.gather_p: Rule(_gathered),
    p.iota_p: Rule(_positions),
    p.argmax_p: Rule(_positions),
    p.argmin_p: Rule(_positions),
    p.reduce_sum_p: Rule(_total),
    p.cumsum_p: Rule(_total),
    **{getattr(p, f"{name}_p"): Rule(_compared(name), _named(name)) for name in COMPARISONS},
    **dict.fromkeys(_ARRANGED, Rule(_first, _same)),
}

_OF_FUNCTIONS: dict[str, SpanRule] = {"remainder": _remainder, "floor_divide": _floor_quotient}


def of_function(params: Any) -> SpanRule | None:
    """The rule of a function of `jax.numpy` that is a graph of its own.

    Such a graph has a name and the file of its function, and nothing else that says what it is.
    """
    rule = _OF_FUNCTIONS.get(params.get("name", ""))
    if rule is None:
        return None
    file = params["jaxpr"].jaxpr.debug_info.func_filename
    return rule if file is not None and is_library_file(file) else None
