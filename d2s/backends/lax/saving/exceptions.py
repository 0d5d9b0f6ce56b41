"""Exceptions in a file: the error codes of a graph, and what is raised for them after loading.

Exceptions of Python's own and of d2s come back as themselves. One of another class is that class
where its module is imported already; nothing is ever imported because a file says so. Else it is a
class of the same name, made for it: a `d2s.SavedException`, and all the exceptions of Python's own
that the class was.
"""

from __future__ import annotations

import builtins
import functools
import os
import sys
from typing import Any

from d2s import errors
from d2s.backends.lax.failures.failing import Failure, Failures
from d2s.backends.lax.failures.texts import Field, Later, Shown, Text
from d2s.backends.lax.saving.writes import attributes
from d2s.errors import Error, SavedException, Site
from d2s.files.trees import Json, described, made

# -- to JSON --------------------------------------------------------------------------------------


def saved(failures: Failures) -> Json:
    """All failures of a graph, in the order of their codes."""
    return [[_failure(failure), weak] for failure, weak in failures.all]


def _failure(failure: Failure) -> Json:
    own = issubclass(failure.kind, Error)
    parts = failure.attributes
    return {
        "class": _class(failure.kind),
        "args": _described(list(failure.args)) if not own else None,
        "error": [parts["what"], parts["fix"], parts.get("code")] if own else None,
        "attributes": _described({} if own else parts),
        "fields": _described({} if own else failure.fields),
        "site": _site(failure.site),
        "cause": None if failure.cause is None else _cause(failure.cause),
        "context": None if failure.context is None else _cause(failure.context),
        "hides_context": failure.hides_context,
    }


def _cause(error: BaseException | Failure) -> Json:
    if isinstance(error, Failure):
        return _failure(error)
    args = _described(list(error.args))
    return {"class": _class(type(error)), "args": args}


def _class(kind: type[BaseException]) -> Json:
    """The name of a class, and of the nearest classes of Python's own that it comes from."""
    bases = [
        base.__name__
        for base in kind.__mro__
        if vars(builtins).get(base.__name__) is base and base is not object
    ]
    return [kind.__module__, kind.__qualname__, bases]


def _site(site: Site) -> Json:
    """A line of the user's source; the folder of the file is one of another machine."""
    name = os.path.basename(site.filename)
    return [name, site.line, site.function, site.column, site.end_column]


def _described(value: Any) -> Json:
    def special(part: Any) -> Json:
        if isinstance(part, Later):
            return ["later", part.number]
        if isinstance(part, Text):
            return ["text", [_described(piece) for piece in part.parts]]
        if isinstance(part, Field):
            return ["field", _described(part.value), part.how, part.spec]
        if isinstance(part, Shown):
            return ["shown", _described(part.text), _described(part.own), part.is_formatted]
        return None

    # of any other value a message needs nothing but its texts
    return described(value, special, attributes, lambda part: special(Shown(str(part), repr(part))))


# -- and back -------------------------------------------------------------------------------------


def loaded(tree: Json) -> Failures:
    """The failures of a loaded graph; raises `ValueError` where the tree is none."""
    failures = Failures()
    for failure, weak in tree:
        failures.all.append((_loaded(failure), [bool(w) for w in weak]))
    return failures


def _loaded(tree: Json) -> Failure:
    kind = _kind(*tree["class"])
    site = _place(*tree["site"])
    cause = _linked(tree["cause"])
    if tree["error"] is not None and issubclass(kind, Error):
        what, fix, code = tree["error"]
        error = kind(str(what), code=code, site=site, fix=str(fix))
        return Failure(kind, error.args, site, cause, dict(vars(error)))
    held = dict(_value(tree["attributes"])), dict(_value(tree["fields"]))
    hides = bool(tree["hides_context"])
    made = Failure(kind, tuple(_value(tree["args"])), site, cause, *held, hides)
    made.context = cause if tree["context"] == tree["cause"] else _linked(tree["context"])
    return made


def _place(name: Any, line: Any, function: Any, column: Any, end: Any) -> Site:
    """A line of the user's source, if Python can show such a one in a traceback."""
    numbers = [int(n) for n in (line, column, end)]
    if not all(-1 <= n < 1 << 24 for n in numbers) or "\0" in str(name) + str(function):
        raise ValueError("a line that there is not")
    return Site(str(name), numbers[0], str(function), *numbers[1:])


def _linked(tree: Json) -> Any:
    """A cause or a context: another failure of the graph, or an exception that was there before."""
    if tree is None:
        return None
    return _loaded(tree) if "site" in tree else _raised(_kind(*tree["class"]), _value(tree["args"]))


def _raised(kind: type[BaseException], args: list[Any]) -> BaseException:
    made = kind.__new__(kind, *args)
    made.args = tuple(args)
    return made


def _value(tree: Json) -> Any:
    return made(
        tree,
        {
            "later": lambda number: _always(Later(int(number))),
            "text": lambda parts: _always(Text(tuple(_value(part) for part in parts))),
            "field": lambda value, how, spec: _always(Field(_value(value), str(how), str(spec))),
            "shown": lambda text, own, how: _always(Shown(_said(text), _said(own), bool(how))),
        },
    )()


def _said(tree: Json) -> Any:
    said = _value(tree)
    if said is not None and not isinstance(said, str | Text):
        raise ValueError("an object shows itself by a text")
    return said


def _always(value: Any) -> Any:
    return lambda: value


def _kind(module: str, name: str, bases: list[str]) -> type[BaseException]:
    if module == "builtins":
        known = getattr(builtins, name, None)
    elif module == "d2s.errors":
        known = getattr(errors, name, None)
    else:
        known = sys.modules.get(module)
        for part in str(name).split("."):
            # not getattr: a module may answer that by running something
            known = vars(known).get(part) if hasattr(known, "__dict__") else None
    if isinstance(known, type) and issubclass(known, BaseException):
        return known
    return _made(str(module), str(name), tuple(map(str, bases)))


@functools.cache
def _made(module: str, name: str, bases: tuple[str, ...]) -> type[BaseException]:
    """A class that stands for one that is not there."""
    for base in bases:
        found = getattr(builtins, base, None)
        if isinstance(found, type) and issubclass(found, BaseException):
            space = {"__module__": module, "__qualname__": name}
            return type(name.rpartition(".")[2], (SavedException, found), space)
    raise ValueError(f"{name} is no exception")
