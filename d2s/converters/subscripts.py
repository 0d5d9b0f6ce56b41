"""Subscript writes give the name its new value; reads may have an index that is a run-time value.

>>> from d2s.pipeline import example
>>> print(example('''
... def f(x, d, o, i, k):
...     x[i, ::2] = 1
...     x[i] += x[i - k:i].sum()
...     o.w[i] = x[0]
...     d['k'] = x[i], x[-1]
...     x[i], x[k] = x[k], x[i]
... '''))
def f(x, d, o, i, k):
    x = d2s.at(x)[i, ::2].set(1)
    x = d2s.at(x)[i].add(d2s.fn(d2s.items(x)[d2s.window(i - k, i, k)].sum)())
    d2s.ref(o).w[i] = x[0]
    d['k'] = (d2s.items(x)[i], x[-1])
    item_6, item_6a = (d2s.items(x)[k], d2s.items(x)[i])
    x = d2s.at(x)[i].set(item_6)
    x = d2s.at(x)[k].set(item_6a)

An entry with a text as its key belongs to a dict, which stays the same object: it stays as it is.
A name of the module that is not declared ``global`` is not given a new value.
"""

from __future__ import annotations

import copy
import sys
import types
from collections.abc import Iterable, Iterator

import gast

from d2s.analysis import Scopes
from d2s.analysis.polynomials import difference
from d2s.analysis.scopes import FUNCTIONS, all_nodes, own_nodes, runs_later
from d2s.converters.base import Context, Converter
from d2s.converters.blocks import is_docstring, own_bodies
from d2s.source.templates import quote, quote_expression

_METHODS = {
    gast.Add: "add",
    gast.Sub: "sub",
    gast.Mult: "mul",
    gast.Div: "truediv",
    gast.FloorDiv: "floordiv",
    gast.Mod: "mod",
    gast.Pow: "pow",
    gast.MatMult: "matmul",
    gast.BitAnd: "and_",
    gast.BitOr: "or_",
    gast.BitXor: "xor",
    gast.LShift: "lshift",
    gast.RShift: "rshift",
}


class SubscriptWrites(Converter):
    """Assignments to items, those in targets of loops and `with` included."""

    def visit_FunctionDef(self, node: gast.FunctionDef) -> gast.FunctionDef:
        if node is self.context.written.unit.tree:
            self._writes_items = any(map(_is_store, self.context.written.nodes))
            if self._writes_items or self._augments_arrays():
                self._function(node, set(self.context.written.unit.free_names))
        return node

    def _augments_arrays(self) -> bool:
        return gast.AugAssign in self.context.written.kinds and any(
            self._may_be_shared(value) for _, value in _bindings(self.context.written.nodes)
        )

    def _may_be_shared(self, value: gast.expr) -> bool:
        """Whether a value may be a part of an array, or a NumPy array with several names."""
        if isinstance(value, gast.Subscript):
            return not _is_text(value.slice) and self._writes_items
        callee = value.func if isinstance(value, gast.Call) else None
        while isinstance(callee, gast.Attribute):
            callee = callee.value
        module = self.context.written.globals.get(getattr(callee, "id", ""))
        return module is not None and module is sys.modules.get("numpy")

    def _function(self, node: gast.FunctionDef, around: set[str]) -> None:
        """`around` are the names of the functions around this one."""
        scopes = Scopes()
        own = scopes.local_names(node)
        declared = scopes.declared(node, gast.Global) | scopes.declared(node, gast.Nonlocal)
        captured = scopes.uses(node.body).captured
        writes = _Writes(self.context, own | declared, around, captured | declared)
        writes.arrays = {
            target.id
            for target, value in _bindings(own_nodes(node.body))
            if isinstance(target, gast.Name) and self._may_be_shared(value)
        }
        for body in list(own_bodies(node.body)):
            body[:] = [new for old in body for new in writes.statement(old)]
        if writes.outer:
            start = int(is_docstring(node.body[0]))
            template = "nonlocal names"
            node.body[start:start] = quote(template, node.body[0], names=sorted(writes.outer))
        around = (around - own - scopes.declared(node, gast.Global)) | own
        for inner in _functions_inside(node.body):
            if not runs_later(inner):
                self._function(inner, around)


def _bindings(nodes: Iterable[gast.AST]) -> Iterator[tuple[gast.expr, gast.expr]]:
    """The target and the value of every assignment, one by one where both sides are tuples."""
    pairs = [(t, n.value) for n in nodes if isinstance(n, gast.Assign) for t in n.targets]
    while pairs:
        target, value = pairs.pop()
        yield target, value
        if isinstance(target, gast.Tuple) and isinstance(value, gast.Tuple):
            pairs += zip(target.elts, value.elts, strict=False)


def _functions_inside(body: list[gast.AST]) -> Iterator[gast.FunctionDef]:
    """The functions that statements make, in classes too, but not those inside of them."""
    for node in own_nodes(body):
        if isinstance(node, gast.FunctionDef):
            yield node
        elif isinstance(node, gast.ClassDef):
            yield from _functions_inside(node.body)


