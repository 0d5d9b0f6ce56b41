"""Productions for what d2s may or may not convert yet, and a probe for each.

`supported()` tries the probes: one that is converted and gives plain Python's answer switches its
productions on. So the grammar grows by itself when d2s does.
"""

from __future__ import annotations

from .failures import TROUBLES
from .loops import loop_head, while_parts
from .writer import POOLS, Writer, expression, indented, statement, test

#: feature -> a function of one run-time number that uses it, and nothing else that is new
PROBES: dict[str, str] = {
    "for-else": "for i in range(a):\n    if i > 2:\n        break\nelse:\n    a = 9\nreturn a",
    "while-else": "i = 0\nwhile i < a:\n    i += 1\n    if i > 2:\n        break\n"
    "else:\n    a = 9\nreturn a",
    "match": "match a:\n    case 1:\n        return 5\n    case 2 | 3:\n        return 6\n"
    "    case n if n > 4:\n        return n\n    case _:\n        return 0",
    "match-sequence": "match (a, 2):\n    case (1, b):\n        return b\n    case (b, 2):\n"
    "        return b + 1\nreturn 0",
    "with": "b = 1\nwith Guard('w', False):\n    b = a + 1\nreturn b",
    "with-log": "log = []\nwith Logged(log):\n    if a > 2:\n        a = 5\nreturn log, a",
    "with-quiet": "b = 1\nwith Guard('w', True):\n    if a > 2:\n        raise Trouble('x')\n"
    "    b = 2\nreturn b",
    "finally": "b = 0\ntry:\n    if a > 2:\n        return 7\nfinally:\n    b = 3\nreturn b + a",
    "except-as": "try:\n    if a > 2:\n        raise Trouble('x')\nexcept Trouble as error:\n"
    "    return len(error.args)\nreturn 5",
    "reraise": "try:\n    if a > 2:\n        raise Trouble('x')\nexcept Trouble:\n    raise\n"
    "return 5",
    "raise-from": "try:\n    if a > 2:\n        raise Trouble('x')\nexcept Trouble as e:\n"
    "    raise ValueError('y') from e\nreturn 5",
    "del": "b = a\nif a > 2:\n    del b\n    b = 4\nreturn b",
    "global": "global TALLY\nif a > 2:\n    TALLY = 5\nreturn a",
    "walrus": "if (b := a + 1) > 2:\n    b = b + 1\nreturn b",
    "list-comp": "return [n + a for n in range(3) if n != 1]",
    "dict-comp": "return {n: n + a for n in range(3)}",
    "set-comp": "return len({n % 2 for n in range(3)}) + a",
    "generator-exp": "return sum(n + a for n in range(3))",
    "traced-comp": "return sum([n for n in range(4) if n < a])",
    "class": "class Local:\n    c = a + 1\nreturn Local.c",
    "import": "import math\nreturn a + math.floor(2.5)",
    "starred": "b, *c = a, 2, 3\nreturn b + len(c)",
    "generator": "def made():\n    yield a\n    yield 2\nb = 0\nfor n in made():\n    b += n\n"
    "return b",
    "f-string": "b = f'{a}'\nreturn a",
    "print": "if a > 2:\n    print('big', a)\nreturn a",
    "subscript-write": "l = [1, 2, 3]\nif a > 2:\n    l[1] = a\nreturn l",
    "append": "l = [1, 2]\nif a > 2:\n    l.append(3)\nelse:\n    l.append(4)\nreturn l",
    "append-in-loop": "l = []\nfor i in range(3):\n    if a > i:\n        a = a - 1\n"
    "    l.append(a)\nreturn l",
    "annotated": "try:\n    b: int = a + 1\nexcept ValueError:\n    b = 2\nreturn b",
    "attribute-in-branch": "o = Box(1, 2.0)\nif a > 2:\n    o.n = 5\nreturn o.n",
}


