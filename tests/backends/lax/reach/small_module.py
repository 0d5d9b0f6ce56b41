"""A module that reaches little, for what reads a module as a whole.

d2s looks at all that hangs on such a module. On one that imports pytest hang all tests of a
session, and a look at them takes minutes.
"""

from __future__ import annotations

import operator
import sys

HERE = sys.modules[__name__]
N = 1


def calls(f):
    """Call twice, before and after a change."""
    global N
    N = 1
    seen = [f(2.0), f(3.0)]
    N = 4
    return [*seen, f(2.0), f(3.0)]


def module_dict(S):
    return calls(S(lambda x: HERE.__dict__["N"] * x))


def attrgetter_of_module(S):
    get = operator.attrgetter("N")
    return calls(S(lambda x: get(HERE) * x))
