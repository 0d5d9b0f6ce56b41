"""Productions for functions and managers that change what is outside, and for what they leave."""

from __future__ import annotations

from .extras import PROBES
from .writer import Writer, expression, indented, statement, test

PROBES |= {
    "helper-global": "if a > 2:\n    score(a)\nreturn a",
    "helper-method": "b = 0\nfor n in jnp.arange(3):\n    b = LEDGER.post(a + n)\nreturn b",
    "helper-argument": "o = Box(1, 2.0)\nif a > 2:\n    try:\n        charge(o, a)\n"
    "    except Trouble:\n        pass\nreturn o.n",
    "counter": "g = tallied(1)\nif a > 2:\n    g(a)\nreturn g(1)",
    "operator": "return (Money(a) + Money(2)).half",
    "with-lent": "o = Box(1, 2.0)\nwith Lent(o, a):\n    b = o.n + 1\nreturn b, o.n",
    "exception-holds": "try:\n    if a > 2:\n        raise Spill(a, (a, 2))\n    b = 1\n"
    "except Spill as error:\n    b = error.n + error.rest[1]\nreturn b",
    "numpy-buffer": "n = np.zeros(3, np.float32)\nfor i in range(3):\n    n[i] = a + i\n"
    "return jnp.asarray(n)",
}


def boxes(w: Writer) -> list[str]:
    """Objects that the program has made itself."""
    return [name for name in w.names("box") if name not in w.given]


def effect(w: Writer) -> str:
    """A call that changes something outside of the block it stands in."""
    forms = ["score(<int>)", "score_if(<int>, <bool>)", "shelve(<int>)", "LEDGER.post(<int>)"]
    if boxes(w):
        forms += [f"charge({w.rng.choice(boxes(w))}, <int>)"]
    lists = [name for name in w.names("list") if name not in w.given or w.chance(0.5)]
    if lists:
        forms += [f"raise_all({w.rng.choice(lists)}, <int>)"]
    return w.fill(w.rng.choice(forms))


@expression("int", "helper with effect", 0.6, feature="helper-global")
def effect_as_value(w: Writer) -> str:
    return effect(w)


@expression("bool", "effect in a test", 0.3, feature="helper-method")
def effect_as_test(w: Writer) -> str:
    return f"({effect(w)} > {w.rng.randint(1, 4)})"


@statement("helper with effect", 1.6, feature="helper-argument")
def effect_alone(w: Writer) -> list[str]:
    line = effect(w)
    return [f"if {test(w)}:", f"    {line}"] if w.chance(0.4) else [line]


@statement("counter", 0.5, feature="counter")
def counter(w: Writer) -> list[str]:
    if w.in_function:
        return []
    name = w.new("g")
    lines = [f"{name} = tallied({w.kept('int')})"]
    w.functions.append(name)
    return lines


@expression("int", "operator of a class", 0.4, feature="operator")
def operator_of_class(w: Writer) -> str:
    return w.fill(f"(Money(<int>) + Money(<int>)).{w.rng.choice(['n', 'half'])}")


@statement("with lent", 0.5, feature="with-lent")
def with_lent(w: Writer) -> list[str]:
    if not boxes(w) or not w.may_nest():
        return []
    head = f"with Lent({w.rng.choice(boxes(w))}, {w.kept('int')}):"
    body = w.block(3)
    w.merge(body)
    return [head, *indented(body.lines)]


@statement("exception that holds values", 0.9, feature="exception-holds")
def exception_holds(w: Writer) -> list[str]:
    if not w.may_nest():
        return []
    name = w.target("int")
    body = w.block(2)
    spill = f"raise Spill({w.kept('int')}, ({w.kept('int')}, {w.rng.randint(0, 3)}))"
    lines = [*body.lines, *([] if body.leaves else [f"if {test(w)}:", f"    {spill}"])]
    use = w.rng.choice(["error.n", "error.rest[0] + error.rest[1]", "len(error.args)", "error.n"])
    handler = w.block(2, [(name, "int")])
    held = [f"{name} = ({use}) % 7", *handler.lines]
    w.merge(body, handler)
    return ["try:", *indented(lines), "except Spill as error:", *indented(held)]


@statement("numpy buffer", 0.6, feature="numpy-buffer")
def numpy_buffer(w: Writer) -> list[str]:
    if not w.may_loop():
        return []
    held, i, name = w.new("n"), w.new("i"), w.target("vec")
    lines = [f"{held} = np.zeros(3, np.float32)"]
    writes = [f"{held}[{i}] = {{}}", f"{held}[({i} + 1) % 3] += {{}}", f"{held}[1:] *= 2.0"]
    with w.loop(), w.local(i):
        line = w.rng.choice(writes).format(w.kept("float"))
        if w.chance(0.3):
            line = f"if {test(w)}:\n    {line}"
    lines += [f"for {i} in range(3):", *indented(line.splitlines())]
    if w.chance(0.3):
        lines.append(f"{held}[({w.expr('int')}) % 3] = {w.kept('float')}")
    w.bind(name, "vec")
    return [*lines, f"{name} = jnp.asarray({held}) % 8.0"]


# --- `and` and `or` as values ---------------------------------------------------------------------


@expression("int", "and-or of kinds", 0.5)
def int_operands(w: Writer) -> str:
    forms = ["((<bool> and <int>) + 0)", "((<bool> or <int>) + 1)", "(None or <int>)"]
    forms += ["((<int> or <bool>) + 0)", "((<int> and <bool> and <int>) + 0)", "(<list> and <int>)"]
    forms += ["len(<list> or [<int>])", "([] or <int>)"]
    return w.fill(w.rng.choice(forms))


@expression("float", "and-or of kinds", 0.4)
def float_operands(w: Writer) -> str:
    forms = ["((<int> and <float>) + 0.0)", "((<bool> or <float>) * 1.0)", "(None or <float>)"]
    forms += ["((<float> or <int>) * 1.0)", "((<bool> and <float>) + 0.5)"]
    return w.fill(w.rng.choice(forms))


@expression("bool", "truth of kinds", 0.4)
def bool_operands(w: Writer) -> str:
    forms = ["bool(<int> and <float>)", "bool(<list> and <bool>)", "(not (<float> or <int>))"]
    return w.fill(w.rng.choice(forms))
