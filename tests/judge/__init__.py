"""The judge: CPython's own tests, run on converted code, must say what they say of plain code."""