def _is_store(node: gast.AST) -> bool:
    return isinstance(node, gast.Subscript) and isinstance(node.ctx, gast.Store)


class _Writes:
    """Rewrites the statements of one function."""

    def __init__(
        self, context: Context, own: set[str], around: set[str], unstable: set[str]
    ) -> None:
        self._context, self._own, self._around = context, own, around
        #: names that others may rebind while a value is computed
        self._unstable = unstable | around
        #: names of functions around that get a new value here
        self.outer: set[str] = set()
        #: names whose value may be a view, or a NumPy array: `+=` changes it in place
        self.arrays: set[str] = set()

    def statement(self, node: gast.stmt) -> list[gast.stmt]:
        if isinstance(node, gast.Assign):
            return self._assign(node)
        if isinstance(node, gast.AnnAssign) and node.value is not None:
            if _is_written(node.target):
                return self._store(node.target, node.value, node)
        elif isinstance(node, gast.AugAssign):
            if _is_written(node.target):
                return self._augment(node)
            if isinstance(node.target, gast.Name) and node.target.id in self.arrays:
                name, method = node.target.id, _METHODS[type(node.op)]
                template = f"name = d2s.at(old).{method}(value)"
                return quote(template, node, name=name, old=name, value=node.value)
        elif isinstance(node, gast.For) and _has_written(node.target):
            node.target, node.body[:0] = self._instead(node.target)
        elif isinstance(node, gast.With):
            for item in reversed(node.items):
                if item.optional_vars is not None and _has_written(item.optional_vars):
                    item.optional_vars, node.body[:0] = self._instead(item.optional_vars)
        return [node]

    def _assign(self, node: gast.Assign) -> list[gast.stmt]:
        if not any(map(_has_written, node.targets)):
            return [node]
        if len(node.targets) == 1:
            target = node.targets[0]
            if isinstance(target, gast.Subscript):
                return self._store(target, node.value, node)
            target, stores = self._instead(target)
            first = gast.copy_location(gast.Assign([target], node.value, None), node)
            return [first, *(new for store in stores for new in self._assign(store))]
        first, *rest = node.targets
        if isinstance(first, gast.Name):
            name, targets = first.id, rest
        else:
            (name,) = self._context.names.fresh("value", line=node.lineno)
            targets = node.targets
        done = quote("name = value", node, name=name, value=node.value)
        for target in targets:
            value = quote_expression("name", node, name=name)
            done += self._assign(gast.copy_location(gast.Assign([target], value, None), node))
        return done

    def _instead(self, target: gast.expr) -> tuple[gast.expr, list[gast.stmt]]:
        """A target with names in the place of items, and the statements that assign the items.

        ``x[i], y = pair`` becomes ``item, y = pair`` and ``x[i] = item``.
        """
        stores: list[gast.stmt] = []

        def replaced(part: gast.expr) -> gast.expr:
            if isinstance(part, gast.Tuple | gast.List):
                part.elts = [replaced(one) for one in part.elts]
                return part
            if isinstance(part, gast.Starred):
                part.value = replaced(part.value)
                return part
            if not stores and not _is_written(part):
                return part
            (name,) = self._context.names.fresh("item", line=part.lineno)
            value = quote_expression("name", part, name=name)
            stores.append(gast.copy_location(gast.Assign([part], value, None), part))
            return gast.copy_location(gast.Name(name, gast.Store(), None, None), part)

        return replaced(target), stores

    def _store(self, target: gast.Subscript, value: gast.expr, at: gast.stmt) -> list[gast.stmt]:
        if not _is_written(target):
            return quote("target = value", at, target=target, value=value)
        name = self._root(target)
        if name is None:
            return quote("target = value", at, target=_referred(target), value=value)
        before: list[gast.stmt] = []
        if self._order_matters(target, value):
            (held,) = self._context.names.fresh("value", line=at.lineno)
            before = quote("held = value", at, held=held, value=value)
            value = quote_expression("held", value, held=held)
        return [*before, *self._rebind(name, target, "set", value, at)]

    def _augment(self, node: gast.AugAssign) -> list[gast.stmt]:
        name = self._root(node.target)
        if name is None:
            node.target = _referred(node.target)
            return [node]
        return self._rebind(name, node.target, _METHODS[type(node.op)], node.value, node)

    def _rebind(
        self, name: str, target: gast.Subscript, method: str, value: gast.expr, at: gast.stmt
    ) -> list[gast.stmt]:
        if name not in self._own:
            self.outer.add(name)
        template = f"name = place.{method}(value)"
        return quote(template, at, name=name, place=_place(target), value=value)

    def _root(self, target: gast.Subscript) -> str | None:
        """The name that gets a new value when an array is written; None where none does."""
        base = target.value
        while isinstance(base, gast.Subscript):
            if _is_text(base.slice):
                return None  # a dict, which stays what it is
            base = base.value
        if not isinstance(base, gast.Name):
            return None
        return base.id if base.id in self._own or base.id in self._around else None

    def _order_matters(self, target: gast.Subscript, value: gast.expr) -> bool:
        """Whether Python's order (the value first) can be told from that of the call."""
        if isinstance(value, gast.Constant | gast.Name):
            return False
        if not all(isinstance(n, _QUIET) for n in all_nodes(target)):
            return True
        names = {n.id for n in all_nodes(target) if isinstance(n, gast.Name)}
        bound = {n.target.id for n in all_nodes(value) if isinstance(n, gast.NamedExpr)}
        return not names.isdisjoint(bound | self._unstable)


