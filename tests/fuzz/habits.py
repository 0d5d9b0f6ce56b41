"""Productions for how people write, whether d2s accepts it yet or not: values of changing sizes
and kinds, texts, None, lookups, slices at run-time bounds, arrays that several names share."""

from __future__ import annotations

from .statements import function_body
from .writer import Writer, expression, indented, statement, test


def gone_through(w: Writer, *forms: str) -> str:
    """What a comprehension goes through, where no name may be bound."""
    text = w.fill(w.rng.choice(forms))
    return "(2, 0, 1)" if ":=" in text else text


def shown(w: Writer) -> str:
    """An integer without quotes in it, to stand in an f-string."""
    return w.rng.choice(w.names("int") or ["3"])


# --- Values ---------------------------------------------------------------------------------------


@expression("int", "generator expression with a filter", 0.25)
def int_generator(w: Writer) -> str:
    h = w.new("h")
    with w.local(h):
        item, only = w.kept("int"), test(w)
    source = gone_through(w, "range((<int>) % 5)", "<list>", "(1, 0, 2)")
    forms = [f"sum({item} for {h} in {source} if {only})", f"sum({item} for {h} in {source})"]
    forms += [f"len([{h} for {h} in {source} if {only}])"]
    forms += [
        f"max(({item} for {h} in {source}), default=0)",
        f"sum(1 for {h} in {source} if {only})",
    ]
    forms += [f"next(({h} for {h} in {source} if {only}), -1)"]
    return w.rng.choice(forms)


@expression("bool", "any and all of a generator", 0.13)
def bool_generator(w: Writer) -> str:
    h = w.new("h")
    with w.local(h):
        only = test(w)
    source = gone_through(w, "range((<int>) % 5)", "<list>")
    return f"{w.rng.choice(['any', 'all'])}({only} for {h} in {source})"


@expression("int", "slice at run-time bounds", 0.22)
def int_slices(w: Writer) -> str:
    forms = ["sum(<list>[:(<int>) % 4])", "len(<list>[(<int>) % 3:])", "sum(<list>[(<int>) % 3:])"]
    forms += ["len(<list>[(<int>) % 3:(<int>) % 4])", "sum(<items>[:(<int>) % 4])"]
    forms += ["sum(<list>[::(<int>) % 2 + 1])", "len(<text>[:(<int>) % 3])"]
    return w.fill(w.rng.choice(forms))


@expression("float", "slice at run-time bounds", 0.16)
def float_slices(w: Writer) -> str:
    forms = ["(<vec>)[:(<int>) % 4].sum()", "(<vec>)[(<int>) % 3:].sum()", "(<vec>)[::2].max()"]
    forms += ["float((<buffer>)[(<int>) % 2:].sum())", "(<vec>)[(<vec>) > <float>].sum()"]
    forms += ["float((<buffer>)[(<int>) % 3])", "(<vec>)[(<int>) % 2:(<int>) % 2 + 2].sum()"]
    return w.fill(w.rng.choice(forms))


@expression("int", "lookup by a run-time key", 0.25)
def lookups(w: Writer) -> str:
    forms = ["{{0: 5, 1: 2, 2: 7}}[(<int>) % 3]", "{{0: 5, 1: 2}}.get(<int>, 0)"]
    forms += [
        "{{'a': 1, 'b': 4}}.get(<text>, 0)",
        "[3, 1, 2][(<int>) % 3]",
        "(3, 1, 2)[(<int>) % 3]",
    ]
    forms += ["{{'negative': 1, 'zero': 2, 'positive': 3}}[label(<int>)]", "<list>[(<int>) % 3]"]
    forms += ["[step, abs, risky][(<int>) % 2](<int>)", "{{True: 1, False: 2}}[<bool>]"]
    forms += ["<grid>[(<int>) % 2][(<int>) % 2]", "'abc'.index('abc'[(<int>) % 3])"]
    return w.fill(w.rng.choice(forms).replace("{{", "{").replace("}}", "}"))


@expression("int", "recursion", 0.19)
def recursion(w: Writer) -> str:
    forms = [
        "factorial((<int>) % 5)",
        "fib((<int>) % 6)",
        "power(2, (<int>) % 4)",
        "total(<items>)",
    ]
    forms += ["total(<list>)", "depth((<int>) % 4)", "gcd(abs(<int>), abs(<int>))"]
    return w.fill(w.rng.choice(forms))


@expression("int", "of a list of any length", 0.22)
def of_items(w: Writer) -> str:
    name = w.rng.choice(w.names("items") or [w.constant("items")])
    forms = [f"len({name})", f"sum({name})", f"({name}[-1] if {name} else 0)", f"{name}.count(1)"]
    forms += [f"max({name}, default=0)", f"(min({name}) if len({name}) > 0 else 1)"]
    forms += [f"(find({name}, <int>) or 0)", f"len(set({name}))"]
    return w.fill(w.rng.choice(forms))


