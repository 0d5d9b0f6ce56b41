"""Keys: values that are equal and are not the same, one after the other at the same place.

What a graph was built for is not to be used for a value that merely equals it: whatever a program
can tell apart, the key of a graph tells apart.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

from ..fuzz.program import with_needed
from . import values
from .cases import lines, paragraphs, sections
from .judge import Program

#: groups of values; those of one group are equal, or look alike
GROUPS = paragraphs("values")
#: what a program tells apart by, and what it can still ask of an array
LOOKS = lines("looks")
WORTHS = (
    "v * 2",
    "v + 1",
    "v == 1",
    "[v == 1]",
    "v",
    "bool(v)",
    "v / 2",
    "abs(v)",
    "isinstance(v, int)",
    "(v, v)",
)
#: where the value is: the text of the function, and how a step puts it there
PLACES = {
    name: ("\n".join(rows[: rows.index(step)]) + "\n", step.removeprefix(">>> "))
    for name, rows in sections("places").items()
    for step in rows
    if step.startswith(">>> ")
}


def programs(rng: random.Random) -> Iterator[Program]:
    """Each group of values in turn, at places of chance, again and again."""
    while True:
        for group in rng.sample(GROUPS, len(GROUPS)):
            place = rng.choice(list(PLACES))
            # Two ways to look at it: one of a pair may be refused, where the other is not.
            count = min(len(group), rng.choice([2, 3, 4]))
            chosen = rng.sample(group, count)
            # An array is one of JAX's inside, and says so; what it is worth is the same.
            arrays = any("np." in value for value in chosen)
            looks = WORTHS if arrays else LOOKS[:4] * 2 + LOOKS
            look = ", ".join(rng.sample(looks, rng.choice([1, 1, 2])))
            body, step = PLACES[place]
            steps = [step.format(v=value) for value in chosen]
            text = body.format(look=f"({look},)")
            source = with_needed(text, values, _words(f"{steps} np jnp"))
            yield Program(f"{place}: {group[0]}", source, (*steps, steps[0]), joins=False)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text)
