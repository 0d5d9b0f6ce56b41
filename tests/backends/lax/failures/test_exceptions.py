"""Exceptions as whole objects: messages, attributes, the fields of Python's own, which object."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import enum
import io

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import d2s

F = jnp.float32
ODD = ValueError("const")
made = 0
log: list[object] = []


def shown(value):
    """A value in terms that can be compared."""
    if isinstance(value, jax.Array):
        return "array", np.asarray(value).tolist(), str(value.dtype)
    if isinstance(value, BaseException):
        return repr(value)
    if isinstance(value, tuple | list):
        return [shown(part) for part in value]
    return type(value).__name__, value


FIELDS = (
    *("errno", "strerror", "filename", "filename2", "name", "path", "msg", "obj", "code", "value"),
    *("encoding", "object", "start", "end", "reason", "v", "where", "parts"),
)


def outcome(function, *args):
    """What a call printed, and returned or raised, with all that the exception knows."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        try:
            result = shown(function(*args))
        except d2s.Error:
            raise
        except BaseException as error:
            fields = {n: shown(getattr(error, n)) for n in FIELDS if hasattr(error, n)}
            result = type(error).__name__, str(error), repr(error), shown(error.args), fields
    return output.getvalue(), result


def agree(function, *inputs):
    """Plain and static do the same on each of the inputs."""
    static = d2s.to_static(function)
    for args in inputs:
        given = args if isinstance(args, tuple) else (args,)
        assert outcome(static, *given) == outcome(function, *given)


# -- constructors ----------------------------------------------------------------------------------


class Bad(ValueError):
    def __init__(self, v, where="here"):
        super().__init__(f"bad {v} at {where}")
        self.v = v
        self.where = where


class Worse(Bad):
    def __init__(self, v, *, where, parts=()):
        super().__init__(v + 1, where=where)
        self.parts = [*parts, v]


class Percent(Exception):
    def __init__(self, v):
        self.v = v
        Exception.__init__(self, "%.2f" % v, "{:.1f} or {}".format(v, 3), str(v))  # noqa: UP032


class FromNew(Exception):
    def __new__(cls, v):
        self = super().__new__(cls, f"new {v}")
        self.v = v
        return self


class Graded(Exception):
    def __init__(self, v):
        if v > 5:
            super().__init__(v, "large")
            self.v = v
        else:
            super().__init__(-v, "small")
            self.v = 0 * v


class Default(Exception):
    def __init__(self, message=None):
        super().__init__(message or "default")


class Noted(Exception):
    def __init__(self, v):
        super().__init__(v)
        self.add_note(f"noted {v}")


class Above(Exception):
    def __str__(self):
        return f"above: {super().__str__()}"


class Picky(Exception):
    def __init__(self, v):
        if v > 3.5:
            raise TypeError(f"not {v}")
        super().__init__(v)


@dataclasses.dataclass
class Record(Exception):
    v: object
    where: str = "there"


def raises(make):
    def f(x):
        if x > 2:
            raise make(x)
        return x

    return f


@pytest.mark.parametrize(
    "make",
    [
        lambda x: Bad(x, "go"),
        lambda x: Bad(x),
        lambda x: Bad(where=f"<{x}>", v=x * 2),
        lambda x: Worse(x, where="deep", parts=(1, x)),
        lambda x: Percent(x),
        lambda x: FromNew(x),
        lambda x: Default(f"{x}"),
        lambda x: Default(),
        lambda x: Noted(x),
        lambda x: Above(f"at {x}"),
        lambda x: Picky(x),
        lambda x: ExceptionGroup(f"all {x}", [ValueError(1)]),
        lambda x: Record(x),
        lambda x: Record(x, where=f"{x:.1f}"),
    ],
)
def test_constructors_are_converted(make):
    agree(raises(make), F(1), F(3), F(4))


def test_a_message_that_a_constructor_chooses_is_right_or_refused():
    try:
        agree(raises(Graded), F(1), F(3), F(7))
    except d2s.Error as error:
        assert error.code in ("D2S013", "D2S024")


def test_caught_inside():
    def f(x):
        try:
            if x > 2:
                raise Bad(x, where="go")
        except Bad as e:
            print(e, e.v, f"{e}", str(e), e.where)
            return e.v + 1
        return x

    agree(f, F(1), F(3))


def test_caught_inside_for_certain():
    def f(x):
        try:
            raise Bad(x)
        except Bad as e:
            print("sure:", e, e.v)
            return e.v

    agree(f, F(1), F(3))


