"""Which functions a static function may call, and which outside names those read and write.

Read `reach` first: what has a copy in the graph, and what stays as it is for everybody. `walk` is
the one look at everything that it is made of, `mentions` tells the names in a function's code,
`opaque` what is behind objects of C, and `wrappers` makes wrappers of JAX around converted code.
"""
