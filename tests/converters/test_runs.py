"""Small programs whose form is right only if they run as in Python, values and errors alike."""

import pytest

import d2s


def classes_of_except_are_looked_up_when_needed(x):
    try:
        y = x
    except NoSuchName:  # noqa: F821
        y = 0
    return y


def handler_that_raises_unbinds_its_name(x):
    e = 1
    try:
        try:
            return x[0]
        except KeyError as e:
            raise ValueError from None
    except ValueError:
        return e


def unbound_in_a_comprehension(x):
    if x:
        k = 1
    return [k + j for j in [1]]


def unbound_in_a_generator_expression(x):
    if x:
        k = 1
    return sum(k + j for j in [1])


def unbound_in_a_default(x):
    if x:
        k = 1

    def g(a=k):
        return a

    return g()


def late_binding_of_a_loop_variable(x):
    made = []
    for y in [1, 2, 3]:
        made.append(lambda: y)
    return [f() for f in made]


def bare_raise_in_a_branch(x):
    try:
        return x[0]
    except KeyError:
        if len(x) == 0:
            raise
        return 1


def target_that_is_also_the_iterable(n):
    for n in n:
        n = n + 1
    return n


PROGRAMS = [
    (classes_of_except_are_looked_up_when_needed, 1),
    (handler_that_raises_unbinds_its_name, {}),
    (unbound_in_a_comprehension, 0),
    (unbound_in_a_comprehension, 1),
    (unbound_in_a_generator_expression, 0),
    (unbound_in_a_generator_expression, 1),
    (unbound_in_a_default, 0),
    (unbound_in_a_default, 1),
    (late_binding_of_a_loop_variable, 0),
    (bare_raise_in_a_branch, {}),
    (bare_raise_in_a_branch, {1: 2}),
    (target_that_is_also_the_iterable, [1, 2]),
    (target_that_is_also_the_iterable, []),
]


def outcome(function, argument):
    try:
        return function(argument)
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize(
    "program, argument", PROGRAMS, ids=lambda p: getattr(p, "__name__", str(p))
)
def test_program(program, argument) -> None:
    assert outcome(d2s.convert(program), argument) == outcome(program, argument)
