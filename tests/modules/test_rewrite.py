"""Module text in, module text out."""

from __future__ import annotations

import ast
import collections
import io
import pickle
import re
import sys
import textwrap
import tokenize
from pathlib import Path

import pytest

import d2s
from d2s.errors import ConversionError
from d2s.modules.modules import Module
from d2s.modules.rewrite import rewrite

from ..commands.written import module_of

STATIC = "import d2s\n\n\n@d2s.to_static\n"


def text_of(source: str) -> str:
    return textwrap.dedent(source).lstrip("\n")


def converted(source: str, **options) -> list[str]:
    return [f.qualname for f in rewrite(text_of(source), **options).converted]


def comments(text: str) -> collections.Counter[str]:
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return collections.Counter(t.string for t in tokens if t.type == tokenize.COMMENT)


# -- which functions ------------------------------------------------------------------------------

DECORATED = {
    "by module": "import d2s\n@d2s.to_static\ndef f(x): return x",
    "by alias": "import d2s as s\n@s.to_static\ndef f(x): return x",
    "by name": "from d2s import to_static\n@to_static\ndef f(x): return x",
    "by another name": "from d2s import to_static as ts\n@ts\ndef f(x): return x",
    "by everything": "from d2s import *\n@to_static\ndef f(x): return x",
    "by submodule": "import d2s.api\n@d2s.api.to_static\ndef f(x): return x",
    "from the submodule": "from d2s.api import to_static\n@to_static\ndef f(x): return x",
    "called": "import d2s\n@d2s.to_static()\ndef f(x): return x",
    "called with arguments": "import d2s\n@d2s.to_static(\n    a=1)\ndef f(x): return x",
    "among others": "import d2s\n@a\n@d2s.to_static\n@b(1)\ndef f(x): return x",
    "imported under a condition": "if 1:\n    import d2s as s\n@s.to_static\ndef f(x): return x",
    "imported in a try": (
        "try:\n    from d2s import to_static\nexcept ImportError:\n    def to_static(f): return f\n"
        "@to_static\ndef f(x): return x"
    ),
    "imported where it stands": (
        "def outer():\n    from d2s import to_static\n    @to_static\n    def f(x): return x"
    ),
    "imported in the class": (
        "class A:\n    from d2s import to_static\n    @to_static\n    def f(x): return x"
    ),
}


@pytest.mark.parametrize("source", DECORATED.values(), ids=DECORATED)
def test_decorated_functions_are_found(source):
    (name,) = converted(source)
    assert name.rpartition(".")[2] == "f"


OTHERS = {
    "nothing": "import d2s\ndef f(x): return x",
    "another module of that name": "from . import d2s\n@d2s.to_static\ndef f(x): return x",
    "another function of that name": "from x import to_static\n@to_static\ndef f(x): return x",
    "hidden by an argument": (
        "from d2s import to_static\ndef o(to_static):\n    @to_static\n    def f(x): return x"
    ),
    "never imported": "@d2s.to_static\ndef f(x): return x",
    "another decorator": "import d2s\n@d2s.convert\ndef f(x): return x",
}


@pytest.mark.parametrize("source", OTHERS.values(), ids=OTHERS)
def test_other_functions_are_not(source):
    assert converted(source) == []


PLACES = """
import d2s

def f(x): return x

class A:
    def m(self): return 1
    class B:
        def m(self): return 1

def outer():
    def inner(x): return x
    return inner

if f:
    def g(x): return x
else:
    try:
        def g(x): return x
    except ValueError:
        def h(x): return x

def gen():
    def inner(x): return x
    yield inner

async def co(): pass

@d2s.do_not_convert
def alone(x): return x
"""


def test_everything_is_everything_that_can_be():
    result = rewrite(PLACES, everything=True)
    names = [f.qualname for f in result.converted]
    assert names == ["f", "A.m", "A.B.m", "outer", "g", "g", "h", "gen.inner"]
    assert [(f.qualname, why) for f, why in result.left] == [
        ("gen", "it is a generator"),
        ("co", "it is a coroutine"),
        ("alone", "it is marked with d2s.do_not_convert"),
    ]


@pytest.mark.parametrize("name", ["f", "A.m", "A.B.m", "outer.inner", "gen.inner", "h"])
def test_functions_by_name(name):
    assert converted(PLACES, functions=[name]) == [name]


def test_all_functions_of_a_name():
    assert converted(PLACES, functions=["g"]) == ["g", "g"]


def test_a_function_inside_a_converted_one_is_part_of_it():
    assert converted(PLACES, functions=["outer", "outer.inner"]) == ["outer"]