@expression("bool", "of texts and None", 0.19)
def of_texts(w: Writer) -> str:
    forms = ["(<text> == 'ab')", "(<text> < 'b')", "bool(<items>)", "(<text> in ('low', 'ab'))"]
    forms += ["bool(<text>)", "('a' in <text>)", "<text>.startswith('a')", "(<int> in <items>)"]
    forms += ["((<int>) % 4 in {0, 2})"]
    for name in w.names("option"):
        forms += [f"({name} is None)", f"({name} is not None)"]
    return w.fill(w.rng.choice(forms))


@expression("int", "of texts and None", 0.19)
def int_of_texts(w: Writer) -> str:
    forms = ["len(<text>)", "(1 if <text> == 'low' else 2)", "(<option> or 0)", "<text>.count('a')"]
    forms += [
        "int(str((<int>) % 7))",
        "ord((<text> + 'z')[0]) % 7",
        "len(str(<int>))",
        f"len(f'{{{shown(w)}:3d}}')",
    ]
    return w.fill(w.rng.choice(forms))


@expression("text", "text", 0.63)
def texts(w: Writer) -> str:
    forms = ["('low' if <bool> else 'big')", "label(<int>)", f"f'{{{shown(w)}}}'", "str(<int>)"]
    forms += [
        "(<text> + 'a')",
        "('a' * ((<int>) % 3))",
        "<text>.upper()",
        f"f'<{{{shown(w)}}}|{{{shown(w)}:3d}}>'",
    ]
    forms += [f"','.join(str(h) for h in {gone_through(w, '<list>')})"]
    forms += ["''.join(['a', <text>])", "('%d' % (<int>))"]
    forms += ["'{}'.format(<int>)", "<text>[:(<int>) % 2 + 1]", "repr(<int>)", "'abc'[(<int>) % 3]"]
    return w.fill(w.rng.choice(forms))


@expression("items", "items", 0.63)
def items(w: Writer) -> str:
    h = w.new("h")
    with w.local(h):
        item, only = w.kept("int"), test(w)
    source = gone_through(w, "range((<int>) % 4)", "<list>", "<items>")
    forms = [f"[{h} for {h} in {source} if {only}]", f"[{item} for {h} in {source}]"]
    forms += ["list(range((<int>) % 4))", "<list>[:(<int>) % 4]", "sorted(<items>)", "<items>[1:]"]
    forms += [
        f"list(filter(lambda {h}: {only}, <list>))",
        "(<items> + [<int>])",
        "list(set(<list>))",
    ]
    forms += ["[<int>] * ((<int>) % 3)", "sorted(<list>, reverse=True)"]
    return w.fill(w.rng.choice(forms))


@expression("grid", "grid", 0.32)
def grids(w: Writer) -> str:
    g, h = w.new("h"), w.new("h")
    with w.local(g), w.local(h):
        item = w.kept("int")
    forms = [f"[[{item} for {h} in range(2)] for {g} in range(2)]", "[[0] * 2 for _ in range(2)]"]
    source = gone_through(w, "<grid>").replace("(2, 0, 1)", "[[2, 0], [1, 1]]")
    forms += [f"[list({g}) for {g} in zip(*{source})]", f"[{g}[::-1] for {g} in {source}]"]
    return w.fill(w.rng.choice(forms))


@expression("option", "option", 0.32)
def options(w: Writer) -> str:
    forms = ["(<int> if <bool> else None)", "find(<list>, <int>)", "{0: 1, 2: 3}.get(<int>)"]
    forms += [
        "find(<items>, <int>)",
        f"next((h for h in {gone_through(w, '<list>')} if h > 1), None)",
    ]
    return w.fill(w.rng.choice(forms))


@expression("buffer", "buffer", 0.32)
def buffers(w: Writer) -> str:
    forms = ["np.zeros(3, np.float32)", "np.array([<float>, <float>, 1.0], np.float32)"]
    forms += ["(<buffer> + np.float32(<float>))", "<buffer>.copy()", "(np.asarray(<vec>) * 1)"]
    return w.fill(w.rng.choice(forms))


@expression("vec", "of a buffer", 0.13)
def vec_of_buffer(w: Writer) -> str:
    return w.fill("jnp.asarray(<buffer>)")


# --- Statements -----------------------------------------------------------------------------------


