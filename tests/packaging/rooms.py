"""The rooms of the package in their order, and who imports whom, as read from the source.

`python -m tests.packaging.rooms` draws the map in docs/rooms.svg.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
MAP = ROOT / "docs" / "rooms.svg"
ENGINE = "backends.lax."

#: bottom to top: a room imports only those before it. One line is one row of the map.
ORDER = (
    ("version", "errors", "logs", "recursion", "made_code"),
    ("libraries", "files", "manual", "analysis", "source"),
    ("converters",),
    ("pipeline",),
    ("conversion", "modules"),
    ("options",),
    ("runtime",),
    ("static", "report"),
    ("backends",),
    (ENGINE + "private",),
    (ENGINE + "forms.kinds",),
    (ENGINE + "jaxprs.bounded",),
    (ENGINE + "jaxprs.ranges",),
    (ENGINE + "graph",),
    (ENGINE + "jaxprs", ENGINE + "forms"),
    (ENGINE + "objects",),
    (ENGINE + "reach",),
    (ENGINE + "trace",),
    (ENGINE + "arrays",),
    (ENGINE + "failures",),
    (ENGINE + "regions",),
    (ENGINE + "semantics",),
    (ENGINE + "output",),
    (ENGINE + "control",),
    (ENGINE + "library",),
    (ENGINE + "boundary",),
    (ENGINE + "function",),
    (ENGINE + "saving",),
    (ENGINE + "patches",),
    (ENGINE + "backend",),
    (ENGINE + "tracing", "deploy"),
    ("api",),
    ("commands", ""),
    ("cli",),
    ("__main__",),
)
ROOMS = tuple(room for row in ORDER for room in row)


@functools.cache
def modules() -> dict[str, Path]:
    """Every module by its name inside of the package; the package itself is the empty name."""
    found = {}
    for path in sorted((ROOT / "d2s").rglob("*.py")):
        parts = path.relative_to(ROOT / "d2s").with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def room_of(module: str) -> str:
    """The room of a module: the longest one that it is in."""
    if module in ROOMS:
        return module
    inside = [room for room in ROOMS if room and module.startswith(f"{room}.")]
    return max(inside, key=len) if inside else module


@functools.cache
def imports() -> dict[str, dict[str, int]]:
    """Which modules each module imports, and in which line, wherever in it that is written."""
    return {module: dict(_imported(module, path)) for module, path in modules().items()}


def _imported(module: str, path: Path) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are written out"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            package, _, inner = name.partition(".")
            while package == "d2s" and inner not in modules():
                inner = inner.rpartition(".")[0]
            if package == "d2s" and inner != module:
                yield inner, node.lineno


@functools.cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def longest_chain() -> list[str]:
    """The longest way from one import to the next."""

    @functools.cache
    def chain(module: str) -> tuple[str, ...]:
        below = (chain(other) for other in imports()[module])
        return (module, *max(below, key=len, default=()))

    return list(max(map(chain, modules()), key=len))


# -- the map --------------------------------------------------------------------------------------

WIDTH, ROW, BOX = 760, 46, 30
STYLE = """
  svg { background: #fff; font: 13px system-ui, sans-serif }
  rect { fill: #eef3fb; stroke: #4a6fa5 } .engine rect { fill: #fdf3e7; stroke: #b7791f }
  text { fill: #1a202c; text-anchor: middle } .size { fill: #718096; font-size: 10px }
  line { stroke: #a0aec0; stroke-width: 1 }
  @media (prefers-color-scheme: dark) {
    svg { background: #14181f } rect { fill: #1e2a3d } .engine rect { fill: #33291a }
    text { fill: #e2e8f0 } .size { fill: #a0aec0 } line { stroke: #4a5568 }
  }
"""


def drawing() -> str:
    """The rooms from the front door down to the foundation; a line is an import."""
    rows = [[room for room in row if room != "__main__"] for row in reversed(ORDER)]
    rows = [row for row in rows if row]
    place = {
        room: (WIDTH * (n + 1) / (len(row) + 1), ROW * (depth + 1))
        for depth, row in enumerate(rows)
        for n, room in enumerate(row)
    }
    edges = {
        (room_of(module), room_of(other))
        for module, others in imports().items()
        for other in others
        if room_of(module) != room_of(other)
    }
    lines = [
        f'<line x1="{place[a][0]:.0f}" y1="{place[a][1]:.0f}" '
        f'x2="{place[b][0]:.0f}" y2="{place[b][1]:.0f}"/>'
        for a, b in sorted(_without_detours(edges))
        if a in place and b in place
    ]
    boxes = [_box(room, *place[room]) for room in place]
    height = ROW * (len(rows) + 1)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">'
    title = "<title>The rooms of d2s: each imports only those below it</title>"
    return "\n".join([head, title, f"<style>{STYLE}</style>", *lines, *boxes, "</svg>", ""])


def _without_detours(edges: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """Edges that no way over another room stands for: all of them would hide the order."""
    below: dict[str, set[str]] = {}
    for one, other in edges:
        below.setdefault(one, set()).add(other)

    @functools.cache
    def reached(room: str) -> frozenset[str]:
        ways = [frozenset({other}) | reached(other) for other in below.get(room, ())]
        return frozenset().union(*ways)

    return {
        (one, other)
        for one, other in edges
        if not any(other in reached(between) for between in below[one] - {other})
    }


def _box(room: str, x: float, y: float) -> str:
    label = room.removeprefix(ENGINE) or "d2s"
    count = sum(room_of(module) == room for module in modules())
    width = 8 * len(label) + 34
    size = f'<tspan class="size" dx="6">{count}</tspan>' if count > 1 else ""
    kind = "engine" if room.startswith(ENGINE) else "room"
    return (
        f'<g class="{kind}"><rect x="{x - width / 2:.0f}" y="{y - BOX / 2:.0f}" '
        f'width="{width}" height="{BOX}" rx="6"/>'
        f'<text x="{x:.0f}" y="{y + 5:.0f}">{label}{size}</text></g>'
    )


if __name__ == "__main__":
    MAP.write_text(drawing(), encoding="utf-8")
    print(len(modules()), "modules; the longest chain of imports has", len(longest_chain()))