def test_what_cannot_be_converted_is_an_error_when_it_was_asked_for():
    with pytest.raises(ConversionError, match="gen cannot be converted: it is a generator"):
        rewrite(PLACES, functions=["gen"])


def test_unsupported_syntax_names_its_line():
    source = STATIC + "def f(x):\n    y = 1\n    return eval('x')\n"
    with pytest.raises(ConversionError) as caught:
        rewrite(source, "model.py")
    assert caught.value.site.filename == "model.py"
    assert caught.value.site.line == 7
    assert [f.qualname for f, _ in rewrite(source, everything=True).left] == ["f"]


# -- what is kept ---------------------------------------------------------------------------------

BODY = "    if x > 0:  # sign\n        x = x + 1\n    return x"


def test_the_rest_is_kept():
    head = (
        "#!/usr/bin/python\n'''Doc.'''\n\f\nimport d2s\nx = [1,\n  2]   # two\n\n"
        "@d2s.to_static  # d\n"
    )
    tail = "\n\n\t\n# end\nlast   =  1;  y = 2 # no newline"
    new = rewrite(f"{head}def f(x):\n{BODY}{tail}").text
    assert new.startswith(f"{head}@d2s.generated\ndef f(x):\n") and new.endswith(f"return x{tail}")


ODD = {
    "one line": STATIC + "def f(x): return x if x > 0 else -x  # one\n",
    "one line with several statements": STATIC + "def f(x): y = x; y += 1; return y or 1;  # c\n",
    "no newline at the end": STATIC + "def f(x): return x or 1",
    "no newline after a comment": STATIC + "def f(x):\n    return x or 1  # c",
    "tabs": STATIC + "def f(x):\n\tif x > 0:\n\t\tx += 1\n\treturn x\n",
    "two spaces": STATIC + "def f(x):\n  if x > 0:\n    x += 1\n  return x\n",
    "form feeds": "import d2s\n\f\n\f@d2s.to_static\n\fdef f(x):\n    return x or 1\n\f\n",
    "a form feed in a class": "import d2s\nclass A:\n  \f  x = 1\n",
    "tabs around": (
        "import d2s\nif 1:\n\t@d2s.to_static\n\tdef f(x):\n\t    return x or 1\n\tf.a = 1\n"
    ),
    "a comment before def": STATIC + "# here\ndef f(x):\n    return x or 1\n    # after\n# more\n",
    "a comment without depth": STATIC
    + "def f(x):\n# none\n    x += 1\n# none too\n    return x or 1\n",
    "wide characters": STATIC + "def f(x, é=1): return 'é𝄞', x or é  # é𝄞\n",
    "a name that is normalised": STATIC + "def f(x): ﬁ = 1; return x or fi\n",
    "a signature of several lines": STATIC
    + "def f(\n    x,  # a\n    y=1,  # b\n) -> None:  # c\n  return x or y\n",
    "a body behind a backslash": STATIC + "def f(x): \\\n  return x or 1\n",
    "an end behind a backslash": STATIC + "def f(x): return x or 1; \\\n\ny = 2\n",
    "a decorator of several lines": (
        "import d2s\n@d2s.to_static\n@(lambda\n  f: f)\ndef f(x): return x or 1\n"
    ),
    "a multi-line string": STATIC
    + "def f(x):\n    y = '''a\n  b\n\tc'''\n    return (x or 1, y)\n",
    "a multi-line f-string": STATIC
    + "def f(x):\n    y = f'''a\n  {x}b\n\tc'''\n    return (x or 1, y)\n",
    "a string over a line": STATIC + "def f(x):\n    y = 'a\\\n  b'\n    return (x or 1, y)\n",
    "comments in expressions": STATIC
    + "def f(x):\n    y = [  # a\n        x,  # b\n        # c\n    ]  # d\n    return y or 1\n",
    "comments at what goes": STATIC
    + "def f(x):\n    for i in range(3):  # a\n        if x > i:  # b\n            break  # c\n"
    "        else:  # d\n            pass  # e\n        continue  # f\n    # g\n"
    "    return x  # h\n",
    "comments around except": STATIC + "def f(x):\n    try:  # a\n        # b\n        y = 1 / x\n"
    "    except ZeroDivisionError:  # c\n"
    "        # d\n        y = 0  # e\n    else:  # f\n        y += 1  # g\n    return y\n",
    "a comment that looks like a mark": STATIC
    + "def f(x):\n    d2s_comment_0 = x  # a\n    return d2s_comment_0 or 'd2s_comment_0'\n",
    "only a docstring": STATIC + "def f(x):\n    '''Doc.'''  # a\n    # b\n",
    "only dots": STATIC + "def f(x): ...  # a\n",
    "a comment with a carriage return": STATIC + "def f(x):\n    return x or 1  # a\\r\n",
    "future": (
        "'''Doc.'''\nfrom __future__ import annotations\nfrom d2s import to_static\n"
        "@to_static\ndef f(x: int) -> Never: return x or 1\n"
    ),
}


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
@pytest.mark.parametrize("source", ODD.values(), ids=ODD)
def test_odd_text(source, ends, tmp_path):
    """The module means the same, comments survive, lines end as they did, again changes nothing."""
    result = rewrite(source.replace("\n", ends), everything=True)
    ended = re.findall(r"\r\n|\r|\n", result.text)
    assert set(ended) <= {ends}
    text = re.sub(r"\r\n|\r", "\n", result.text)
    assert comments(text) == comments(source)
    again = rewrite(result.text, everything=True)
    assert again.text == result.text and not again.converted
    plain = module_of(source, tmp_path, functions=["nothing"])
    module = module_of(source.replace("\n", ends), tmp_path, everything=True)
    for x in (0, 3, -2):
        if hasattr(plain, "f"):
            assert d2s.convert(module.f)(x) == d2s.convert(plain.f)(x)


