"""Tests that may be lost, and refusals that are meant, each with the reason.

Only what looks at frames, line tables, bytecode, reference counts or the recursion limit belongs
here: a program that does so sees the machinery, not the language.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

#: pattern of test ids -> why the test cannot hold for converted code
TESTS: dict[str, str] = {
    "test.test_call.TestPEP590.test_vectorcall_override": "the tuple that C code is handed",
    "test.test_coroutines.OriginTrackingTest.test_origin_tracking*": "frames of the caller",
    "test.test_descr.ClassPropertiesAndMethods.test_slots": "the number of all objects",
    "test.test_contextlib*.test_exit_exception_traceback": "frames of a traceback",
    "test.test_except_star.*.test_except_star_EG_subclass": "identity of traceback objects",
    "test.test_dis.*.test_*info*": "flags of the code object of a function of `dis`",
    "test.test_dis.CodeInfoTests.test_show_code": "flags of the code object of a function of `dis`",
    "test.test_exceptions.ExceptionTests.testExceptionCleanupState": "reference counts",
    "test.test_exceptions.ExceptionTests.testSettingException": "frames of the caller",
    "test.test_exceptions.PEP626Tests.*": "line tables, by way of sys.settrace",
    "test.test_funcattrs.CellTest.test_comparison": "the cell of a name without a value",
    "test.test_funcattrs.FunctionPropertiesTest.test___builtins__": "cells of the function",
    "test.test_funcattrs.FunctionPropertiesTest.test___closure__": "cells of the function",
    "test.test_patma.TestTracing.*": "sys.settrace",
    "test.test_positional_only_arg.*.test_annotations_constant_fold": "bytecode of `is`",
    "test.test_raise.TestTracebackType.test_attrs": "frames of the function itself",
    "test.test_super.TestSuper.test_obscure_super_errors": "cells and parameters super() looks up",
    "test.test_traceback.*_stack": "frames of the caller",
}

#: the same for tests that would not come to an end; they are not even started
ENDLESS: dict[str, str] = {
    # the time it takes doubles with every frame under the limit
    "test.test_exceptions.ExceptionTests.test_recursion_in_except_handler": "the recursion limit",
    "test.test_json.test_recursion.*.test_highly_nested_objects_*": "the recursion limit, 8 times",
}

#: part of a refusal's text -> why d2s refuses it
REFUSALS: dict[str, str] = {
    "shows names of a frame": "locals(), and eval and exec without names of their own",
}


def why_lost(test: str) -> str:
    """Why a test is not asked of converted code; empty when it is."""
    known = ENDLESS | TESTS
    return next((why for pattern, why in known.items() if fnmatchcase(test, pattern)), "")


def why_refused(text: str) -> str:
    """Why a refusal is as it should be; empty when it is not."""
    return next((why for part, why in REFUSALS.items() if part in text), "")
