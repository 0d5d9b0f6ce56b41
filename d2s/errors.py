"""The errors of d2s: one base class, stable codes, one shape.

Every message says what happened, shows the user's own line with a caret, puts the two sides of a
mismatch next to each other and ends with what to write instead.
"""

from __future__ import annotations

import functools
import itertools
import linecache
import os
import sys
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

#: the file of a place that nobody knows
UNKNOWN = "<unknown>"
#: longer lines are shown in part
_WIDTH = 160


@dataclass(frozen=True)
class Site:
    """A place in the user's source."""

    filename: str
    line: int
    function: str
    column: int = 0
    end_column: int = 0

    @property
    def text(self) -> str:
        return linecache.getline(self.filename, self.line).rstrip("\n")

    def excerpt(self) -> str:
        """The source line with a caret under the place, in the layout of a traceback."""
        cell = notebook_cell(self.filename)
        place = cell or f'File "{self.filename}"'
        return "\n".join([f"  {place}, line {self.line}, in {self.function}", *self.marked()])

    def characters(self) -> tuple[int, int]:
        """The columns, which Python counts in bytes."""
        raw = self.text.encode()
        begin, end = (len(raw[:n].decode(errors="replace")) for n in (self.column, self.end_column))
        return begin, end

    def marked(self) -> list[str]:
        """The line and the carets below it; nothing when the file is not there."""
        text = self.text
        if not text.strip():
            return []
        stripped = text.lstrip()
        shift = len(text) - len(stripped)
        begin, end = self.characters()
        start = max(begin - shift, 0)
        width = max(end - begin, 1) if end else len(stripped)
        first = max(start - _WIDTH // 2, 0) if len(stripped) > _WIDTH else 0
        shown = stripped[first : first + _WIDTH]
        marks = " " * (start - first) + "^" * min(width, max(len(shown) - start + first, 1))
        return [f"    {shown}", f"    {marks}"]


def notebook_cell(filename: str) -> str:
    """The cell of a notebook behind the name of a file, as IPython calls it; empty for files."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    number = getattr(getattr(shell, "compile", None), "_filename_map", {}).get(filename)
    return "" if number is None else f"Cell In[{number}]"


@dataclass(frozen=True)
class Side:
    """One of two values that do not fit together: when it is that, its type, where it is made."""

    when: str
    what: str
    site: Site | None = None

    def excerpt(self) -> str:
        if self.site is None or not self.site.text.strip():
            return ""
        return f"  {self.when}, line {self.site.line}\n" + "\n".join(self.site.marked())


#: What each code means, in one line; the message itself carries the details.
CODES = {
    "D2S001": "the source of the function is not available",
    "D2S002": "the source text no longer belongs to the function",
    "D2S003": "syntax that d2s does not convert",
    "D2S004": "control flow nested too deeply",
    "D2S010": "the two sides of a branch leave a variable with different types",
    "D2S011": "a trip changes the type of a loop variable",
    "D2S012": "joining the two types would lose integers",
    "D2S013": "a Python value would depend on a run-time value",
    "D2S020": "a run-time value is needed as a Python value",
    "D2S021": "code that d2s did not convert needs a run-time value",
    "D2S022": "a condition has more than one element",
    "D2S023": "an effect that would not happen on every call",
    "D2S024": "an object is changed where the change would be lost",
    "D2S025": "an iterator that cannot be replayed",
    "D2S026": "recursion whose end depends on a run-time value",
    "D2S027": "a manager or handler that a failure at run time would pass by",
    "D2S028": "a branch that tracing alone would freeze",
    "D2S030": "an argument that d2s cannot pass to a static function",
    "D2S031": "a result that d2s cannot return from a static function",
    "D2S032": "an argument that does not fit its specification",
    "D2S033": "an option or a mode that d2s does not know",
    "D2S040": "an integer left the 32-bit range in a staged loop",
    "D2S041": "a slice at a run-time position reaches beyond the array",
    "D2S042": "a loop made more trips than max_iterations",
    "D2S043": "the gradient of a loop without a bound on its trips",
    "D2S044": "a loop that is to be rolled, and cannot be",
    "D2S045": "a number of which a run-time value decides whether it is Python's",
    "D2S050": "an operation made a NaN",
    "D2S060": "something that cannot be saved to a file",
    "D2S061": "a file that d2s cannot load",
    "D2S062": "a saved function that cannot run here",
    "D2S063": "a named dimension whose size is needed to build the graph",
    "D2S070": "an array that has other names or views is written",
    "D2S071": "an array that lives outside the function is written",
    "D2S072": "NumPy would change an array in place",
    "D2S073": "an array is written where no new one can take its place",
    "D2S074": "a run-time value decides which entries a list, dict or object has",
    "D2S075": "a failure at run time could leave a list, dict or set half changed",
    "D2S076": "a list that a loop appends to is used in another way in the loop",
    "D2S077": "an object is changed that a run-time value has chosen",
    "D2S078": "an object is changed while jax transforms the function",
    "D2S079": "a name or an object is reached in a way that d2s cannot follow",
    "D2S080": "something outside the function is changed that a compiled call cannot change",
    "D2S081": "a jax.Ref is used in a way that a graph does not have",
}


class Error(Exception):
    """Base class of everything d2s refuses; ``code`` is stable across versions."""

    code = "D2S000"
    #: the positions of the arguments whose values a graph needs, where that is known
    needs: frozenset[int] | None = None

    def __init__(
        self,
        what: str,
        *,
        code: str | None = None,
        site: Site | None = None,
        fix: str = "",
        sides: tuple[Side, ...] = (),
    ) -> None:
        if code is not None:
            self.code = code
        self.what, self.site, self.fix, self.sides = what, site, fix, sides
        super().__init__(self._text())

    def _text(self, with_site: bool = True) -> str:
        parts = [f"{self.code}: {self.what}"]
        width = max((len(side.when) for side in self.sides), default=0) + 1
        parts += [f"  {side.when + ':':<{width}} {side.what}" for side in self.sides]
        if self.site is not None and self.site.filename != UNKNOWN and with_site:
            parts.append(self.site.excerpt())
        parts += filter(None, (side.excerpt() for side in self.sides))
        if self.fix:
            parts.append(f"Write instead: {self.fix}")
        return "\n".join(parts)

    def locate(self, site: Site) -> None:
        """Say where, if that is not known yet."""
        if self.site is None:
            self.site = site
            self.args = (self._text(),)


def wrong_option(what: str, fix: str) -> Error:
    """An option, a mode or a specification that there is not."""
    return Error(what, code="D2S033", fix=fix)


def a(kind: type) -> str:
    """A type with its article."""
    name = kind.__name__
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"


class ConversionError(Error, SyntaxError):
    """Raised before anything runs: the source cannot be converted.

    It is a `SyntaxError`, so that whoever shows it draws the line and the caret by himself.
    """

    code = "D2S003"

    def __init__(
        self, what: str, *, code: str | None = None, site: Site | None = None, fix: str = ""
    ) -> None:
        Error.__init__(self, what, code=code, site=site, fix=fix)
        self._draw()

    def _draw(self) -> None:
        self.msg = self._text(with_site=False)
        if self.site is not None:
            self.filename, self.lineno = self.site.filename, self.site.line
            self.text = self.site.text or None
            begin, end = self.site.characters()
            self.offset = begin + 1 if end else None
            self.end_lineno, self.end_offset = self.lineno, end + 1

    def locate(self, site: Site) -> None:
        Error.locate(self, site)
        self._draw()

    def again(self) -> ConversionError:
        """The same for another occasion."""
        return type(self)(self.what, code=self.code, site=self.site, fix=self.fix)

    def __str__(self) -> str:
        return self._text()


class StagingError(Error, TypeError):
    """Raised while the graph is built: the program cannot be staged as it is written."""

    code = "D2S020"


class RunTimeError(Error):
    """Raised after a call: what the program did cannot be done by a graph."""


class IntegerOverflow(RunTimeError, OverflowError):
    """Raised after a call: a Python integer left the 32-bit range inside a staged loop."""

    code = "D2S040"


class NumberInDoubt(RunTimeError, ArithmeticError):
    """Python and JAX would go on in different ways, and which of them decides is not known."""

    code = "D2S045"


class LoopLimit(Error, RuntimeError):
    """Raised after a call: a loop would have made more trips than ``max_iterations``."""

    code = "D2S042"


class SliceLength(RunTimeError, IndexError):
    """Raised after a call: a slice would have another length than the graph was built for."""

    code = "D2S041"


class NanFound(Error, FloatingPointError):
    """Raised after a call with ``checks="nan"``: an operation gave a result that is no number."""

    code = "D2S050"


class SavedException(Exception):
    """What a loaded function raises for an exception whose class is not there.

    Its class has the name of that class, and is every exception of Python's own that the class was.
    """


#: the folder of d2s itself
HOME = os.path.join(os.path.dirname(os.path.abspath(__file__)), "")
_OWN_FOLDERS = (HOME, "<frozen runpy>")

P = ParamSpec("P")
R = TypeVar("R")


def boundary(function: Callable[P, R]) -> Callable[P, R]:
    """A function that people call: what it raises seems to come from the line of the call."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            hide_own_frames(error)
            raise

    return call


def hide_own_frames(error: BaseException) -> None:
    """Take the frames of d2s and jax out of the traceback of an exception that is being handled.

    A bare ``raise`` after it adds no frame of its own. What an error of d2s was made from is said
    in its message, and not shown again. Set ``D2S_FULL_TRACEBACK=1`` to keep everything.
    """
    caller = sys._getframe(2)
    if isinstance(error, Error) and error.site is None and not _is_internal(caller.f_code):
        error.locate(site_of(caller.f_code, caller.f_lineno, caller.f_lasti))
    if os.environ.get("D2S_FULL_TRACEBACK") == "1":
        return
    notes = getattr(error, "__notes__", None)
    if notes is not None:
        error.__notes__ = [n for n in notes if "JAX has removed" not in n and n.strip("-")]
        if not error.__notes__:
            del error.__notes__
    if isinstance(error, Error) and error.__cause__ is not None:
        error.__context__, error.__cause__ = error.__cause__, None
        error.__suppress_context__ = True
    frames = [f for f in _frames(error.__traceback__) if not _is_internal(f.tb_frame.f_code)]
    if isinstance(error, Error) and len(frames) > _MANY_FRAMES:
        # a deep nest or recursion; the message has the line
        frames = frames[: _MANY_FRAMES // 3]
    kept: types.TracebackType | None = None
    for frame in reversed(frames):
        kept = types.TracebackType(kept, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    error.__traceback__ = kept


_MANY_FRAMES = 12


def site_of(code: types.CodeType, line: int, instruction: int) -> Site:
    """The place of an instruction; its columns, if it is on one line."""
    positions = next(itertools.islice(code.co_positions(), instruction // 2, None), None)
    start, end = 0, 0
    if positions is not None and positions[0] == positions[1] == line:
        start, end = positions[2] or 0, positions[3] or 0
    return Site(code.co_filename, line, function_name(code), start, end)


def function_name(code: types.CodeType) -> str:
    """The function of the user's that a generated block belongs to."""
    names = code.co_qualname.split(".<locals>.")
    while len(names) > 1 and names[-1] == "<lambda>":
        names.pop()
    return names[-1].rpartition(".")[2]


def _is_internal(code: types.CodeType) -> bool:
    filename = code.co_filename
    return filename.startswith(_OWN_FOLDERS) or f"{os.sep}jax{os.sep}_src{os.sep}" in filename


def _frames(traceback: types.TracebackType | None) -> Iterator[types.TracebackType]:
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next
