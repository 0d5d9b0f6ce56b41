"""The writer of programs: what it knows at a place, and the tables of productions it draws from.

A *production* is a small function that writes one construct, registered under the construct's
name: `@expression("int", "ternary")` gives text, `@statement("while")` gives lines. A production
that needs something d2s may not have yet names it (`feature="match"`) and is used only when that is
switched on.
"""

from __future__ import annotations

import contextlib
import random
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

#: kind of value -> names of variables that hold one; a name never changes its kind
POOLS: dict[str, tuple[str, ...]] = {
    "int": ("a", "b", "c", "d"),
    "float": ("x", "y", "z"),
    "bool": ("p", "q"),
    "vec": ("u", "v"),
    "ivec": ("k",),
    "mat": ("m",),
    "pair": ("t", "s"),
    "list": ("l",),
    "dict": ("r",),
    "box": ("o",),
    "nest": ("e",),
    # what people write, whether d2s accepts it yet or not
    "text": ("word", "name"),
    "items": ("items", "queue"),  # a list whose length depends on values
    "grid": ("table",),  # a list of lists
    "option": ("best",),  # an integer or None
    "buffer": ("buf", "alias"),  # an array of NumPy's
}


@dataclass(frozen=True)
class Production:
    """One way to write something."""

    name: str
    write: Callable[[Writer], list[str] | str]
    weight: float
    feature: str | None


EXPRESSIONS: dict[str, list[Production]] = {kind: [] for kind in POOLS}
STATEMENTS: list[Production] = []


def expression(
    kind: str, name: str, weight: float = 1, feature: str | None = None
) -> Callable[[Callable[[Writer], str]], Callable[[Writer], str]]:
    """Register a way to write a value of a kind."""

    def register(write: Callable[[Writer], str]) -> Callable[[Writer], str]:
        EXPRESSIONS[kind].append(Production(name, write, weight, feature))
        return write

    return register


def statement(
    name: str, weight: float = 1, feature: str | None = None
) -> Callable[[Callable[[Writer], list[str]]], Callable[[Writer], list[str]]]:
    """Register a way to write a statement; no lines mean that it does not fit here."""

    def register(write: Callable[[Writer], list[str]]) -> Callable[[Writer], list[str]]:
        STATEMENTS.append(Production(name, write, weight, feature))
        return write

    return register


def indented(lines: Iterable[str]) -> list[str]:
    """One level deeper; an empty block is `pass`."""
    return ["    " + line for line in lines] or ["    pass"]


@dataclass
class Block:
    """Lines, what is bound after them, and whether control surely leaves."""

    lines: list[str]
    bound: dict[str, str]
    maybe: dict[str, str]
    leaves: bool


def may_leave(block: Block) -> bool:
    """Whether control might leave a block early, or fail in it, as a value wills."""
    words = ("break", "return", "raise", "assert", "//", "del ")
    return any(word in line for line in block.lines for word in words)


