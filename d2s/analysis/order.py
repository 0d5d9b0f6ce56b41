"""What an expression with ``:=`` has bound, and when: names in the order of evaluation.

In ``(y := f(x)) > 0 and (z := y)`` the name `y` is bound whenever there is a value, and `z` in
addition when the value is true. `x` is read before the expression has bound it; `y` is not.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import gast

from d2s.analysis.scopes import (
    COMPREHENSIONS,
    FUNCTIONS,
    Scopes,
    around_function,
    child_nodes,
    own_nodes,
    skippable,
)


@dataclass
class Evaluated:
    """Names an expression reads before it has bound them itself, and those it binds.

    ``sure`` are bound whenever the expression has a value, ``true`` and ``false`` in addition when
    that value is true or false.
    """

    early: list[gast.Name] = field(default_factory=list)
    sure: set[str] = field(default_factory=set)
    true: set[str] = field(default_factory=set)
    false: set[str] = field(default_factory=set)

    @property
    def when_true(self) -> set[str]:
        return self.sure | self.true

    @property
    def when_false(self) -> set[str]:
        return self.sure | self.false


def evaluate(node: gast.AST, scopes: Scopes, bound: frozenset[str] = frozenset()) -> Evaluated:
    """Follow the evaluation of an expression or a simple statement."""
    if isinstance(node, gast.Name):
        is_early = isinstance(node.ctx, gast.Load) and node.id not in bound
        return Evaluated([node] if is_early else [])
    if isinstance(node, gast.NamedExpr):
        found = evaluate(node.value, scopes, bound)
        found.sure |= {node.target.id}
        return found
    if isinstance(node, gast.BoolOp):
        return _bool_op(node, scopes, bound)
    if isinstance(node, gast.IfExp):
        test = evaluate(node.test, scopes, bound)
        body = evaluate(node.body, scopes, bound | test.when_true)
        orelse = evaluate(node.orelse, scopes, bound | test.when_false)
        early = [*test.early, *body.early, *orelse.early]
        return Evaluated(early, test.sure | (body.sure & orelse.sure))
    if isinstance(node, gast.Compare):
        found = _in_turn([node.left, node.comparators[0]], scopes, bound)
        rest = _in_turn(node.comparators[1:], scopes, bound | found.sure)
        return Evaluated([*found.early, *rest.early], found.sure, true=rest.sure)
    if isinstance(node, gast.UnaryOp) and isinstance(node.op, gast.Not):
        found = evaluate(node.operand, scopes, bound)
        found.true, found.false = found.false, found.true
        return found
    if isinstance(node, gast.Assign):
        return _in_turn([node.value, *node.targets], scopes, bound)
    if isinstance(node, gast.AnnAssign):
        value = [node.value] if node.value is not None else []
        return _in_turn([*value, node.target], scopes, bound)
    if isinstance(node, gast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        return _in_turn([part for pair in pairs for part in pair if part], scopes, bound)
    if isinstance(node, gast.AugAssign):
        target = node.target
        own = [target] if isinstance(target, gast.Name) and target.id not in bound else []
        found = _in_turn([target, node.value], scopes, bound)
        return Evaluated([*own, *found.early], found.sure)
    if isinstance(node, gast.Assert):
        test = evaluate(node.test, scopes, bound)
        message = [node.msg] if node.msg is not None else []
        failed = _in_turn(message, scopes, bound | test.when_false)
        return Evaluated([*test.early, *failed.early], test.when_true)
    if isinstance(node, FUNCTIONS):
        return _in_turn(around_function(node), scopes, bound)
    if isinstance(node, gast.ClassDef):
        outside = [*node.decorator_list, *node.bases, *node.keywords]
        found = _in_turn(outside, scopes, bound)
        inside = scopes.class_names(node) - bound - found.sure
        loads = (n for n in own_nodes(node.body) if isinstance(n, gast.Name))
        found.early += [n for n in loads if n.id in inside and isinstance(n.ctx, gast.Load)]
        return found
    if isinstance(node, COMPREHENSIONS):
        return _comprehension(node, scopes, bound)
    return _in_turn(child_nodes(node), scopes, bound)


def _in_turn(nodes: list[gast.AST], scopes: Scopes, bound: frozenset[str]) -> Evaluated:
    """Parts that are evaluated one after the other, all of them."""
    total = Evaluated()
    for node in nodes:
        found = evaluate(node, scopes, bound | total.sure)
        total.early += found.early
        total.sure |= found.sure
    return total


def _bool_op(node: gast.BoolOp, scopes: Scopes, bound: frozenset[str]) -> Evaluated:
    """`and`, `or`: the first operand is evaluated surely, the others while the truth is open."""
    total = Evaluated()
    through: set[str] = set()
    for n, value in enumerate(node.values):
        found = evaluate(value, scopes, bound | through)
        total.early += found.early
        if n == 0:
            total.sure = set(found.sure)
        # the next operand is reached when this one was true (`and`) or false (`or`)
        ended = n == len(node.values) - 1
        go_on = found.when_true if isinstance(node.op, gast.And) else found.when_false
        through |= go_on if not ended else set()
        if ended:
            total.true = through | found.when_true
            total.false = through | found.when_false
    if isinstance(node.op, gast.And):
        total.false = set()
    else:
        total.true = set()
    return total


def _comprehension(node: gast.AST, scopes: Scopes, bound: frozenset[str]) -> Evaluated:
    """What a comprehension reads; what it binds by ``:=`` is not sure, for it may have no items."""
    first = node.generators[0]
    found = evaluate(first.iter, scopes, bound)
    own = scopes.comprehension_targets(node) | bound | found.sure
    rest = [first.target, *first.ifs, *node.generators[1:]]
    rest += [getattr(node, name) for name in ("elt", "key", "value") if hasattr(node, name)]
    for part in rest:
        found.early += evaluate(part, scopes, own).early
    return found


def bound_by_thunks(expression: gast.AST) -> set[str]:
    """The names that ``:=`` binds in operands which become functions: a graph may skip them."""
    found: set[str] = set()
    for node in own_nodes([expression]):
        parts = [] if _stays(node) else skippable(node)
        found |= {
            inner.target.id
            for part in parts
            for inner in own_nodes([part])
            if isinstance(inner, gast.NamedExpr)
        }
    return found


def _stays(node: gast.AST) -> bool:
    """Whether an expression stays Python's, because its operands need not become functions."""
    if isinstance(node, gast.BoolOp):
        return all(is_python_bool(value) for value in node.values[:-1])
    if isinstance(node, gast.IfExp):
        return is_python_bool(node.test)
    return is_python_bool(node)


