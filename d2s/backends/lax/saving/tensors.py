"""Arrays in a file: safetensors, with the types that it does not know as bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from safetensors import SafetensorError, deserialize
from safetensors.numpy import save

from d2s.backends.lax.forms.dtypes import Type, cast
from d2s.files.trees import Json

#: the names that safetensors has for the types that it knows
_KNOWN = {
    "bool": "BOOL",
    "bfloat16": "BF16",
    "complex64": "C64",
    **{f"float{n}": f"F{n}" for n in (16, 32, 64)},
    **{f"int{n}": f"I{n}" for n in (8, 16, 32, 64)},
    **{f"uint{n}": f"U{n}" for n in (8, 16, 32, 64)},
}


def kind_of(value: Any) -> Json:
    """What an array is: dtype, shape, whether it was a Python number, the kind of a random key."""
    key = None
    if jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
        key = str(jax.random.key_impl(value))
        value = jax.random.key_data(value)
    weak = bool(getattr(value, "weak_type", False))
    return {"dtype": str(value.dtype), "shape": list(value.shape), "weak": weak, "key": key}


def packed(arrays: Mapping[str, Any]) -> tuple[dict[str, Json], bytes]:
    """What the arrays are, and their contents."""
    kinds, tensors = {}, {}
    for name, value in arrays.items():
        kinds[name] = kind_of(value)
        if kinds[name]["key"] is not None:
            value = jax.random.key_data(value)
        data = np.ascontiguousarray(value).reshape(value.shape)
        if str(data.dtype) not in _KNOWN:
            data = np.frombuffer(data.tobytes(), np.uint8)
        tensors[name] = data
    return kinds, save(tensors)


def unpacked(kinds: Mapping[str, Json], data: bytes) -> dict[str, Any]:
    """The arrays again; raises `ValueError` where the two do not belong together."""
    try:
        found = dict(deserialize(data))  # type: ignore[no-untyped-call]
    except SafetensorError as error:
        raise ValueError(f"the arrays cannot be read ({error})") from None
    if found.keys() != kinds.keys():
        raise ValueError("the arrays are not those of the manifest")
    return {name: _array(kinds[name], found[name]) for name in kinds}


def _array(kind: Json, tensor: dict[str, Any]) -> Any:
    dtype, shape = jnp.dtype(kind["dtype"]), tuple(kind["shape"])
    if _KNOWN.get(kind["dtype"], "U8") != tensor["dtype"]:
        raise ValueError("an array has another type than the manifest says")
    data = np.frombuffer(bytes(tensor["data"]), dtype)
    if any(type(size) is not int or size < 0 for size in shape):
        raise ValueError(f"there is no shape {shape}")
    value = jnp.asarray(data.reshape(shape))
    if value.dtype != dtype:
        raise WideTypes(f"it holds {dtype} values")
    if kind["key"] is not None:
        return jax.random.wrap_key_data(value, impl=kind["key"])
    return cast(value, Type(shape, dtype, True)) if kind["weak"] else value


class WideTypes(Exception):
    """There are 64-bit values, and jax is set to 32 bits."""
