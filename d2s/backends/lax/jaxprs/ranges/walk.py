"""One walk through a graph: between which numbers each value lies, and which term it is.

    inputs:   i in 0 .. 99                  walk.run(graph, [walk.input(aval, (0, 99)), ...])
    a = sub i 50                            a in -50 .. 49,   the term  sum(i, -50)
    b = mul a 7                             b in -350 .. 343, the term  sum(7 i, -350)

A result that may leave its type may be anything of that type, and its term is unknown: what the
walk says holds for the integers of the graph as they are, those that wrap around included. Every
operation on the way is noted in `seen` with its range before that, so that whoever walks can ask
what may wrap, or divide by zero.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from jax.extend.core import Literal, jaxprs_in_params
from jax.extend.core import primitives as p

from d2s.backends.lax.jaxprs.bounded.loop import loop_p
from d2s.backends.lax.jaxprs.ranges import induction
from d2s.backends.lax.jaxprs.ranges.overflow import limits
from d2s.backends.lax.jaxprs.ranges.rules import RULES, Span, full, hull, inside, of_function
from d2s.backends.lax.jaxprs.ranges.terms import Term
from d2s.backends.lax.jaxprs.ranges.values import SeenOperation, Value, Values

#: operations that run a graph of their own, once
CALLS = frozenset({p.jit_p, p.closed_call_p, p.custom_jvp_call_p, p.custom_vjp_call_p, p.remat_p})
LOOPS = frozenset({p.while_p, p.scan_p, loop_p})


class GraphWalk(Values):
    """Goes through graphs."""

    def __init__(self) -> None:
        super().__init__()
        self._calls = self._loops = 0

    def run(self, jaxpr: Any, inputs: Sequence[Value], consts: Sequence[Value] = ()) -> list[Value]:
        """What the outputs of a graph are, by what its inputs are."""
        found = self.values(jaxpr, inputs, consts)
        return [self.constant(v.val) if isinstance(v, Literal) else found[v] for v in jaxpr.outvars]

    def values(
        self, jaxpr: Any, inputs: Sequence[Value], consts: Sequence[Value] = ()
    ) -> dict[Any, Value]:
        """What all variables of a graph are, by what its inputs are."""
        found = {v: self.input(v.aval) for v in jaxpr.constvars}
        found |= dict(zip((*jaxpr.invars, *jaxpr.constvars), (*inputs, *consts), strict=False))

        def of(atom: Any) -> Value:
            return self.constant(atom.val) if isinstance(atom, Literal) else found[atom]

        for equation in jaxpr.eqns:
            outs = self.apply(equation, [of(v) for v in equation.invars])
            found.update(zip(equation.outvars, outs, strict=True))
        return found

    def apply(self, equation: Any, given: list[Value]) -> list[Value]:
        """What the results of an equation are, by what its operands are."""
        operation = equation.primitive
        if operation is p.cond_p:
            return self._branches(equation, given)
        if operation in LOOPS:
            with self._inside(loop=True):
                outs = induction.loop(self, equation, given)
            is_own = all(value.own for value in given)
            return [value._replace(own=is_own) for value in outs]
        if operation in CALLS:
            return self._call(equation, given)
        # what is made of constants alone is an array to Python, too
        is_fixed = all(isinstance(operand, Literal) for operand in equation.invars)
        own = all(value.own for value in given) and not is_fixed
        if len(equation.outvars) != 1:
            is_sorted = operation is p.sort_p
            found = [given[n].span if is_sorted else None for n in range(len(equation.outvars))]
            self._see(equation, given, None)
            results = zip(equation.outvars, found, strict=True)
            return [self.input(v.aval, span, own) for v, span in results]
        return [self._result(equation, given, own)]

    def _result(self, equation: Any, given: list[Value], own: bool) -> Value:
        out = equation.outvars[0]
        rule, whole = RULES.get(equation.primitive), full(out.aval)
        if whole is None and equation.primitive is not p.convert_element_type_p:
            self._see(equation, given, None)
            return self.value(None, None, own)
        if rule is None and equation.primitive.name == "stack":
            rule = RULES[p.concatenate_p]
        exact = rule.span(equation, *(value.span for value in given)) if rule is not None else None
        self._see(equation, given, exact)
        if whole is None:
            return self.value(exact, None, own)
        if not self._calls:
            whole = limits(equation)
        fits = inside(exact, whole)
        span = exact if fits else whole
        is_kept = fits or (self.guesses and equation.primitive is not p.convert_element_type_p)
        is_number = all(v.aval.shape == () for v in (*equation.invars, out))
        if rule is None or rule.term is None or not is_kept or not is_number:
            return self.value(span, None, own)
        term = rule.term(self.terms, equation, span, *(value.term for value in given))
        return self.value(span, term, own)

    def _see(self, equation: Any, given: list[Value], exact: Span | None) -> None:
        if not self.guesses:
            inside_of = self._calls > 0, self._loops > 0
            self.seen.append(SeenOperation(equation, given, exact, *inside_of))

    def _branches(self, equation: Any, given: list[Value]) -> list[Value]:
        index, *operands = given
        branches = equation.params["branches"]
        span = index.span if inside(index.span, (0, len(branches) - 1)) else None
        first, last = span if span is not None else (0, len(branches) - 1)
        sides = [self.run(b.jaxpr, operands) for b in branches[first : last + 1]]
        if first == last:
            return [v._replace(own=v.own and index.own) for v in sides[0]]
        joined = []
        for cases in zip(*sides, strict=True):
            whole = hull(*(case.span for case in cases))
            is_own = index.own and any(case.own for case in cases)
            term = self._choice(index.term, len(branches), first, [c.term for c in cases], whole)
            joined.append(self.value(whole, term, is_own))
        return joined

    def _choice(
        self, index: Term, count: int, first: int, cases: list[Term], span: Span | None
    ) -> Term | None:
        """The choice between the branches that may be taken; None for floats."""
        if span is None:
            return None
        others = self.terms.unknown(span)
        padded = [others] * first + cases + [others] * (count - first - len(cases))
        return self.terms.choose(index, padded, span)

    def _call(self, equation: Any, given: list[Value]) -> list[Value]:
        graph = next(iter(jaxprs_in_params(equation.params)))
        graph = getattr(graph, "jaxpr", graph)
        with self._inside(call=True):
            outs = self.run(graph, given)
        rule = of_function(equation.params) if equation.primitive is p.jit_p else None
        exact = rule(equation, *(value.span for value in given)) if rule is not None else None
        self._see(equation, given, exact if rule is not None else outs[0].span if outs else None)
        if exact is not None and inside(exact, outs[0].span):
            return [self.value(exact, None, outs[0].own)]
        return outs

    @contextmanager
    def _inside(self, call: bool = False, loop: bool = False) -> Iterator[None]:
        self._calls += call
        self._loops += loop
        try:
            yield
        finally:
            self._calls -= call
            self._loops -= loop
