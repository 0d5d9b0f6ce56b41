"""Which code belongs to libraries: it is never converted, and its calls mostly stay as they are."""

from __future__ import annotations

import functools
import heapq
import importlib.util
import itertools
import os
import site
import sys
import sysconfig
import types
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

from d2s.errors import wrong_option

#: modules of array functions; the names given are the ones that take functions of the user's
ARRAY_MODULES: dict[str, frozenset[str]] = {
    "jax.numpy": frozenset(
        {"vectorize", "apply_along_axis", "apply_over_axes", "piecewise", "frompyfunc"}
        | {"fromfunction"}
    ),
    "jax.nn": frozenset(),
    "jax.nn.initializers": frozenset(),
    "jax.random": frozenset(),
    "jax.scipy": frozenset(),
    "jax.scipy.special": frozenset(),
    "jax.scipy.linalg": frozenset(),
    "jax.scipy.stats": frozenset(),
    "jax.scipy.signal": frozenset(),
    "jax.lax.linalg": frozenset(),
    "jax.numpy.linalg": frozenset(),
    "jax.numpy.fft": frozenset(),
    "jax.tree_util": frozenset({"tree_map", "tree_reduce", "tree_map_with_path"}),
    "jax.lax": frozenset(
        {"cond", "switch", "while_loop", "fori_loop", "scan", "map", "associative_scan", "reduce"}
        | {"custom_root", "custom_linear_solve", "reduce_window", "platform_dependent"}
    ),
}


#: array functions that make one array of a list of them
PUTS_TOGETHER = frozenset({"stack", "array", "asarray", "concatenate"})


def takes_no_functions(root: object, path: tuple[str, ...]) -> bool:
    """Whether ``root.path`` is an array function that never calls back into user code."""
    for name in path[:-1]:
        if not isinstance(root, types.ModuleType):
            return False
        root = getattr(root, name, None)
    if not isinstance(root, types.ModuleType):
        return False
    higher_order = ARRAY_MODULES.get(root.__name__)
    return higher_order is not None and path[-1] not in higher_order


#: which argument the functions of Python's own libraries call: by position, or by name
_CALLED: dict[object, int | str] = {
    map: 0,
    filter: 0,
    functools.reduce: 0,
    itertools.starmap: 0,
    itertools.takewhile: 0,
    itertools.dropwhile: 0,
    itertools.filterfalse: 0,
    itertools.accumulate: 1,
    itertools.groupby: 1,
    sorted: "key",
    min: "key",
    max: "key",
    heapq.nlargest: "key",
    heapq.nsmallest: "key",
    heapq.merge: "key",
}


def called_argument(function: object) -> int | str | None:
    """The argument that a function of Python's own calls; it may come by the name, too."""
    try:
        known = _CALLED.get(function)
    except TypeError:  # it has no hash
        return None
    if known is None and isinstance(function, types.BuiltinMethodType):
        owner = function.__self__
        is_sort = isinstance(owner, list) and function == list.sort.__get__(owner)
        return "key" if is_sort else None
    return known


def takes_functions(function: object) -> bool:
    """Whether something of an installed library: it may call any function that it is handed."""
    package = _package(function)
    return package != "" and _is_installed(package)


#: packages that compute with numbers as JAX does, whatever class a number has
_ARRAY_PACKAGES = frozenset({"jax", "jaxlib", "numpy", "scipy", "optax", "flax", "ml_dtypes"})


def takes_numbers_as_arrays(function: object) -> bool:
    """Whether a library is known to take a number of a graph for what it is."""
    return _package(function) in _ARRAY_PACKAGES


def _package(function: object) -> str:
    module = getattr(function, "__module__", None) or type(function).__module__
    return module.partition(".")[0] if isinstance(module, str) else ""


@cache
def _is_installed(package: str) -> bool:
    """Whether a package is neither Python's nor the user's own."""
    if package in sys.stdlib_module_names or package == "d2s":
        return False
    file = getattr(sys.modules.get(package), "__file__", None)
    return file is not None and is_library_file(file)


def _folders(found: Iterable[str]) -> tuple[str, ...]:
    return tuple(os.path.join(os.path.realpath(folder), "") for folder in sorted(set(found)))


def _installed_packages() -> Iterator[str]:
    """The folders that packages are installed into.

    An environment sees those of the one below it, of the user's home, and whatever the path has:
    installers write into folders of two names.
    """
    yield from (sysconfig.get_paths()[name] for name in ("purelib", "platlib"))
    yield from (*site.getsitepackages(), site.getusersitepackages())
    names = ("site-packages", "dist-packages")
    yield from (folder for folder in sys.path if os.path.basename(folder) in names)


