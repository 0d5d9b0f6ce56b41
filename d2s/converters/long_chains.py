"""A very long ``elif`` chain becomes flat: blocks inside blocks would go as deep as it is long.

What chooses by one integer stays: it becomes a single choice anyway.
"""

from __future__ import annotations

import gast

from d2s.converters.base import Converter
from d2s.converters.chains import equals
from d2s.templates import quote

#: links of a chain that nest one in the other's else
MODEST_LENGTH = 24


class LongChains(Converter):
    """`if`/`elif` with many links."""

    def visit_If(self, node: gast.If) -> gast.If | list[gast.stmt]:
        links: list[gast.If] = []
        rest: list[gast.stmt] = [node]
        while len(rest) == 1 and isinstance(rest[0], gast.If):
            links.append(rest[0])
            rest = rest[0].orelse
        if len(links) <= MODEST_LENGTH or all(equals(link.test) for link in links):
            return node
        (found,) = self.context.names.fresh("found", line=node.lineno)
        done = quote("found = False", node, found=found)
        for n, link in enumerate(links):
            template = "if not found and test: body" if n else "if test: body"
            body = [*quote("found = True", link, found=found), *link.body]
            done += quote(template, link, found=found, test=link.test, body=body)
        return done + (quote("if not found: rest", node, found=found, rest=rest) if rest else [])