def test_docstrings_keep_their_value(tmp_path):
    source = text_of('''
        import d2s


        class A:
            class B:
                @staticmethod
                @d2s.to_static
                def f(x):
                    """First.

                      Indented \\t "quoted" \\\\ ünï
                    """
                    return x or """a
                b"""
        ''')
    plain = module_of(source, tmp_path, functions=["nothing"])
    module = module_of(source, tmp_path)
    assert module.A.B.f.__doc__ == plain.A.B.f.__doc__
    assert module.A.B.f.original(0) == plain.A.B.f.original(0)


def test_a_function_that_does_not_change_keeps_its_text():
    function = "def f( x ):\n\n    return   (x +\n        1)  # odd\n"
    assert rewrite(STATIC + function).text == f"{STATIC}@d2s.generated\n{function}"


def test_trailing_comments_stay_behind_their_statement():
    new = rewrite(STATIC + "def f(x):  # head\n    y = x or 1  # or\n    return y  # end\n").text
    assert new.endswith(
        "def f(x):  # head\n    y = d2s.or_(x, lambda: 1)  # or\n    return y  # end\n"
    )


# -- imports --------------------------------------------------------------------------------------

F = "def f(x):\n    return x or 1\n"
G = "@{0}.generated\ndef f(x):\n    return {0}.or_(x, lambda: 1)\n"
IMPORTS = {
    "nothing": (F, "import d2s\n\n\n" + G),
    "a docstring": ("'''Doc.'''\n" + F, "'''Doc.'''\nimport d2s\n\n\n" + G),
    "future": (
        "'''Doc.'''\nfrom __future__ import annotations\n\nx = 1\n" + F,
        "'''Doc.'''\nfrom __future__ import annotations\n\nimport d2s\n\nx = 1\n" + G,
    ),
    "imports": ("#!python\n# a\nimport os\n" + F, "#!python\n# a\nimport d2s\nimport os\n" + G),
    "from d2s": (
        "import os\nfrom d2s import convert\n" + F,
        "import os\nimport d2s\nfrom d2s import convert\n" + G,
    ),
    "comments above the function": ("# a\n\n# b\n" + F, "# a\n\nimport d2s\n\n\n# b\n" + G),
    "a cookie": ("# coding: utf-8\n" + F, "# coding: utf-8\nimport d2s\n\n\n" + G),
    "already": ("import d2s\n" + F, "import d2s\n" + G),
    "too late": (F + "import d2s\n", "import d2s\n\n\n" + G + "import d2s\n"),
    "perhaps": ("if 1:\n    import d2s\n" + F, "import d2s\n\nif 1:\n    import d2s\n" + G),
    "by another name": ("import d2s as s\n" + F, "import d2s\nimport d2s as s\n" + G),
    "on a line with others": (
        "'''Doc.'''; import os; import d2s as s\n" + F,
        "'''Doc.'''; import os; import d2s as s\nimport d2s\n\n\n" + G,
    ),
}


@pytest.mark.parametrize("source, expected", IMPORTS.values(), ids=IMPORTS)
def test_d2s_is_imported(source, expected):
    assert rewrite(source, everything=True).text == expected.replace("{0}", "d2s")


