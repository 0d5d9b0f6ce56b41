"""How Python values live in a graph.

    kinds       what a list, a dict, a cell, an object holds: one table that everybody asks
    parts       values with an identity, taken apart and made again
    trees       values in values, with run-time leaves; `join` has what becomes of two of them that
                meet behind a branch
    exact       what of a value belongs to the key of a graph; registered: classes of the user's
    dtypes      types of numbers and arrays, and their join; origins (what a run-time value is in
                plain Python) and widths (NumPy's 64-bit numbers)
    appended    lists that a staged loop appends to

Read `dtypes` first, for single values, then `kinds.form` and `trees` for values that hold others.
"""
