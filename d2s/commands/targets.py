"""Functions and arguments as the command line names them: ``model.py:Net.step --spec "f32[b]"``."""

from __future__ import annotations

import argparse
import ast
import difflib
import importlib.util
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from d2s import api
from d2s.commands.mistakes import Mistake
from d2s.commands.parsers import add_many
from d2s.errors import Error
from d2s.options import specs
from d2s.static import StaticFunction

HELP = """\
A function is FILE.py:NAME or MODULE:NAME, and NAME may be Class.method if the class can be made
without arguments. The module is imported. Without --spec the function's own input_spec counts.
Each --spec is an array (f32[b, 784], i32, bool[3]), a
Python number by its type (int, float), a value ('text', 3, True), a list or dict of those, or
name=SPEC.
"""


def add_target(parser: argparse.ArgumentParser) -> None:
    """Declare the function and the arguments of a command that looks at one function."""
    parser.add_argument("target", metavar="FILE.py:NAME", help="the function to look at")
    add_specs(parser)
    add_sizes(parser)


def add_specs(parser: argparse.ArgumentParser) -> None:
    what = 'what the arguments look like, in order: "f32[b, 784]" int flag=True'
    add_many(parser, "--spec", "specs", "SPEC", what)


def add_sizes(parser: argparse.ArgumentParser) -> None:
    add_many(parser, "--size", "sizes", "NAME=N", "the sizes of named dimensions; otherwise 4")


def load(target: str) -> Any:
    """The function behind ``FILE.py:NAME``; its module is run anew each time."""
    place, _, name = target.rpartition(":")
    if not place or not name:
        raise Mistake(f"{target} names no function; write FILE.py:NAME")
    found = _module(place)
    for part in name.split("."):
        inside = found
        if isinstance(inside, type):
            found = inside = _made(inside, place)
        found = getattr(inside, part, None)
        if found is None:
            close = difflib.get_close_matches(part, dir(inside), n=1)
            hint = f"; did you mean {close[0]}?" if close else ""
            raise Mistake(f"there is no {part} in {target}{hint}")
    if isinstance(found, type):
        found = _made(found, place)
    if not callable(found):
        raise Mistake(f"{target} is no function but a {type(found).__name__}")
    return found


def _made(kind: type, place: str) -> Any:
    try:
        return kind()
    except Exception as error:
        what = f"{kind.__name__} cannot be made without arguments ({_told(error)})"
        raise Mistake(f"{what}; write a function that makes it", place) from error


def _module(place: str) -> Any:
    path = Path(place)
    if path.suffix != ".py" and not path.exists():
        sys.path.insert(0, "")
        spec = _imported(place, lambda: importlib.util.find_spec(place))
        if spec is None:
            what = f"ModuleNotFoundError: No module named {place!r}"
            raise Mistake(f"the import failed: {what}", place)
    elif not path.exists():
        raise Mistake("no such file", place)
    else:
        folder = str(path.resolve().parent)
        if folder not in sys.path:
            sys.path.insert(0, folder)
        spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise Mistake("not a Python file", place)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    loader = spec.loader
    _imported(place, lambda: loader.exec_module(module))
    return module


def _imported(place: str, run: Any) -> Any:
    try:
        return run()
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        frames = traceback.extract_tb(error.__traceback__)
        line = next((f.lineno for f in reversed(frames) if f.filename.endswith(place)), None)
        raise Mistake(f"the import failed: {_told(error)}", place, line) from error


def _told(error: BaseException) -> str:
    text = str(error).splitlines()
    return f"{type(error).__name__}: {text[0]}" if text else type(error).__name__


def static_of(function: Any) -> Any:
    """The static function: the one that the user has made of it, with its options, or a new one."""
    static = api.to_static(function)
    if not isinstance(getattr(static, "__func__", static), StaticFunction):
        raise Mistake("it is a generator or a coroutine, which has no graph")
    if not hasattr(static, "examples"):
        raise Mistake("it is for the backend python, which has no graph")
    return static


#: Python numbers by their types
NUMBERS: dict[str, Any] = {"int": int, "float": float, "bool": bool, "complex": complex}


def arguments(texts: list[str]) -> tuple[list[Any], dict[str, Any]]:
    """Positional and named arguments: specifications, types of Python numbers, and values."""
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for text in texts:
        name, equals, rest = text.partition("=")
        if equals and name.strip().isidentifier():
            kwargs[name.strip()] = _argument(rest)
        else:
            args.append(_argument(text))
    return args, kwargs


def wanted(texts: list[str], static: Any) -> tuple[list[Any], dict[str, Any]]:
    """The arguments that --spec describes; without it, those of the function's own input_spec."""
    return arguments(texts) if texts else ([], dict(static.examples or {}))


def _argument(text: str) -> Any:
    if text.strip() in NUMBERS:
        return NUMBERS[text.strip()]
    try:
        return specs.spec(text)
    except Error as error:
        try:
            return _inside(ast.literal_eval(text.strip()))
        except (ValueError, SyntaxError, TypeError, MemoryError):
            raise Mistake(f"--spec {text}: {error.what}; write {error.fix}") from error


def _inside(value: Any) -> Any:
    """A value with the specifications that are texts in its containers; other texts are texts."""
    if isinstance(value, list | tuple):
        return type(value)(_maybe(part) for part in value)
    if isinstance(value, dict):
        return {key: _maybe(part) for key, part in value.items()}
    return value


def _maybe(value: Any) -> Any:
    if not isinstance(value, str):
        return _inside(value)
    try:
        return NUMBERS.get(value) or specs.spec(value)
    except Error:
        return value


def sizes(texts: list[str], given: Any) -> Mapping[str, int]:
    """The sizes of named dimensions, each of which the specifications must have."""
    names = {name for one in specs.specs_in(given) for name in one.names}
    found: dict[str, int] = {}
    for text in texts:
        name, _, number = text.partition("=")
        if not number.isdecimal():
            raise Mistake(f"--size {text}: write NAME=N, such as b=8")
        if name not in names:
            there = f"; there is {', '.join(sorted(names))}" if names else ""
            raise Mistake(f"--size {text}: no specification has a dimension {name}{there}")
        found[name] = int(number)
    return found
