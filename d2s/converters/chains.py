"""``if``/``elif`` on one integer, and ``match`` of integers, become one choice among many.

>>> from d2s.pipeline import example
>>> print(example('''
... def f(n, x):
...     if n == 0:
...         return x
...     elif n == 1 or n == 2:
...         return -x
...     return x * x
... '''))
def f(n, x):
    def case_2():
        return x
    def case_4():
        return -x
    def else_2():
        return x * x
    return d2s.switch(n, {0: case_2, 1: case_4, 2: case_4}, else_2)

A very long chain on anything else becomes flat: blocks inside blocks would go as deep as it is
long.

>>> links = "".join(f"    elif x < {n}: x = {n}\\n" for n in range(1, 25))
>>> text = example("def f(x):\\n    if x < 0: x = 0\\n" + links, until="LongChains")
>>> print("\\n".join(text.splitlines()[:8]))
def f(x):
    found_2 = False
    if x < 0:
        found_2 = True
        x = 0
    if not found_2 and x < 1:
        found_2 = True
        x = 1
"""

from __future__ import annotations

import gast

from d2s.analysis.nodes import Case, Switch
from d2s.converters.base import Converter
from d2s.converters.blocks import finish, function, own_bodies
from d2s.source.templates import quote

#: links of a chain that nest one in the other's else
MODEST_LENGTH = 24


class LongChains(Converter):
    """`if`/`elif` with many links that are not one choice among integers."""

    def visit_If(self, node: gast.If) -> gast.If | list[gast.stmt]:
        links: list[gast.If] = []
        rest: list[gast.stmt] = [node]
        while len(rest) == 1 and isinstance(rest[0], gast.If):
            links.append(rest[0])
            rest = rest[0].orelse
        if len(links) <= MODEST_LENGTH or all(_equals(link.test) for link in links):
            return node
        (found,) = self.context.names.fresh("found", line=node.lineno)
        done = quote("found = False", node, found=found)
        for n, link in enumerate(links):
            template = "if not found and test: body" if n else "if test: body"
            body = [*quote("found = True", link, found=found), *link.body]
            done += quote(template, link, found=found, test=link.test, body=body)
        return done + (quote("if not found: rest", node, found=found, rest=rest) if rest else [])


class FindChains(Converter):
    """Gathers two or more links of `if`/`elif` on one integer into one node."""

    def visit_FunctionDef(self, node: gast.FunctionDef) -> gast.FunctionDef:
        if self.context.written.kinds.isdisjoint((gast.Eq, gast.Match)):
            return node
        for body in own_bodies(node.body):
            for n, statement in enumerate(body):
                if isinstance(statement, gast.If):
                    body[n] = _chain(statement) or statement
        return node


class SwitchStmt(Converter):
    """Every chain that was found."""

    removes = (Switch,)

    def visit_Switch(self, node: Switch) -> list[gast.stmt]:
        block = self.block(node)
        returns = self.returns(node)
        gives = [] if returns else block.gives
        statements: list[gast.stmt] = []
        values: list[gast.expr] = []
        names: list[gast.expr] = []
        for case in node.cases:
            at = case.values[0]
            (name,) = self.context.names.fresh("case", line=at.lineno)
            statements += function(name, block.takes, block, finish(case.body, gives, node), at)
            values += case.values
            names += [quote("name", at, name=name)[0].value for _ in case.values]
        (orelse,) = self.context.names.fresh("else", line=node.lineno)
        statements += function(orelse, block.takes, block, finish(node.orelse, gives, node), node)
        call = "d2s.switch(subject, cases, orelse, *takes)"
        template = "return " + call if returns else "gives = " + call if gives else call
        return statements + quote(
            template,
            node,
            gives=gives,
            subject=node.subject,
            cases=gast.copy_location(gast.Dict(values, names), node),
            orelse=orelse,
            takes=block.takes,
        )


def _chain(node: gast.If) -> Switch | None:
    """The links of a chain that ask one name for integers, as one node; None for fewer than two."""
    subject, cases, link = "", [], [node]
    seen: set[int | None] = set()
    while len(link) == 1 and isinstance(link[0], gast.If):
        found = _equals(link[0].test)
        if found is None or (subject and found[0] != subject):
            break
        subject = found[0]
        values = {_number(value) for value in found[1]}
        if values & seen or len(values) < len(found[1]):
            break
        seen |= values
        cases.append(Case(found[1], link[0].body))
        link = link[0].orelse
    if len(cases) < 2:
        return None
    (read,) = quote("subject", node.test, subject=subject)
    made: Switch = gast.copy_location(Switch(read.value, cases, link), node)
    return made


def _equals(test: gast.expr) -> tuple[str, list[gast.expr]] | None:
    """The name and the integers of ``n == 1`` or ``n == 1 or n == 2``."""
    if isinstance(test, gast.BoolOp) and isinstance(test.op, gast.Or):
        ways = [way for value in test.values if (way := _equals(value)) is not None]
        if len(ways) < len(test.values) or len({name for name, _ in ways}) > 1:
            return None
        return ways[0][0], [value for _, values in ways for value in values]
    if not isinstance(test, gast.Compare) or not isinstance(test.left, gast.Name):
        return None
    if len(test.ops) > 1 or not isinstance(test.ops[0], gast.Eq):
        return None
    return (test.left.id, test.comparators) if _number(test.comparators[0]) is not None else None


def _number(value: gast.expr) -> int | None:
    """The integer that stands in the text, with its sign."""
    if isinstance(value, gast.UnaryOp) and isinstance(value.op, gast.USub):
        inner = _number(value.operand)
        return None if inner is None else -inner
    number = value.value if isinstance(value, gast.Constant) else None
    return number if type(number) is int else None