def test_one_place_with_several_attributes():
    def f(x):
        for i in range(3):
            if x > 2 - i:
                error = Bad(0)
                error.v = i
                raise error
        return x

    agree(f, F(0), F(1), F(2), F(3))


class Numbered(Exception):
    def __init__(self, v):
        super().__init__("same")
        self.v = v


def test_one_place_with_several_attributes_of_other_types():
    def f(x):
        for limit, v in ((3, 1), (2, True), (1, 1.0), (0, "1")):
            if x > limit:
                raise Numbered(v)
        return x

    agree(f, F(0), F(1), F(2), F(3), F(4))


class Printing(Exception):
    def __init__(self, v):
        print("made with", v)
        super().__init__(v)


class Counting(Exception):
    def __init__(self, v):
        global made
        made += 1
        super().__init__(v)


class Logging(Exception):
    def __init__(self, v):
        log.append(v)
        super().__init__(v)


class CountingInClass(Exception):
    count = 0

    def __init__(self, v):
        CountingInClass.count += 1
        super().__init__(v)


def counts():
    return made, len(log), CountingInClass.count


def test_what_constructors_print_is_printed_when_it_is_raised():
    agree(raises(Printing), F(1), F(3), F(4))


@pytest.mark.parametrize("kind", [Counting, Logging, CountingInClass])
@pytest.mark.parametrize("is_read", [False, True])
def test_what_constructors_count_is_right_or_refused(kind, is_read):
    function = raises(kind)

    def reading(x):
        return function(x) + sum(counts())

    static = d2s.to_static(reading if is_read else function)
    before = sum(counts())
    try:
        assert static(F(1)) == 1 + before * is_read
        assert sum(counts()) == before
        for n in (1, 2):
            with pytest.raises(kind):
                static(F(3))
            assert sum(counts()) == before + n
    except d2s.Error as error:
        assert error.code in ("D2S024", "D2S080")
        assert sum(counts()) == before


class NeedsLetters(Exception):
    def __init__(self, v):
        super().__init__(f"{v}".upper())


def test_letters_that_a_constructor_needs_are_refused():
    with pytest.raises(d2s.StagingError) as caught:
        d2s.to_static(raises(NeedsLetters))(F(1))
    assert caught.value.code == "D2S020"
    assert caught.value.site.function == "__init__"


# -- fields ----------------------------------------------------------------------------------------


class Slotted(Exception):
    __slots__ = ("v", "where")

    def __init__(self, v):
        self.v = v


class SlottedNone(Slotted):
    __slots__ = ("__own", "parts")

    def __init__(self, v):
        self.__own = v
        self.where = None
        self.v = self.__own + 1

    def __str__(self):
        return f"own {self.__own}"


class OwnOsError(OSError):
    def __init__(self, v):
        super().__init__(3, f"own {v}", "file")
        self.v = v


class Hidden(OSError):
    errno = 7

    @property
    def filename(self):
        return f"hidden {self.strerror}"


class HiddenCode(SystemExit):
    code = 3

    def __init__(self, v):
        super().__init__(v)
        self.where = "there"


def stop(x):
    return StopIteration(x, 3)


@pytest.mark.parametrize(
    "make",
    [
        lambda x: FileNotFoundError(2, "no such", f"f{x}"),
        lambda x: OSError(2, f"no such {x}", "from", None, f"to {x}"),
        lambda x: OSError(22, "wrong"),
        lambda x: ConnectionError(f"only {x}"),
        lambda x: ImportError("no mod", name=f"zz{x}", path="/p"),
        lambda x: ModuleNotFoundError(f"no {x}", name="zz"),
        lambda x: AttributeError("a", name="q", obj=(1, 2)),
        lambda x: AttributeError("a", name="q", obj=x),
        lambda x: NameError("a", name=f"q{x}"),
        lambda x: SystemExit(x),
        lambda x: UnicodeDecodeError("utf8", b"ab", 1, 2, "no"),
        lambda x: UnicodeEncodeError("ascii", "ab", 0, 1, f"no {x}"),
        lambda x: KeyError(f"k{x}"),
        lambda x: Slotted(x),
        lambda x: SlottedNone(x),
        lambda x: OwnOsError(x),
        lambda x: Hidden(2, "no such", f"f{x}"),
        lambda x: HiddenCode(x),
        lambda x: SyntaxError(f"m{x}", ("file", 3, 4, "text")),
    ],
)
def test_fields_are_kept(make):
    agree(raises(make), F(1), F(3), F(4))


