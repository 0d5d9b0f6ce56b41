"""Exceptions of the program as error codes of the graph, and the texts that they quote.

Read `failing` first.
"""
