"""Productions for loops, and for what leaves them."""

from __future__ import annotations

from .writer import Writer, indented, leave, result, statement, test


@statement("while", 2.5)
def while_(w: Writer) -> list[str]:
    if not w.may_loop():
        return []
    counter = w.new("w")
    head, lines = while_parts(w, counter)
    return [*head, *lines]


def while_parts(w: Writer, counter: str) -> tuple[list[str], list[str]]:
    """The counter's first value, and the loop."""
    trips = w.rng.choice([str(w.rng.randint(1, 4)), f"({w.expr('int')}) % 4"])
    more = f" and {test(w)}" if w.chance(0.6) else ""
    if w.chance(0.15):
        opening, first = "while True:", [f"if {counter} >= 3:", "    break"]
    else:
        opening, first = f"while {counter} < {trips}{more}:", []
    w.bind(counter, "int")
    with w.loop():
        body = w.block()
    lines = [opening, *indented([*first, f"{counter} += 1", *body.lines])]
    ends_at_once = w.here()
    body.leaves = False
    w.merge(ends_at_once, body)
    return [f"{counter} = 0"], lines


def loop_head(w: Writer) -> tuple[str, list[tuple[str, str]]]:
    """What stands between `for` and the colon, and the names it binds."""
    i = w.new("i")
    forms = ["range", "range", "range", "start", "step", "down", "literal", "rows", "list"]
    forms += ["enumerate", "zip", "reversed", "matrix", "items", "reuse", "nested", "len", "empty"]
    form = w.rng.choice(forms)
    vec = w.rng.choice(w.names("vec") or [w.constant("vec")])
    some = w.rng.choice(w.names("list") or ["[2, 0, 1]"])
    match form:
        case "range":
            return f"{i} in range(({w.expr('int')}) % 4)", [(i, "int")]
        case "start":
            return f"{i} in range(({w.expr('int')}) % 3, ({w.expr('int')}) % 5)", [(i, "int")]
        case "step":
            return f"{i} in range({w.rng.randint(0, 2)}, 7, {w.rng.randint(2, 3)})", [(i, "int")]
        case "down":
            return f"{i} in range(({w.expr('int')}) % 4, -1, -1)", [(i, "int")]
        case "literal":
            return f"{i} in range({w.rng.randint(0, 4)})", [(i, "int")]
        case "rows":
            return f"{i} in {vec}", [(i, "float")]
        case "list":
            return f"{i} in {some}", [(i, "int")]
        case "enumerate":
            j = w.new("j")
            return f"{i}, {j} in enumerate({vec})", [(i, "int"), (j, "float")]
        case "zip":
            j = w.new("j")
            more = w.rng.choice(w.names("ivec") or [w.constant("ivec")])
            first = more if w.chance(0.8) else some
            return f"{i}, {j} in zip({first}, {vec})", [(i, "int"), (j, "float")]
        case "reversed":
            inside = w.rng.choice([vec, f"range(({w.expr('int')}) % 4)"])
            return f"{i} in reversed({inside})", [(i, "float" if inside == vec else "int")]
        case "matrix":
            table = w.rng.choice(w.names("mat") or ["jnp.ones((2, 3))"])
            return f"{i} in {table}", [(i, "vec")]
        case "items":
            j = w.new("j")
            return f"{i}, {j} in ((1, 0.5), (2, -0.25))", [(i, "int"), (j, "float")]
        case "nested":
            j, k = w.new("j"), w.new("k")
            made = f"[({w.expr('int')}, {w.expr('float')}), (2, 0.5)]"
            return f"{i}, ({j}, {k}) in enumerate({made})", [(i, "int"), (j, "int"), (k, "float")]
        case "len":
            return f"{i} in range(len({vec}))", [(i, "int")]
        case "empty":
            return f"{i} in {w.rng.choice(['[]', 'range(0)', '()', 'jnp.zeros((0,))'])}", [
                (i, "int")
            ]
        case "reuse":  # a name the function has anyway
            name = w.target("int")
            return f"{name} in range(({w.expr('int')}) % 4)", [(name, "int")]
    raise AssertionError(form)


@statement("for", 3.5)
def for_(w: Writer) -> list[str]:
    if not w.may_loop():
        return []
    head, binds = loop_head(w)
    with w.loop():
        body = w.block(4, binds)
    lines = [f"for {head}:", *indented(body.lines)]
    body.leaves = False
    w.merge(w.here(), body)
    return lines


@statement("write to loop variable", 0.6)
def write_to_loop_variable(w: Writer) -> list[str]:
    names = [n for n in w.names("int") if n.startswith("i")]
    if not names or not w.in_loop:
        return []
    name = w.rng.choice(names)
    return [f"{name} = {w.kept('int')}"]


@statement("late binding", 0.6)
def late_binding(w: Writer) -> list[str]:
    """Functions made in a loop, called after it: they see the last value."""
    if w.in_function or not w.may_loop():
        return []
    made, i, name = w.new("n"), w.new("i"), w.target("int")
    early = w.chance(0.4)
    inner = f"lambda h, {i}={i}: " if early else "lambda h: "
    with w.local("h"), w.local(i):
        body = w.kept("int")
    lines = [f"{made} = []", f"for {i} in range({w.rng.randint(1, 3)}):"]
    lines += [f"    {made}.append({inner}({body} + {i}) % 7)"]
    lines += [f"{name} = {made}[{w.rng.choice([0, -1])}]({w.expr('int')})"]
    w.bind(i, "int")
    w.bind(name, "int")
    return lines


@statement("break", 1.2)
def break_(w: Writer) -> list[str]:
    return leave(w, "break") if w.in_loop else []


@statement("continue", 1.2)
def continue_(w: Writer) -> list[str]:
    return leave(w, "continue") if w.in_loop else []


@statement("return", 1)
def return_(w: Writer) -> list[str]:
    if w.depth == 0 or w.in_function:
        return []
    if w.chance(0.88):
        return leave(w, f"return {result(w)}")
    others = ["return", f"return {w.kept('int')}", f"return {w.expr('pair')}", "return None"]
    others += ["return []", f"return [{w.kept('int')}]", "return 'none'", "return False"]
    return leave(w, w.rng.choice(others))