def probe(feature: str) -> str:
    """Why a feature is not to be used: codes, or how its probe differs; empty when it works."""
    from .oracles import judge
    from .program import Program

    body = "\n".join(["def f(a):", *indented(PROBES[feature].splitlines())])
    program = Program(0, body, (("jnp.int32(1)",), ("jnp.int32(4)",)))
    verdict = judge(program, ("converted", "reference", "static"))
    codes = sorted({code for _, code in verdict.refusals})
    return ", ".join([*codes, *dict.fromkeys(f"DIFFERS: {f.kind}" for f in verdict.findings)])


def supported() -> frozenset[str]:
    """The features whose probe gives plain Python's answers, static."""
    return frozenset(feature for feature in PROBES if not probe(feature))


# --- Loops with else -----------------------------------------------------------------------------


@statement("for-else", 1, feature="for-else")
def for_else(w: Writer) -> list[str]:
    if not w.may_loop():
        return []
    head, binds = loop_head(w)
    with w.loop():
        body = w.block(3, binds)
    orelse = w.block(2)
    lines = [f"for {head}:", *indented(body.lines), "else:", *indented(orelse.lines)]
    body.leaves = False
    w.merge(w.here(), body, orelse)
    return lines


@statement("while-else", 1, feature="while-else")
def while_else(w: Writer) -> list[str]:
    if not w.may_loop():
        return []
    head, lines = while_parts(w, w.new("w"))
    orelse = w.block(2)
    w.merge(w.here(), orelse)
    return [*head, *lines, "else:", *indented(orelse.lines)]


# --- match ---------------------------------------------------------------------------------------


@statement("match", 1.5, feature="match")
def match_(w: Writer) -> list[str]:
    if not w.may_nest():
        return []
    lines, blocks = [f"match {w.expr('int')}:"], []
    for n in range(w.rng.randint(1, 3)):
        form = w.rng.choice(["{n}", "{n} | {m}", "{c} if {t}", "-1"])
        name = w.target("int")
        binds = [(name, "int")] if "{c}" in form else []
        before = dict(w.bound)
        for bound, kind in binds:
            w.bind(bound, kind)
        text = form.format(n=n, m=n + 3, c=name, t=test(w))
        w.bound = before
        blocks.append(w.block(3, binds))
        lines += indented([f"case {text}:", *indented(blocks[-1].lines)])
        if binds:  # bound even where the guard said no
            w.maybe |= {k: v for k, v in binds if k not in w.bound}
    if w.chance(0.5):
        blocks.append(w.block(2))
        lines += indented(["case _:", *indented(blocks[-1].lines)])
    else:
        blocks.append(w.here())
    w.merge(*blocks)
    return lines


@statement("match-sequence", 0.7, feature="match-sequence")
def match_sequence(w: Writer) -> list[str]:
    if not w.may_nest():
        return []
    number, part = w.target("int"), w.target("float")
    first = w.block(3, [(part, "float")])
    second = w.block(2, [(number, "int"), (part, "float")])
    lines = [f"match {w.expr('pair')}:", f"    case ({w.rng.randint(0, 3)}, {part}):"]
    lines += indented(indented(first.lines))
    lines += [f"    case ({number}, {part}):", *indented(indented(second.lines))]
    w.merge(first, second)
    return lines


# --- with, finally, handlers with a name ----------------------------------------------------------


@statement("with", 1, feature="with")
def with_(w: Writer) -> list[str]:
    return _with(w, False)


@statement("with-log", 0.6, feature="with-log")
def with_log(w: Writer) -> list[str]:
    if w.depth > 0:
        return []
    log, name = w.new("n"), w.target("int")
    body = w.block(3)
    w.merge(body)
    if w.leaves:
        return [f"{log} = []", f"with Logged({log}):", *indented(body.lines)]
    w.bind(name, "int")
    return [f"{log} = []", f"with Logged({log}):", *indented(body.lines), f"{name} = len({log})"]


@statement("with-quiet", 0.7, feature="with-quiet")
def with_quiet(w: Writer) -> list[str]:
    return _with(w, True)