def is_flag(node: gast.expr) -> bool:
    """The constants True and False."""
    return isinstance(node, gast.Constant) and isinstance(node.value, bool)


def is_python_bool(test: gast.expr) -> bool:
    """Whether Python knows the truth of an expression whatever its operands are."""
    if isinstance(test, gast.Compare):
        # `x is True`: what is a bool in plain Python is an array in a graph, where the engine is
        # asked what `is` gives
        flags = any(is_flag(value) for value in (test.left, *test.comparators))
        return not flags and all(isinstance(op, gast.Is | gast.IsNot) for op in test.ops)
    if isinstance(test, gast.UnaryOp) and isinstance(test.op, gast.Not):
        return is_python_bool(test.operand)
    if isinstance(test, gast.BoolOp):
        return all(is_python_bool(value) for value in test.values)
    if isinstance(test, gast.List | gast.Tuple | gast.Dict | gast.Set):
        return True  # its truth is its length, whatever is in it
    if isinstance(test, gast.Call):
        # an `is` that was converted already: the engine knows which object a value is, or refuses
        function, symbols = test.func, [getattr(part, "value", None) for part in test.args[1::2]]
        made = isinstance(function, gast.Attribute) and getattr(function.value, "generated", False)
        return made and function.attr == "compare" and {*symbols} <= {"is", "is not"}
    return is_flag(test)
