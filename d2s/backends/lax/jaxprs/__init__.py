"""Passes over finished graphs: graph in, graph out. They know nothing of the user's Python.

Read `early_exit` first, a short pass over the graphs of a loop; `rotation` and `invariants` go with
it. `bounded` is the loop that has gradients, `ranges` the analysis of integers.
"""
