"""Productions for values: numbers, truth values, arrays, containers."""

from __future__ import annotations

from .writer import Writer, expression

COMPARE = ("<", "<=", ">", ">=", "==", "!=")


@expression("int", "constant", 3)
def int_constant(w: Writer) -> str:
    return w.constant("int")


@expression("float", "constant", 3)
def float_constant(w: Writer) -> str:
    return w.constant("float")


@expression("int", "arithmetic", 4)
def int_arithmetic(w: Writer) -> str:
    form = w.rng.choice(
        [
            "(<int> + <int>)",
            "(<int> - <int>)",
            "(<int> * <int>) % {n}",
            "<int> // {n}",
            "<int> % {n}",
            "-(<int>)",
        ]
    )
    return w.fill(form).replace("{n}", str(w.rng.choice([2, 3, 5, 7])))


@expression("float", "arithmetic", 4)
def float_arithmetic(w: Writer) -> str:
    form = w.rng.choice(
        [
            "(<float> + <float>)",
            "(<float> - <float>)",
            "<float> * {n}",
            "jnp.floor(<float> * <float>)",
            "<float> % 4.0",
            "-(<float>)",
        ]
        + ["(<float> + <int>)", "(<int> - <float>)"]
    )
    return w.fill(form).replace("{n}", w.rng.choice(["2", "3", "-1"]))


@expression("int", "builtin")
def int_builtin(w: Writer) -> str:
    form = w.rng.choice(
        ["abs(<int>)", "min(<int>, <int>)", "max(<int>, <int>)", "int(<bool>)", "int(<float>)"]
    )
    return w.fill(form)


@expression("float", "builtin")
def float_builtin(w: Writer) -> str:
    form = w.rng.choice(
        ["abs(<float>)", "min(<float>, <float>)", "max(<float>, <float>)", "float(<int>)"]
    )
    return w.fill(form)


@expression("int", "library call", 0.9)
def int_library(w: Writer) -> str:
    forms = [
        "math.floor(<float>)",
        "math.ceil(<float>)",
        "math.gcd(<int>, <int>)",
        "round(<float>)",
    ]
    forms += ["divmod(<int>, {n})[0]", "divmod(<int>, {n})[1]", "sum([<int>, <int>], <int>)"]
    forms += ["sorted([<int>, <int>, <int>])[1]", "max([<int>, <int>], key=lambda h: -h)"]
    forms += ["operator.add(<int>, <int>)", "functools.reduce(max, [<int>, <int>], 0)"]
    forms += [
        "sum(map(abs, [<int>, <int>]))",
        "int(math.fabs(<float>))",
        "int(isinstance({v}, int))",
    ]
    form = w.rng.choice(forms)
    if "{v}" in form:
        names = [name for name in w.names("int") if name in w.given]
        if not names:
            return ""
        form = form.replace("{v}", w.rng.choice(names))
    return w.fill(form).replace("{n}", str(w.rng.choice([2, 3, 5])))


@expression("float", "library call", 0.9)
def float_library(w: Writer) -> str:
    forms = ["math.fabs(<float>)", "math.fmod(<float>, 4.0)", "math.copysign(<float>, <float>)"]
    forms += ["math.prod([<float>, 2.0])", "math.modf(<float>)[0]", "sorted([<float>, <float>])[0]"]
    forms += ["math.sqrt(abs(<float>)) * 0", "min([<float>, <float>], key=lambda h: h * h)"]
    forms += ["operator.neg(<float>)", "float(np.float32(<float>))", "float(math.floor(<float>))"]
    return w.fill(w.rng.choice(forms))


@expression("bool", "library call", 0.4)
def bool_library(w: Writer) -> str:
    forms = ["math.isnan(<float>)", "operator.lt(<int>, <int>)", "any([<bool>, <bool>])"]
    forms += [
        "all(map(lambda h: h > 0, [<int>, <int>]))",
        "operator.truth(<int>)",
        "math.isfinite(<float>)",
    ]
    return w.fill(w.rng.choice(forms))


@expression("vec", "numpy call", 0.9)
def vec_library(w: Writer) -> str:
    forms = ["jnp.asarray(np.abs(<vec>))", "jnp.asarray(np.where(<vec> > <float>, <vec>, 0.0))"]
    forms += ["jnp.asarray(np.maximum(<vec>, <float>), jnp.float32)", "jnp.asarray(np.sort(<vec>))"]
    forms += ["jnp.asarray(np.zeros_like(<vec>))", "jnp.asarray(np.clip(<vec>, -2, 2))"]
    forms += [
        "jnp.asarray(np.cumsum(<vec>), jnp.float32)",
        "jnp.asarray(np.stack([<vec>, <vec>])[1])",
    ]
    return w.fill(w.rng.choice(forms))


def _ternary(kind: str) -> None:
    @expression(kind, "ternary", 0.7)
    def ternary(w: Writer) -> str:
        return f"({w.expr(kind)} if {w.expr('bool')} else {w.expr(kind)})"


