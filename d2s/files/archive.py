"""One file for a saved function: parts by name, checked when it is read, whole when it is written.

A zip without compression. Its comment, which is its end, carries the version of the format and the
checksum of everything before; the manifest carries the checksums of all other parts. Nothing is
ever unpacked to disk, and nothing in the file is a program of Python's.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import stat
import struct
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from d2s.errors import Error

VERSION = 1
MANIFEST = "manifest.json"
#: a manifest describes a function; more than this is no description
_LONGEST = 1 << 24
#: items of a list or a dict in it, and in all of it
_MOST, _ALL = 100_000, 1_000_000
#: parts of a file
_PARTS = 10_000
_COMMENT = re.compile(rb"d2s (\d{1,9}) sha256:([0-9a-f]{64})\Z")
#: no comment is longer
_END = 100
#: the end of a zip: signature, disks, numbers of entries, size and place of the directory, comment
_ENDING = struct.Struct("<4s4H2LH")
_CHUNK = 1 << 20
Where = str | os.PathLike[str]


def write(path: Where, manifest: dict[str, Any], parts: Mapping[str, bytes]) -> None:
    """Write all of it, or leave what was there before; where a link points to."""
    manifest = {**manifest, "checksums": {name: _sum(data) for name, data in parts.items()}}
    head = json.dumps(manifest, indent=1, allow_nan=False).encode()
    if len(head) > _LONGEST or not _is_description(head, json.loads(head)):
        raise Error(
            "there are too many arrays or other values to describe them in a file",
            code="D2S060",
            fix="fewer and larger ones: jnp.stack of arrays that are alike",
        )
    target = Path(os.path.realpath(path))
    # in the same folder: only there a rename is one step
    beside = target.with_name(f".{target.name}.{os.getpid()}.{os.urandom(4).hex()}")
    try:
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        with open(beside, "x+b") as file:
            _fill(file, {MANIFEST: head, **parts})
        os.replace(beside, target)
    except BaseException as error:
        with suppress(OSError):
            beside.unlink()
        if isinstance(error, OSError) and error.errno is not None:
            # whoever saves knows nothing of a file beside his own
            raise type(error)(error.errno, error.strerror, os.fspath(path)) from None
        raise


def _fill(file: BinaryIO, parts: Mapping[str, bytes]) -> None:
    """The zip, with the checksum of all of it at its end, until the disk has it."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, data in parts.items():
            # without the time: the same function gives the same file
            archive.writestr(zipfile.ZipInfo(name), data)
        archive.comment = comment = f"d2s {VERSION} sha256:{'0' * 64}".encode()
    length = file.seek(0, os.SEEK_END) - len(comment)
    checksum = _sum_of(file, length)
    file.seek(length)
    file.write(comment.replace(b"0" * 64, checksum.encode()))
    file.flush()
    os.fsync(file.fileno())


def read(path: Where) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The manifest and the parts of a file that is exactly what was written."""
    try:
        with _opened(path) as file:
            size = _checked_size(file, path)
            with zipfile.ZipFile(file) as archive:
                return _checked(archive, size, path)
    except (
        zipfile.BadZipFile,
        ValueError,
        NotImplementedError,
        RuntimeError,
        EOFError,
        struct.error,
    ) as error:
        if isinstance(error, Error):
            raise
        raise broken(path, f"it is no whole file of d2s's ({error})") from None


def _opened(path: Where) -> BinaryIO:
    """A file on a disk: others have no end, or wait for somebody who writes."""
    number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise broken(path, "it is no file on a disk, but a folder, a pipe or a device")
    return open(number, "rb")


def _checked_size(file: BinaryIO, path: Where) -> int:
    """The size of a file that nothing was put before, behind or into."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(size - _END, 0))
    found = _COMMENT.search(file.read())
    if found is None:
        raise broken(path, "it is no whole file of d2s's")
    version = int(found[1])
    if version != VERSION:
        raise broken(
            path,
            f"its format is {version}, and this d2s reads {VERSION}",
            "a d2s of the version that wrote it, or a file saved again with this one",
        )
    if _sum_of(file, size - len(found[0])) != found[2].decode():
        raise broken(path, "it was altered")
    # how many parts there are stands before the comment; more than fit there is more than we write
    file.seek(max(size - len(found[0]) - _ENDING.size, 0))
    *_, count, _, _, _ = _ENDING.unpack(file.read(_ENDING.size))
    if count > _PARTS:
        raise broken(path, "its parts are not those that d2s writes")
    return size


def _checked(
    archive: zipfile.ZipFile, size: int, path: Where
) -> tuple[dict[str, Any], dict[str, bytes]]:
    infos = archive.infolist()
    names = [info.filename for info in infos]
    plain = all(
        info.compress_type == zipfile.ZIP_STORED and info.compress_size == info.file_size
        for info in infos
    )
    if not plain or len({*names}) != len(names) or sum(info.file_size for info in infos) > size:
        raise broken(path, "its parts are not those that d2s writes")
    by_name = dict(zip(names, infos, strict=True))
    if MANIFEST not in by_name or by_name[MANIFEST].file_size > _LONGEST:
        raise broken(path, "it has no manifest")
    try:
        head = archive.read(MANIFEST)
        manifest: Any = json.loads(head) if head.count(b",") < _ALL else None
        if not _is_description(head, manifest):
            raise ValueError
        checksums = dict(manifest["checksums"])
    except (ValueError, KeyError, TypeError, RecursionError):
        raise broken(path, "its manifest cannot be read") from None
    if {*names} != {MANIFEST, *checksums}:
        raise broken(path, "its parts are not those that its manifest names")
    parts = {name: archive.read(name) for name in checksums}
    for name, data in parts.items():
        if _sum(data) != checksums[name]:
            raise broken(path, f"{name!r} in it was altered")
    return manifest, parts


def _is_description(head: bytes, manifest: Any) -> bool:
    """Whether a manifest has no more in it than a function could need."""
    stack = [manifest]
    while stack:
        part = stack.pop()
        if isinstance(part, dict | list):
            if len(part) > _MOST:
                return False
            stack.extend(part.values() if isinstance(part, dict) else part)
    return head.count(b",") < _ALL


def _sum_of(file: BinaryIO, length: int) -> str:
    """The checksum of the beginning of a file."""
    found = hashlib.sha256()
    file.seek(0)
    while length and (data := file.read(min(length, _CHUNK))):
        found.update(data)
        length -= len(data)
    return found.hexdigest()


def _sum(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def broken(path: Where, why: str, fix: str = "") -> Error:
    """The refusal of a file."""
    return Error(
        f"{os.path.basename(os.fspath(path))} cannot be loaded: {why}",
        code="D2S061",
        fix=fix or "a whole file that d2s.save has written",
    )
