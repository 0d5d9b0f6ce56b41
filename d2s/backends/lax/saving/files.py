"""Loaded functions out of the parts of a file, each of which is looked at before it is believed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.export

from d2s.backends.lax.graph.sites import here
from d2s.backends.lax.saving.loaded import Loaded, Method, Methods
from d2s.backends.lax.saving.tensors import WideTypes, unpacked
from d2s.errors import Error
from d2s.files.archive import Where, broken

#: the exceptions that reading a manifest ends with if it does not describe the other parts
_BROKEN = (KeyError, TypeError, ValueError, IndexError, AttributeError, RecursionError)


def from_parts(path: Where, manifest: dict[str, Any], parts: Mapping[str, bytes]) -> Loaded:
    """What a file holds; a file whose parts do not belong together is refused."""
    try:
        wanted = str(manifest["jax"])
        methods = list(manifest["methods"])
        texts = ("source/{}.py", "source/{}.generated.py") if manifest["source"] else ()
        own = ("methods/{}.stablehlo", *texts)
        expected = {name.format(n) for name in own for n in range(len(methods))}
        if expected | {"state.safetensors", "constants.safetensors"} != {*parts}:
            raise ValueError("it has other parts")
        for tree in methods:
            _refuse_convention(path, int(tree["convention"]), wanted)
        constants = unpacked(manifest["constants"], parts["constants.safetensors"])
        state = unpacked(manifest["state"], parts["state.safetensors"])
        constraints = tuple(map(str, manifest["constraints"]))
        found: dict[str, Method] = {}
        for n, tree in enumerate(methods):
            exported = _deserialized(path, parts[f"methods/{n}.stablehlo"], wanted)
            source = _text(parts, f"source/{n}.py"), _text(parts, f"source/{n}.generated.py")
            found[str(tree["name"])] = Method(
                tree, exported, constants, source, frozenset(state), constraints
            )
    except WideTypes as error:
        raise Error(
            f"the file was saved with jax_enable_x64: {error}",
            code="D2S062",
            site=here(),
            fix='jax.config.update("jax_enable_x64", True) before it is loaded',
        ) from None
    except _BROKEN as error:
        raise broken(path, f"its manifest does not describe it ({error})") from None
    return Loaded(state, Methods(manifest, found))


def _text(parts: Mapping[str, bytes], name: str) -> str | None:
    return parts[name].decode() if name in parts else None


def _refuse_convention(path: Where, convention: int, wanted: str) -> None:
    least = jax.export.minimum_supported_calling_convention_version
    most = jax.export.maximum_supported_calling_convention_version
    if not least <= convention <= most:
        raise _other_jax(wanted, f"it has convention {convention}, not {least} to {most}")


def _deserialized(path: Where, data: bytes, wanted: str) -> jax.export.Exported:
    try:
        return jax.export.deserialize(bytearray(data))
    except Exception as error:
        first = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise _other_jax(wanted, first) from None


def _other_jax(wanted: str, why: str) -> Error:
    return Error(
        f"the file was written with jax {wanted}, and jax {jax.__version__} cannot read its graph "
        f"({why})",
        code="D2S062",
        site=here(),
        fix=f"pip install 'jax=={wanted}', or a file saved again with this version",
    )
