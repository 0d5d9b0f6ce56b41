"""The long texts of the errors: one Markdown file for each code, beside this one.

`d2s explain D2S012` shows one, ``docs/errors.md`` is made of all of them, and every program in them
is run by the tests: the first must end with the code, the one to write instead must run.
"""

from __future__ import annotations

import re
import textwrap
from importlib import resources

from d2s.errors import CODES

_PIECES = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)
_HEAD = """\
# Errors

<!-- written by `python -m d2s.manual`; the texts are in d2s/manual -->

Every error of d2s is a `d2s.Error` with a stable `code`. Its message says what happened, shows your
line with a caret, puts both sides of a mismatch next to each other and ends with what to write
instead. `d2s.ConversionError` (also a `SyntaxError`) comes before anything runs, `d2s.StagingError`
(also a `TypeError`) while a graph is built; `d2s.IntegerOverflow` (also an `OverflowError`),
`d2s.SliceLength` (also an `IndexError`) and `d2s.NanFound` (also a `FloatingPointError`) after a
call. `d2s explain D2S012` shows the text of a code in the terminal. Frames of d2s and of JAX are
left out of tracebacks; `D2S_FULL_TRACEBACK=1` keeps them.
"""


def page(code: str) -> str:
    """The text of a code, with its meaning as the title."""
    text = resources.files(__name__).joinpath(f"{code}.md").read_text(encoding="utf-8")
    return f"## {code}: {CODES[code]}\n\n{text}"


def for_terminal(code: str, width: int = 80) -> str:
    """The same without the marks of Markdown: programs are indented, the rest is wrapped."""
    title, _, text = page(code).partition("\n\n")
    parts = [title.removeprefix("## ")]
    for piece in _PIECES.split(text):
        if piece.startswith("```"):
            head, _, program = piece.strip("`\n").partition("\n")
            if head.endswith(code):
                parts.append("Stops with this error:")
            parts.append(textwrap.indent(program, "    "))
        else:
            parts += [textwrap.fill(p, width) for p in piece.strip().split("\n\n") if p]
    return "\n\n".join(parts) + "\n"


def document() -> str:
    """All of it, as ``docs/errors.md``."""
    table = "".join(f"| [{code}](#{_anchor(code)}) | {CODES[code]} |\n" for code in CODES)
    head = f"{_HEAD}\n| code | meaning |\n|---|---|\n{table}"
    return "\n".join([head, *map(page, CODES)])


def _anchor(code: str) -> str:
    """The name that GitHub gives to a title."""
    return re.sub(r"[^\w -]", "", f"{code}: {CODES[code]}".lower()).replace(" ", "-")