def _with(w: Writer, quiet: bool) -> list[str]:
    if not w.may_nest():
        return []
    body = w.block(4)
    lines = [f"with Guard('w', {quiet}):", *indented(body.lines)]
    if quiet:
        body.leaves = False
        w.merge(w.here(), body)
    else:
        w.merge(body)
    return lines


@statement("finally", 1.5, feature="finally")
def finally_(w: Writer) -> list[str]:
    if not w.may_nest():
        return []
    body = w.block(4)
    lines = ["try:", *indented(body.lines)]
    if w.chance(0.4):
        handler = w.block(2)
        lines += [f"except {w.rng.choice(TROUBLES)}:", *indented(handler.lines)]
        w.merge(body, handler)
    else:
        w.merge(body)
    left = w.leaves
    last = w.block(2)
    lines += ["finally:", *indented(last.lines)]
    w.merge(last)
    w.leaves = left or last.leaves
    return lines


@statement("except-as", 0.8, feature="except-as")
def except_as(w: Writer) -> list[str]:
    if not w.may_nest():
        return []
    body = w.block(3)
    handler = w.block(2)
    use = w.rng.choice(["{} = len(error.args)", "{} = int(isinstance(error, ValueError))"])
    name = w.target("int")
    lines = ["try:", *indented(body.lines), f"except {w.rng.choice([*TROUBLES, 'Exception'])}"]
    lines[-1] += " as error:"
    lines += indented([use.format(name), *handler.lines])
    handler.bound[name] = "int"
    w.merge(body, handler)
    return lines


@statement("reraise", 0.5, feature="reraise")
def reraise(w: Writer) -> list[str]:
    if not w.may_nest():
        return []
    body, handler = w.block(3), w.block(2)
    lines = ["try:", *indented(body.lines), f"except {w.rng.choice(TROUBLES)}:"]
    lines += indented([*handler.lines, *([] if handler.leaves else ["raise"])])
    w.merge(body)
    return lines


@statement("raise-from", 0.4, feature="raise-from")
def raise_from(w: Writer) -> list[str]:
    if not w.may_nest():
        return []
    body = w.block(3)
    lines = ["try:", *indented(body.lines), f"except {w.rng.choice(TROUBLES)} as error:"]
    lines += indented([f"raise {w.rng.choice(TROUBLES)}('again') from error"])
    w.merge(body)
    return lines


# --- Names ---------------------------------------------------------------------------------------


@statement("del", 0.5, feature="del")
def del_(w: Writer) -> list[str]:
    names = [n for n, k in w.bound.items() if k in POOLS and n in POOLS[k]]
    if len(names) < 4:
        return []
    name = w.rng.choice(names)
    w.maybe[name] = w.bound.pop(name)
    return [f"del {name}"]


@statement("global", 0.3, feature="global")
def global_(w: Writer) -> list[str]:
    if w.depth > 0 or "TALLY" in w.bound or w.in_function:
        return []
    w.bound["TALLY"] = "int"
    return ["global TALLY", f"TALLY = {w.kept('int')}"]


@statement("class", 0.4, feature="class")
def class_(w: Writer) -> list[str]:
    name = w.target("int")
    text = w.kept("int")
    w.bind(name, "int")
    if ":=" in text and " for " in text:
        text = "3"  # Python has no `:=` in a comprehension of a class body
    return ["class Local:", f"    part = {text}", f"{name} = Local.part"]


@statement("import", 0.3, feature="import")
def import_(w: Writer) -> list[str]:
    name = w.target("int")
    w.bind(name, "int")
    return ["import math", f"{name} = math.floor(2.5)"]


@statement("starred", 0.6, feature="starred")
def starred(w: Writer) -> list[str]:
    text, name = w.expr("list"), w.target("int")
    w.bind(name, "int")
    return [f"{name}, *rest = {text}"]


