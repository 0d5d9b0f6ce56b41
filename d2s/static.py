"""What a static function is, whatever engine runs it."""

from __future__ import annotations

import functools
import inspect
import sys
import types
from typing import Any, cast

from d2s import conversion
from d2s.errors import ConversionError, a, hide_own_frames
from d2s.libraries import claim, is_excluded, is_library_file, may_be_included
from d2s.options.options import PLAIN, Options
from d2s.recursion import deep
from d2s.runtime import calls, engines


class StaticFunction:
    """A function that runs as one compiled graph; a backend says how it is called.

    ``original`` is the plain function, ``code`` the generated source, ``options`` what was asked
    for.
    """

    #: methods that take the arguments of a call
    LOOKS: frozenset[str] = frozenset()

    def __init__(self, original: Any, options: Options = PLAIN) -> None:
        plain, self.bound, self.keywords = parts(original)
        functools.update_wrapper(self, plain)
        self.original, self.options = original, options
        self.function = conversion.converted(plain)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError  # pragma: no cover - every backend has its own

    def eagerly(self, *args: Any, **kwargs: Any) -> Any:
        """The converted code on the values themselves, without a graph."""
        with deep:
            return self.function(*self.bound, *args, **{**self.keywords, **kwargs})

    def __reduce__(self) -> Any:
        """Pickled by name, as functions are; where another thing has the name, by the original."""
        found: Any = sys.modules.get(self.__module__)
        path: str = self.function.__qualname__
        for name in path.split("."):
            found = getattr(found, name, None)
        return path if found is self else (_compiled, (self.original, self.options))

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else BoundStatic(self, instance)

    def __getattr__(self, name: str) -> Any:
        """What a module, or another object that is called, has beside its call."""
        owner = vars(self).get("original")
        if name.startswith("_") or isinstance(owner, _NO_OBJECTS):
            what = f"{type(self).__name__!r} object has no attribute {name!r}"
            raise AttributeError(what, name=name, obj=self)
        return getattr(owner, name)

    @property
    def code(self) -> str:
        return conversion.source_of(self.function)

    @property
    def source(self) -> str:
        """The source of the original function."""
        plain: Any = getattr(self.function, "__wrapped__", self.function)
        return conversion.original_source(plain)

    def __repr__(self) -> str:
        return f"<static {self.function.__qualname__}>"


#: what is called and has nothing of its own to show
_NO_OBJECTS = (types.NoneType, types.FunctionType, types.MethodType, functools.partial)


class BoundStatic:
    """A static function as a method of an object: what looks at a call gets the object, too.

    To everybody who asks, it is a method: `inspect`, `isinstance`, and all of d2s.
    """

    __slots__ = ("__func__", "__self__", "__weakref__")
    __func__: StaticFunction
    __self__: Any

    def __init__(self, function: StaticFunction, instance: Any) -> None:
        self.__func__, self.__self__ = function, instance

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return self.__func__(self.__self__, *args, **kwargs)
        except Exception as error:
            hide_own_frames(error)
            raise

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return types.MethodType

    @property
    def __doc__(self) -> Any:  # type: ignore[override]
        return self.__func__.__doc__

    @property
    def original(self) -> Any:
        return self.__func__.original.__get__(self.__self__)

    def watch(self, *names: str) -> Any:
        watched: Any = self.__func__
        return watched.watch(*names).bound_to(self.__self__)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.__func__, name)
        return functools.partial(found, self.__self__) if name in self.__func__.LOOKS else found

    def __dir__(self) -> list[str]:
        return dir(self.__func__)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, types.MethodType):
            return NotImplemented
        return self.__self__ is other.__self__ and self.__func__ is other.__func__

    def __hash__(self) -> int:
        return hash((id(self.__self__), self.__func__))

    def __reduce__(self) -> Any:
        return getattr, (self.__self__, self.__func__.__name__)

    def __repr__(self) -> str:
        return f"<static {self.__func__.function.__qualname__} of {self.__self__!r}>"


#: the kinds of methods
METHODS = (types.MethodType, BoundStatic)


def method(function: Any, instance: Any) -> Any:
    """A function as a method of an object."""
    kind = BoundStatic if isinstance(function, StaticFunction) else types.MethodType
    return kind(function, instance)


def is_static_method(function: Any) -> bool:
    """Whether this is a static function with its object; Equinox makes methods of its own."""
    return isinstance(getattr(function, "__func__", None), StaticFunction)


def plain(function: Any) -> Any:
    """The function that a static one was made from, bound as that; any other is itself."""
    if is_static_method(function):
        return BoundStatic(function.__func__, function.__self__).original
    return function.original if isinstance(function, StaticFunction) else function


def options_of(function: Any) -> Options:
    """What was asked for where a callable was made static; with its bound arguments left out."""
    if isinstance(function, StaticFunction):
        return function.options
    keywords: tuple[str, ...] = ()
    if is_static_method(function):
        inner, args = function.__func__, 1
    elif isinstance(function, functools.partial):
        inner, args, keywords = function.func, len(function.args), tuple(function.keywords)
    else:
        return PLAIN
    asked = options_of(inner)
    if asked.is_plain:
        return PLAIN
    parameters = inspect.signature(plain(inner)).parameters.values()
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return asked.without(names, {*names[:args], *keywords})


