"""How Python values live in a graph: types of numbers and arrays, containers, their joins.

Read `dtypes` for single values and their join, `trees` for values that hold others.
"""