TAKEN = {
    "a variable": "d2s = 1\n" + F,
    "a class": "class d2s: pass\n" + F,
    "another module": "import json as d2s\n" + F,
    "a global": "def h():\n    global d2s\n    d2s = 1\nh()\n" + F,
    "something else, perhaps": "try:\n    import d2s\nexcept ImportError:\n    d2s = None\n" + F,
    "an argument": "def f(x, d2s=1):\n    return x or d2s\n",
    "a local name": "import d2s\ndef f(x):\n    d2s = x\n    return d2s or 1\n",
    "a name of an inner function": (
        "import d2s\ndef f(x):\n    def g(d2s): return d2s or 1\n    return d2s.convert(g)(x)\n"
    ),
    "an import in the function": "def f(x):\n    g = lambda d2s: d2s or 1\n    return g(x)\n",
    "both": "d2s = 1\nd2s_ = 2\n" + F,
}


@pytest.mark.parametrize("source", TAKEN.values(), ids=TAKEN)
def test_another_name_when_that_is_taken(source, tmp_path):
    new = rewrite(source, everything=True).text
    name = re.search(r"import d2s as (d2s_\w*)", new)[1]
    assert f"@{name}.generated" in new
    module = module_of(source, tmp_path, everything=True)
    assert module.f(0) == 1 and module.f(5) == 5
    assert rewrite(new, everything=True).text == new


def test_a_name_of_a_function_around(tmp_path):
    source = "import d2s\ndef outer(d2s):\n    def f(x):\n        return x or d2s\n    return f\n"
    module = module_of(source, tmp_path, functions=["outer.f"])
    assert module.outer(7)(0) == 7


def test_a_name_of_the_class_around(tmp_path):
    source = (
        "import d2s\nclass A:\n    d2s = 3\n    def f(self, x):\n        return x or self.d2s\n"
    )
    assert module_of(source, tmp_path, everything=True).A().f(0) == 3


LIBRARIES = {
    "import jax.numpy as jnp\n": "jnp.sum(x)",
    "from jax import numpy as jnp\n": "jnp.sum(x)",
    "import jax\n": "jax.numpy.sum(x)",
    "import jax.scipy.special\n": "jax.scipy.special.erf(x)",
    "from jax.scipy import special as s\n": "s.erf(x)",
    "if 1:\n    import jax.numpy as jnp\n": "jnp.sum(x)",
}


@pytest.mark.parametrize("head, call", LIBRARIES.items())
def test_calls_into_libraries_are_left_alone(head, call):
    assert call in rewrite(f"{head}def f(x):\n    return {call} or 1\n", everything=True).text


UNSURE = {
    "rebound": "import jax.numpy as jnp\njnp = None\ndef f(x):\n    return jnp.sum(x)\n",
    "two": (
        "if x:\n    import numpy as jnp\nelse:\n    import jax.numpy as jnp\n"
        "def f(x): return jnp.sum(x)\n"
    ),
    "an argument": "import jax.numpy as jnp\ndef f(jnp, x): return jnp.sum(x)\n",
    "of a function around": "import jax.numpy as jnp\ndef o(jnp):\n  def f(x): return jnp.sum(x)\n",
    "global": (
        "import jax.numpy as jnp\ndef o():\n  global jnp\n  jnp = 1\ndef f(x): return jnp.sum(x)\n"
    ),
}


@pytest.mark.parametrize("source", UNSURE.values(), ids=UNSURE)
def test_calls_of_unsure_names_are_not(source):
    assert "fn(jnp.sum)(x)" in rewrite(source, functions=["f", "o.f"]).text


def test_a_library_of_the_function_around(tmp_path):
    source = (
        "def o():\n    import jax.numpy as jnp\n    def f(x): return jnp.sum(x) or 1\n"
        "    return f\n"
    )
    assert "or_(jnp.sum(x)" in rewrite(source, functions=["o.f"]).text


def test_the_module_is_not_imported(tmp_path):
    module = "import does_not_exist, jax.does_not_exist\nfrom d2s import nothing\n1 / 0\n"
    assert rewrite(module + F, everything=True).converted


# -- how written functions behave -----------------------------------------------------------------

