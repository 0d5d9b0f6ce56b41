"""How often a loaded function can be differentiated, and what is said beyond that."""

from __future__ import annotations

from typing import Any

import jax.export

from d2s.backends.lax.graph.sites import here
from d2s.errors import Error


class Differentiable(jax.export.Exported):
    """A graph out of a file; whoever wants a gradient that it was saved without is told."""

    #: the name of the function, and how often it was differentiated to get this graph
    label: str
    times: int

    @classmethod
    def of(cls, exported: jax.export.Exported, label: str, times: int = 0) -> Differentiable:
        made = object.__new__(cls)
        vars(made).update(vars(exported), label=label, times=times)
        return made

    def vjp(self) -> Any:
        """The graph of its gradient."""
        if self.has_vjp():
            return Differentiable.of(super().vjp(), self.label, self.times + 1)
        saved = f"with vjp_order={self.times}" if self.times else "without its gradient"
        raise Error(
            f"{self.label} was saved {saved}",
            code="D2S062",
            site=here(),
            fix=f"d2s.save(..., vjp_order={self.times + 1})",
        )
