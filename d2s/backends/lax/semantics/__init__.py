"""What Python's own operations give on run-time values: operators, truth, classes, iteration.

Read `arithmetic` first: how an operator finds out what plain Python would do. `casts` is for `bool`
and `int`, `classes` for `isinstance` and attributes, `membership` for `in`, `sequences` for what a
`for` loops over, `operands` for Python integers beside NumPy's arrays. `answers` and `border` are
about code that is not converted: what it learns about run-time values, and what it raises.
"""