def test_a_value_of_stop_iteration():
    def f(x):
        if x > 2:
            raise stop(x)
        return x

    agree(f, F(1), F(3))


def test_fields_in_a_handler():
    def f(x):
        try:
            if x > 3:
                raise FileNotFoundError(2, f"no such {x}", f"f{x}")
            if x > 2:
                raise Slotted(x)
            if x > 1:
                raise KeyError(f"k{x}")
        except OSError as e:
            print(e, e.filename, e.errno, e.strerror)
        except Slotted as e:
            print(e.v)
        except KeyError as e:
            print(e, f"{e}", str(e))
        return x

    agree(f, F(1), F(2), F(3), F(4))


class Holder:
    pass


def test_a_field_that_cannot_be_kept_is_refused():
    def f(x, holder):
        if x > 2:
            raise AttributeError("a", name="q", obj=holder)
        return x

    with pytest.raises(d2s.StagingError, match="D2S031"):
        d2s.to_static(f)(F(1), Holder())


def test_an_attribute_that_is_missing():
    def f(x, holder):
        if x > 2:
            return holder.missing
        return x

    static = d2s.to_static(f)
    assert static(F(1), Holder()) == 1
    with pytest.raises(AttributeError, match="no attribute 'missing'") as caught:
        static(F(3), Holder())
    assert caught.value.name == "missing"


def test_fields_that_a_branch_changes_are_right_or_refused():
    def f(x):
        error = ValueError("first")
        if x > 2:
            error.args = ("second",)
        if x > 1:
            raise error
        return x

    try:
        agree(f, F(1), F(2), F(3))
    except d2s.Error as error:
        assert error.code in ("D2S013", "D2S024")


# -- what they say of themselves -------------------------------------------------------------------


class Speaks(ValueError):
    def __init__(self, v):
        self.v = v

    def __str__(self):
        return f"bad {self.v:.2f}"


class Shows(ValueError):
    def __init__(self, v):
        self.v = v

    def __repr__(self):
        return f"Shows<{self.v:.1f}>"


class Point:
    def __init__(self, v):
        self.v = v

    def __repr__(self):
        return f"Point({self.v:.1f})"


class Named(Point):
    def __str__(self):
        return f"named {self.v}"


class Formats(Point):
    def __format__(self, spec):
        return f"[{self.v:{spec}}]"


def test_what_exceptions_say_of_themselves():
    def f(x):
        try:
            if x > 4:
                raise ConnectionError(f"neg {x}")
            if x > 3:
                raise Speaks(x)
            if x > 2:
                raise ValueError(f"neg {x}", f"and {x}")
            if x > 1:
                raise OSError(2, f"no {x}")
        except (ValueError, OSError) as e:
            print("retry", e)
            print(str(e), f"{e}", f"{e!s:>20}")
        return x

    agree(f, F(1), F(2), F(3), F(4), F(5))


def test_what_exceptions_say_by_repr():
    def f(x):
        try:
            if x > 3:
                raise ValueError(f"neg {x}")
            if x > 2:
                raise KeyError(f"neg {x}", "two")
            if x > 1:
                raise Shows(x)
        except (ValueError, KeyError) as e:
            print(repr(e), f"{e!r}", "%r" % e)  # noqa: UP031
        return x

    agree(f, F(1), F(2), F(3), F(4))


def test_what_objects_say_of_themselves():
    def f(x):
        p, n = Point(x), Named(x)
        print(p, n)
        print(str(p), f"{p}", f"{p!r}", repr(p), f"{n!r}", repr(n))
        print(str(n), f"{n}", "%s and %r" % (n, p), "{} {!r}".format(n, p))  # noqa: UP031, UP032
        print(f"{Formats(x):.2f}", format(Formats(x), ".1f"), f"{Formats(x)!r:>12}")
        if x > 2:
            raise ValueError(f"{p} is {n}")
        return x

    agree(f, F(1), F(3))


def test_objects_in_containers_show_themselves_or_are_refused():
    def f(x):
        print([Point(x)])
        return x

    try:
        agree(f, F(1), F(3))
    except d2s.Error as error:
        assert error.code == "D2S020"
        assert "print" not in error.fix


# -- which object ----------------------------------------------------------------------------------


def caught_by(function, *args):
    try:
        function(*args)
    except Exception as error:
        return error
    return None


