"""Productions for what raises, and for what catches."""

from __future__ import annotations

from .writer import Writer, indented, leave, statement, test

TROUBLES = ("ValueError", "KeyError", "Trouble", "Sore", "ZeroDivisionError")


@statement("raise", 0.9)
def raise_(w: Writer) -> list[str]:
    name = w.rng.choice(TROUBLES)
    form = w.rng.choice(["'e{n}'", "'e{n}'", "f'at {{{a}}}'", "'e{n}', {n}"])
    names = w.names("int") or ["7"]
    text = form.format(n=w.rng.randint(0, 9), a=w.rng.choice(names))
    line = f"raise {name}({text})" if w.chance(0.85) else f"raise {name}"
    if w.depth == 0:
        return [f"if {test(w)}:", f"    {line}"]
    return leave(w, line)


@statement("assert", 0.7)
def assert_(w: Writer) -> list[str]:
    if w.chance(0.5):
        return [f"assert {test(w)} or {w.expr('int')} < {w.rng.randint(2, 9)}"]
    names = w.names("int")
    shown = f", f'was {{{w.rng.choice(names)}}}'" if names and w.chance(0.5) else ", 'claim'"
    return [f"assert {w.expr('int')} < {w.rng.randint(3, 9)}{shown}"]


@statement("try", 2)
def try_(w: Writer) -> list[str]:
    if not w.may_nest():
        return []
    body = w.block(4)
    lines = ["try:", *indented(body.lines)]
    blocks = []
    # what the body bound before it failed may or may not be there in a handler
    start = dict(w.bound), dict(w.maybe)
    unsure = {n: k for n, k in (body.bound | body.maybe).items() if n not in w.bound}
    for _ in range(w.rng.randint(1, 3)):
        kinds = handler_kinds(w)
        w.bound, w.maybe = dict(start[0]), start[1] | unsure
        blocks.append(w.block(3))
        lines += [f"except{kinds}:", *indented(blocks[-1].lines)]
        if not kinds:
            break
    w.bound, w.maybe = dict(body.bound), dict(body.maybe)
    if w.chance(0.3) and not body.leaves:
        orelse = w.block(3)
        lines += ["else:", *indented(orelse.lines)]
        body = orelse
    w.bound, w.maybe = start
    w.merge(body, *blocks)
    return lines


def handler_kinds(w: Writer) -> str:
    """What stands between `except` and the colon."""
    form = w.rng.randint(0, 9)
    if form == 0:
        return ""
    if form < 3:
        return f" ({', '.join(w.rng.sample([*TROUBLES, 'AssertionError'], 2))})"
    more = ["Exception", "AssertionError", "UnboundLocalError"]
    return f" {w.rng.choice([*TROUBLES, 'Trouble', *more])}"