def _compiled(original: Any, options: Options) -> Any:
    return engines.backend(options.backend).compile(original, options)


def parts(function: Any) -> tuple[types.FunctionType, tuple[Any, ...], dict[str, Any]]:
    """The Python function behind a callable, and the arguments it is bound to."""
    if is_wrapper(function):
        return _calling(function), (), {}
    if isinstance(function, types.FunctionType):
        if not conversion.is_made_by_d2s(function):
            if is_excluded(function.__code__.co_filename):
                raise _is_excluded(function)
            if _is_librarys(function) and not _is_handed_over(function):
                raise _belongs_to_library(function)
            conversion.conversion_of(function)
        return function, (), {}
    if isinstance(function, types.MethodType) or is_static_method(function):
        plain, bound, keywords = parts(function.__func__)
        return plain, (*bound, function.__self__), keywords
    if isinstance(function, functools.partial):
        plain, bound, keywords = parts(function.func)
        return plain, (*bound, *function.args), {**keywords, **function.keywords}
    if isinstance(function, StaticFunction):
        return parts(function.original)
    call = type(function).__call__ if callable(function) else None
    if isinstance(call, types.FunctionType | StaticFunction) and not isinstance(function, type):
        if isinstance(call, types.FunctionType) and _is_librarys(call):
            return _calling_object(call), (function,), {}
        plain, bound, keywords = parts(call)
        return plain, (*bound, function), keywords
    if isinstance(function, type):
        raise ConversionError(
            f"{function.__qualname__} is a class",
            code="D2S001",
            fix="d2s.to_static above its methods, or on an object of the class",
        )
    inner = getattr(function, "__wrapped__", None)
    if isinstance(inner, types.FunctionType):
        return parts(inspect.unwrap(inner))  # says to whom it belongs
    raise ConversionError(
        f"{function!r} is not a Python function",
        code="D2S001",
        fix="a function, a method, a lambda or a callable object whose source is Python",
    )


def _belongs_to_library(function: types.FunctionType) -> ConversionError:
    inner = inspect.unwrap(function)
    if isinstance(inner, types.FunctionType):
        what = f"{function.__module__}.{function.__qualname__} belongs to a library"
    else:
        # the wrapper holds the object itself; a graph needs to find what is in it
        what = f"a library made this around {a(type(inner))}"
    return ConversionError(
        what,
        code="D2S001",
        fix="a function of your own that calls it, such as lambda x: jax.grad(net)(x): d2s "
        "converts what you hand to it",
    )


def _is_excluded(function: types.FunctionType) -> ConversionError:
    return ConversionError(
        f"{function.__module__} is not converted: d2s.exclude says so",
        code="D2S001",
        fix=f'd2s.include("{function.__module__}")',
    )


def _is_handed_over(function: types.FunctionType) -> bool:
    """Whether a function of a library is one that its users call by name; it is converted then.

    So is what else its module has, which it may call.
    """
    if not may_be_included(function.__module__):
        return False
    found: Any = sys.modules[function.__module__]
    for name in function.__qualname__.split("."):
        found = getattr(found, name, None)
    if found is not function and inspect.unwrap(found) is not function:
        return False
    claim(function.__code__.co_filename)
    conversion.decide_anew()
    return not is_library_file(function.__code__.co_filename)


def is_wrapper(function: Any) -> bool:
    """Whether a library made this around a function of the user's: `jax.grad(f)`, `jax.jit(f)`."""
    inner = getattr(function, "__wrapped__", None)
    if inner is None or isinstance(function, StaticFunction | types.MethodType | type):
        return False
    own = function if isinstance(function, types.FunctionType) else type(function).__call__
    if isinstance(own, types.FunctionType) and not _is_librarys(own):
        return False
    inner = inspect.unwrap(plain(inner))
    return isinstance(inner, types.FunctionType) and not _is_librarys(inner)


def _is_librarys(function: types.FunctionType) -> bool:
    """Whether a function is a library's own code, which is never converted."""
    made = conversion.is_made_by_d2s(function)
    return not made and is_library_file(function.__code__.co_filename)


def _calling_object(method: types.FunctionType) -> types.FunctionType:
    """A function that calls an object of a library: its code runs as it is."""

    def call(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        return calls.fn(self)(*args, **kwargs)

    functools.update_wrapper(call, method, updated=())
    call.__wrapped__ = inspect.unwrap(method)  # type: ignore[attr-defined]
    return conversion.made_here(cast(types.FunctionType, call))


def _calling(wrapper: Any) -> types.FunctionType:
    """A function that calls a wrapper, as converted code would: what is inside is converted."""

    def call(*args: Any, **kwargs: Any) -> Any:
        engine = engines.active()
        made = calls.fn(wrapper) if engine.staging() else engine.around(wrapper, calls.converted)
        return made(*args, **kwargs)

    functools.update_wrapper(call, wrapper, updated=())
    call.__wrapped__ = inspect.unwrap(plain(wrapper))  # type: ignore[attr-defined]
    return conversion.made_here(cast(types.FunctionType, call))
