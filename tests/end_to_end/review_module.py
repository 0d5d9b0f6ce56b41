"""A module of the user's that the tests of stale reads change."""

SCALE = 2.0
ITEMS: list = []


def helper(x):
    return x * SCALE
