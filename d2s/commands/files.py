"""Python files as they are on the disk: encoding, line ends, which ones, where to."""

from __future__ import annotations

import ast
import contextlib
import io
import os
import shutil
import tempfile
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from d2s.commands.mistakes import Mistake, from_os, from_syntax


@dataclass(frozen=True)
class Source:
    """A file's bytes and the text they stand for."""

    path: Path
    data: bytes
    encoding: str
    text: str

    def encoded(self, text: str) -> bytes:
        """Other text in the encoding of this file."""
        try:
            return text.encode(self.encoding)
        except UnicodeEncodeError:
            # generated text writes out what the user may have written with a backslash
            data = text.encode(self.encoding, "backslashreplace")
            if ast.dump(ast.parse(data.decode(self.encoding))) != ast.dump(ast.parse(text)):
                what = f"the generated code cannot be written in {self.encoding}"
                raise Mistake(what, self.path) from None
            return data


def read(path: Path) -> Source:
    """Read a file the way Python would; raises `Mistake` where Python could not."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise from_os(error, path) from error
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        text = data.decode(encoding)
    except SyntaxError as error:
        raise from_syntax(error, path) from error
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        what = f"not {error.encoding} text; a file in another encoding says so in its first line"
        raise Mistake(what, path, line) from error
    except LookupError as error:
        raise Mistake(str(error), path, 1) from error
    if text.encode(encoding) != data:
        raise Mistake(f"its {encoding} text cannot be written back byte for byte", path)
    return Source(path, data, encoding, text)


def write(path: Path, data: bytes, like: Path) -> None:
    """Write a file whole or not at all, with the permissions of the file it was made from."""
    place = path.resolve()  # a link stays a link
    try:
        if place.exists() and not place.is_file():  # a device or a pipe
            place.write_bytes(data)
            return
        handle, name = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name}.")
        try:
            with open(handle, "wb") as file:
                file.write(data)
            shutil.copymode(place if place.exists() else like, name)
            os.replace(name, place)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise
    except OSError as error:
        raise from_os(error, path) from error


@dataclass(frozen=True)
class Job:
    """A file to convert and where the result goes; without a target it is printed."""

    source: Path
    target: Path | None


@dataclass(frozen=True)
class FilePlan:
    """What is to be done."""

    jobs: tuple[Job, ...]
    #: files of the given folders that are not Python
    others: tuple[Path, ...]
    #: whether the user named a folder
    has_folder: bool


def plan(paths: list[Path], output: str | None, needs_output: bool) -> FilePlan:
    """Find the files and their targets; raises `Mistake` before anything is written."""
    out = None if output is None else Path(output)
    folders = [path for path in paths if path.is_dir()]
    if out is None and needs_output and (folders or len(paths) > 1):
        first = folders[0] if folders else paths[1]
        raise Mistake("-o is missing: more than one file needs a folder to go to", first)
    into_folder = out is not None and (bool(folders) or len(paths) > 1 or _is_folder(output))
    if into_folder and out is not None and out.exists() and not out.is_dir():
        raise Mistake("not a folder, and several files go there", out)
    jobs: list[Job] = []
    others: list[Path] = []
    for path in paths:
        if not path.exists():
            raise Mistake("no such file or folder", path)
        if not path.is_dir():
            jobs.append(Job(path, out / path.name if into_folder and out is not None else out))
            continue
        base = out if out is None or len(paths) == 1 else out / path.resolve().name
        found = sorted(_files(path, out))
        python = [file for file in found if file.suffix == ".py"]
        if not python:
            raise Mistake("no Python file in this folder", path)
        others += [file for file in found if file.suffix != ".py"]
        jobs += [Job(f, None if base is None else base / f.relative_to(path)) for f in python]
    _check_targets(jobs, paths, out)
    return FilePlan(tuple(jobs), tuple(others), bool(folders))


def _is_folder(output: str | None) -> bool:
    return output is not None and (output.endswith(os.sep) or Path(output).is_dir())


def _files(folder: Path, out: Path | None) -> Iterator[Path]:
    """The files below a folder, without hidden ones, caches, environments, and the output."""

    def fail(error: OSError) -> None:
        raise from_os(error) from error

    for name, folders, files in os.walk(folder, onerror=fail):
        here = Path(name)
        folders[:] = [f for f in folders if not _is_skipped(here / f, folder, out)]
        yield from (here / file for file in files if not file.startswith("."))


def _is_skipped(path: Path, folder: Path, out: Path | None) -> bool:
    return (
        path.name.startswith(".")
        or path.name == "__pycache__"
        or (path / "pyvenv.cfg").exists()
        or (out is not None and out.exists() and path.samefile(out))
    )


def _check_targets(jobs: Iterable[Job], paths: list[Path], out: Path | None) -> None:
    """No file goes where another one goes; a source is overwritten only when that was said."""
    if out is None:
        return
    named = len(paths) == 1 and out.exists() and out.samefile(paths[0])
    sources = {job.source.resolve() for job in jobs}
    seen: dict[Path, Path] = {}
    for job in jobs:
        assert job.target is not None
        target = job.target.resolve()
        if target in seen:
            raise Mistake(f"{seen[target]} goes to the same place", job.source)
        seen[target] = job.source
        if target in sources and not named:
            raise Mistake(f"would be overwritten; if you mean that, -o {job.target}", job.target)
