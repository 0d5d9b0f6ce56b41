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
from typing import Any, NamedTuple

from jax.extend.core import primitives as p

from d2s.backends.lax.jaxprs.ranges import trip_counts
from d2s.backends.lax.jaxprs.ranges.rules import Span, full, hull, inside
from d2s.backends.lax.jaxprs.ranges.terms import Move, move
from d2s.backends.lax.jaxprs.ranges.values import Value, Values

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


class CarriedValues(NamedTuple):
    """What is known of a loop: its carry at the head of a trip and after the loop, and its rows."""

    heads: list[Value]
    after: list[Value]
    rows: list[Value]


def loop(walk: Values, equation: Any, given: list[Value]) -> list[Value]:
    """The results of a loop of the graph."""
    params = equation.params
    if equation.primitive is p.while_p:
        tests, consts = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]
        test, body, limit = params["cond_jaxpr"].jaxpr, params["body_jaxpr"].jaxpr, None
        return _while(walk, test, body, given[:tests], given[tests:consts], given[consts:], limit)
    if equation.primitive is p.scan_p:
        consts, carry = counts_of(params)
        length, body = params["length"], params["jaxpr"].jaxpr
        first = consts + carry
        arrays = zip(body.invars[first:], given[first:], strict=True)
        rows = [walk.input(v.aval, array.span) for v, array in arrays]
        length = length if type(length) is int else None
        kinds = [v.aval for v in body.invars[consts:first]]

        def trip(heads: list[Value]) -> list[Value]:
            return walk.run(body, [*given[:consts], *heads, *rows])

        found = follow(walk, kinds, given[consts:first], trip, length)
        after = found.after if length != 0 else given[consts:first]
        return [*after, *found.rows]
    form, test, body = params["form"], params["test"], params["body"].jaxpr
    if test is None or form.masked or len(equation.outvars) != form.carry:
        return [walk.input(v.aval) for v in equation.outvars]
    tests, consts = form.tests, form.tests + form.consts
    limit = form.limit if type(form.limit) is int else None  # it may be a named dimension
    test = test.jaxpr
    return _while(walk, test, body, given[:tests], given[tests:consts], given[consts:], limit)


def _while(
    walk: Values,
    test: Any,
    body: Any,
    tests: list[Value],
    consts: list[Value],
    inits: list[Value],
    limit: int | None,
) -> list[Value]:
    """What a loop that ends by its test carries at last; `tests` are what only that reads."""
    kinds = [v.aval for v in body.invars[len(consts) :]]

    def trip(heads: list[Value]) -> list[Value]:
        return walk.run(body, [*consts, *heads])

    def goes_on(heads: list[Value]) -> Value:
        return walk.run(test, [*tests, *heads])[0]

    if limit is None:
        limit = most_trips(walk, kinds, inits, trip, goes_on)
    found = follow(walk, kinds, inits, trip, limit, is_sure=False)
    # the test is asked at the head of each trip, and after the last one
    ends = zip(kinds, found.heads, found.after, strict=True)
    goes_on([walk.input(kind, hull(head.span, last.span)) for kind, head, last in ends])
    return found.after


def most_trips(
    walk: Values,
    kinds: list[Any],
    inits: list[Value],
    trip: Callable[[list[Value]], list[Value]],
    goes_on: Callable[[list[Value]], Value],
) -> int | None:
    """A number of trips that a loop surely does not exceed; None if no counter gives one.

    It is given as in `follow`; `goes_on` is the test of the loop.
    """
    starts = [_start(init, kind) for init, kind in zip(inits, kinds, strict=True)]
    if not any(start is not None for start in starts):
        return None
    with walk.guessing():
        before = [walk.input(kind) for kind in kinds]
        kept = [a.term is b.term for a, b in zip(before, trip(before), strict=False)]
        for n, start in enumerate(starts):
            if kept[n] and start is not None:  # no trip changes it
                before[n], starts[n] = walk.constant(start), None
        after = trip(before)[: len(before)]
        claims = [(goes_on(state).term, 1) for state in (before, after)]
    found = []
    for start, kind, now, then in zip(starts, kinds, before, after, strict=True):
        whole = full(kind)
        if start is not None and whole is not None:
            found.append(trip_counts.most_trips(claims, now.term, then.term, start, whole))
    return min((n for n in found if n is not None), default=None)


def _start(init: Value, kind: Any) -> int | None:
    """The number that an integer or a flag begins with, if it is known."""
    is_number = init.span is not None and kind.shape == () and init.span[0] == init.span[1]
    return init.span[0] if is_number and init.span is not None else None


def counts_of(params: Any) -> tuple[int, int]:
    """How many operands of a scan are constants, and how many it carries."""
    if "num_consts" in params:
        return params["num_consts"], params["num_carry"]
    consts, carry, _ = params["ft_in"].unpack()
    return len(consts), len(carry)


def follow(
    walk: Values,
    kinds: list[Any],
    inits: list[Value],
    trip: Callable[[list[Value]], list[Value]],
    trips: int | None = None,
    is_sure: bool = True,
) -> CarriedValues:
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
            for guess, init, head, out, span in zip(
                guesses, inits, heads, outs, whole, strict=False
            )
        ]
        if proven == guesses:
            break
        del walk.seen[mark:]
        guesses = proven
    is_sure = is_sure and trips is not None
    last = zip(guesses, inits, heads, outs, strict=False)
    after = [_after(walk, *end, trips, is_sure) for end in last]
    return CarriedValues(heads, after, outs[len(inits) :])


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
    walk: Values,
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
    moved, slow = guess.move, move(out.term, head.term, paced=True)
    by = None if moved is None else _way(moved, trips, is_sure)
    if moved is None or by is None or slow is None or span is None or init.span is None:
        return walk.value(span)
    span = max(span[0], init.span[0] + by[0]), min(span[1], init.span[1] + by[1])
    paced = _pace(slow)
    if trips is None:
        moved = paced
    else:
        least, most = trips * moved.least, trips * moved.most
        moved = moved._replace(least=least, most=most)
        moved = moved if is_sure else moved.or_else(moved._replace(least=0, most=0))
    return walk.value(span, walk.terms.make("moved", init.term, moved, paced, span=span))
