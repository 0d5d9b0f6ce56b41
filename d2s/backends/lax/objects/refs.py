"""`jax.Ref` in a graph: an object with one attribute, the array that it holds.

JAX's own references are changed at once and in program order. In a graph of d2s a write must wait
until the call has ended, and may be in a branch or a loop. So the graph works on objects of the
class `RefCopy`: their value is read from the reference before a call and stored in it afterwards,
like an attribute. ``ref[0] = x`` becomes ``copy.value = copy.value.at[0].set(x)``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from d2s.backends.lax.graph import scopes, sites
from d2s.backends.lax.objects.names import name_of
from d2s.errors import StagingError

REF: Any = jax.Ref


class RefCopy:
    """Stands for a reference while a graph is built."""

    def __init__(self, value: Any) -> None:
        self.value = value

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return REF  # type: ignore[no-any-return]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape  # type: ignore[no-any-return]

    @property
    def dtype(self) -> Any:
        return self.value.dtype

    @property
    def ndim(self) -> int:
        return self.value.ndim  # type: ignore[no-any-return]

    @property
    def size(self) -> int:
        return self.value.size  # type: ignore[no-any-return]

    def __len__(self) -> int:
        return len(self.value)

    def __getitem__(self, index: Any) -> Any:
        return self.value[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        new = jnp.asarray(value)
        if new.dtype != self.dtype and not new.weak_type:
            raise ValueError(
                f"Invalid dtype for `swap`. Ref dtype: {self.dtype}. Value dtype: {new.dtype}. "
            )
        self.value = self.value.at[index].set(new)

    def addupdate(self, value: Any, index: Any = ...) -> None:
        self[index] = self[index] + value

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(REF, name):
            raise AttributeError(f"'Ref' object has no attribute {name!r}")
        ref = name_of(self).strip("`")
        what = f"`{ref}.{name}`, an attribute" if ref else f"`{name}`"
        raise refused(f"{what} of a jax.Ref, is asked for in a graph", "ref[...], its value")


# All of d2s has to treat it as an object of another library, which has attributes and can be made
# anew; messages have to call it what the user calls it.
RefCopy.__module__, RefCopy.__qualname__, RefCopy.__name__ = "jax", "Ref", "Ref"


def refused(what: str, fix: str) -> StagingError:
    error = StagingError(what, code="D2S081", site=sites.where(), fix=fix)
    scopes.refuse(error)
    return error


def call_for(function: Any) -> Callable[..., Any] | None:
    """What stands for `jax.new_ref` and `jax.freeze` in a graph; None for all other functions."""
    if scopes.copies() is None:
        return None
    if function is jax.new_ref:
        return _new
    return _frozen if function is jax.freeze else None


def _new(value: Any, **options: Any) -> Any:
    if any(option is not None for option in options.values()):
        raise refused("a jax.Ref with a memory space or a kind is made", "jax.new_ref(value)")
    return RefCopy(jnp.asarray(value))


def _frozen(ref: Any) -> Any:
    return ref.value if type(ref) is RefCopy else jax.freeze(ref)


def refuse_handed_on(function: Any, args: tuple[Any, ...]) -> None:
    """Refuse copies of references as arguments of functions that know only JAX's own."""
    if call_for(function) is None and any(type(arg) is RefCopy for arg in args):
        name = getattr(function, "__name__", type(function).__name__)
        ref = next(filter(None, map(name_of, args)), "")
        raise refused(
            f"{f'{ref}, a jax.Ref,' if ref else 'a jax.Ref'} is handed to {name}, which is not "
            "converted",
            "ref[...], its value, and what comes out stored in the reference",
        )


def refuse_real(ref: Any) -> None:
    """Refuse a reference that has no copy: the graph would not know of its changes."""
    if scopes.copies() is not None and type(ref) is REF:
        raise refused(
            f"{sites.target(sites.where()) or 'a reference'}, a jax.Ref, is used that belongs to a "
            "class, a module, or to code that is not converted",
            "the reference as an argument, an attribute of an object, or a global name",
        )
