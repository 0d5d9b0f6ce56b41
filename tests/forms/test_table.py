"""Every cell of the table is a program that runs, and the page is made of them."""

from __future__ import annotations

import jax.numpy as jnp
import pytest

import d2s

from .kinds import KINDS, Kind
from .table import HEAD, PAGE, USES, row


@pytest.mark.parametrize("kind", KINDS, ids=[kind.name.strip("`") for kind in KINDS])
def test_the_page_has_what_the_programs_do(kind: Kind) -> None:
    line = row(kind)
    assert "DIFFERENT" not in line
    assert line in PAGE.read_text().splitlines(), "run `python -m tests.forms.table`"


def test_the_page_has_nothing_else() -> None:
    text = PAGE.read_text()
    assert text.startswith(HEAD) and len(text.splitlines()) == len(HEAD.splitlines()) + 3 + len(
        KINDS
    )
    assert all(name in text for name in USES)


class Money:
    """Something that no attribute tells about."""

    def __init__(self, amount, currency):
        self.both = (currency, amount)

    def __del__(self):
        pass


def raised(money, rate):
    if rate > 1:
        money = Money(money.both[1] * rate, money.both[0])
    return money


def test_a_class_is_registered_when_it_was_seen_already():
    static = d2s.to_static(raised)
    with pytest.raises(d2s.Error) as caught:
        static(Money(jnp.float32(2), "EUR"), jnp.float32(3))
    assert caught.value.code == "D2S013"  # it is an object like a text: no part is known
    d2s.register_form(
        Money, lambda m: ({"amount": m.both[1]}, m.both[0]), lambda p, s: Money(p["amount"], s)
    )
    for rate, amount in ((3.0, 6), (0.5, 2)):
        given = Money(jnp.float32(2), "EUR")
        found = static(given, jnp.float32(rate))
        assert type(found) is Money and found.both == ("EUR", amount)


def test_the_rest_of_a_registered_class_belongs_to_the_key():
    d2s.register_form(
        Money, lambda m: ({"amount": m.both[1]}, m.both[0]), lambda p, s: Money(p["amount"], s)
    )
    static = d2s.to_static(lambda m: m.both[1] if m.both[0] == "EUR" else m.both[1] * 2)
    values = [static(Money(jnp.float32(2), name)) for name in ("EUR", "USD", "EUR")]
    assert values == [2, 4, 2]


def test_what_is_no_class_is_not_registered():
    with pytest.raises(TypeError, match="no class"):
        d2s.register_form(3, None, None)
