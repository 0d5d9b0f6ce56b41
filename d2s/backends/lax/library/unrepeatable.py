"""Functions that give something else on every call, or do something outside of the program.

    noise = random.random()    ->    refused: the number of the time when the graph is built would
                                     be a constant of the graph

They are told by the module that they come from: the tables are about whole libraries, methods and
submodules included, which need not be imported for it, and a function has no other mark of the
library that it belongs to.
"""

from __future__ import annotations

from typing import Any

_KEYED = "jax.random with a key that is passed in, e.g. jax.random.{}"
_TIME = "the time taken outside and passed in"
_WARNING = "a warning outside the static function"
_FILE = "the file read outside and its content passed in, and written outside"

#: modules all of whose functions are refused, with what to write instead
_MODULES = {
    "random": _KEYED.format("uniform(key)"),
    "numpy.random": _KEYED.format("normal(key, shape)"),
    "secrets": _KEYED.format("bits(key)"),
    "uuid": "a value made outside and passed in",
    "time": _TIME,
    "warnings": _WARNING,
    "_warnings": _WARNING,
    "logging": "logging outside the static function",
    "subprocess": "the process run outside and its result passed in",
}

#: single functions, as module.name, with what to write instead
_FUNCTIONS = {
    "posix.urandom": _KEYED.format("bits(key)"),
    "nt.urandom": _KEYED.format("bits(key)"),
    "posix.getrandom": _KEYED.format("bits(key)"),
    "_weakref.getweakrefcount": "the number asked for outside and passed in",
    "_weakref.getweakrefs": "the references asked for outside",
    "functools.cache_info": "the function without a cache, or the numbers asked for outside",
    "functools.cache_clear": "the cache cleared outside",
    "sys.getrefcount": "the number asked for outside and passed in",
    "os.getenv": "os.environ.get(name), which every call looks at",
    "builtins.input": "the text read outside and passed in",
    "builtins.breakpoint": '`with d2s.mode("eager")` around the call, to debug it',
    "_io.open": _FILE,
    "io.open": _FILE,
    "datetime.now": _TIME,
    "datetime.utcnow": _TIME,
    "datetime.today": _TIME,
    **{
        f"numpy.{name}": _FILE
        for name in ("save", "savez", "savez_compressed", "savetxt", "load", "loadtxt")
    },
    **{f"numpy.{name}": _FILE for name in ("genfromtxt", "fromfile", "fromregex")},
}


def unrepeatable(function: Any) -> tuple[str, str] | None:
    """The name of such a function and what to write instead; None for any other."""
    name = getattr(function, "__name__", None) or type(function).__name__
    owner = getattr(function, "__self__", None)
    for part in (function, owner, type(owner)):
        module = getattr(part, "__module__", None)
        if not isinstance(module, str):
            continue
        fix = _FUNCTIONS.get(f"{module}.{name}")
        if fix is not None:
            return (name if module in ("builtins", "_io", "io") else f"{module}.{name}"), fix
        for known, advice in _MODULES.items():
            if module == known or module.startswith(known + "."):
                return f"{known}.{name}", advice
    return None