_STANDARD = _folders(sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib"))
_INSTALLED = _folders(_installed_packages())
_OWN = os.path.join(os.path.realpath(os.path.dirname(os.path.abspath(__file__))), "")
_PACKAGE = __name__.partition(".")[0]
_LIBRARY_FOLDERS = (*_STANDARD, *_INSTALLED, _OWN)
#: files, and folders that end with a separator: whether the code in them is converted
_chosen: dict[str, bool] = {}
#: what graphs are made of: to convert it would change nothing but the graphs
_OF_GRAPHS = frozenset({"d2s", "jax", "jaxlib", "numpy"})


def claim(filename: str) -> None:
    """Convert the functions of this file although it is a library's."""
    _choose(os.path.realpath(filename), True)


def choose(package: str | types.ModuleType, is_converted: bool) -> None:
    """Whether the code of a package or a module is converted where it is called."""
    name = package.__name__ if isinstance(package, types.ModuleType) else package
    if not isinstance(name, str):
        raise wrong_option(f"{package!r} is no name of a package", 'a text: "package.module"')
    if is_converted and name.partition(".")[0] in _OF_GRAPHS:
        raise wrong_option(f"{name} is what graphs are made of, and is not converted", "other code")
    places = _places(name)
    if not places:
        what = f"there is no package or module {name!r} with Python source"
        raise wrong_option(what, "the name that is imported")
    for place in places:
        _choose(place, is_converted)


def _places(name: str) -> list[str]:
    """The folders of a package, or the file of a module; to find them imports what is around it."""
    loaded = getattr(sys.modules.get(name), "__spec__", None)
    try:
        spec = loaded or importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return []
    if spec is None:
        return []
    if spec.submodule_search_locations is not None:
        return [os.path.join(os.path.realpath(p), "") for p in spec.submodule_search_locations]
    is_source = spec.origin is not None and spec.origin.endswith(".py")
    return [os.path.realpath(spec.origin)] if is_source and spec.origin is not None else []


def _choose(place: str, is_converted: bool) -> None:
    _chosen[place] = is_converted
    for known in (is_library_file, is_excluded, is_library_class):
        known.cache_clear()


def _choice(path: str) -> bool | None:
    """What was said of a file: the nearest place counts."""
    found = [p for p in _chosen if path == p or (p.endswith(os.sep) and path.startswith(p))]
    return _chosen[max(found, key=len)] if found else None


@cache
def is_library_file(filename: str) -> bool:
    """Whether a file belongs to the standard library, an installed package or d2s itself."""
    if filename.startswith("<frozen"):
        return True
    if filename.startswith("<"):
        return False
    path = os.path.realpath(filename)
    return path.startswith(_LIBRARY_FOLDERS) and not _choice(path)


@cache
def is_excluded(filename: str) -> bool:
    """Whether somebody said that the code of a file is not converted."""
    return bool(_chosen) and _choice(os.path.realpath(filename)) is False


def may_be_included(module: str | None) -> bool:
    """Whether the code of a module is a library's that could be converted."""
    file = getattr(sys.modules.get(module or ""), "__file__", None)
    is_source = isinstance(file, str) and file.endswith(".py")
    return is_source and (module or "").partition(".")[0] not in _OF_GRAPHS


def is_library_module(module: types.ModuleType) -> bool:
    """Whether a module belongs to Python or to an installed package, and not to the program."""
    filename: str | None = getattr(module, "__file__", None)
    if filename is None:
        return getattr(module, "__spec__", None) is not None  # otherwise made by the program itself
    return is_library_file(filename)


def is_of_python(kind: type) -> bool:
    """Whether a class comes with Python."""
    return kind.__module__.partition(".")[0] in sys.stdlib_module_names


@cache
def is_standard_file(filename: str) -> bool:
    """Whether a file belongs to Python's own library."""
    if filename.startswith("<"):
        return filename.startswith("<frozen")
    path = os.path.realpath(filename)
    return path.startswith(_STANDARD) and not path.startswith(_INSTALLED)


def is_of_d2s(filename: str) -> bool:
    return is_in_folder(filename, _OWN)


def is_d2s_class(kind: type) -> bool:
    """Whether objects of a class are d2s's own, and no values of a program.

    Classes that d2s hands to users say that they belong to the package `d2s` itself, and those that
    stand for a class of another library name that one: both are values like others.
    """
    return _is_inside_d2s(kind.__module__)


def is_d2s_function(function: types.FunctionType) -> bool:
    """Whether a function belongs to d2s; one that is dressed as another belongs to that one's."""
    return _is_inside_d2s(function.__module__)


@cache
def _is_inside_d2s(name: str | None) -> bool:
    """Whether the module of this name is one of those inside the package."""
    module = sys.modules.get(name or "")
    if module is None or name == _PACKAGE:
        return False
    filename: str | None = getattr(module, "__file__", None)
    return filename is not None and is_of_d2s(filename)


@cache
def is_in_folder(filename: str, folder: str) -> bool:
    """Whether a file is somewhere in a folder."""
    return os.path.realpath(filename).startswith(os.path.join(os.path.realpath(folder), ""))


@cache
def is_library_class(kind: Any) -> bool:
    """Whether a class belongs to Python or to an installed package."""
    if kind.__module__ in ("builtins", "__main__"):
        return bool(kind.__module__ == "builtins")
    module = sys.modules.get(kind.__module__)
    if module is None:
        return False  # made by exec, or of a module that is not there any more
    filename: str | None = getattr(module, "__file__", None)
    return filename is None or is_library_file(filename)
