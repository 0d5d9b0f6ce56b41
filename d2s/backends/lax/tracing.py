"""`d2s.trace`: a graph by tracing alone, as `jax.jit` does it; what that would freeze is refused.

@d2s.trace
def f(x, n):
    for _ in range(n):          Python runs the loop: `n` is a number
        x = x * 2
    return x if x > 0 else -x   D2S028: Python would decide this by a run-time value
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from d2s.backends.lax.arrays import aliases
from d2s.backends.lax.backend import LaxBackend
from d2s.backends.lax.control.unrolled import as_tuple
from d2s.backends.lax.function.compiled import Compiled
from d2s.backends.lax.graph import sites
from d2s.backends.lax.semantics.sequences import as_sequence
from d2s.backends.python import PythonBackend
from d2s.errors import Error, StagingError
from d2s.runtime.engines import running_on
from d2s.runtime.protocol import Block, State, Thunk


class _Refusing(LaxBackend):
    """A backend on which Python decides every branch and runs every loop, by known values only."""

    def cond(self, test: Any, then: Block, orelse: Block, state: State) -> Any:
        return PythonBackend.cond(self, self._known(test), then, orelse, state)

    def switch(self, subject: Any, cases: dict[int, Block], orelse: Block, state: State) -> Any:
        return super().switch(self._known(subject), cases, orelse, state)

    def while_loop(self, test: Block, body: Block, state: State) -> State:
        while self._known(test(*state)):
            state = as_tuple(body(*state), len(state))
        return state

    def for_loop(
        self, iterable: Iterable[Any], body: Block, state: State, test: Block | None
    ) -> State:
        sequence = as_sequence(iterable)
        if sequence is not None:
            self._known(sequence.length)
            iterable = sequence.items()
        with aliases.looped_over(sequence):
            for item in iterable:
                state = as_tuple(body(item, *state), len(state))
                if test is not None and not self._known(test(*state)):
                    break
        return state

    def and_(self, first: Any, rest: tuple[Thunk, ...]) -> Any:
        return super().and_(self._known(first), self._checked(rest))

    def or_(self, first: Any, rest: tuple[Thunk, ...]) -> Any:
        return super().or_(self._known(first), self._checked(rest))

    def not_(self, operand: Any) -> Any:
        return super().not_(self._known(operand))

    def _checked(self, rest: tuple[Thunk, ...]) -> tuple[Thunk, ...]:
        """The operands, whose truth must be known; nobody asks for that of the last one."""
        deciding = (lambda operand=operand: self._known(operand()) for operand in rest[:-1])
        return (*deciding, rest[-1])

    def _known(self, value: Any) -> Any:
        """The value, by which Python may decide."""
        if self.is_traced(value):
            raise StagingError(
                "Python would decide this by a run-time value, and the graph would keep the "
                "decision for all values",
                code="D2S028",
                site=sites.where(),
                fix="d2s.to_static, which puts both ways into the graph, or jnp.where",
            )
        return value


_REFUSING = _Refusing()


class Traced(Compiled):
    """A static function that converts no control flow."""

    def trace(self, *args: Any) -> Any:
        with running_on(_REFUSING):
            return super().trace(*args)

    def _try_again(self, entry: Any, leaves: Any, owners: Any, error: Exception) -> Any:
        if isinstance(error, Error) and error.code == "D2S028":
            raise error  # a Python number does not become static by itself: that would freeze it
        return super()._try_again(entry, leaves, owners, error)
