"""Library functions on run-time values: builtins, `math`, NumPy, items of arrays and lists."""
