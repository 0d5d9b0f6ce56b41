"""``break``, ``continue`` and ``return`` in the middle of things become structure, or flags.

What follows a branch that leaves moves into the other branch; only a loop that must be left needs a
flag, and only a block that may or may not have left needs to ask for it.

>>> from d2s.pipeline import example
>>> print(example('''
... def f(x):
...     if x < 0:
...         return -x
...     y = x * 2
...     return y
... ''', until="Exits"))
def f(x):
    if x < 0:
        return -x
    else:
        y = x * 2
        return y
>>> print(example('''
... def f(x):
...     while x < 100:
...         if x == 7:
...             break
...         x = x * 2
...     return x
... ''', until="Exits"))
def f(x):
    broke_2 = False
    while not broke_2 and x < 100:
        if x == 7:
            broke_2 = True
        else:
            x = x * 2
    return x
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import gast

from d2s.analysis.scopes import SCOPES, Scopes, own_nodes
from d2s.converters.base import Context, Converter
from d2s.converters.blocks import own_bodies
from d2s.source.templates import quote, quote_expression

#: statements that stay around their body when an exception leaves it
_GUARDED = gast.Try | gast.TryStar | gast.With

_LEAVING = gast.Return | gast.Raise | gast.Break | gast.Continue

#: early returns that nest one in the other's else; beyond, flags keep the code flat
MODEST_DEPTH = 8


class Completes(Enum):
    """Whether control reaches the end of a block."""

    ALWAYS = "always"
    MAYBE = "maybe"
    NEVER = "never"


@dataclass
class Loop:
    """The loop around the statements being rewritten, and the flags it turned out to need."""

    line: int
    broke: str | None = None
    continued: str | None = None


class Exits(Converter):
    """Leaves `return` only at the end of branches and functions; no `break`, no `continue`."""

    removes = (gast.Break, gast.Continue)

    def visit_FunctionDef(self, node: gast.FunctionDef) -> gast.FunctionDef:
        node.body = _Function(self.context, node).run()
        return node


class _Function:
    """Rewrites the body of one function.

    `_tail` takes statements after which the function ends: there `return` may stay. `_flagged`
    takes those inside loops, `try` and `with`, where control must reach the end of the block: there
    an exit sets a flag, and what follows asks for it.
    """

    def __init__(self, context: Context, node: gast.FunctionDef) -> None:
        self._context, self._node = context, node
        self._returned = self._value = ""
        self._flag_line: int | None = None
        self._depth = 0
        #: statements that nothing reaches
        self._dropped: list[gast.stmt] = []

    def run(self) -> list[gast.stmt]:
        body = self._tail(self._node.body, depth=0, end=[])
        if self._dropped:
            names = Scopes().made_local(self._node, self._dropped)
            self._context.notes.still_local[id(self._node)] = names
        if self._returned and not self._is_asked(body, self._returned):
            for inner in own_bodies(body):
                kept = [s for s in inner if not _sets(s, self._returned)]
                inner[:] = kept or quote("pass", inner[0])
        return body

    def _is_asked(self, body: list[gast.stmt], flag: str) -> bool:
        """Whether a flag is ever read: a function that surely returns need not ask."""
        loads = (n for n in own_nodes(body) if isinstance(n, gast.Name) and n.id == flag)
        return any(isinstance(n.ctx, gast.Load) for n in loads) or any(
            flag in flags for _, flags in self._context.notes.exits.values()
        )

    def _flags(self) -> tuple[str, str]:
        if not self._returned:
            self._returned, self._value = self._context.names.fresh(
                "returned", "result", line=self._flag_line
            )
        return self._returned, self._value

    # -- where `return` can stay ------------------------------------------------------------------

    def _tail(self, body: list[gast.stmt], depth: int, end: list[gast.stmt]) -> list[gast.stmt]:
        """Rewrite statements after which the function ends; `end` closes a block that completes."""
        done: list[gast.stmt] = []
        for n, node in enumerate(body):
            rest = body[n + 1 :]
            if isinstance(node, gast.Return | gast.Raise):
                self._dropped += rest
                return [*done, node]
            if isinstance(node, gast.If) and _leaves(node):
                first, second = _completes(node.body), _completes(node.orelse)
                one_way = Completes.NEVER in (first, second) or not rest
                if one_way and depth < MODEST_DEPTH:
                    close = end or quote("return None", node)
                    in_body = rest if second is Completes.NEVER else []
                    in_else = rest if second is not Completes.NEVER else []
                    if first is Completes.NEVER and second is Completes.NEVER:
                        in_body = in_else = []
                        self._dropped += rest
                    node.body = self._tail([*node.body, *in_body], depth + 1, close)
                    node.orelse = self._tail([*node.orelse, *in_else], depth + 1, close)
                    return [*done, node]
                endless = _completes([node, *rest]) is Completes.NEVER
                flat = self._unless([], [node, *rest], None)
                return [*done, *self._left_then(node, flat, [], end, endless)]
            if isinstance(node, gast.While | gast.For):
                leaves, endless = _returns(node), _completes([node]) is Completes.NEVER
                loop = self._loop(node)
                if leaves:
                    return [*done, *self._left_then(node, loop, rest, end, endless)]
                done += loop
            elif isinstance(node, gast.With) and _completes(node.body) is Completes.NEVER:
                # it stays a statement of this function, so its returns may stay; what follows runs
                # when its manager swallows an exception
                node.body = self._tail(node.body, depth, [])
                return [*done, node, *self._tail(rest, depth, end)]
            elif isinstance(node, _GUARDED) and _leaves(node):
                endless = _completes([node]) is Completes.NEVER
                left = self._flagged([node], None)
                return [*done, *self._left_then(node, left, rest, end, endless)]
            elif isinstance(node, gast.If | _GUARDED):
                done += self._flagged([node], None)
            else:
                done.append(node)
        return [*done, *end]

    def _left_then(
        self,
        at: gast.stmt,
        left: list[gast.stmt],
        rest: list[gast.stmt],
        end: list[gast.stmt],
        endless: bool,
    ) -> list[gast.stmt]:
        """After code that may have set the return flag: return its value, or go on."""
        returned, value = self._flags()
        before = [
            *quote("returned = False", at, returned=returned),
            *quote("value = d2s.unbound()", at, value=value),
        ]
        if endless:
            self._dropped += rest
            return [*before, *left, *quote("return value", at, value=value)]
        (branch,) = quote("if returned: return value", at, returned=returned, value=value)
        branch.orelse = self._tail(rest, 0, end or quote("return None", at))
        return [*before, *left, branch]

    # -- where it cannot: inside loops and try blocks ---------------------------------------------

    def _flagged(self, body: list[gast.stmt], loop: Loop | None) -> list[gast.stmt]:
        """Rewrite statements so that control always reaches their end; flags say why."""
        done: list[gast.stmt] = []
        for n, node in enumerate(body):
            rest = body[n + 1 :]
            if isinstance(node, gast.Return):
                returned, value = self._flags()
                what = node.value or quote_expression("None", node)
                done += quote("value = what", node, value=value, what=what)
                done += quote("returned = True", node, returned=returned)
            if isinstance(node, _LEAVING):
                self._dropped += rest
            if isinstance(node, gast.Return):
                return done
            if isinstance(node, gast.Raise):
                return [*done, node]
            if isinstance(node, gast.Break):
                assert loop is not None, "Python refuses a break outside a loop"
                return [*done, *quote("broke = True", node, broke=self._broke(loop))]
            if isinstance(node, gast.Continue):
                assert loop is not None, "Python refuses a continue outside a loop"
                if loop.continued is not None:
                    done += quote("continued = True", node, continued=loop.continued)
                return [*done, *([] if done else quote("pass", node))]
            if isinstance(node, gast.If) and _leaves(node):
                return [*done, *self._flagged_if(node, rest, loop)]
            if isinstance(node, gast.While | gast.For):
                leaves = _returns(node)
                done += self._loop(node)
                if leaves:
                    return [*done, *self._unless([self._flags()[0]], rest, loop)]
            elif isinstance(node, _GUARDED):
                asked = self._asked(node, loop)
                if isinstance(node, gast.With):
                    done += self._flagged_with(node, loop)
                elif node.finalbody:
                    done += self._flagged_finally(node, loop)
                else:
                    done += self._flagged_try(node, loop)
                if asked:
                    return [*done, *self._unless(asked, rest, loop)]
            elif isinstance(node, gast.If):
                node.body = self._flagged(node.body, loop)
                node.orelse = self._flagged(node.orelse, loop)
                done.append(node)
            else:
                done.append(node)
        return done

    def _flagged_if(
        self, node: gast.If, rest: list[gast.stmt], loop: Loop | None
    ) -> list[gast.stmt]:
        first, second = _completes(node.body), _completes(node.orelse)
        if (Completes.NEVER in (first, second) or not rest) and self._depth < MODEST_DEPTH:
            never = first is Completes.NEVER and second is Completes.NEVER
            to_body = second is Completes.NEVER and not never
            to_else = not to_body and not never
            self._depth += 1
            self._dropped += rest if never else []
            node.body = self._flagged([*node.body, *(rest if to_body else [])], loop)
            node.orelse = self._flagged([*node.orelse, *(rest if to_else else [])], loop)
            self._depth -= 1
            return [node]
        asked = self._asked(node, loop)
        node.body = self._flagged(node.body, loop)
        node.orelse = self._flagged(node.orelse, loop)
        return [node, *self._unless(asked, rest, loop)]

    def _flagged_try(self, node: gast.Try | gast.TryStar, loop: Loop | None) -> list[gast.stmt]:
        left = self._asked(gast.Try(node.body, [], [], []), loop)
        forgotten = left if _leaves_late(node.body) else []
        node.body = self._flagged(node.body, loop)
        for handler in node.handlers:
            handler.body = [
                *self._forget(forgotten, handler),
                *self._flagged(handler.body, loop),
            ]
        # the else clause runs only when the body went through to its end
        node.orelse = self._unless(left, node.orelse, loop)
        return [node]

    def _flagged_with(self, node: gast.With, loop: Loop | None) -> list[gast.stmt]:
        left = self._asked(node, loop)
        late = _leaves_late(node.body)
        node.body = self._flagged(node.body, loop)
        if not left or not late:
            return [node]
        # an exception that came after the exit, and that the manager swallowed, undoes the exit
        (through,) = self._context.names.fresh("through", line=node.lineno)
        node.body += quote("through = True", node, through=through)
        return [
            *quote("through = False", node, through=through),
            node,
            *quote(
                "if not through: forget", node, through=through, forget=self._forget(left, node)
            ),
        ]

    def _flagged_finally(self, node: gast.Try, loop: Loop | None) -> list[gast.stmt]:
        pending = self._asked(gast.Try(node.body, [], [], []), loop)
        node.body = self._flagged(node.body, loop)
        at = node.finalbody[0]
        if not any(_leaves(statement) for statement in node.finalbody):
            node.finalbody = self._flagged(node.finalbody, loop)
            return [node]
        # the `finally` has flags of its own: those of the body may be set when it begins, and it
        # must run to its end nevertheless
        if any(map(_returns, node.finalbody)):
            self._flags()
        outer = self._returned, self._value, self._flag_line
        self._returned, self._value, self._flag_line = "", "", at.lineno
        own = None if loop is None else Loop(at.lineno)
        if own is not None and gast.Continue in {
            type(n) for s in node.finalbody for n in _exits(s)
        }:
            (own.continued,) = self._context.names.fresh("continued", line=at.lineno)
        body = self._flagged(node.finalbody, own)
        returned, value = self._returned, self._value
        self._returned, self._value, self._flag_line = outer
        ways = []
        if returned:
            keep = quote("value = own", at, value=outer[1], own=value)
            ways.append((returned, outer[0], keep))
        if own is not None and loop is not None:
            ways += [(own.broke, self._broke(loop), [])] if own.broke else []
            ways += [(own.continued, loop.continued or "", [])] if own.continued else []
        node.finalbody = [*self._forget([flag for flag, _, _ in ways], at)]
        if returned:
            node.finalbody += quote("value = d2s.unbound()", at, value=value)
        node.finalbody += body
        for flag, meant, keep in ways:
            forgotten = self._forget([f for f in pending if f != meant], at)
            set_it = quote("flag = True", at, flag=meant) if meant else []
            then = [*keep, *set_it, *forgotten] or quote("pass", at)
            node.finalbody += quote("if flag: then", at, flag=flag, then=then)
        self._context.notes.exits[id(node)] = (node, [flag for flag, _, _ in ways])
        return [node]

    def _forget(self, flags: list[str], at: gast.AST) -> list[gast.stmt]:
        return [s for flag in flags for s in quote("flag = False", at, flag=flag)]

    def _asked(self, node: gast.stmt, loop: Loop | None) -> list[str]:
        """The flags that tell, after `node`, whether it left; made now if need be."""
        kinds = {type(n) for n in _exits(node)}
        flags = []
        if gast.Return in kinds:
            flags.append(self._flags()[0])
        if gast.Break in kinds and loop is not None:
            flags.append(self._broke(loop))
        if gast.Continue in kinds and loop is not None:
            if loop.continued is None:
                (loop.continued,) = self._context.names.fresh("continued", line=loop.line)
            flags.append(loop.continued)
        return flags

    def _unless(
        self, flags: list[str], rest: list[gast.stmt], loop: Loop | None
    ) -> list[gast.stmt]:
        """The statements, each run of them only while no flag is set; flat, however many."""
        done: list[gast.stmt] = []
        while rest:
            end = next((n + 1 for n, node in enumerate(rest) if _leaves(node)), len(rest))
            run, rest = rest[:end], rest[end:]
            more = (
                [flag for flag in self._asked(run[-1], loop) if flag not in flags] if rest else []
            )
            depth, self._depth = self._depth, 0
            lowered = self._flagged(run, loop)
            self._depth = depth
            at = lowered[0]
            done += (
                quote("if test: run", at, test=none_of(flags, at), run=lowered)
                if flags
                else lowered
            )
            flags = [*flags, *more]
        return done

    def _broke(self, loop: Loop) -> str:
        if loop.broke is None:
            (loop.broke,) = self._context.names.fresh("broke", line=loop.line)
        return loop.broke

    def _loop(self, node: gast.While | gast.For) -> list[gast.stmt]:
        _, known = self._context.notes.broke.get(id(node), (node, None))
        loop = Loop(node.lineno, known)
        body = self._flagged(node.body, loop)
        if loop.continued is not None:
            body = [*quote("flag = False", node, flag=loop.continued), *body]
        node.body = body
        before: list[gast.stmt] = []
        flags = []
        if loop.broke is not None:
            flags.append(loop.broke)
            before = quote("flag = False", node, flag=loop.broke)
        if _assigns(body, self._returned):
            flags.append(self._returned)
        if flags:
            self._stop_at(node, flags)
        return [*before, node]

    def _stop_at(self, node: gast.While | gast.For, flags: list[str]) -> None:
        if isinstance(node, gast.For):
            self._context.notes.exits[id(node)] = (node, flags)
            return
        going = none_of(flags, node.test)
        endless = isinstance(node.test, gast.Constant) and bool(node.test.value)
        if not endless:
            going = quote_expression("going and test", node.test, going=going, test=node.test)
        node.test = going


def none_of(flags: list[str], at: gast.AST) -> gast.expr:
    """The test that no flag is set."""
    test = f"not ({' or '.join(flags)})" if len(flags) > 1 else f"not {flags[0]}"
    return quote_expression(test, at)


def _exits(node: gast.AST) -> list[gast.stmt]:
    """The exits that leave `node`: its returns, and breaks and continues of a loop around it."""
    found: list[gast.stmt] = []
    stack: list[tuple[gast.AST, bool]] = [(node, False)]
    while stack:
        one, in_loop = stack.pop()
        if isinstance(one, gast.Return):
            found.append(one)
        elif isinstance(one, gast.Break | gast.Continue):
            if not in_loop:
                found.append(one)
        elif isinstance(one, gast.stmt | gast.ExceptHandler):
            if isinstance(one, SCOPES):
                continue
            inner = in_loop or isinstance(one, gast.While | gast.For)
            stack += [(child, inner) for child in gast.iter_child_nodes(one)]
    return found


def _leaves(node: gast.AST) -> bool:
    """Whether some exit leaves a statement before its end."""
    return bool(_exits(node))


def breaks(loop: gast.For | gast.While) -> bool:
    """Whether a loop has a `break` of its own."""
    return any(isinstance(n, gast.Break) for statement in loop.body for n in _exits(statement))


def _leaves_late(body: list[gast.stmt]) -> bool:
    """Whether an exception can come after an exit: something runs on the way out."""
    late = (n for n in own_nodes(body) if isinstance(n, gast.With | gast.Try) and _leaves(n))
    return any(isinstance(n, gast.With) or n.finalbody for n in late)


def _returns(node: gast.AST) -> bool:
    return any(isinstance(n, gast.Return) for n in _exits(node))


def _sets(node: gast.stmt, flag: str) -> bool:
    target = node.targets[0] if isinstance(node, gast.Assign) else None
    return isinstance(target, gast.Name) and target.id == flag


def _assigns(body: list[gast.stmt], name: str) -> bool:
    return bool(name) and any(
        isinstance(n, gast.Name) and n.id == name and isinstance(n.ctx, gast.Store)
        for n in own_nodes(body)
    )


def _completes(body: list[gast.stmt]) -> Completes:
    """Whether control reaches the end of statements."""
    status = Completes.ALWAYS
    for node in body:
        if isinstance(node, gast.Return | gast.Break | gast.Continue | gast.Raise):
            return Completes.NEVER
        if isinstance(node, gast.If):
            ways = {_completes(node.body), _completes(node.orelse)}
            if ways == {Completes.NEVER}:
                return Completes.NEVER
            if ways != {Completes.ALWAYS}:
                status = Completes.MAYBE
        elif isinstance(node, gast.Try | gast.TryStar):
            if _completes(node.finalbody) is Completes.NEVER:
                return Completes.NEVER
            ways = {_completes([*node.body, *node.orelse])}
            ways |= {_completes(handler.body) for handler in node.handlers}
            if ways == {Completes.NEVER}:
                return Completes.NEVER
            if any(_leaves(statement) for statement in node.finalbody):
                status = Completes.MAYBE
            if ways != {Completes.ALWAYS}:
                status = Completes.MAYBE
        elif isinstance(node, gast.While) and _is_endless(node):
            return Completes.NEVER
        elif _leaves(node):
            status = Completes.MAYBE
    return status


def _is_endless(node: gast.While) -> bool:
    """``while True`` without a break of its own: left by return or exception only."""
    forever = isinstance(node.test, gast.Constant) and bool(node.test.value)
    return forever and not breaks(node)
