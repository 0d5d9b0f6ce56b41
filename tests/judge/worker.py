"""One run of one test module in a process of its own, written down line by line.

    python -m tests.judge.worker OUT CONVERT TEST [MODULE...] [--skip FILE]

CONVERT is ``package.module:function``; the functions of the MODULEs are offered to it. A
process that dies or hangs leaves behind everything it has seen, and the test it was at.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
import tempfile
import traceback
import unittest
from collections import Counter
from pathlib import Path
from typing import Any

import test.support

import d2s
from d2s.runtime import engines
from tests.judge.loader import Finder, Offers, plain

#: characters of a traceback that are kept
TAIL = 4000


class Log:
    """The file of one run: a JSON object per line."""

    def __init__(self, path: str) -> None:
        self._file = open(path, "a", encoding="utf-8")  # noqa: SIM115 - open as long as the process
        self._pid = os.getpid()

    def __call__(self, entry: dict[str, Any]) -> None:
        if os.getpid() == self._pid:  # a test may fork
            self._file.write(json.dumps(entry) + "\n")
            self._file.flush()


class Result(unittest.TestResult):
    """Says of each test whether it passed, and if not, why."""

    def __init__(self, log: Log) -> None:
        super().__init__()
        self._log = log
        self._worst: tuple[str, str] = ("passed", "")

    def startTest(self, test: unittest.TestCase) -> None:
        super().startTest(test)
        self._worst = ("passed", "")
        self._log({"kind": "start", "id": test.judge_id})  # type: ignore[attr-defined]

    def stopTest(self, test: unittest.TestCase) -> None:
        super().stopTest(test)
        outcome, why = self._worst
        entry = {"kind": "end", "id": test.judge_id}  # type: ignore[attr-defined]
        self._log({**entry, "outcome": outcome, "why": why})

    def _failed(self, error: Any) -> None:
        if self._worst[0] != "failed":
            self._worst = ("failed", _text(error))

    def addError(self, test: Any, err: Any) -> None:
        if not hasattr(test, "judge_id"):  # set-up of a class or a module: nothing of it ran
            self._log({"kind": "end", "id": str(test), "outcome": "failed", "why": _text(err)})
        self._failed(err)

    def addFailure(self, test: Any, err: Any) -> None:
        self._failed(err)

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:
        if err is not None:
            self._failed(err)

    def addSkip(self, test: Any, reason: str) -> None:
        if self._worst[0] == "passed":
            self._worst = ("skipped", reason)

    def addExpectedFailure(self, test: Any, err: Any) -> None:
        self._worst = ("expected failure", "")

    def addUnexpectedSuccess(self, test: Any) -> None:
        self._worst = ("failed", "unexpected success")


def _text(error: Any) -> str:
    """What was raised, in one line, and then the end of the traceback."""
    kind, value, _ = error
    try:
        first = "".join(traceback.format_exception_only(kind, value)).splitlines()[0]
        return first + "\n" + "".join(traceback.format_exception(*error))[-TAIL:]
    except Exception:  # tests raise things that cannot be shown
        return f"{kind.__name__}, which cannot be shown"


def _named(suite: Any, skip: set[str]) -> unittest.TestSuite:
    """The tests in their order, each with a name of its own, without those to skip."""
    seen: Counter[str] = Counter()

    def copy(one: Any) -> Any:
        if isinstance(one, unittest.TestSuite):
            # the class of a suite may set things up
            kept = [made for child in one if (made := copy(child)) is not None]
            one._tests = kept
            return one
        seen[one.id()] += 1
        one.judge_id = one.id() + (f"#{seen[one.id()]}" if seen[one.id()] > 1 else "")
        return None if one.judge_id in skip else one

    result: unittest.TestSuite = copy(suite)
    return result


def run(log: Log, convert: Any, name: str, modules: list[str], skip: set[str]) -> None:
    if convert is not plain:
        # whatever the ops import, they import before any module is exchanged
        engines.backend("jax")
        d2s.convert(lambda: None)
    test.support.use_resources = []  # no network, no gigabytes
    Finder(modules, Offers(convert, log)).install()
    for module in modules:
        importlib.import_module(module)
    loaded = importlib.import_module(name)
    log({"kind": "imported"})
    suite = _named(unittest.TestLoader().loadTestsFromModule(loaded), skip)
    suite.run(Result(log))
    log({"kind": "done"})


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    parser.add_argument("convert")
    parser.add_argument("test")
    parser.add_argument("modules", nargs="*")
    parser.add_argument("--skip")
    given = parser.parse_args()
    module, _, attribute = given.convert.partition(":")
    convert = getattr(importlib.import_module(module), attribute)
    skip = set(json.loads(Path(given.skip).read_text())) if given.skip else set()
    log = Log(given.out)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        os.chdir(folder)
        try:
            run(log, convert, given.test, given.modules, skip)
        except BaseException as error:
            log({"kind": "died", "why": _text((type(error), error, error.__traceback__))})
        os.chdir(sys.prefix)


if __name__ == "__main__":
    main()