WRITTEN = '''
import d2s


class Base:
    def size(self, x):
        return x + 1


class Net(Base):
    """A class with private names."""

    def __init__(self):
        self.__scale = 2

    @d2s.to_static
    def size(self, x):
        """Size."""
        if x > 0:
            return super().size(x) * self.__scale
        return x

    @classmethod
    def make(cls, n):
        return cls() if n else None

    @property
    def scale(self):
        return self.__scale or 1

    def __call__(self, x):
        return x if x > 0 else -x


def plain(x, /, y: int = 2, *, z=3):
    """Plain."""
    if x > 0:
        return x
    plain.calls = getattr(plain, 'calls', 0) + 1
    return y


@d2s.to_static
def static(x, y=1):
    return plain(x) + y if x > 0 else Net()(x)


@d2s.to_static
def counted(x):
    counted_calls(x)
    return x


def counted_calls(x):
    counted_calls.number = 1
'''


@pytest.fixture(scope="module")
def module(tmp_path_factory):
    made = module_of(WRITTEN, tmp_path_factory.mktemp("written"), everything=True)
    made.plain.kept = 1
    return made


def test_the_function_is_the_one_that_was_written(module):
    assert d2s.convert(module.plain) is module.plain
    assert not hasattr(module.plain, "__wrapped__")
    assert d2s.generated(module.plain) is module.plain
    assert module.static.function is module.static.original


def test_name_signature_docstring_and_pickle(module):
    import inspect

    assert str(inspect.signature(module.plain)) == "(x, /, y: int = 2, *, z=3)"
    assert module.plain.__doc__ == "Plain." and module.Net.size.__doc__ == "Size."
    assert module.plain.__qualname__ == "plain"
    assert pickle.loads(pickle.dumps(module.plain)) is module.plain
    assert inspect.getsource(module.plain).startswith("@d2s.generated\ndef plain")


def test_methods(module):
    net = module.Net()
    assert net.size(3) == 8 and net.size(-1) == -1
    assert module.Net.make(0) is None and isinstance(module.Net.make(1), module.Net)
    assert net.scale == 2 and net(-3) == 3
    assert d2s.convert(lambda n: n(-4))(net) == 4


def test_static_functions(module):
    assert module.static(2) == 3 and module.static(-2) == 2
    assert isinstance(module.static, d2s.StaticFunction)


def test_the_text_of_a_written_function(module):
    text = d2s.to_code(module.static)
    assert text.startswith("def static(x, y=1):\n    return d2s.cond(x > 0, lambda: ")
    assert ast.parse(text) and text in Path(module.__file__).read_text()
    assert d2s.to_code(module.Net.scale.fget).startswith("def scale(self):\n    return d2s.or_")


def test_blocks_have_the_name_of_their_function(tmp_path):
    """As in memory: in tracebacks, and in the qualified names of what is made inside."""
    source = "def f(x):\n    if x > 0:\n        def g(): return x\n    return g\n"
    plain = module_of(source, tmp_path, functions=["nothing"])
    made = module_of(source, tmp_path, everything=True)
    assert made.f(1).__qualname__ == d2s.convert(plain.f)(1).__qualname__ == "f.<locals>.g"
    with pytest.raises(UnboundLocalError) as caught:
        made.f(0)
    assert caught.traceback[1].name == "f"


def test_writes_to_a_written_function_are_seen(module, tmp_path):
    """As with functions converted in memory: such a write would happen only once."""
    plain = module_of(WRITTEN, tmp_path, functions=["Net.__call__"])
    for space in (plain, module):
        with pytest.raises(d2s.Error) as caught:
            space.counted(1.0)
        assert caught.value.code == "D2S080"


def test_tracebacks_show_the_written_lines(tmp_path):
    made = module_of(
        "def f(x):\n    if x > 0:\n        return 1 / 0\n    return x\n", tmp_path, everything=True
    )
    with pytest.raises(ZeroDivisionError) as caught:
        made.f(1)
    frame = caught.traceback[-1]
    assert Path(frame.path) == Path(made.__file__)
    assert str(frame.statement).strip() == "return 1 / 0"


def test_generated_is_for_functions():
    with pytest.raises(d2s.Error, match="D2S001"):
        d2s.generated(3)


# -- the same on every version --------------------------------------------------------------------

CASES = sorted((Path(__file__).parent / "cases").glob("*.py"))


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_what_modules_become(path):
    """Trees are compared: Python's versions lay text out a little differently."""
    if path.stem.endswith("_312") and sys.version_info < (3, 12):
        pytest.skip("syntax of Python 3.12")
    source, _, expected = path.read_text(encoding="utf-8").partition("# output\n")
    new = rewrite(source, str(path)).text
    assert ast.dump(ast.parse(new), indent=1) == ast.dump(ast.parse(expected), indent=1)
    assert comments(new) == comments(expected)


def test_a_module_is_parsed_once_and_whole():
    with pytest.raises(SyntaxError, match="null"):
        Module("x = 1\0", "f.py")
