"""Whether calls of static functions may take their fast path.

The fast path of a call runs the graph that the last call used and asks nothing. It is right only
while the mode is the ordinary one and no graph is being built. Whoever changes one of the two adds
a mark here, and removes it when that is over; every call looks whether there are marks.
"""

from __future__ import annotations

#: One mark for each reason against the fast path. It is a list and no number because a call then
#: needs one global name to look at it: an attribute of a class would cost more.
unusual: list[None] = []


def mark_unusual(by: int) -> None:
    """Add that many marks, or remove them where the number is negative."""
    if by > 0:
        unusual.extend([None] * by)
    elif by < 0:
        del unusual[by:]
