"""The statement itself: `print` with its options becomes one text and a file.

    print("x is", x, sep=": ")    ->    the text "x is: {}\\n" with the value `x`, to "stdout"

The text has the separators and the end of the line in it, so the host has nothing left to decide.
"""

from __future__ import annotations

import io
import sys
from typing import Any

import jax
import jax.numpy as jnp
from jax.core import Tracer

from d2s.backends.lax.failures import texts
from d2s.backends.lax.forms.trees import leaves, map_leaves
from d2s.backends.lax.graph import scopes, sites
from d2s.backends.lax.output import reprs
from d2s.backends.lax.output.building import chain, current, emit, here
from d2s.backends.lax.output.unseen import stood_in_for
from d2s.backends.lax.private import BatchTrace, DynamicJaxprTrace
from d2s.errors import StagingError


def print_(
    *args: Any, sep: Any = None, end: Any = None, file: Any = None, flush: Any = False
) -> None:
    """`print` while a graph is built."""
    if here.left_out is not None:
        site = sites.where()
        if site not in here.left_out:
            here.left_out.append(site)
        return
    if here.printer is None and not any(isinstance(t, _GRAPHS) for t in chain()):
        # No graph is built: a derivative is taken, of values that are known.
        known = map_leaves(_value, list(args))
        print(*known, sep=_value(sep), end=_value(end), file=file, flush=flush)
        return
    current()
    for value in leaves([args, sep, end, flush]):
        if isinstance(value, Tracer) and jnp.issubdtype(value.dtype, jax.dtypes.extended):
            raise StagingError(
                "a key of jax.random cannot be shown while the graph runs",
                code="D2S020",
                site=sites.where(),
                fix="print(jax.random.key_data(key))",
            )
    for name, value in (("sep", sep), ("end", end)):
        if isinstance(value, Tracer):
            str(texts.Text((value,)))  # raises the error that the text is not known
        if value is not None and not isinstance(value, str | texts.Text):
            raise TypeError(f"{name} must be None or a string, not {type(value).__name__}")
    parts: list[Any] = []
    for arg in args:
        parts += [" " if sep is None else sep, _text_of(arg)]
    line = texts.joined([*parts[1:], "\n" if end is None else end])
    emit(line, _file(file), bool(flush))


_GRAPHS = (DynamicJaxprTrace, BatchTrace)


def _value(leaf: Any) -> Any:
    return leaf.to_concrete_value() if isinstance(leaf, Tracer) else leaf


def _text_of(value: Any) -> Any:
    value = reprs.spoken(value, "s")
    if isinstance(value, texts.Text):
        return value
    if any(isinstance(leaf, Tracer) for leaf in leaves(value)):
        return texts.of(value, "s")
    return str(value)


def _file(file: Any) -> Any:
    """The file, or the name of a standard stream: which stream that is, each call looks up."""
    if file is None or stood_in_for(file) is stood_in_for(sys.stdout):
        return "stdout"
    if file is sys.stderr:
        return "stderr"
    outside = any(given is file for given in current().given) or any(
        watch.outside and watch.knows(file) for watch in scopes.snapshots()
    )
    if not isinstance(file, io.IOBase) or not outside:
        raise StagingError(
            "print to a file that is made inside the static function, or is none of Python's own",
            code="D2S023",
            site=sites.where(),
            fix="a file that is opened outside, or print without `file`",
        )
    return file
