"""What `explain` shows: one row for each control-flow statement, as data, text and HTML."""

from __future__ import annotations

import ast
import functools
import html
import json
import linecache
import os
import sys
from collections.abc import Iterable, Iterator, Set
from dataclasses import asdict, dataclass, replace

from d2s.errors import notebook_cell
from d2s.runtime.record import Carried, Note


@dataclass(frozen=True)
class Row:
    """A statement, what it became and why, and the variables it carries."""

    filename: str
    line: int
    function: str
    source: str
    became: str
    why: str
    carried: tuple[Carried, ...] = ()

    @property
    def is_staged(self) -> bool:
        return self.became.startswith(("lax.", "error code"))


@dataclass(frozen=True)
class Report:
    """The rows of a function for arguments of some types, in the order of the source."""

    title: str
    rows: tuple[Row, ...]

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> Row:
        return self.rows[index]

    def json(self) -> str:
        return json.dumps(asdict(self), indent=2)

    def __str__(self) -> str:
        """In colours, if it is shown in a terminal."""
        return self.text(colours=_is_terminal())

    __repr__ = __str__

    def text(self, colours: bool = False) -> str:
        paint = _paint if colours else _plain
        lines = [paint("bold", self.title)]
        source = max((len(row.source) for row in self.rows), default=0)
        became = max((len(row.became) for row in self.rows), default=0)
        filename = ""
        for row in self.rows:
            if row.filename != filename:
                filename = row.filename
                lines.append(paint("dim", _short(filename)))
            style = "staged" if row.is_staged else "python"
            lines.append(
                f"{row.line:>5}  {row.source:<{source}}  "
                f"{paint(style, f'{row.became:<{became}}')}  {paint('dim', row.why)}"
            )
            width = max((len(c.name) for c in row.carried), default=0)
            for one in row.carried:
                lines.append(f"         {one.name:<{width}}  {_change(one)}")
        if not self.rows:
            lines.append("  no control flow")
        return "\n".join(lines)

    def html(self) -> str:
        """A page of its own."""
        head = f"<!doctype html><meta charset='utf-8'><title>{html.escape(self.title)}</title>"
        return f"{head}\n{self._repr_html_()}\n"

    def _repr_html_(self) -> str:
        """For notebooks; it works on light and on dark pages."""
        cells = "".join(map(_html_row, self.rows)) or "<tr><td>no control flow</td></tr>"
        title = html.escape(self.title)
        return f"{_STYLE}<table class='d2s'><caption>{title}</caption>{cells}</table>"


def report(title: str, notes: Iterable[Note], own: Iterable[tuple[Row, int]]) -> Report:
    """Rows of the notes, one for each place, and of the function's statements without a note.

    Each of those comes with the line of the `if` whose `elif` it is; a switch speaks for them all.
    """
    places: dict[tuple[str, int, int], list[Note]] = {}
    matches: dict[str, dict[int, int]] = {}
    for note in notes:
        note = _of_statement(note, matches)
        site = note.site
        places.setdefault((site.filename, site.line, site.column), []).append(note)
    rows = {key: _row(found) for key, found in places.items()}
    noted = {key[:2] for key in rows}
    switches = {row.line for row in rows.values() if row.became.startswith("lax.switch")}
    for row, head in own:
        if (row.filename, row.line) not in noted and head not in switches:
            rows[row.filename, row.line, 0] = row
    return Report(title, tuple(rows[key] for key in sorted(rows)))


def _of_statement(note: Note, matches: dict[str, dict[int, int]]) -> Note:
    """A note on a `case` is one on its `match`."""
    site = note.site
    if not site.text.lstrip().startswith("case"):
        return note
    if site.filename not in matches:
        matches[site.filename] = {
            case.pattern.lineno: node.lineno
            for node in ast.walk(_parsed(site.filename))
            if isinstance(node, ast.Match)
            for case in node.cases
        }
    line = matches[site.filename].get(site.line)
    return note if line is None else replace(note, site=replace(site, line=line, column=0))


#: what loops become, and a `try` whose `except` or `finally` sees a failure at run time
_MAIN = ("lax.while_loop", "lax.scan", "unrolled", "error code")


def _row(notes: list[Note]) -> Row:
    """A place that was met several times, in an unrolled loop say, is told in one row."""
    main = [note for note in notes if note.became.startswith(_MAIN)]
    notes = main or notes  # how a loop was left is a branch behind it, at the same place
    ways: dict[str, list[Note]] = {}
    for note in notes:
        ways.setdefault(note.became, []).append(note)
    if len(ways) == 1:
        became = notes[-1].became
    else:
        became = ", ".join(f"{way} ({len(found)}x)" for way, found in ways.items())
    why = "; ".join(dict.fromkeys(note.why for note in notes))
    last = next((n for n in reversed(notes) if n.carried), notes[-1])
    site = last.site
    source = site.text.strip()
    carried = tuple(_visible(last.carried, _names(site.filename)))
    return Row(site.filename, site.line, site.function, source, became, why, carried)


