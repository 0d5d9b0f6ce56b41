"""Exceptions of the program as error codes of the graph, and the texts that they quote.

Read `failing` first: how an exception gets a number, and is made again from it. `whose` tells
exceptions of the program from those about the graph, `texts` has texts with run-time values in
them, `after_failure` what a handler sees in objects that were changed before the failure.
"""