def test_an_exception_that_exists_outside_is_itself():
    inner = KeyError("const")

    def f(x, given):
        if x > 4:
            raise given
        if x > 3:
            raise inner
        if x > 2:
            raise ODD
        return x

    static, given = d2s.to_static(f), TypeError("given")
    assert static(F(1), given) == 1
    for _ in range(2):
        assert caught_by(static, F(3), given) is ODD
        assert caught_by(static, F(4), given) is inner
        assert caught_by(static, F(5), given) is given
    assert ODD.args == ("const",)


def test_an_exception_of_an_object_is_itself():
    class Model:
        def __init__(self):
            self.error = ValueError("mine")

        def run(self, x):
            if x > 2:
                raise self.error
            return x

    model = Model()
    static = d2s.to_static(model.run)
    assert static(F(1)) == 1
    assert caught_by(static, F(3)) is model.error
    other = model.error = ValueError("another")
    assert caught_by(static, F(3)) is other


def test_an_exception_made_inside_is_another_each_time():
    def f(x):
        error = ValueError("mine")
        if x > 2:
            raise error
        return x

    static = d2s.to_static(f)
    assert caught_by(static, F(3)) is not caught_by(static, F(3))


def test_an_exception_from_outside_in_a_handler():
    def f(x):
        try:
            if x > 2:
                raise ODD
        except ValueError as e:
            print(e is ODD, e)
            raise
        return x

    agree(f, F(1), F(3))
    assert caught_by(d2s.to_static(f), F(3)) is ODD


# -- arrays ----------------------------------------------------------------------------------------


def test_an_array_of_a_weak_type_comes_out_as_an_array():
    def f(x):
        if x < -5:
            raise Numbered(x)
        if x < 0:
            raise ValueError("low", x)
        return x

    agree(f, jnp.array(1), jnp.array(-3), jnp.array(-8), jnp.array(-2.5))
    agree(f, -3, -8, -2.5)


# -- objects in templates --------------------------------------------------------------------------


class Colour(enum.IntEnum):
    RED = 3

    def __str__(self):
        return "red"


class Metres(float):
    def __repr__(self):
        return f"{float(self)} m"


class Day(datetime.date):
    def __str__(self):
        return "day"


class Held:
    def __init__(self, v):
        self.name, self.v = "held", v

    def __str__(self):
        return f"<{self.v}>"

    def __repr__(self):
        return f"Held({self.v})"

    def __index__(self):
        return 7


def numbers_that_show_themselves(x):
    m, d = Metres(2.5), Day(2024, 1, 2)
    print("%d" % Colour.RED, f"{Colour.RED:03d}", "{:03d}".format(Colour.RED), f"{Colour.RED}")
    print(f"{m:.1f}", m, f"{m}", repr(m), f"{d:%Y}", d, f"{d}", "%s" % d)
    print("%s" % [1, 2], "%s %s" % (1, x), "%5.2f|" % x, "{:.2f} {}".format(x, 3))


def objects_without_run_time_values(x):
    o = Held(1)
    print("%x" % o, "{0.name} {0}".format(o), "%(a)s %(b)r" % {"a": o, "b": o}, "%s %r" % (o, o), x)


def objects_with_run_time_values(x):
    o = Held(x)
    print("%s" % o, f"{o}", f"{o!r}", "{} {!r}".format(o, o), [o], "%s" % [o])
    print("%(a)s %(b)r" % {"a": o, "b": o}, "{a} {b}".format(a=o, b=x))


@pytest.mark.parametrize(
    "fn",
    [
        numbers_that_show_themselves,
        objects_without_run_time_values,
        objects_with_run_time_values,
    ],
)
def test_templates_with_objects(fn, capsys):
    static = d2s.to_static(fn)
    for value in (1.0, -2.5):
        fn(jnp.float32(value))
        plain = capsys.readouterr().out
        static(jnp.float32(value))
        assert capsys.readouterr().out == plain


def test_an_exception_from_outside_is_as_it_was():
    error = ValueError("const")
    try:
        raise error
    except ValueError:
        before = error.__traceback__

    @d2s.to_static
    def f(x):
        if x < 0:
            raise error from KeyError("k")
        return x

    assert f(F(1)) == 1
    assert error.__traceback__ is before and error.__cause__ is None
    assert not error.__suppress_context__
    with pytest.raises(ValueError, match="const") as caught:
        f(F(-1))
    assert caught.value is error and type(error.__cause__) is KeyError