def _visible(carried: Iterable[Carried], names: Set[str]) -> Iterator[Carried]:
    """The variables of the user: flags that d2s made are left out, the value to return is named."""
    for one in carried:
        if not names or one.name in names or not one.name.isidentifier():
            yield one
        elif one.name.split("_")[0] == "result":
            yield replace(one, name="return value")


@functools.lru_cache(maxsize=8)
def _names_in(source: str) -> frozenset[str]:
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except SyntaxError:
        return frozenset()
    return frozenset(
        name
        for node in nodes
        for name in (getattr(node, "id", None), getattr(node, "arg", None))
        if name is not None
    )


def _names(filename: str) -> frozenset[str]:
    """The names that a file speaks of; none if it cannot be read."""
    return _names_in("".join(linecache.getlines(filename)))


_CONTROL_FLOW = ast.If | ast.While | ast.For | ast.Match | ast.Try | ast.TryStar | ast.With


def statements(filename: str, first: int) -> list[tuple[Row, int]]:
    """The control-flow statements of the function at a line, as rows not reached."""
    tree = _parsed(filename)
    found: list[tuple[Row, int]] = []
    heads = _heads(tree)
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        lines = [function.lineno, *(d.lineno for d in function.decorator_list)]
        if min(lines) == first:
            found += [
                (
                    Row(
                        filename,
                        node.lineno,
                        function.name,
                        linecache.getline(filename, node.lineno).strip(),
                        "not reached",
                        "for arguments of these types it did not run",
                    ),
                    heads.get(node.lineno, node.lineno),
                )
                for node in ast.walk(function)
                if isinstance(node, _CONTROL_FLOW)
            ]
    return found


def _parsed(filename: str) -> ast.AST:
    try:
        return ast.parse("".join(linecache.getlines(filename)))
    except SyntaxError:
        return ast.Module([], [])


def _heads(tree: ast.AST) -> dict[int, int]:
    """For the line of each `elif`, that of the `if` it belongs to."""
    heads: dict[int, int] = {}
    for node in ast.walk(tree):  # outer ones come first
        if (
            isinstance(node, ast.If)
            and len(node.orelse) == 1
            and isinstance(node.orelse[0], ast.If)
        ):
            heads[node.orelse[0].lineno] = heads.get(node.lineno, node.lineno)
    return heads


def _change(one: Carried) -> str:
    before = " | ".join(dict.fromkeys(one.before))
    return one.after if before == one.after else f"{before} -> {one.after}"


def _short(filename: str) -> str:
    relative = os.path.relpath(filename)
    return notebook_cell(filename) or (filename if relative.startswith("..") else relative)


_COLOURS = {"bold": "1", "dim": "2", "staged": "36", "python": "33"}


def _paint(style: str, text: str) -> str:
    return f"\033[{_COLOURS[style]}m{text}\033[0m"


def _plain(style: str, text: str) -> str:
    return text


def _is_terminal() -> bool:
    out = sys.stdout
    return out is not None and out.isatty() and not os.environ.get("NO_COLOR")


_STYLE = """\
<style>
table.d2s { border-collapse: collapse; font-size: 13px }
table.d2s caption { text-align: left; font-weight: bold; padding: 4px 8px }
table.d2s td { text-align: left; vertical-align: top; padding: 3px 8px }
table.d2s td { border-top: 1px solid #8884 }
table.d2s code { white-space: pre; background: none }
table.d2s .staged { color: #0a8f9c } table.d2s .python { color: #b07d12 }
table.d2s .quiet { opacity: 0.7 }
</style>
"""


def _html_row(row: Row) -> str:
    place = html.escape(f"{_short(row.filename)}:{row.line}")
    variables = "".join(
        f"<div><code>{html.escape(one.name)}</code> "
        f"<span class='quiet'>{html.escape(_change(one))}</span></div>"
        for one in row.carried
    )
    style = "staged" if row.is_staged else "python"
    return (
        f"<tr><td class='quiet'>{place}</td><td><code>{html.escape(row.source)}</code></td>"
        f"<td class='{style}'>{html.escape(row.became)}</td><td>{html.escape(row.why)}"
        f"{variables}</td></tr>"
    )
