"""Questions about single statements that the flow of names asks."""

from __future__ import annotations

import sys
from collections.abc import Iterable

import gast

from d2s.analysis.scopes import COMPREHENSIONS, Scopes, all_nodes, bound_as_text, own_nodes


def body_of(scope: gast.AST) -> list[gast.AST]:
    """The statements of a function or a class; of a lambda, its expression."""
    return [scope.body] if isinstance(scope, gast.Lambda) else scope.body


def free_loads(scope: gast.AST, scopes: Scopes) -> Iterable[gast.Name]:
    """The reads of free names in a function or class, functions inside it included."""
    if isinstance(scope, gast.ClassDef):
        free = scopes.class_names(scope) | scopes.uses(scope.body).captured
    else:
        free = scopes.free_names(scope)
    for statement in body_of(scope):
        for node in all_nodes(statement):
            if isinstance(node, gast.Name) and isinstance(node.ctx, gast.Load) and node.id in free:
                yield node


#: comprehensions that are functions of their own; from Python 3.12 on only generators are
_FUNCTIONS_OF_THEIR_OWN = gast.GeneratorExp if sys.version_info >= (3, 12) else COMPREHENSIONS


def comprehension_parts(node: gast.AST) -> Iterable[gast.AST]:
    """The parts of comprehensions that run in a function of their own."""
    for one in all_nodes(node):
        if isinstance(one, _FUNCTIONS_OF_THEIR_OWN):
            first, *rest = one.generators
            yield from (*first.ifs, *rest)
            yield from (getattr(one, n) for n in ("elt", "key", "value") if hasattr(one, n))


def first_places(function: gast.FunctionDef, parameters: list[str]) -> dict[str, int]:
    """The order in which a function first mentions its names: parameters, then its text."""
    order: dict[str, int] = {}
    for name in parameters:
        order.setdefault(name, len(order))
    for node in own_nodes(function.body):
        if isinstance(node, gast.Name):
            order.setdefault(node.id, len(order))
            continue
        for name in sorted(bound_as_text(node)):
            order.setdefault(name, len(order))
    return order


def is_deletion(node: gast.AST) -> bool:
    """``x = d2s.delete('x', x)``, which stands for ``del x``."""
    if not isinstance(node, gast.Assign):
        return False
    callee = getattr(node.value, "func", None)
    generated = getattr(getattr(callee, "value", None), "generated", False)
    return bool(generated and getattr(callee, "attr", "") == "delete")


def deleted(node: gast.AST) -> set[str]:
    """The name that a statement deletes, if it does."""
    return {node.targets[0].id} if is_deletion(node) else set()


def handler_name(handler: gast.ExceptHandler) -> str:
    """The name that ``except E as name`` binds, or nothing."""
    name = handler.name
    return "" if name is None else (name if isinstance(name, str) else name.id)


def writes_last(body: list[gast.stmt], name: str) -> bool:
    """Whether no statement of a block writes a name, except perhaps the last one to run."""
    if not body:
        return True
    *before, last = body
    if binds_name(before, name):
        return False
    if isinstance(last, gast.If):
        sides = (last.body, last.orelse)
        return not binds_name([last.test], name) and all(writes_last(s, name) for s in sides)
    if isinstance(last, gast.Assign) and len(last.targets) == 1:
        return isinstance(last.targets[0], gast.Name) and not binds_name([last.value], name)
    return not binds_name([last], name)


def binds_name(body: list[gast.stmt], name: str) -> bool:
    """Whether code binds a name anywhere, functions inside left out."""
    for node in own_nodes(body):
        if isinstance(node, gast.Name):
            if node.id == name and not isinstance(node.ctx, gast.Load):
                return True
        elif name in bound_as_text(node):
            return True
    return False
