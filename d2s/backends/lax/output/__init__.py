"""Text that a graph gives out: `print`, `str` and `repr` of objects, watched variables.

Read `printing` first: what becomes of a `print`. `statement` takes the arguments of a print,
`building` finds out whether its line is reached, `operation` is what the graph has, `host` writes,
and `calls` is around the call of a graph. `reprs` makes the texts of objects, `unseen` refuses
prints that d2s cannot convert, and `watching` is for `d2s.watch`.
"""
