"""Control flow on run-time values: branches, handlers, loops.

Read `branches` first, then `loops`, which decides whether a loop is unrolled, rolled or staged;
`carry` finds the types of what a loop carries, `emit` puts the loop into the graph.
"""
