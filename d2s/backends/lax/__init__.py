"""The jax engine: staged control flow as `lax.cond`, `while_loop` and `scan`, compiled by XLA.

Its rooms, from the bottom to the top; each asks only those before it. `docs/how_it_works.md` is the
guided tour.

    graph      the graph that is being built: its scopes and channels, the user's lines
    forms      types of run-time values, Python values with run-time leaves, and their joins
    jaxprs     passes over finished graphs: they know nothing of the user's Python
    objects    slots of Python objects, keys and guards, objects taken apart
    reach      which functions a static function may call, and which names those read
    trace      what is followed while a graph is built: changes, provenance, names of variables
    arrays     arrays that are written, and who else has them
    failures   exceptions as error codes, and the texts they quote
    regions    pieces of the user's code, run once on abstract values, kept as graphs
    semantics  what Python's operators, tests and classes give on run-time values
    output     `print`, `str` and `repr`, watched variables
    control    `if`, `try` and loops on run-time values
    library    builtins, `math`, NumPy, items of arrays and lists
    function   a call of a static function, from its arguments to its results
    saving     static functions in files
"""
