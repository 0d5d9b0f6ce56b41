"""Run one program in every mode and say where it differs from plain Python.

converted   `d2s.convert(f)` on the concrete arguments
reference   the same on the Python backend
text        `d2s.to_code(f)`, executed
static      `d2s.to_static(f)`, called on the rows of arguments one after the other and on the
            first one again; the graph is run by NumPy
compiled    the same by XLA
vmap        `jax.vmap` of the converted function, against plain calls one by one
grad        `jax.grad` of the converted function in a graph, against that of the plain one

What prints is mapped and differentiated as a static function: only a whole call has an order.
"""

from __future__ import annotations

import dis
import inspect
import itertools
import re
import types
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr

import d2s
from d2s.report.verification import TooLong, limit

from ..differential import harness
from ..differential.harness import Outcome, Surroundings
from .coverage import staged_lines
from .interpret import evaluate, without_xla
from .program import Program, Row, load

#: Everything is a small multiple of 1/4, so there is nothing to be generous about.
RTOL, ATOL = 1e-5, 1e-6

ORACLES = ("converted", "reference", "text", "static", "recall", "compiled", "vmap", "grad")
#: what no user may ever see, in a refusal neither
INSIDES = re.compile(r"\b(Maybe|Unbound|Difference|Halt|Escaped)\b")
#: without a static function around, a value that is needed while jax traces is jax's own error
JAX_REFUSES = re.compile(r"Tracer|NonConcrete|Concretization")
REVERSE = "Reverse-mode differentiation does not work for"


@dataclass(frozen=True)
class Finding:
    """One difference: where, and of which kind, so that shrinking can hold on to it."""

    oracle: str
    kind: str
    why: str
    want: str
    got: str

    @property
    def key(self) -> tuple[str, str]:
        """What must stay the same while the program shrinks."""
        return self.oracle, self.kind

    def __str__(self) -> str:
        return "\n".join(
            [self.why, "plain:", harness.indent(self.want), "got:", harness.indent(self.got)]
        )


@dataclass
class Verdict:
    """All that is known about one program."""

    findings: list[Finding] = field(default_factory=list)
    refusals: list[tuple[str, str]] = field(default_factory=list)  # oracle, code
    reasons: list[str] = field(default_factory=list)  # the same in words
    ran: list[str] = field(default_factory=list)
    staged: set[int] = field(default_factory=set)
    ends: list[str | None] = field(default_factory=list)  # how plain Python ended
    skipped: str = ""


#: what ``x[i] = v`` on an array of JAX's says without d2s
IMMUTABLE = "JAX arrays are immutable"


class Limit:
    """How much processor time one call may take; shrinking has less patience."""

    seconds = 20.0


def run(call: Callable[..., Any], args: tuple[Any, ...], around: Surroundings) -> Outcome:
    """`harness.run`, with an end."""
    try:
        with limit(Limit.seconds, work=True):
            return harness.run(call, args, around)
    except TooLong:
        around.restore()
        return Outcome(error="Hang", message="no end in sight")


