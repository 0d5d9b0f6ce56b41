"""Library functions on run-time values: builtins, `math`, NumPy, items of arrays and lists.

Read `builtin_calls` first: a table from a function to what computes the same in a graph. The other
tables are in `math_calls`, `numpy_calls` and `text_calls`. `items` is for subscripts, `dispatching`
for `functools`, and `unrepeatable` names the functions that no graph can call.
"""
