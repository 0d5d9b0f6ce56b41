"""Moving text to another depth without touching what stands inside its strings."""

from __future__ import annotations

import io
import tokenize

#: how deep a block of generated text stands in the one around it
STEP = "    "
_STRINGS = {tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}


def indent(text: str, margin: str, step: str = STEP) -> str:
    r"""Generated text below a margin, its blocks as deep as `step` says.

    >>> indent("if x:\n    y = '''a\n    b'''", "  ", "\t")
    "  if x:\n  \ty = '''a\n    b'''"
    """
    inside = _lines_in_strings(text)
    moved = []
    for number, line in enumerate(text.split("\n"), 1):
        if number not in inside and line:
            body = line.lstrip(" ")
            depth, rest = divmod(len(line) - len(body), len(STEP))
            line = margin + step * depth + " " * rest + body
        moved.append(line)
    return "\n".join(moved)


def dedent(text: str, margin: str) -> str:
    """Text without the margin of its first line."""
    inside = _lines_in_strings(text)
    lines = enumerate(text.split("\n"), 1)
    return "\n".join(
        line if number in inside else line.removeprefix(margin) for number, line in lines
    )


def _lines_in_strings(text: str) -> set[int]:
    """Numbers of the lines that begin inside a string."""
    found: set[int] = set()
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type in _STRINGS:
                found.update(range(token.start[0] + 1, token.end[0] + 1))
    except (tokenize.TokenError, IndentationError):  # only what comes before it is text we know
        pass
    return found
