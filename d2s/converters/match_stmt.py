"""``match`` becomes ``if``/``elif``: patterns are tests, captures are assignments.

>>> from d2s.pipeline import example
>>> print(example('''
... def f(point):
...     match point:
...         case 0 | 1:
...             return "few"
...         case [x, None]:
...             return x
...         case {"k": y} if y > 3:
...             return y
...         case _:
...             return "many"
... ''', until="MatchStmt"))
def f(point):
    if point == 0 or point == 1:
        return 'few'
    elif (parts_5 := d2s.match_sequence(point, 2)) is not None and parts_5[1] is None:
        x = parts_5[0]
        return x
    elif (parts_7 := d2s.match_mapping(point, 'k')) is not None and [(y := parts_7[0])] and (y > 3):
        return y
    else:
        return 'many'
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import gast

from d2s.analysis.scopes import all_nodes, bound_as_text
from d2s.converters.base import Converter
from d2s.converters.blocks import binds
from d2s.source.templates import quote, quote_expression

#: makes the expression for a part of the subject: a new one each time, for no node may be in a tree
#: twice
Value = Callable[[], gast.expr]


@dataclass
class Tests:
    """What a pattern asks of its value, in order, and the names it binds when all hold."""

    tests: list[gast.expr] = field(default_factory=list)
    captures: list[tuple[str, Value]] = field(default_factory=list)


class MatchStmt(Converter):
    """Every `match`."""

    removes = (gast.Match,)

    def visit_Match(self, node: gast.Match) -> list[gast.stmt]:
        before: list[gast.stmt] = []
        if isinstance(node.subject, gast.Name) and not _may_rebind(node, node.subject.id):
            subject = node.subject.id
        else:
            (subject,) = self.context.names.fresh("subject", line=node.lineno)
            before = quote("name = subject", node.subject, name=subject, subject=node.subject)

        def value() -> gast.expr:
            return quote_expression("name", node.subject, name=subject)

        after: list[gast.stmt] = []
        for case in reversed(node.cases):
            found = self._pattern(case.pattern, value)
            body = case.body
            if case.guard is None:
                body = [*_assignments(found, case.pattern), *body]
            else:
                if found.captures:
                    found.tests.append(_bind(found.captures, case.pattern))
                found.tests.append(case.guard)
            if not found.tests:
                after = body
                continue
            (branch,) = quote("if test: body", case.pattern, test=_all(found.tests), body=body)
            branch.orelse = after
            after = [branch]
        return [*before, *after] or quote("pass", node)

    def _pattern(self, node: gast.pattern, value: Value) -> Tests:
        if isinstance(node, gast.MatchValue):
            return Tests([quote_expression("a == b", node, a=value(), b=node.value)])
        if isinstance(node, gast.MatchSingleton):
            return Tests([quote_expression(f"a is {node.value}", node, a=value())])
        if isinstance(node, gast.MatchAs | gast.MatchStar):
            inner = getattr(node, "pattern", None)
            found = Tests() if inner is None else self._pattern(inner, value)
            if node.name is not None:
                found.captures.append((node.name, value))
            return found
        if isinstance(node, gast.MatchOr):
            return self._or(node, value)
        return self._structure(node, value)

    def _structure(self, node: gast.pattern, value: Value) -> Tests:
        """A pattern with patterns inside: an op takes the value apart, or says that it differs."""
        rest = None
        if isinstance(node, gast.MatchSequence):
            inner = node.patterns
            stars = [n for n, p in enumerate(inner) if isinstance(p, gast.MatchStar)]
            if not stars:
                call = quote_expression(f"d2s.match_sequence(a, {len(inner)})", node, a=value())
            else:
                sizes = f"{stars[0]}, {len(inner) - stars[0] - 1}"
                if inner[stars[0]].name is None:
                    inner = [p for p in inner if not isinstance(p, gast.MatchStar)]
                    call = quote_expression(f"d2s.match_sequence(a, {sizes})", node, a=value())
                else:
                    template = f"d2s.match_sequence(a, {sizes}, star=True)"
                    call = quote_expression(template, node, a=value())
        elif isinstance(node, gast.MatchMapping):
            inner, rest = node.patterns, node.rest
            template = "d2s.match_mapping(a, *keys" + (", rest=True)" if rest else ")")
            call = quote_expression(template, node, a=value(), keys=node.keys)
        else:
            inner = [*node.patterns, *node.kwd_patterns]
            names = "".join(f", {name!r}" for name in node.kwd_attrs)
            template = f"d2s.match_class(a, kind, {len(node.patterns)}{names})"
            call = quote_expression(template, node, a=value(), kind=node.cls)
        if rest is None and all(_is_wildcard(pattern) for pattern in inner):
            return Tests([quote_expression("call is not None", node, call=call)])
        (parts,) = self.context.names.fresh("parts", line=node.lineno)
        template = "(parts := call) is not None"
        found = Tests([quote_expression(template, node, parts=parts, call=call)])
        for n, pattern in enumerate(inner):
            own = self._pattern(pattern, _item(parts, n, pattern))
            found.tests += own.tests
            found.captures += own.captures
        if rest is not None:
            found.captures.append((rest, _item(parts, len(inner), node)))
        return found

    def _or(self, node: gast.MatchOr, value: Value) -> Tests:
        ways = [self._pattern(pattern, value) for pattern in node.patterns]
        names = [name for name, _ in ways[0].captures]
        if not names:
            tests = [_all(way.tests, node) for way in ways]
            return Tests([gast.copy_location(gast.BoolOp(gast.Or(), tests), node)])
        held = {name: self.context.names.fresh(name, line=node.lineno)[0] for name in names}
        tests = []
        for way in ways:
            bound = _bind([(held[name], value) for name, value in way.captures], node)
            tests.append(_all([*way.tests, bound, quote_expression("True", node)], node))
        either = gast.copy_location(gast.BoolOp(gast.Or(), tests), node)
        return Tests([either], [(name, _held(held[name], node)) for name in names])


def _item(parts: str, position: int, at: gast.AST) -> Value:
    return lambda: quote_expression(f"parts[{position}]", at, parts=parts)


def _held(name: str, at: gast.AST) -> Value:
    return lambda: quote_expression("name", at, name=name)


def _is_wildcard(pattern: gast.pattern) -> bool:
    return isinstance(pattern, gast.MatchAs) and pattern.name is None and pattern.pattern is None


def _all(tests: list[gast.expr], at: gast.AST | None = None) -> gast.expr:
    if not tests:
        return quote_expression("True", at)
    if len(tests) == 1:
        return tests[0]
    return gast.copy_location(gast.BoolOp(gast.And(), tests), tests[0])


def _bind(captures: list[tuple[str, Value]], at: gast.AST) -> gast.expr:
    """An expression that binds the names and is true."""
    bound = [
        quote_expression("(name := value)", at, name=name, value=value())
        for name, value in captures
    ]
    return gast.copy_location(gast.List(bound, gast.Load()), at)


def _assignments(found: Tests, at: gast.AST) -> list[gast.stmt]:
    return [
        statement
        for name, value in found.captures
        for statement in quote("name = value", at, name=name, value=value())
    ]


def _may_rebind(node: gast.Match, name: str) -> bool:
    """Whether trying the cases may bind the subject's own name."""
    for case in node.cases:
        if any(name in bound_as_text(one) for one in all_nodes(case.pattern)):
            return True
        guard = case.guard
        if guard is not None and (
            name in binds(guard) or any(isinstance(n, gast.Call) for n in all_nodes(guard))
        ):
            return True
    return False