class Judge:
    """The oracles of one program, one method each."""

    def __init__(self, fn: Callable[..., Any], rows: Sequence[Row], flavour: str) -> None:
        self.fn, self.given, self.flavour = fn, rows, flavour
        self.verdict = Verdict()
        self.rows = [self._flavoured(row) for row in rows]
        self.around = Surroundings(self.fn)
        self.graphs: list[ClosedJaxpr] = []
        self.plain: list[Outcome] = []

    def _flavoured(self, row: Row) -> Row:
        return lambda: harness.flavoured(row(), self.flavour)

    def judge(self, oracles: tuple[str, ...]) -> Verdict:
        """Ask these oracles."""
        self.plain = [run(self.fn, row(), self.around) for row in self.rows]
        self.verdict.ends = [outcome.error for outcome in self.plain]
        if "Hang" in self.verdict.ends:
            self.verdict.skipped = "plain Python is too slow"
            return self.verdict
        if any(outcome.message.startswith(IMMUTABLE) for outcome in self.plain):
            self.verdict.skipped = "plain Python cannot write an array of JAX's, d2s can"
            return self.verdict
        for oracle in oracles:
            getattr(self, f"_{oracle}")()
        self.verdict.staged = staged_lines(self.graphs)
        self.around.restore()
        return self.verdict

    def _compare(self, oracle: str, where: str, want: Outcome, got: Outcome) -> bool:
        """Note a difference or a refusal; say whether to go on with this oracle."""
        if oracle not in self.verdict.ran:
            self.verdict.ran.append(oracle)
        if got.code is not None and not INSIDES.search(got.message):
            self.verdict.refusals.append((oracle, got.code))
            self.verdict.reasons.append(reason(got.code, got.message))
            return False
        if (
            oracle in ("vmap", "grad")
            and got.error
            and JAX_REFUSES.search(f"{got.error} {got.message}")
        ):
            self.verdict.refusals.append((oracle, "jax"))
            return False
        want.stdout, got.stdout = map(_signless_zeros, (want.stdout, got.stdout))
        why = harness.outcome_difference(want, got, RTOL, ATOL)
        if why is None:
            return True
        if "LEAKED TRACER" in str(got):
            kind = "leaked tracer"
        elif INSIDES.search(str(got)):
            kind = "shows the inside of d2s"
        elif got.error == "Hang":
            kind = "hang"
        elif got.error == want.error is None:
            kind = why.split(":")[0].split("[")[0].split(".")[0]
        elif got.error is None:
            kind = f"no {want.error}"
        elif want.error is None:
            kind = f"crash {got.error}"
        else:
            kind = f"{got.error} for {want.error}"
        self.verdict.findings.append(
            Finding(oracle, kind, f"{oracle}, {where}: {why}", str(want), str(got))
        )
        return False

    def _each_row(self, oracle: str, call: Callable[..., Any]) -> None:
        for number, row in enumerate(self.rows):
            got = run(call, row(), self.around)
            if not self._compare(oracle, f"row {number}", self.plain[number], got):
                return

    def _converted(self) -> None:
        self._each_row("converted", harness.converted(self.fn))

    def _reference(self) -> None:
        self._each_row("reference", harness.reference(self.fn))

    def _text(self) -> None:
        # The very globals of the program: what it writes there must be seen.
        globals_ = self.fn.__globals__
        made: dict[str, Any] = {}

        def call(*args: Any) -> Any:
            if not made:
                exec(compile(d2s.to_code(self.fn), "<text of fuzz>", "exec"), globals_, made)
            return made[self.fn.__name__](*args)

        globals_["d2s"] = d2s
        try:
            self._each_row("text", call)
        finally:
            del globals_["d2s"]

    def _static(self) -> None:
        with without_xla(self.graphs):
            self._static_calls("static")

    def _recall(self) -> None:
        static = harness.Static(self.fn)
        for number, flavour in ((0, "static"), (-1, "traced"), (-1, "static"), (0, "traced")):

            def row(number: int = number, flavour: str = flavour) -> tuple[Any, ...]:
                return harness.flavoured(self.given[number](), flavour)

            want = run(self.fn, row(), self.around)
            with without_xla(self.graphs):
                got = run(static, row(), self.around)
            if not self._compare("recall", f"row {number} {flavour}", want, got):
                return

    def _compiled(self) -> None:
        self._static_calls("compiled")

    def _static_calls(self, oracle: str) -> None:
        static = harness.Static(self.fn)
        for number in (*range(len(self.rows)), 0):
            got = run(static, self.rows[number](), self.around)
            if not self._compare(oracle, f"row {number}", self.plain[number], got):
                return

    def _vmap(self) -> None:
        rows = [harness.flavoured(row(), "traced") for row in self.rows]
        # others of their own: a program may change its arguments
        results = [run(self.fn, harness.flavoured(r(), "traced"), self.around) for r in self.rows]
        # An exception cannot leave a mapped function as a value.
        if any(r.error is not None or _odd(r.value) for r in results):
            return
        text = "".join(r.stdout for r in results)
        try:
            stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *(r.value for r in results))
            columns = jax.tree.map(lambda *leaves: jnp.stack(leaves), *rows)
        except (ValueError, TypeError):  # results of different shapes, or kinds
            return
        axes = jax.tree.map(lambda _: 0, columns)

        def mapped(*columns: Any) -> Any:
            return jax.vmap(self._made(), axes)(*columns)

        want = Outcome(harness.freeze(stacked), text)
        got = run(lambda *c: _interpreted(mapped, *c), columns, self.around)
        got.args, want.state = (), got.state
        self._compare("vmap", "both rows", want, got)

    def _made(self) -> Callable[..., Any]:
        """What is transformed: the converted function, or the static one.

        That is for prints, whose order counts, and for generators and the bodies of classes, which
        run as they are: without a static function around, errors about them are those of jax. It is
        for views, too, which only a static function knows.
        """
        reasons = (_prints, _runs_as_it_is, _makes_views)
        needs_static = any(_has(self.fn.__code__, what) for what in reasons)
        return harness.Static(self.fn) if needs_static else harness.converted(self.fn)

    def _grad(self) -> None:
        for number, row in enumerate(self.rows):
            args = row()
            try:
                at = harness.first_float(args)
            except AssertionError:
                return
            # Off the grid of the program, away from where `max` and `abs` have a corner.
            point = jnp.asarray(args[at], jnp.float32) + 0.0371

            def gradient(call: Callable[..., Any], args: Any = args, at: int = at) -> Any:
                def loss(value: Any) -> Any:
                    return harness.float_sum(call(*args[:at], value, *args[at + 1 :]))

                return jax.grad(loss)

            with _tracer_errors() as errors:
                want = run(gradient(self.fn), (point,), self.around)
            if want.error is not None or errors:
                return  # also if that was caught: plain Python took a way that only tracers take
            graph = gradient(self._made())
            # plain Python shows the tracers of jax; what it shows without them is to be shown
            call = (*args[:at], point, *args[at + 1 :])
            shown = run(self.fn, call, self.around).stdout
            if shown and not want.stdout:
                return  # a text of a tracer failed, and that was caught: another way was taken
            want.stdout = shown
            got = run(lambda x, graph=graph: _interpreted(graph, x), (point,), self.around)
            if got.error == "ValueError" and got.message.startswith(REVERSE):
                self.verdict.refusals.append(("grad", "reverse-mode"))
                return
            # what a graph of jax's own writes outside holds its tracers, with d2s and without
            got.state = want.state
            if not self._compare("grad", f"row {number}", want, got):
                return