@statement("list that grows under a condition", 0.48)
def grow(w: Writer) -> list[str]:
    if not w.may_loop():
        return []
    held, i = w.rng.choice(["items", "queue"]), w.new("i")
    start = [f"{held} = []"] if held not in w.bound or w.chance(0.5) else []
    w.bind(held, "items")
    source = w.rng.choice([w.fill("range((<int>) % 5)"), w.fill("<list>"), *w.names("ivec")])
    with w.loop(), w.local(i):
        ways = [f"{held}.append({w.kept('int')})", f"{held} += [{w.kept('int')}]"]
        ways += [f"{held}.insert(0, {w.kept('int')})", f"push({held}, {w.kept('int')})"]
        ways += [f"{held}.extend([{i}, {w.kept('int')}])", f"{held} = {held} + [{i}]"]
        body = [f"if {test(w)}:", f"    {w.rng.choice(ways)}"]
        if w.chance(0.3):
            body += [f"if len({held}) > 2:", f"    {w.rng.choice(['break', f'{held}.pop()'])}"]
    return [*start, f"for {i} in {source}:", *indented(body)]


@statement("list that shrinks", 0.22)
def shrinks(w: Writer) -> list[str]:
    names = w.names("items")
    if not names:
        return []
    held, name = w.rng.choice(names), w.target("int")
    ways = [f"{name} = {held}.pop()", f"{name} = {held}.pop(0)", f"{held}.clear()\n{name} = 0"]
    ways += [f"{held}.reverse()\n{name} = {held}[0]", f"{held}.sort()\n{name} = {held}[0]"]
    ways += [f"del {held}[0]\n{name} = 1", f"{name} = {held}[-1]\n{held}.remove({name})"]
    lines = [f"if {held}:", *indented(w.rng.choice(ways).splitlines())]
    w.maybe |= {name: "int"} if name not in w.bound else {}
    return lines


@statement("None until found", 0.32)
def none_until(w: Writer) -> list[str]:
    if not w.may_loop():
        return []
    i, name = w.new("i"), w.target("int")
    with w.loop(), w.local(i):
        found = [
            f"best = {w.rng.choice([i, w.kept('int')])}",
            *(["break"] if w.chance(0.5) else []),
        ]
        body = [f"if {w.rng.choice([test(w), f'best is None or {i} > best'])}:", *indented(found)]
    lines = ["best = None", f"for {i} in {w.fill('<list>')}:", *indented(body)]
    w.bind("best", "option")
    if w.chance(0.6):
        lines += [f"{name} = -1 if best is None else best"]
        w.bind(name, "int")
    return lines


@statement("text by condition", 0.32)
def text_by_condition(w: Writer) -> list[str]:
    name = w.rng.choice(["word", "name"])
    lines = [f"if {test(w)}:", f"    {name} = {w.expr('text')}"]
    lines += ["else:", f"    {name} = {w.expr('text')}"]
    w.bind(name, "text")
    return lines


@statement("text that grows", 0.25)
def text_grows(w: Writer) -> list[str]:
    if not w.may_loop():
        return []
    i = w.new("i")
    with w.loop(), w.local(i):
        more = w.rng.choice([f"str({i})", "'a'", f"f'{{{i}}},'", w.expr("text")])
        line = f"word += {more}"
        body = [f"if {test(w)}:", f"    {line}"] if w.chance(0.5) else [line]
    w.bind("word", "text")
    return ["word = ''", f"for {i} in {w.fill('range((<int>) % 4)')}:", *indented(body)]


@statement("integer or float accumulator", 0.29)
def accumulator(w: Writer) -> list[str]:
    if not w.may_loop():
        return []
    held, i, name = w.new("n"), w.new("i"), w.target("float")
    with w.loop(), w.local(i):
        ways = [f"{held} += {w.rng.choice(['0.5', i, w.kept('float')])}", f"{held} = {held} / 2"]
        body = [f"if {test(w)}:", f"    {w.rng.choice(ways)}"]
        if w.chance(0.5):
            body += ["else:", f"    {held} += 1"]
    lines = [f"{held} = 0", f"for {i} in {w.fill('range((<int>) % 4)')}:", *indented(body)]
    w.bind(name, "float")
    return [*lines, f"{name} = {held} * 1.0"]


@statement("counting in a dict", 0.25)
def counting(w: Writer) -> list[str]:
    if not w.may_loop():
        return []
    held, i, name = w.new("n"), w.new("i"), w.target("int")
    with w.loop(), w.local(i):
        key = w.rng.choice([i, f"{i} % 2", w.expr("text"), "'odd' if " + i + " % 2 else 'even'"])
        ways = [f"{held}[{key}] = {held}.get({key}, 0) + 1", f"bump({held}, {key})"]
        ways += [f"{held}.setdefault({key}, []).append({i})"]
        body = [w.rng.choice(ways)]
        body = [f"if {key} not in {held}:", *indented(body)] if w.chance(0.3) else body
    lines = [f"{held} = {{}}", f"for {i} in {w.fill('<list>')}:", *indented(body)]
    w.bind(name, "int")
    return [*lines, f"{name} = len({held})" if w.chance(0.6) else f"{name} = len(sorted({held}))"]


