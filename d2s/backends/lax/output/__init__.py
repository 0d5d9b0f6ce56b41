"""Text that a graph gives out: `print`, `str` and `repr` of objects, watched variables.

Read `printing` first.
"""
