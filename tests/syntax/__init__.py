"""The table of Python's syntax: programs that run, and the page made of them."""
