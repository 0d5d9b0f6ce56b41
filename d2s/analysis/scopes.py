"""Which names code reads and binds, scope by scope.

In ::

    total = total + x
    show = lambda: total

the *uses* of the two statements are: reads ``total x``, writes ``total show``, captured ``total``,
which the lambda reads whenever it is called.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import gast

COMPREHENSIONS = (gast.ListComp, gast.SetComp, gast.DictComp, gast.GeneratorExp)
FUNCTIONS = (gast.FunctionDef, gast.AsyncFunctionDef, gast.Lambda)
#: code with names of its own inside the function
SCOPES = (*FUNCTIONS, gast.ClassDef)
#: the fields that hold statements
BLOCKS = ("body", "orelse", "handlers", "finalbody", "cases")


@dataclass
class Uses:
    """Reads and writes of names in the scope where the code stands.

    ``captured`` are the names that code running later (inner functions, lambdas, generator
    expressions) reads or rebinds: for them late binding must be kept. ``maybe`` are the writes
    that an expression may skip: those of ``:=`` behind an ``and``, in a comprehension and so on.
    """

    reads: set[str] = field(default_factory=set)
    writes: set[str] = field(default_factory=set)
    captured: set[str] = field(default_factory=set)
    maybe: set[str] = field(default_factory=set)

    def add(self, other: Uses) -> None:
        self.reads |= other.reads
        self.writes |= other.writes
        self.captured |= other.captured
        self.maybe |= other.maybe


class Scopes:
    """Uses of nodes, cached by node for as long as the tree is not changed."""

    def __init__(self) -> None:
        self._uses: dict[int, Uses] = {}
        self._declared: dict[int, dict[type[gast.AST], set[str]]] = {}
        self._keep: list[gast.AST] = []  # ids stay unique while the nodes live

    def uses(self, node: gast.AST | list[gast.AST]) -> Uses:
        """Uses of an expression, a statement with all its blocks, or a list of statements."""
        if isinstance(node, list):
            total = Uses()
            for item in node:
                total.add(self.uses(item))
            return total
        known = self._uses.get(id(node))
        if known is None:
            known = self._uses[id(node)] = Uses()
            self._keep.append(node)
            self._collect(node, known)
        return known

    def parameters(self, function: gast.AST) -> list[str]:
        a = function.args
        every = [*a.posonlyargs, *a.args, a.vararg, *a.kwonlyargs, a.kwarg]
        return [p.id for p in every if p is not None]

    def declared(self, function: gast.AST, kind: type[gast.AST]) -> set[str]:
        """Names declared `nonlocal` or `global` in a function or class, inner ones left out."""
        found = self._declared.get(id(function))
        if found is None:
            found = self._declared[id(function)] = {gast.Nonlocal: set(), gast.Global: set()}
            self._keep.append(function)
            body = [] if isinstance(function, gast.Lambda) else function.body
            for node in own_statements(body):
                if isinstance(node, gast.Nonlocal | gast.Global):
                    found[type(node)].update(node.names)
        return found[kind]

    def local_names(self, function: gast.AST) -> set[str]:
        """Parameters and every name the function itself binds."""
        names = set(self.parameters(function))
        if not isinstance(function, gast.Lambda):
            names |= self.made_local(function, function.body)
        return names

    def made_local(self, function: gast.AST, body: list[gast.stmt]) -> set[str]:
        """Names that statements make local in a function, whether they are reached or not."""
        names = self.uses(body).writes | _annotated(body)
        return names - self.declared(function, gast.Nonlocal) - self.declared(function, gast.Global)

    def free_names(self, function: gast.AST) -> set[str]:
        """Names a function takes from around it, those it rebinds by `nonlocal` included."""
        body = [function.body] if isinstance(function, gast.Lambda) else function.body
        uses = self.uses(body)
        outer = self.declared(function, gast.Nonlocal)
        free = (uses.reads | uses.captured) - self.local_names(function)
        return (free | outer) - self.declared(function, gast.Global)

    def comprehension_targets(self, node: gast.AST) -> frozenset[str]:
        """The names that belong to a comprehension alone."""
        targets = Uses()
        for generator in node.generators:
            self._merge(generator.target, targets)
        return frozenset(targets.writes)

    def class_names(self, node: gast.ClassDef) -> set[str]:
        """Names that the body of a class takes from around it at the time it runs."""
        body = self.uses(node.body)
        return body.reads - body.writes

    def _collect(self, node: gast.AST, uses: Uses) -> None:
        kind = type(node)
        if kind is gast.Name:
            (uses.reads if isinstance(node.ctx, gast.Load) else uses.writes).add(node.id)
        elif kind in FUNCTIONS:
            self._collect_function(node, uses)
        elif kind in COMPREHENSIONS:
            self._collect_comprehension(node, uses)
        elif kind is gast.ClassDef:
            self._collect_class(node, uses)
        elif kind is gast.AnnAssign and node.value is None and isinstance(node.target, gast.Name):
            pass  # declares a name and does nothing
        else:
            if kind is gast.AugAssign and isinstance(node.target, gast.Name):
                uses.reads.add(node.target.id)
            if kind in _BINDERS:
                uses.writes |= bound_as_text(node)
            skipped = skippable(node) if kind in _SKIPPING else ()
            for child in child_nodes(node):
                self._merge(child, uses, any(child is part for part in skipped))

    def _merge(self, child: gast.AST, uses: Uses, may_be_skipped: bool = False) -> None:
        if isinstance(child, gast.stmt):
            uses.add(self.uses(child))
        elif not may_be_skipped:
            self._collect(child, uses)
        else:
            one = Uses()
            self._collect(child, one)
            uses.add(one)
            uses.maybe |= one.writes

    def _collect_function(self, node: gast.AST, uses: Uses) -> None:
        if not isinstance(node, gast.Lambda):
            uses.writes.add(node.name)
        for expression in around_function(node):
            self._merge(expression, uses)
        uses.captured |= self.free_names(node)

    def _collect_class(self, node: gast.ClassDef, uses: Uses) -> None:
        for expression in (*node.decorator_list, *node.bases, *(k.value for k in node.keywords)):
            self._merge(expression, uses)
        body = self.uses(node.body)
        uses.reads |= self.class_names(node)
        uses.captured |= body.captured
        # a class keeps `__class__` in a cell of its own, which is no name of the function around
        outer = self.declared(node, gast.Nonlocal) - {"__class__"}
        uses.captured |= outer
        uses.writes |= {node.name} | outer

    def _collect_comprehension(self, node: gast.AST, uses: Uses) -> None:
        inner, targets = Uses(), Uses()
        for n, generator in enumerate(node.generators):
            self._merge(generator.iter, uses if n == 0 else inner)
            self._merge(generator.target, targets)
            for condition in generator.ifs:
                self._merge(condition, inner)
        for name in ("elt", "key", "value"):
            if hasattr(node, name):
                self._merge(getattr(node, name), inner)
        bound = targets.writes
        late = isinstance(node, gast.GeneratorExp)
        (uses.captured if late else uses.reads).update((inner.reads | targets.reads) - bound)
        uses.captured |= (inner.captured | targets.captured) - bound
        # `:=` in a comprehension binds in the function around it
        uses.writes |= inner.writes
        uses.maybe |= inner.writes
        if late:
            uses.captured |= inner.writes


def around_function(node: gast.AST) -> list[gast.expr]:
    """What Python evaluates where a function is made: decorators, defaults, annotations."""
    a = node.args
    found = [*getattr(node, "decorator_list", []), *a.defaults]
    found += [default for default in a.kw_defaults if default is not None]
    parameters = [*a.posonlyargs, *a.args, a.vararg, *a.kwonlyargs, a.kwarg]
    found += [p.annotation for p in parameters if p is not None and p.annotation is not None]
    returns = getattr(node, "returns", None)
    return found if returns is None else [*found, returns]


#: what `bound_as_text` and `skippable` know: most nodes are something else
_BINDERS = frozenset(
    {
        *(gast.Import, gast.ImportFrom, gast.MatchAs, gast.MatchStar, gast.MatchMapping),
        *(gast.FunctionDef, gast.AsyncFunctionDef, gast.ClassDef, gast.ExceptHandler),
    }
)
_SKIPPING = frozenset({gast.BoolOp, gast.IfExp, gast.Compare, gast.Assert})


def bound_as_text(node: gast.AST) -> set[str]:
    """The names that a node binds without a `Name` node of its own."""
    if type(node) not in _BINDERS:
        return set()
    if isinstance(node, gast.Import | gast.ImportFrom):
        return {alias.asname or alias.name.partition(".")[0] for alias in node.names}
    if isinstance(node, gast.MatchAs | gast.MatchStar) and node.name is not None:
        return {node.name}
    if isinstance(node, gast.MatchMapping) and node.rest is not None:
        return {node.rest}
    if isinstance(node, gast.FunctionDef | gast.AsyncFunctionDef | gast.ClassDef):
        return {node.name}
    if isinstance(node, gast.ExceptHandler) and node.name is not None:
        return {node.name if isinstance(node.name, str) else node.name.id}
    return set()


def skippable(node: gast.AST) -> list[gast.expr]:
    """The parts of an expression that Python may leave out."""
    if isinstance(node, gast.BoolOp):
        return list(node.values[1:])
    if isinstance(node, gast.IfExp):
        return [node.body, node.orelse]
    if isinstance(node, gast.Compare):
        return list(node.comparators[1:])
    if isinstance(node, gast.Assert) and node.msg is not None:
        return [node.msg]
    return []


def runs_later(function: gast.AST) -> bool:
    """Whether a function is a generator or a coroutine: its code stays as it is."""
    if isinstance(function, gast.AsyncFunctionDef):
        return True
    body = [function.body] if isinstance(function, gast.Lambda) else function.body
    return any(isinstance(node, gast.Yield | gast.YieldFrom) for node in own_nodes(body))


def functions_in_class(node: gast.ClassDef) -> Iterator[gast.AST]:
    """The functions that the body of a class makes; the body itself runs as it is."""
    return (one for one in own_nodes(node.body) if isinstance(one, FUNCTIONS))


def _annotated(body: list[gast.stmt]) -> set[str]:
    """Names that an annotation without a value makes local."""
    return {
        node.target.id
        for node in own_statements(body)
        if isinstance(node, gast.AnnAssign) and isinstance(node.target, gast.Name) and node.simple
    }


#: fields that hold texts, numbers and marks such as `Load` and `Add`, which nobody visits
_NO_NODES = frozenset({"ctx", "op", "id", "attr", "type_comment", "kind", "level", "module"})


_node_fields: dict[type[gast.AST], tuple[str, ...]] = {gast.Constant: ()}


def node_fields(kind: type[gast.AST]) -> tuple[str, ...]:
    """The fields of a class of nodes that may hold other nodes."""
    known = _node_fields.get(kind)
    if known is None:
        known = tuple(name for name in kind._fields if name not in _NO_NODES)
        _node_fields[kind] = known
    return known


def child_nodes(node: gast.AST) -> list[gast.AST]:
    """The children of a node in order; marks such as `Load` and `Add` are not worth a visit."""
    found: list[gast.AST] = []
    for name in node_fields(type(node)):
        value = getattr(node, name)
        if value is None:
            continue
        if isinstance(value, list):
            if value:
                found += [child for child in value if isinstance(child, gast.AST)]
        elif isinstance(value, gast.AST) and value._fields:
            found.append(value)
    return found


def all_nodes(tree: gast.AST) -> Iterator[gast.AST]:
    """Every node of a tree, in the order of the text."""
    stack = [tree]
    while stack:
        node = stack.pop()
        yield node
        stack += reversed(child_nodes(node))


def own_nodes(body: list[gast.stmt]) -> Iterator[gast.AST]:
    """Every node of the statements that belongs to this function and not to one inside it."""
    stack: list[gast.AST] = list(reversed(body))
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, gast.ClassDef):
            stack += (*node.decorator_list, *node.bases, *node.keywords)
        elif not isinstance(node, FUNCTIONS):
            stack += reversed(child_nodes(node))


def own_statements(body: list[gast.stmt]) -> Iterator[gast.stmt]:
    """Every statement of a function, those of inner functions left out."""
    stack = list(reversed(body))
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, SCOPES):
            continue
        for name in BLOCKS:
            inside = getattr(node, name, None)
            if inside:
                stack.extend(reversed(inside))