@statement("generator", 0.6, feature="generator")
def generator(w: Writer) -> list[str]:
    if not w.may_loop() or w.in_function:
        return []
    name, i = w.new("g"), w.new("i")
    lines = [f"def {name}():", f"    yield {w.kept('int')}", f"    yield {w.kept('int')}"]
    with w.loop():
        body = w.block(3, [(i, "int")])
    lines += [f"for {i} in {name}():", *indented(body.lines)]
    body.leaves = False
    w.merge(w.here(), body)
    return lines


# --- Comprehensions ------------------------------------------------------------------------------


@expression("list", "list-comp", 1.5, feature="list-comp")
def list_comp(w: Writer) -> str:
    names = w.names("list")
    source = w.rng.choice([*names, "range(3)", "(0, 2, 1)"])
    with w.local("h"):
        item = w.kept("int")
    return f"[{item} for h in {source}]"


@expression("int", "generator-exp", 0.6, feature="generator-exp")
def generator_exp(w: Writer) -> str:
    with w.local("h"):
        item = w.kept("int")
    return f"sum({item} for h in range(3))"


@expression("int", "traced-comp", 0.6, feature="traced-comp")
def traced_comp(w: Writer) -> str:
    with w.local("h"):
        item, only = w.kept("int"), w.expr("bool")
    return f"sum([{item} for h in range(3) if {only}])"


@expression("int", "dict-comp", 0.4, feature="dict-comp")
def dict_comp(w: Writer) -> str:
    with w.local("h"):
        item = w.kept("int")
    return f"{{h: {item} for h in range(3)}}[{w.rng.randint(0, 2)}]"


@expression("int", "set-comp", 0.3, feature="set-comp")
def set_comp(w: Writer) -> str:
    return f"len({{h % {w.rng.randint(1, 3)} for h in range(3)}})"


# --- Effects -------------------------------------------------------------------------------------


PRINTS = (
    "print('here')",
    "print('at', NUMBER)",
    "print(f'{NUMBER}')",
    "print(f'{NUMBER:.2f}|{NUMBER:>7}', end=';')",
    "print(NUMBER, ARRAY, sep=f'<{NUMBER}>')",
    "print('%s and %.1f' % (NUMBER, NUMBER))",
    "print('{:5.2f} {}'.format(NUMBER, ARRAY))",
    "print([ARRAY, {'k': ARRAY}], 'x' + str(NUMBER))",
    "line = f'line {NUMBER:.1f}'\nprint(line, line + '.')",
)


@statement("print", 1.5, feature="print")
def print_(w: Writer) -> list[str]:
    number = w.rng.choice(w.names("int") + w.names("float") or ["0"])
    array = w.rng.choice(w.names("vec") + w.names("ivec") or ["'no array'"])
    form = w.rng.choice(PRINTS)
    return form.replace("NUMBER", number).replace("ARRAY", array).splitlines()


@statement("subscript-write", 1, feature="subscript-write")
def subscript_write(w: Writer) -> list[str]:
    forms = {"list": ("{}[%d]" % w.rng.randint(0, 2), "int"), "dict": ("{}['b']", "float")}
    kind = w.kind("list", "dict")
    names = [n for n in w.names(kind) if n not in w.given]
    if not names:
        return []
    form, item = forms[kind]
    return [f"{form.format(w.rng.choice(names))} = {w.kept(item)}"]


@statement("append", 0.8, feature="append-in-loop")
def append(w: Writer) -> list[str]:
    if w.depth > 0:
        return []
    name, i = w.new("n"), w.new("i")
    with w.local(i):
        item = w.kept("int")
    lines = [f"{name} = []", f"for {i} in range(3):", f"    {name}.append({item})"]
    w.bind(name, "list")
    return lines


@statement("attribute write in a block", 0.8, feature="attribute-in-branch")
def attribute_in_block(w: Writer) -> list[str]:
    names = [n for n in w.names("box") if n not in w.given]
    if not names or w.depth == 0:
        return []
    line = f"{w.rng.choice(names)}.n = {w.kept('int')}"
    return [f"if {test(w)}:", f"    {line}"] if w.chance(0.3) else [line]