@dataclass
class Writer:
    """What is known at the place where the next statement goes."""

    rng: random.Random
    features: frozenset[str]
    bound: dict[str, str] = field(default_factory=dict)
    maybe: dict[str, str] = field(default_factory=dict)
    functions: list[str] = field(default_factory=list)  # inner functions of one integer
    depth: int = 0
    loops: int = 0
    #: what `break`, `continue` and `return` would leave; empty inside an inner function
    in_loop: bool = False
    in_function: bool = False
    budget: int = 20
    level: int = 0
    deepest: int = 2
    #: names that the parameters gave, whose objects must not be changed in place
    given: frozenset[str] = frozenset()
    leaves: bool = False
    #: the kinds of what is returned: mostly the same everywhere, so that two returns can meet
    returns: tuple[str, ...] = ("int",)
    used: list[str] = field(default_factory=list)
    fresh: int = 0

    # -- choices ------------------------------------------------------------------------------

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def choose(self, table: list[Production]) -> Production:
        usable = [p for p in table if p.feature is None or p.feature in self.features]
        return self.rng.choices(usable, [p.weight for p in usable])[0]

    def names(self, kind: str) -> list[str]:
        return [name for name, of in self.bound.items() if of == kind]

    def new(self, stem: str) -> str:
        """A name nothing else writes to."""
        self.fresh += 1
        return f"{stem}{self.fresh}"

    # -- expressions --------------------------------------------------------------------------

    def expr(self, kind: str) -> str:
        """A value of a kind."""
        unsure = [name for name, of in self.maybe.items() if of == kind]
        if unsure and self.chance(0.025):
            self.used.append("unbound")
            return self.rng.choice(unsure)
        names = self.names(kind)
        if names and (self.level >= self.deepest or self.chance(0.4)):
            return self.rng.choice(names)
        if self.level >= self.deepest:
            return self.constant(kind)
        self.level += 1
        try:
            for _ in range(20):
                production = self.choose(EXPRESSIONS[kind])
                text = production.write(self)
                if text:
                    self.used.append(production.name)
                    return str(text)
        finally:
            self.level -= 1
        return self.constant(kind)

    def fill(self, form: str) -> str:
        """A form with a value for each `<kind>` in it."""
        return re.sub(r"<(\w+)>", lambda found: self.expr(found[1]), form)

    def constant(self, kind: str) -> str:
        """A literal of a kind."""
        match kind:
            case "int":
                return str(self.rng.randint(0, 5))
            case "float":
                return str(self.rng.randint(-6, 12) / 4)
            case "bool":
                return self.rng.choice(["True", "False"])
            case "vec":
                return f"jnp.array([{', '.join(self.constant('float') for _ in range(3))}])"
            case "ivec":
                return f"jnp.array([{', '.join(self.constant('int') for _ in range(3))}])"
            case "mat":
                return f"jnp.stack([{self.constant('vec')}, {self.constant('vec')}])"
            case "pair":
                return f"({self.expr('int')}, {self.expr('float')})"
            case "list":
                return f"[{self.expr('int')}, {self.expr('int')}, {self.expr('int')}]"
            case "dict":
                return f"{{'a': {self.expr('int')}, 'b': {self.expr('float')}}}"
            case "box":
                return f"Box({self.expr('int')}, {self.expr('float')})"
            case "nest":
                return f"({self.expr('pair')}, {{'k': {self.expr('list')}}})"
            case "text":
                return self.rng.choice(["'ab'", "''", "'x'", "'low'"])
            case "items":
                return self.rng.choice(["[]", f"[{self.expr('int')}]"])
            case "grid":
                return f"[[{self.expr('int')}, 1], [2, {self.expr('int')}]]"
            case "option":
                return self.rng.choice(["None", self.expr("int")])
            case "buffer":
                return self.rng.choice(["np.zeros(3, np.float32)", "np.ones(3, np.float32)"])
        raise AssertionError(kind)

    def kept(self, kind: str) -> str:
        """A value fit to be stored: numbers are brought back into a small range."""
        text = self.expr(kind)
        if kind == "int":
            return f"({text}) % {self.rng.choice([3, 5, 7, 11])}"
        if kind == "float":
            return f"({text}) % {self.rng.choice([2.0, 4.0, 8.0])}"
        if kind == "vec":
            return f"({text}) % 8.0"
        if kind == "ivec":
            return f"({text}) % 9"
        return text

    def target(self, kind: str) -> str:
        """A name to write to; most often one that exists already."""
        names = [n for n in self.names(kind) if n in POOLS[kind]]
        if names and self.chance(0.7):
            return self.rng.choice(names)
        return self.rng.choice(POOLS[kind])

    def kind(self, *kinds: str) -> str:
        """One of these kinds, or any."""
        if kinds:
            return self.rng.choice(kinds)
        common = ["int", "int", "int", "float", "float", "float", "bool", "vec"]
        return self.rng.choice([*common, *POOLS])

    def bind(self, name: str, kind: str) -> None:
        """From here on the name has a value."""
        self.maybe.pop(name, None)
        self.bound[name] = kind

    @contextlib.contextmanager
    def local(self, name: str, kind: str = "int") -> Iterator[None]:
        """A parameter of a lambda, the variable of a comprehension: bound inside only."""
        before = dict(self.bound)
        self.bound[name] = kind
        try:
            yield
        finally:
            self.bound = before

    # -- blocks -------------------------------------------------------------------------------

    def block(self, longest: int = 3, binds: Iterable[tuple[str, str]] = ()) -> Block:
        """A block of its own; what it binds is not known after it until `merge` says so."""
        before = dict(self.bound), dict(self.maybe), list(self.functions), self.leaves
        for name, kind in binds:
            self.bind(name, kind)
        self.depth += 1
        self.leaves = False
        lines: list[str] = []
        for _ in range(self.rng.randint(1, longest)):
            lines += self.statement()
            if self.leaves:
                break
        made = Block(lines, self.bound, self.maybe, self.leaves)
        self.bound, self.maybe, self.functions, self.leaves = before
        self.depth -= 1
        return made

    def merge(self, *blocks: Block) -> None:
        """Go on where any of these blocks ended."""
        going = [block for block in blocks if not block.leaves]
        if not going:
            self.leaves = True
            going = list(blocks)
        everything = {n: k for b in blocks for n, k in (b.bound | b.maybe).items()}
        bound = {n: k for n, k in going[0].bound.items() if all(n in b.bound for b in going)}
        self.bound = bound
        self.maybe = {n: k for n, k in everything.items() if n not in bound}

    def here(self) -> Block:
        """The present state as a block without lines."""
        return Block([], dict(self.bound), dict(self.maybe), False)

    @contextlib.contextmanager
    def loop(self) -> Iterator[None]:
        """Inside a loop `break` and `continue` have something to leave."""
        before, self.in_loop = self.in_loop, True
        self.loops += 1
        try:
            yield
        finally:
            self.in_loop = before
            self.loops -= 1

    def statement(self) -> list[str]:
        """One statement that fits here."""
        self.budget -= 1
        self.deepest = self.rng.choice([1, 2, 2, 3])
        for _ in range(20):
            production = self.choose(STATEMENTS)
            before = len(self.used)
            lines = production.write(self)
            if lines:
                self.used.append(production.name)
                return list(lines)
            del self.used[before:]
        return []

    def may_nest(self) -> bool:
        """Whether there is room for another block inside this one."""
        return self.depth < 5 and self.budget > 0

    def may_loop(self) -> bool:
        """Loops multiply; three levels are enough."""
        return self.may_nest() and self.loops < 3


def result(w: Writer) -> str:
    """What is returned: names where there are some, so that little is computed in vain."""
    parts = []
    for kind in w.returns:
        names = w.names(kind)
        name = w.rng.choice(names) if names and w.chance(0.7) else w.kept(kind)
        parts.append(name)
    return f"({', '.join(parts)})" if len(parts) > 1 else parts[0]


def test(w: Writer) -> str:
    """What stands behind `if` and `while`."""
    return w.expr("int") if w.chance(0.1) else w.expr("bool")


def leave(w: Writer, how: str) -> list[str]:
    """Leave here, or under a condition."""
    if w.chance(0.3):
        w.leaves = True
        return [how]
    return [f"if {test(w)}:", f"    {how}"]
