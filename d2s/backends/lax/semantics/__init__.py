"""What Python's own operations give on run-time values: operators, truth, classes, iteration.

Read `arithmetic` for operators, `casts` for `bool` and `int`, `border` for code not converted.
"""
