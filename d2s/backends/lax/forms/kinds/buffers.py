"""Bytes that a program can change: NumPy arrays, `bytearray`, `array.array`, buffers of C."""

from __future__ import annotations

import array
import warnings
from typing import Any

import numpy as np

from d2s.backends.lax.forms.kinds.form import WHOLE, Form, register


class _Bytes(Form):
    """What is compared and put back as a whole."""

    has_slots = False

    def keys(self, owner: Any) -> list[Any]:
        return []

    def has(self, owner: Any, key: Any) -> bool:
        return False

    def changed(self, owner: Any, held: Any) -> list[Any] | None:
        return None


class _ByteArray(_Bytes):
    base = bytearray
    can_grow = is_container = True

    def held(self, owner: Any) -> bytearray:
        return bytearray(owner)

    def is_same(self, owner: Any, held: bytearray) -> bool:
        return bool(bytearray.__eq__(owner, held))

    def restore(self, owner: Any, held: Any) -> None:
        bytearray.__setitem__(owner, slice(None), held)

    def changed(self, owner: Any, held: bytearray) -> list[Any]:
        return [] if self.is_same(owner, held) else [WHOLE]

    def names(self, held: bytearray) -> bytes:
        return bytes(held)

    def extra(self, owner: Any) -> Any:
        return bytes(owner)

    def bare(self, kind: Any, extra: Any) -> Any:
        made = bytearray.__new__(kind)
        bytearray.extend(made, extra or b"")
        return made

    def fill(self, owner: Any, held: Any) -> None:
        """Nothing: the bytes are there already."""


class _ArrayOfNumbers(_Bytes):
    base = array.array

    def held(self, owner: Any) -> Any:
        return array.array(owner.typecode, owner)

    def is_same(self, owner: Any, held: Any) -> bool:
        return bool(owner.tobytes() == held.tobytes())

    def restore(self, owner: Any, held: Any) -> None:
        owner[:] = held


class _NumPyArray(_Bytes):
    base = np.ndarray

    def held(self, owner: Any) -> Any:
        return copy_of_array(owner)

    def reached(self, held: Any) -> list[Any]:
        return list(held.flat) if held.dtype == object else []

    def can_change(self, owner: Any) -> bool:
        return owner.flags.writeable or owner.base is not None

    def is_same(self, owner: Any, held: Any) -> bool:
        same = owner.shape == held.shape and owner.dtype == held.dtype
        same = same and owner.flags.writeable == held.flags.writeable
        return bool(same and owner.tobytes() == held.tobytes())

    def restore(self, owner: Any, held: Any) -> None:
        with warnings.catch_warnings():
            # NumPy advises to make another array, but the one that the program has is restored.
            warnings.simplefilter("ignore", DeprecationWarning)
            if owner.dtype != held.dtype:
                owner.dtype = held.dtype
            if owner.shape != held.shape:
                owner.shape = held.shape
        owner.flags.writeable = True
        owner[...] = held
        owner.flags.writeable = held.flags.writeable

    def refill(self, owner: Any, held: Any) -> None:
        owner[...] = held


def copy_of_array(value: np.ndarray) -> np.ndarray:
    """Another array with the same elements, shape, dtype and flag."""
    made = value.copy()
    made.flags.writeable = value.flags.writeable
    return made


class Buffer:
    """The bytes in an object of C, as `ctypes` and `mmap` have them, as an owner."""

    def __init__(self, owner: Any) -> None:
        self.owner = owner

    @staticmethod
    def of(value: Any) -> Buffer | None:
        """The buffer of an object whose bytes Python code can change; None for all others."""
        try:
            return None if memoryview(value).readonly else Buffer(value)
        except (TypeError, ValueError, BufferError):
            return None


class _Buffer(_Bytes):
    base = Buffer

    def held(self, owner: Buffer) -> bytes:
        return memoryview(owner.owner).tobytes()

    def is_same(self, owner: Buffer, held: bytes) -> bool:
        return self.held(owner) == held

    def restore(self, owner: Buffer, held: bytes) -> None:
        memoryview(owner.owner).cast("B")[:] = held


for kind in (_ByteArray, _ArrayOfNumbers, _NumPyArray, _Buffer):
    register(kind())