@statement("buffer write", 0.48)
def buffer_write(w: Writer) -> list[str]:
    names = w.names("buffer")
    held = w.rng.choice(names) if names else "buf"
    lines = [] if names else [f"{held} = {w.expr('buffer')}"]
    w.bind(held, "buffer")
    ways = [f"{held}[(<int>) % 3] = <float>", f"{held} += <float>", f"{held}[1:] = <float>"]
    ways += [f"{held}[{held} > <float>] = <float>", f"{held}[0], {held}[1] = {held}[1], {held}[0]"]
    ways += [f"fill_from({held}, (<int>) % 3, <float>)", f"scale({held}, 2)", f"{held}.sort()"]
    ways += [
        f"{held}[:2][0] = <float>",
        f"{held}[(<int>) % 2:] += <float>",
        f"{held}[::-1][0] = 1.0",
    ]
    line = w.fill(w.rng.choice(ways))
    return [*lines, *([f"if {test(w)}:", f"    {line}"] if w.chance(0.4) else [line])]


@statement("buffer by another name", 0.25)
def buffer_alias(w: Writer) -> list[str]:
    names = [name for name in w.names("buffer") if name != "alias"]
    if not names:
        return []
    held = w.rng.choice(names)
    ways = [held, f"{held}[:]", f"{held}.reshape(3)", f"np.asarray({held})", f"{held}.copy()"]
    ways += [f"{held}.ravel()", f"{held}[::1]", f"{held} if {test(w)} else {held}.copy()"]
    line = f"alias = {w.rng.choice(ways)}"
    w.bind("alias", "buffer")
    return [line, w.fill("alias[(<int>) % 3] = <float>")] if w.chance(0.6) else [line]


@statement("grid write", 0.25)
def grid_write(w: Writer) -> list[str]:
    names = w.names("grid")
    held = w.rng.choice(names) if names else "table"
    lines = [] if names else [f"{held} = {w.expr('grid')}"]
    w.bind(held, "grid")
    ways = [f"{held}[(<int>) % 2][(<int>) % 2] = (<int>) % 7", f"{held}[0] = {held}[1]"]
    ways += [f"{held}[(<int>) % 2][0] += 1", f"for row in {held}:\n    row[0] = (<int>) % 5"]
    ways += [f"{held}[0], {held}[1] = {held}[1], {held}[0]", f"{held} = [{held}[0]] * 2"]
    ways += [f"{held}.append([(<int>) % 3, 1])", f"{held}[(<int>) % 2] = [1, (<int>) % 3]"]
    chosen = w.fill(w.rng.choice(ways)).splitlines()
    return [*lines, *([f"if {test(w)}:", *indented(chosen)] if w.chance(0.4) else chosen)]


@statement("several exits", 0.29)
def several_exits(w: Writer) -> list[str]:
    if not w.may_loop():
        return []
    counter = w.new("w")
    w.bind(counter, "int")
    body = [f"{counter} += 1", f"if {counter} > 5:", "    break"]
    with w.loop():
        for _ in range(w.rng.randint(1, 2)):
            body += [f"if {test(w)}:", f"    {w.rng.choice(['break', 'continue'])}"]
        inner = w.block(2)
    body += inner.lines
    inner.leaves = False
    w.merge(w.here(), inner)
    return [f"{counter} = 0", "while True:", *indented(body)]


@statement("helper that writes its argument", 0.29)
def helper_writes(w: Writer) -> list[str]:
    lists = [*w.names("list"), *w.names("items")]
    ways = (
        [f"put({w.rng.choice(w.names('list'))}, (<int>) % 3, (<int>) % 7)"]
        if w.names("list")
        else []
    )
    ways += [f"push({w.rng.choice(lists)}, (<int>) % 7)"] if lists else []
    ways += [f"swap({n}, (<int>) % 3, (<int>) % 3)" for n in w.names("list")]
    ways += [f"{n}.append((<int>) % 5)" for n in lists]
    if not ways:
        return []
    line = w.fill(w.rng.choice(ways))
    return [f"if {test(w)}:", f"    {line}"] if w.chance(0.4) else [line]


@statement("function that returns several shapes", 0.16)
def shapes(w: Writer) -> list[str]:
    if w.in_function or not w.may_nest():
        return []
    name, target = w.new("g"), w.target("int")
    last = function_body(w, "h")
    odd = w.rng.choice(["None", "(h, 1)", "'none'", "[h]", "0.5", "True"])
    lines = [
        f"def {name}(h):",
        *indented([f"if h > {w.rng.randint(0, 3)}:", f"    return {odd}", *last]),
    ]
    use = f"{name}({w.expr('int')})"
    w.bind(target, "int")
    return [*lines, f"{target} = 1 if {use} == {w.rng.choice(['1', 'None', '(1, 1)'])} else 2"]