@contextmanager
def _tracer_errors() -> Iterator[list[Any]]:
    """The errors that jax makes about tracers which Python asks for their values."""
    kind: Any = jax.errors.ConcretizationTypeError
    made: list[Any] = []

    def init(self: Any, *args: Any, **keywords: Any) -> None:
        made.append(type(self))
        own(self, *args, **keywords)

    own, kind.__init__ = kind.__init__, init
    try:
        yield made
    finally:
        kind.__init__ = own


def reason(code: str, message: str) -> str:
    """The code and the first words of a refusal, the same for all names and numbers in it."""
    told = message.removeprefix(code).strip(": \n").partition("\n")[0]
    words = re.sub(r"'[^']*'|`[^`]*`|\"[^\"]*\"|\d+", "_", told).split()
    return " ".join([code, *words[:12]])


def _signless_zeros(text: str) -> str:
    """A remainder that is zero has no sign in Python, and one in a graph."""
    return re.sub(r" *-?(0\.0+)(?!\d)", r"\1", text)


def _has(code: types.CodeType, what: Callable[[types.CodeType], bool]) -> bool:
    """Whether that holds for some code in a function, reached or not."""
    inner = (const for const in code.co_consts if isinstance(const, types.CodeType))
    return what(code) or any(_has(one, what) for one in inner)


def _prints(code: types.CodeType) -> bool:
    return "print" in code.co_names


def _makes_views(code: types.CodeType) -> bool:
    """Whether a buffer gets another name for something else than itself."""
    pairs = itertools.pairwise(dis.get_instructions(code))
    stores = [one for one, other in pairs if other.argval == "alias" and "STORE" in other.opname]
    return any("LOAD" not in before.opname for before in stores)


def _runs_as_it_is(code: types.CodeType) -> bool:
    generator = bool(code.co_flags & inspect.CO_GENERATOR)
    return generator or any(one.opname == "LOAD_BUILD_CLASS" for one in dis.get_instructions(code))


def _odd(value: Any) -> bool:
    """Whether there is something in a result that `vmap` cannot stack."""
    return not all(harness.is_number(leaf) for leaf in jax.tree.leaves(value)) or value is None


def _interpreted(function: Callable[..., Any], *args: Any) -> Any:
    """The value of a function, all of it in a graph that NumPy runs."""
    closed, shape = jax.make_jaxpr(function, return_shape=True)(*args)
    outs = evaluate(closed, *jax.tree.leaves(args))
    return jax.tree.unflatten(jax.tree.structure(shape), outs)


def judge(program: Program, oracles: tuple[str, ...] = ORACLES) -> Verdict:
    """Run a program through the oracles."""
    return Judge(*load(program), program.flavour).judge(oracles)


def assert_agrees(
    fn: Callable[..., Any], *rows: Row, flavour: str = "traced", refused: tuple[str, ...] = ()
) -> None:
    """Fail unless all oracles say that the function does what plain Python does.

    `refused` are codes with which d2s may stop instead.
    """
    verdict = Judge(fn, rows, flavour).judge(ORACLES)
    assert not verdict.findings, "\n\n".join(map(str, verdict.findings))
    codes = {code for _, code in verdict.refusals} - {"reverse-mode"}
    assert codes <= set(refused), codes
