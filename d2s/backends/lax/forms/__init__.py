"""How Python values live in a graph: types of numbers and arrays, containers, their joins.

Read `dtypes` first, for single values and their join, then `trees` for values that hold others.
`origins` remembers what a run-time value is in plain Python, `appended` is for lists that a staged
loop appends to, and `widths` for NumPy's 64-bit numbers.
"""
