"""Productions for lists, dicts and objects that branches and loops make, change and append to."""

from __future__ import annotations

from .extras import PROBES
from .writer import Writer, indented, may_leave, statement, test

PROBES |= {
    "object-chosen": "if a > 2:\n    o = Box(a, 1.0)\nelse:\n    o = Box(1, 2.0)\no.n = o.n + 1\n"
    "return o.n, o.s",
    "entries-new": "r = {}\nif a > 2:\n    r['k'] = a\nelse:\n    r['k'] = 3\nreturn r",
    "append-rows": "l = []\nfor n in jnp.arange(3):\n    l.append(n + a)\nreturn l, jnp.stack(l)",
    "list-replaced": "l = [1, 2, 3]\nif a > 2:\n    l = [a, 0, 0]\nl[0] = 5\nreturn l",
}


def either(w: Writer, one: str, other: str) -> list[str]:
    """One of two lines, as a condition wills."""
    return [f"if {test(w)}:", f"    {one}", "else:", f"    {other}"]


@statement("object on both sides", 1, feature="object-chosen")
def object_chosen(w: Writer) -> list[str]:
    lines = either(w, f"o = {w.expr('box')}", f"o = {w.expr('box')}")
    w.bind("o", "box")
    if w.chance(0.5):
        lines.append(f"o.{'w' if w.chance(0.15) else 'n'} = {w.kept('int')}")
    return lines


@statement("attribute on both sides", 0.7, feature="entries-new")
def attribute_new(w: Writer) -> list[str]:
    names = [n for n in w.names("box") if n not in w.given]
    if not names or w.in_loop or w.in_function:
        return []
    box, name = w.rng.choice(names), w.target("int")
    lines = either(w, f"{box}.w = {w.kept('int')}", f"{box}.w = {w.kept('int')}")
    w.bind(name, "int")
    return [*lines, f"{name} = {box}.w"]


@statement("keys on both sides", 0.8, feature="entries-new")
def keys_new(w: Writer) -> list[str]:
    held, name = w.new("n"), w.target("int")
    sides = [f"{held}['{'j' if w.chance(0.1) else 'k'}'] = {w.kept('int')}" for _ in range(2)]
    if w.chance(0.3):
        sides = [f"{held}.update(k={w.kept('int')})", f"{held}.setdefault('k', {w.kept('int')})"]
    lines = [f"{held} = {{'b': {w.kept('int')}}}", *either(w, *sides)]
    if w.chance(0.3):
        lines += either(w, f"{held}.pop('b')", f"del {held}['b']")
    w.bind(name, "int")
    return [*lines, f"{name} = list({held}.values())[-1]"]


@statement("append on both sides", 0.8, feature="append")
def append_both(w: Writer) -> list[str]:
    held = w.new("n")
    other = "pass" if w.chance(0.3) else f"{held}.append({w.kept('int')})"
    lines = [f"{held} = [{w.kept('int')}, {w.kept('int')}]"]
    lines += either(w, f"{held}.append({w.kept('int')})", other)
    w.bind(held, "list")
    return lines


@statement("append rows", 1.2, feature="append-rows")
def append_rows(w: Writer) -> list[str]:
    if not w.may_loop():
        return []
    held, i = w.new("n"), w.new("i")
    source = w.rng.choice([*w.names("ivec"), "jnp.arange(3)"])
    with w.loop():
        body = w.block(2, [(i, "int")])
        with w.local(i):
            item = w.kept("int")
    line = w.rng.choice([f"{held}.append({item})", f"{held} += [{item}]"])
    lines = [f"{held} = []", f"for {i} in {source}:", *indented([line, *body.lines])]
    body.leaves = False
    w.merge(w.here(), body)
    if not may_leave(body):
        w.bind(held, "list")
    return lines


@statement("list replaced", 0.7, feature="list-replaced")
def list_replaced(w: Writer) -> list[str]:
    held, same = w.new("n"), w.new("n")
    lines = [f"{held} = [{w.kept('int')}, 1, 2]"]
    if w.chance(0.3):
        lines.append(f"{same} = {held}")
        w.bind(same, "list")
    lines += [f"if {test(w)}:", f"    {held} = [0, {w.kept('int')}, 3]"]
    lines.append(f"{held}[{w.rng.randint(0, 2)}] = {w.kept('int')}")
    w.bind(held, "list")
    return lines