for _kind in ("int", "float", "bool", "vec", "pair"):
    _ternary(_kind)


def _operands(kind: str) -> None:
    @expression(kind, "and-or", 0.6)
    def operands(w: Writer) -> str:
        return f"({w.expr(kind)} {w.rng.choice(['and', 'or'])} {w.expr(kind)})"


for _kind in ("int", "float", "bool"):
    _operands(_kind)


@expression("bool", "compare", 5)
def compare(w: Writer) -> str:
    kind = w.kind("int", "float")
    return f"({w.expr(kind)} {w.rng.choice(COMPARE)} {w.expr(kind)})"


@expression("bool", "chained compare", 0.8)
def chained(w: Writer) -> str:
    kind = w.kind("int", "float")
    first, second = w.rng.choice(COMPARE), w.rng.choice(COMPARE)
    return f"({w.expr(kind)} {first} {w.expr(kind)} {second} {w.expr(kind)})"


@expression("bool", "not", 0.7)
def negation(w: Writer) -> str:
    return f"(not {w.expr(w.kind('bool', 'bool', 'int'))})"


@expression("bool", "any-all", 0.5)
def any_all(w: Writer) -> str:
    return f"jnp.{w.rng.choice(['any', 'all'])}({w.expr('vec')} > {w.expr('float')})"


@expression("bool", "bool()", 0.3)
def to_bool(w: Writer) -> str:
    return f"bool({w.expr(w.kind('int', 'float'))})"


@expression("int", "item of array", 0.8)
def int_item(w: Writer) -> str:
    names = w.names("ivec")
    if not names:
        return ""
    return f"{w.rng.choice(names)}[{index(w, 3)}]"


@expression("float", "item of array", 1)
def float_item(w: Writer) -> str:
    names, tables = w.names("vec"), w.names("mat")
    if tables and w.chance(0.4):
        return f"{w.rng.choice(tables)}[{index(w, 2)}, {index(w, 3)}]"
    return f"{w.rng.choice(names)}[{index(w, 3)}]" if names else ""


def index(w: Writer, size: int) -> str:
    """A place inside an array of this size."""
    if w.chance(0.5):
        return str(w.rng.randint(-size, size - 1))
    return f"({w.expr('int')}) % {size}"


@expression("int", "item of container", 2)
def int_member(w: Writer) -> str:
    forms = {"pair": "{}[0]", "list": "{}[%d]" % w.rng.randint(-3, 2), "dict": "{}['a']"}
    forms |= {"box": "{}.n", "nest": "{}[0][0]"}
    return _member(w, forms)


@expression("float", "item of container", 2)
def float_member(w: Writer) -> str:
    return _member(w, {"pair": "{}[1]", "dict": "{}['b']", "box": "{}.s", "nest": "{}[0][1]"})


def _member(w: Writer, forms: dict[str, str]) -> str:
    found = [form.format(name) for kind, form in forms.items() for name in w.names(kind)]
    return w.rng.choice(found) if found else ""


@expression("int", "reduction", 0.7)
def int_reduction(w: Writer) -> str:
    names = w.names("ivec")
    if names and w.chance(0.5):
        return f"jnp.sum({w.rng.choice(names)})"
    lists = w.names("list")
    return f"{w.rng.choice(['sum', 'len', 'max'])}({w.rng.choice(lists)})" if lists else ""


@expression("float", "reduction", 0.7)
def float_reduction(w: Writer) -> str:
    form = w.rng.choice(["jnp.sum({})", "{}.max()", "{}[0] + {}[-1]"])
    names = w.names("vec")
    return form.replace("{}", w.rng.choice(names)) if names else ""


@expression("int", "call", 0.8)
def int_call(w: Writer) -> str:
    form = w.rng.choice(["step({})", "count({} % 7)", "risky({} % 9)", "adder(2)({})"])
    if w.chance(0.25):
        form = w.rng.choice(["spread({}, 3)", "spread(1, {}, scale=3)", "spread(*(2, {}), more=1)"])
    if w.names("box") and w.chance(0.3):
        form = w.rng.choice(w.names("box")) + ".total({})"
    return form.format(w.expr("int"))


@expression("float", "call", 0.6)
def float_call(w: Writer) -> str:
    if w.chance(0.5):
        return f"pick({w.expr('int')})"
    return f"pick({w.expr('int')}, s={w.expr('float')})"


@expression("int", "call of inner function", 1.2)
def inner_call(w: Writer) -> str:
    return f"{w.rng.choice(w.functions)}({w.expr('int')})" if w.functions else ""


@expression("int", "lambda", 0.4)
def immediate_lambda(w: Writer) -> str:
    # the body may see any name of the function, and its own parameter
    with w.local("h"):
        body = w.expr("int")
    return f"(lambda h: {body})({w.expr('int')})"