#: syntax that runs no code of the user's, so that nobody sees when it is evaluated
_QUIET = (
    gast.Subscript,
    gast.Name,
    gast.Constant,
    gast.Slice,
    gast.Tuple,
    gast.UnaryOp,
    gast.BinOp,
)


def _is_written(target: gast.expr) -> bool:
    """Whether a target is an item that may be one of an array: its key is no text."""
    return isinstance(target, gast.Subscript) and not _is_text(target.slice)


def _has_written(target: gast.expr) -> bool:
    if isinstance(target, gast.Tuple | gast.List):
        return any(map(_has_written, target.elts))
    return _is_written(target.value if isinstance(target, gast.Starred) else target)


def _is_text(index: gast.expr) -> bool:
    return isinstance(index, gast.Constant) and isinstance(index.value, str)


def _place(target: gast.Subscript) -> gast.Subscript:
    """``x[i][j]`` as ``d2s.at(x)[i][j]``: the way from the value of a name to an item."""
    made = gast.copy_location(gast.Subscript(target.value, target.slice, gast.Load()), target)
    inner = made
    while isinstance(inner.value, gast.Subscript):
        inner = inner.value
    inner.value = quote_expression("d2s.at(base)", inner.value, base=inner.value)
    return made


def _referred(target: gast.Subscript) -> gast.Subscript:
    """``o.w[i]`` as ``d2s.ref(o).w[i]``: the object stores a new array in its slot."""
    inner = target
    while isinstance(inner.value, gast.Subscript) and not _is_text(inner.value.slice):
        inner = inner.value
    base = inner.value
    if isinstance(base, gast.Attribute | gast.Subscript):
        inner = base
    inner.value = quote_expression("d2s.ref(base)", inner.value, base=inner.value)
    return target


class SubscriptReads(Converter):
    """Reads of items whose index is no constant in the text."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._in_annotation = {id(n) for n in _annotations(context.written.nodes)}

    def visit_Subscript(self, node: gast.Subscript) -> gast.Subscript:
        if id(node) in self._in_annotation or _is_static(node.slice):
            return node
        node.slice = _windowed(node.slice)
        if isinstance(node.ctx, gast.Load) and not self._is_special(node.value):
            base = node.value
            node.value = quote_expression("d2s.items(base)", base, base=base)
        return node

    def _is_special(self, base: gast.expr) -> bool:
        """Paths of writes, ``x.at[i]``, and what libraries subscript (``jnp.r_[...]``)."""
        while isinstance(base, gast.Subscript):
            base = base.value
        if isinstance(base, gast.Attribute):
            if base.attr == "at":
                return True
            while isinstance(base, gast.Attribute):
                base = base.value
            if isinstance(base, gast.Name):
                return isinstance(self.context.written.globals.get(base.id), types.ModuleType)
        callee: gast.expr = getattr(base, "func", base)
        generated = getattr(getattr(callee, "value", None), "generated", False)
        return generated and callee.attr in ("at", "ref")


def _annotations(nodes: list[gast.AST]) -> Iterator[gast.AST]:
    for node in nodes:
        if isinstance(node, gast.AnnAssign):
            yield from all_nodes(node.annotation)
        elif isinstance(node, FUNCTIONS):
            found = [getattr(node, "returns", None)]
            a = node.args
            every = [*a.posonlyargs, *a.args, a.vararg, *a.kwonlyargs, a.kwarg]
            found += [p.annotation for p in every if p is not None]
            for annotation in found:
                if annotation is not None:
                    yield from all_nodes(annotation)


def _is_static(index: gast.expr) -> bool:
    """Whether an index is a constant in the text."""
    if isinstance(index, gast.Tuple):
        return all(map(_is_static, index.elts))
    if isinstance(index, gast.Slice):
        parts = (index.lower, index.upper, index.step)
        return all(part is None or _is_static(part) for part in parts)
    if isinstance(index, gast.UnaryOp):
        return isinstance(index.operand, gast.Constant)
    return isinstance(index, gast.Constant)


def _windowed(index: gast.expr) -> gast.expr:
    """The index with slices whose bounds are a known distance apart as windows."""
    if isinstance(index, gast.Tuple):
        index.elts = [_windowed(part) for part in index.elts]
        return index
    if not isinstance(index, gast.Slice) or index.step is not None:
        return index
    if index.lower is None or index.upper is None or _is_static(index):
        return index
    size = difference(index.lower, index.upper)
    if size is None:
        return index
    size = copy.deepcopy(size)
    template = "d2s.window(lower, upper, size)"
    return quote_expression(template, index.lower, lower=index.lower, upper=index.upper, size=size)
