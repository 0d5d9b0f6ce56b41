"""How Python values live in a graph: one file for each kind, one table that everybody asks.

Read `form` first: the questions that every form answers. `table` has all of them.

    kinds       sequences, mappings, sets, buffers (arrays of NumPy's and the like), code (cells,
                names, classes, functions, attributes), elsewhere, registered (the user's own)
    values      parts (what has an identity: taken apart and made), trees (what has none, and values
                in values), join (two values that meet behind a branch), exact (what belongs to keys)
    numbers     dtypes (types of numbers and arrays, and their join), origins (what a run-time value
                is in plain Python), widths (NumPy's 64-bit numbers), appended (lists that a staged
                loop appends to)
"""
