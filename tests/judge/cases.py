"""What is judged: a test module of CPython's, and the library modules that it tests.

The functions of both are converted, with a few exceptions. Modules that a version of Python does
not have are left out.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Case:
    """A test module, the modules to convert, and whether the tests themselves are converted."""

    test: str
    modules: tuple[str, ...] = ()
    tests_too: bool = True

    @property
    def converted(self) -> tuple[str, ...]:
        return (self.test, *self.modules) if self.tests_too else self.modules

    @property
    def name(self) -> str:
        return self.test.removeprefix("test.").removeprefix("test_")

    def present(self) -> Case | None:
        """The case as far as this Python has it."""
        if not _is_there(self.test):
            return None
        return replace(self, modules=tuple(m for m in self.modules if _is_there(m)))


def _is_there(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


#: test module -> library modules
LIBRARY = {
    "abstract_numbers": "numbers",
    "argparse": "argparse gettext",
    "ast": "ast",
    "base64": "base64",
    "bisect": "bisect",
    "calendar": "calendar",
    "cmd": "cmd",
    "codeop": "codeop",
    "collections": "collections",
    "colorsys": "colorsys",
    "configparser": "configparser",
    "contextlib": "contextlib",
    "copy": "copy copyreg",
    "csv": "csv",
    "dataclasses": "dataclasses",
    "datetime": "datetime _pydatetime _strptime test.datetimetester",
    "decimal": "decimal _pydecimal",
    "difflib": "difflib",
    "dis": "dis opcode",
    "email": "email",
    "enum": "enum",
    "filecmp": "filecmp",
    "fileinput": "fileinput",
    "fnmatch": "fnmatch",
    "fractions": "fractions",
    "functools": "functools",
    "genericpath": "genericpath",
    "getopt": "getopt",
    "gettext": "gettext",
    "glob": "glob",
    "graphlib": "graphlib",
    "heapq": "heapq",
    "hmac": "hmac",
    "html": "html",
    "htmlparser": "html _markupbase",
    "http_cookies": "http.cookies",
    "inspect": "inspect",
    "ipaddress": "ipaddress",
    "json": "json",
    "keyword": "keyword",
    "linecache": "linecache",
    "locale": "locale",
    "logging": "logging",
    "mimetypes": "mimetypes",
    "netrc": "netrc",
    "ntpath": "ntpath",
    "nturl2path": "nturl2path",
    "operator": "operator",
    "optparse": "optparse",
    "ordered_dict": "collections test.mapping_tests",
    "pathlib": "pathlib",
    "pickle": "pickle test.pickletester",
    "pickletools": "pickletools test.pickletester",
    "plistlib": "plistlib",
    "posixpath": "posixpath",
    "pprint": "pprint",
    "queue": "queue",
    "quopri": "quopri",
    "random": "random",
    "re": "re",
    "reprlib": "reprlib",
    "robotparser": "urllib.robotparser",
    "sched": "sched",
    "secrets": "secrets",
    "selectors": "selectors",
    "shelve": "shelve test.mapping_tests",
    "shlex": "shlex",
    "statistics": "statistics",
    "string": "string",
    "stringprep": "stringprep",
    "strptime": "_strptime",
    "struct": "struct",
    "symtable": "symtable",
    "tabnanny": "tabnanny",
    "tempfile": "tempfile",
    "textwrap": "textwrap",
    "timeit": "timeit",
    "tokenize": "tokenize",
    "tomllib": "tomllib",
    "traceback": "traceback",
    "types": "types",
    "typing": "typing",
    "unparse": "ast",
    "urlparse": "urllib.parse",
    "userdict": "collections test.mapping_tests",
    "userlist": "collections test.list_tests test.seq_tests",
    "userstring": "collections test.string_tests",
    "uuid": "uuid",
    "weakref": "weakref _weakrefset test.mapping_tests",
    "weakset": "_weakrefset",
    "xml_dom_minicompat": "xml.dom",
    "minidom": "xml.dom",
    "xml_etree": "xml.etree",
    "zoneinfo": "zoneinfo",
}

#: tests of the language and its built-in types, some with the modules they share
LANGUAGE = {
    **dict.fromkeys(
        "abc asyncgen augassign baseexception binop bool builtin call class cmath compare complex "
        "contains contextlib_async copyreg coroutines decorators defaultdict descr descrtut "
        "dictcomps dictviews dynamicclassattribute enumerate except_star exception_group "
        "exception_hierarchy exception_variations exceptions extcall float flufl format "
        "fstring funcattrs future_stmt generator_stop generators genericalias genericclass genexps "
        "global grammar hash index int int_literal isinstance iter iterlen itertools "
        "keywordonlyarg listcomps long longexp math memoryview metaclass module "
        "named_expressions numeric_tower opcache opcodes patma pep646_syntax "
        "positional_only_arg pow print property raise range richcmp scope set setcomps slice sort "
        "string_literals structseq subclassinit super sundry syntax type_aliases "
        "type_annotations type_cache type_comments type_params typechecks unary "
        "unicode_identifiers unpack unpack_ex with yield_from".split(),
        "",
    ),
    "array": "test.seq_tests",
    "bytes": "test.string_tests test.list_tests test.seq_tests",
    "deque": "test.seq_tests",
    "dict": "test.mapping_tests",
    "list": "test.list_tests test.seq_tests",
    "str": "test.string_tests",
    "tuple": "test.seq_tests",
    "unicode": "test.string_tests",
}

#: tests that take their own code objects, frames or lines of source apart: only the modules they
#: are about are converted
ABOUT_CODE = frozenset({"dis", "inspect", "symtable", "traceback"})

#: quick ones that between them use most of the language; for every change
FIXED = (
    "textwrap configparser difflib json fractions statistics argparse "
    "grammar exceptions raise with patma named_expressions scope listcomps dictcomps unpack "
    "unpack_ex augassign class super extcall keywordonlyarg positional_only_arg decorators "
    "except_star exception_variations property string shlex heapq copy global funcattrs"
).split()


def all_cases() -> dict[str, Case]:
    """Every case that this Python has, by name."""
    tables = {**LANGUAGE, **LIBRARY}
    cases = (
        Case(f"test.test_{name}", tuple(tables[name].split()), name not in ABOUT_CODE)
        for name in sorted(tables)
    )
    return {case.name: case for one in cases if (case := one.present()) is not None}