@expression("int", "walrus", 0.7, feature="walrus")
def walrus(w: Writer) -> str:
    name = w.target("int")
    text = f"({name} := {w.kept('int')})"
    # what comes after it on the same path may be skipped by `and`, `or`, a ternary
    if name not in w.bound:
        w.maybe[name] = "int"
    return text


@expression("vec", "constant", 2)
def vec_constant(w: Writer) -> str:
    return w.constant("vec")


@expression("vec", "arithmetic", 4)
def vec_arithmetic(w: Writer) -> str:
    form = w.rng.choice(
        [
            "(<vec> + <vec>)",
            "(<vec> - <float>)",
            "<vec> * {n}",
            "jnp.where(<vec> > <float>, <vec>, <vec>)",
        ]
        + ["jnp.maximum(<vec>, <vec>)", "jnp.flip(<vec>)"]
    )
    return w.fill(form).replace("{n}", w.rng.choice(["2", "3", "-1"]))


@expression("vec", "row of array", 2)
def row(w: Writer) -> str:
    names = w.names("mat")
    return f"{w.rng.choice(names)}[{index(w, 2)}]" if names else ""


@expression("ivec", "constant", 2)
def ivec_constant(w: Writer) -> str:
    return w.constant("ivec")


@expression("ivec", "arithmetic", 2)
def ivec_arithmetic(w: Writer) -> str:
    form = w.rng.choice(["(<ivec> + <int>)", "<ivec> % 4", "jnp.cumsum(<ivec> % 3)"])
    return w.fill(form)


@expression("mat", "arithmetic", 2)
def mat_arithmetic(w: Writer) -> str:
    form = w.rng.choice(["jnp.stack([<vec>, <vec>]) % 8.0", "({m} + <float>) % 4.0", "{m}[::-1]"])
    m = w.rng.choice(w.names("mat")) if w.names("mat") else "jnp.ones((2, 3))"
    return w.fill(form).replace("{m}", m)


@expression("pair", "tuple", 3)
def pair(w: Writer) -> str:
    return f"({w.kept('int')}, {w.kept('float')})"


@expression("pair", "call", 1)
def pair_call(w: Writer) -> str:
    return f"both({w.expr('pair')})"


@expression("list", "list", 3)
def list_(w: Writer) -> str:
    return f"[{w.kept('int')}, {w.kept('int')}, {w.kept('int')}]"


@expression("list", "slice of list", 2)
def list_slice(w: Writer) -> str:
    names = w.names("list")
    return f"{w.rng.choice(names)}[1:] + [{w.kept('int')}]" if names else ""


@expression("dict", "dict", 3)
def dict_(w: Writer) -> str:
    return f"{{'a': {w.kept('int')}, 'b': {w.kept('float')}}}"


@expression("dict", "dict merge", 1)
def merged(w: Writer) -> str:
    names = w.names("dict")
    return f"{{**{w.rng.choice(names)}, 'a': {w.kept('int')}}}" if names else ""


@expression("box", "object", 3)
def box(w: Writer) -> str:
    return f"Box({w.kept('int')}, {w.kept('float')})"


@expression("nest", "nested container", 3)
def nest(w: Writer) -> str:
    return f"({w.expr('pair')}, {{'k': {w.expr('list')}}})"


# --- Things that are the same on every path, or different kinds of number ------------------------


@expression("int", "global read", 0.5)
def global_read(w: Writer) -> str:
    return "LIMIT"


@expression("bool", "is None", 0.3)
def is_none(w: Writer) -> str:
    return f"(None {w.rng.choice(['is', 'is not'])} None)"


@expression("bool", "in", 0.3)
def contained(w: Writer) -> str:
    of = w.rng.choice(["(1, 2)", "[<int>, 3]", "(<int>, <float>)", "range(4)", "range(<int>)"])
    return w.fill(f"(<int> {w.rng.choice(['in', 'not in'])} {of})")


@expression("float", "int as float", 0.6)
def widened(w: Writer) -> str:
    # one side is an integer: the two meet in a float that is equal
    return w.fill("(float(<int>) if <bool> else <float>)")


@expression("bool", "call with effect", 0.4)
def effect_in_test(w: Writer) -> str:
    return f"({w.rng.choice(w.functions)}({w.expr('int')}) > 1)" if w.functions else ""


@expression("pair", "conditional container", 0.6)
def conditional_pair(w: Writer) -> str:
    return w.fill("((<int>, <float>) if <bool> else (<int>, <float>))")


@expression("list", "conditional container", 0.6)
def conditional_list(w: Writer) -> str:
    return w.fill("([<int>, <int>, <int>] if <bool> else [<int>, 1, <int>])")


@expression("dict", "conditional container", 0.6)
def conditional_dict(w: Writer) -> str:
    return w.fill("({'a': <int>, 'b': <float>} if <bool> else {'a': <int>, 'b': <float>})")
