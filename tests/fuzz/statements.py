"""Productions for statements that d2s has converted from the start."""

from __future__ import annotations

from .writer import POOLS, Writer, indented, statement, test


@statement("assign", 6)
def assign(w: Writer) -> list[str]:
    kind = w.kind()
    text = w.kept(kind)
    name = w.target(kind)
    w.bind(name, kind)
    return [f"{name} = {text}"]


@statement("augmented assign", 2.5)
def augmented(w: Writer) -> list[str]:
    kind = w.kind("int", "float", "vec")
    names = [n for n in w.names(kind) if n in POOLS[kind]]
    if not names:
        return []
    name = w.rng.choice(names)
    low = "7" if kind == "int" else "8.0"
    return [f"{name} {w.rng.choice(['+=', '-='])} {w.expr(kind)}", f"{name} %= {low}"]


@statement("unpack", 1)
def unpack(w: Writer) -> list[str]:
    text = w.expr("pair")
    first, second = w.target("int"), w.target("float")
    w.bind(first, "int")
    w.bind(second, "float")
    return [f"{first}, {second} = {text}"]


@statement("swap", 0.6)
def swap(w: Writer) -> list[str]:
    kind = w.kind("int", "float", "vec")
    names = [n for n in w.names(kind) if n in POOLS[kind]]
    if len(names) < 2:
        return []
    first, second = w.rng.sample(names, 2)
    return [f"{first}, {second} = {second}, {first}"]


@statement("annotated assign", 0.3, feature="annotated")
def annotated(w: Writer) -> list[str]:
    text, name = w.kept("int"), w.target("int")
    w.bind(name, "int")
    return [f"{name}: int = {text}"]


@statement("chained assign", 0.4)
def chained(w: Writer) -> list[str]:
    kind = w.kind("int", "float")
    text, first, second = w.kept(kind), w.target(kind), w.target(kind)
    w.bind(first, kind)
    w.bind(second, kind)
    return [f"{first} = {second} = {text}"]


@statement("attribute write", 0.8)
def attribute(w: Writer) -> list[str]:
    names = [n for n in w.names("box") if n not in w.given]
    if not names or w.depth > 1:
        return []
    part = w.rng.choice(["n", "s"])
    return [f"{w.rng.choice(names)}.{part} = {w.kept('int' if part == 'n' else 'float')}"]


@statement("object", 1)
def make_object(w: Writer) -> list[str]:
    text = w.expr("box")
    w.bind("o", "box")
    return [f"o = {text}"]


@statement("method with effect", 0.7)
def augmented_attribute(w: Writer) -> list[str]:
    names = [n for n in w.names("box") if n not in w.given]
    if not names or w.depth > 0:
        return []
    name = w.rng.choice(names)
    return [f"{name}.n += {w.expr('int')}", f"{name}.n %= 7"]


# --- Branches ------------------------------------------------------------------------------------


@statement("if", 5)
def if_(w: Writer) -> list[str]:
    if not w.may_nest():
        return []
    lines = [f"if {test(w)}:"]
    blocks = [w.block()]
    lines += indented(blocks[0].lines)
    while w.chance(0.25) and len(blocks) < 3:
        lines.append(f"elif {test(w)}:")
        blocks.append(w.block(3))
        lines += indented(blocks[-1].lines)
    if w.chance(0.5):
        blocks.append(w.block(3))
        lines += ["else:", *indented(blocks[-1].lines)]
    else:
        blocks.append(w.here())
    w.merge(*blocks)
    return lines


# --- Functions -----------------------------------------------------------------------------------


@statement("def", 1.2)
def inner_function(w: Writer) -> list[str]:
    if not w.may_nest() or w.in_function:
        return []
    name = w.new("g")
    body = function_body(w, "h")
    w.functions.append(name)
    return [f"def {name}(h):", *indented(body)]


def function_body(w: Writer, parameter: str) -> list[str]:
    """Statements that end in a small integer; they see the names around."""
    outside = dict(w.bound), dict(w.maybe), w.in_loop, w.loops
    w.in_loop, w.in_function = False, True
    # a name that the body writes to would be its own: it may read those around, and write to few
    w.bound[parameter] = "int"
    lines = []
    if w.chance(0.5):
        lines += [f"if {test(w)}:", f"    return {w.kept('int')}"]
    lines += [f"return {w.kept('int')}"]
    w.bound, w.maybe, w.in_loop, w.loops = outside
    w.in_function = False
    return lines


@statement("nonlocal", 0.8)
def nonlocal_(w: Writer) -> list[str]:
    names = [n for n in w.names("int") if n in POOLS["int"]]
    if not names or not w.may_nest() or w.in_function:
        return []
    name, shared = w.new("g"), w.rng.choice(names)
    with w.local("h"):
        change = [f"{shared} = {w.kept('int')}"]
        if w.chance(0.4):
            change = [f"if {test(w)}:", *indented(change)]
    w.functions.append(name)
    return [f"def {name}(h):", *indented([f"nonlocal {shared}", *change, f"return {shared}"])]


@statement("lambda", 0.8)
def lambda_(w: Writer) -> list[str]:
    if w.in_function:
        return []
    name = w.new("g")
    with w.local("h"):
        body = w.kept("int")
    early = w.names("int") and w.chance(0.3)
    default = f", n={w.rng.choice(w.names('int'))}" if early else ""
    w.functions.append(name)
    return [f"{name} = lambda h{default}: {body}" + (" + n" if early else "")]


@statement("call statement", 0.8)
def call_statement(w: Writer) -> list[str]:
    if not w.functions:
        return []
    return [f"{w.rng.choice(w.functions)}({w.expr('int')})"]


@statement("pass", 0.2)
def pass_(w: Writer) -> list[str]:
    return ["pass"]
