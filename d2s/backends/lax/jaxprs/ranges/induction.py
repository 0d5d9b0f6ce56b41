"""Loops: the ranges of what they carry, guessed from one trip and then proven.

    count = 0                       guess   a trip moves `count` by 0 .. 1, and there are 200 trips:
    for i in range(200):                    `count` lies in 0 .. 199 at the head of a trip
        if x[i] > 0:                proof   from any such number a trip moves it by 0 .. 1, and
            count += 1                      nothing wraps on the way
                                    after   it lies in 0 .. 200

To guess, the body is walked through as if nothing could wrap. The proof walks through it again,
with the guessed ranges at its head and with all that may wrap: each number must be moved by no more
than was guessed, or lie in its range again. What fails is taken for any number of its type, and the
rest is proven anew. What a trip does not move, but sets (``h = (31 * h + x) % 97``), lies between
the values that it sets and the one from before the loop.

Of a loop of which nobody knows when it ends it is taken for granted that it does not make `TRIPS`
trips, all such loops of a program together: nobody waits so long. A number that each trip moves by
`FEW` at most stays inside of 32 bits then, if it began far from their limits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from jax.extend.core import primitives as p

from d2s.backends.lax.jaxprs.ranges.rules import Span, full, hull, inside
from d2s.backends.lax.jaxprs.ranges.terms import Move, move

if TYPE_CHECKING:
    from d2s.backends.lax.jaxprs.ranges.walk import Value, Walk

#: No program makes so many trips. Eight times as many, and a little more, fit into 32 bits: sums
#: of a few positions of loops are not checked.
TRIPS = 2**28 - 2**18
#: how much a trip may move a number that stays inside of 32 bits without another reason
FEW = 4
#: how often a guess is made better by the guesses for other numbers
_ROUNDS = 5


class Guess(NamedTuple):
    """The range of a number at the head of a trip, and how a trip moves it, if it is so found."""

    span: Span | None
    move: Move | None = None


class Loop(NamedTuple):
    """What is known of a loop: its carry at the head of a trip and after the loop, and its rows."""

    heads: list[Value]
    after: list[Value]
    rows: list[Value]


def loop(walk: Walk, equation: Any, given: list[Value]) -> list[Value]:
    """The results of a loop of the graph."""
    params = equation.params
    if equation.primitive is p.while_p:
        tests, consts = params["cond_nconsts"], params["body_nconsts"]
        body, inits = params["body_jaxpr"].jaxpr, given[tests + consts :]
        found = _follow(walk, body, given[tests : tests + consts], inits, [])
        _test(walk, params["cond_jaxpr"].jaxpr, given[:tests], found)
        return found.after
    if equation.primitive is p.scan_p:
        consts, carry = counts_of(params)
        length, body = params["length"], params["jaxpr"].jaxpr
        first = consts + carry
        arrays = zip(body.invars[first:], given[first:], strict=True)
        rows = [walk.input(v.aval, array.span) for v, array in arrays]
        length = length if type(length) is int else None
        found = _follow(walk, body, given[:consts], given[consts:first], rows, length)
        after = found.after if length != 0 else given[consts:first]
        return [*after, *found.rows]
    form, test, body = params["form"], params["test"], params["body"].jaxpr
    if test is None or form.masked or len(equation.outvars) != form.carry:
        return [walk.input(v.aval) for v in equation.outvars]
    tests, consts = form.tests, form.tests + form.consts
    found = _follow(walk, body, given[tests:consts], given[consts:], [], form.limit, is_sure=False)
    _test(walk, test.jaxpr, given[:tests], found)
    return found.after


def _follow(
    walk: Walk,
    body: Any,
    consts: list[Value],
    inits: list[Value],
    rows: list[Value],
    trips: int | None = None,
    is_sure: bool = True,
) -> Loop:
    """The same, of a body with the inputs [consts] [carry] [rows] and the outputs [carry] [rows]."""
    kinds = [v.aval for v in body.invars[len(consts) : len(consts) + len(inits)]]

    def trip(heads: list[Value]) -> list[Value]:
        return walk.run(body, [*consts, *heads, *rows])

    return follow(walk, kinds, inits, trip, trips, is_sure)


def counts_of(params: Any) -> tuple[int, int]:
    """How many operands of a scan are constants, and how many it carries."""
    if "num_consts" in params:
        return params["num_consts"], params["num_carry"]
    consts, carry, _ = params["ft_in"].unpack()
    return len(consts), len(carry)


def _test(walk: Walk, test: Any, consts: list[Value], found: Loop) -> None:
    """The test is asked at the head of each trip, and after the last one."""
    carried = zip(test.invars[len(consts) :], found.heads, found.after, strict=True)
    asked = [walk.input(v.aval, hull(head.span, last.span)) for v, head, last in carried]
    walk.run(test, [*consts, *asked])


def follow(
    walk: Walk,
    kinds: list[Any],
    inits: list[Value],
    trip: Callable[[list[Value]], list[Value]],
    trips: int | None = None,
    is_sure: bool = True,
) -> Loop:
    """What a loop of at most `trips` trips carries; of just so many, if that `is_sure`.

    `kinds` are the types of what it carries; a `trip` gives what it is after a trip, by what it was
    before, and the rows that the trip leaves.
    """
    whole = [full(kind) for kind in kinds]

    def tried(guesses: list[Guess]) -> tuple[list[Value], list[Value]]:
        heads = [walk.input(kind, guess.span) for kind, guess in zip(kinds, guesses, strict=True)]
        return heads, trip(heads)

    guesses, outer = [Guess(span) for span in whole], walk.guesses
    with walk.guessing():
        for n in range(_ROUNDS if any(span is not None for span in whole) else 0):
            heads, outs = tried(guesses)
            before = [None if n == 0 else guess.span for guess in guesses]
            ends = zip(inits, heads, outs, whole, before, strict=False)
            new = [_guess(*end, trips, is_needed=not outer) for end in ends]
            if new == guesses:
                break
            guesses = new
    while True:
        mark = len(walk.seen)
        heads, outs = tried(guesses)
        proven = [
            guess if _holds(guess, init, head, out, trips is None) else Guess(span)
            for guess, init, head, out, span in zip(*(guesses, inits, heads, outs), whole)
        ]
        if proven == guesses:
            break
        del walk.seen[mark:]
        guesses = proven
    is_sure = is_sure and trips is not None
    ends = zip(guesses, inits, heads, outs, strict=False)
    after = [_after(walk, *end, trips, is_sure) for end in ends]
    return Loop(heads, after, outs[len(inits) :])


def _guess(
    init: Value,
    head: Value,
    out: Value,
    whole: Span | None,
    before: Span | None,
    trips: int | None,
    is_needed: bool,
) -> Guess:
    """The range of a number at the head of a trip, if what was found of one trip is true.

    What a trip sets, and does not move, begins with the value from before the loop; each round adds
    what a trip makes of the range that was guessed `before`. Where the proof `is_needed`, the
    number must stay inside of its type.
    """
    if whole is None or init.span is None:
        return Guess(whole)
    moved = move(out.term, head.term, paced=trips is None)
    by = None if moved is None else _way(moved, None if trips is None else max(trips - 1, 0))
    if by is not None:
        span = init.span[0] + by[0], init.span[1] + by[1]
        if inside(span, whole) or not is_needed:
            return Guess(span, moved)
    return Guess(init.span if before is None else hull(before, init.span, out.span))


def _way(moved: Move, trips: int | None, is_sure: bool = False) -> Span | None:
    """How far so many trips or fewer move; None where that is too fast for trips nobody counts."""
    if trips is None:
        moved, trips = _pace(moved), 0
    if moved.down < -FEW or moved.up > FEW:
        return None
    least, most = trips * moved.least, trips * moved.most
    if not is_sure:
        least, most = min(least, 0), max(most, 0)
    return least + TRIPS * moved.down, most + TRIPS * moved.up


def _pace(moved: Move) -> Move:
    """The same for each trip, of this loop or of one inside."""
    return Move(0, 0, min(moved.least, moved.down, 0), max(moved.most, moved.up, 0))


def _holds(guess: Guess, init: Value, head: Value, out: Value, paced: bool) -> bool:
    """Whether a trip that begins in the guessed range ends as guessed."""
    if guess.span is None:
        return True
    if guess.move is None:
        return inside(hull(init.span, out.span), guess.span)
    moved = move(out.term, head.term, paced)
    return moved is not None and moved.within(guess.move)


def _after(
    walk: Walk,
    guess: Guess,
    init: Value,
    head: Value,
    out: Value,
    trips: int | None,
    is_sure: bool,
) -> Value:
    """What a number is after the loop."""
    makes_a_trip = is_sure and trips is not None and trips > 0
    span = out.span if makes_a_trip else hull(init.span, out.span)
    by = None if guess.move is None else _way(guess.move, trips, is_sure)
    slow = move(out.term, head.term, paced=True)
    if by is None or slow is None or span is None or init.span is None:
        return walk.value(span)
    span = max(span[0], init.span[0] + by[0]), min(span[1], init.span[1] + by[1])
    paced = _pace(slow)
    moved = paced
    if trips is not None:
        least, most = trips * guess.move.least, trips * guess.move.most
        least, most = (least, most) if is_sure else (min(least, 0), max(most, 0))
        moved = Move(least, most, guess.move.down, guess.move.up)
    return walk.value(span, walk.terms.make("moved", init.term, moved, paced, span=span))
