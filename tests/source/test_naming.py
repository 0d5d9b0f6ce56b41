"""Names for what d2s generates."""

import tracemalloc

import pytest

from d2s.source.naming import Names


def test_a_name_tells_the_line_within_the_function() -> None:
    names = Names(set(), first_line=10)
    assert names.fresh("then", "else", line=12) == ("then_3", "else_3")
    assert names.fresh("test", line=10) == ("test_1",)
    assert names.fresh("returned", "result") == ("returned", "result")


def test_names_of_the_user_are_left_alone() -> None:
    assert Names({"then_3"}, 1).fresh("then", "else", line=3) == ("then_3a", "else_3a")
    assert Names({"else_3", "then_3a"}, 1).fresh("then", "else", line=3) == ("then_3b", "else_3b")
    assert Names({"returned"}, 1).fresh("returned", "result") == ("returneda", "resulta")


def test_the_name_of_the_package_is_taken() -> None:
    assert Names(set(), 1).fresh("d2s") != ("d2s",)


@pytest.mark.parametrize("line", [None, 4])
def test_never_the_same_name_twice(line: int | None) -> None:
    names = Names(set(), 1)
    given = [name for _ in range(60) for name in names.fresh("test", "body", line=line)]
    assert len(set(given)) == len(given) == 120
    assert all(name.isidentifier() for name in given)


def test_a_name_costs_little() -> None:
    """The endings are tried one by one, not made in advance."""
    names = Names(set(), 1)
    tracemalloc.start()
    try:
        names.fresh("then", "else", line=2)
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


def test_pairs_end_alike() -> None:
    names = Names({"body_2", "test_2a"}, 1)
    for _ in range(40):
        test, body = names.fresh("test", "body", line=2)
        assert test.removeprefix("test") == body.removeprefix("body")


def test_the_set_it_was_given_is_not_changed() -> None:
    taken = {"x"}
    Names(taken, 1).fresh("y")
    assert taken == {"x"}


def test_lines_do_not_run_into_endings() -> None:
    """`test_1` with an ending is never the name of another line."""
    names = Names(set(), 1)
    given = [names.fresh("test", line=line)[0] for _ in range(40) for line in (1, 12, 11, 2)]
    assert len(set(given)) == len(given)
