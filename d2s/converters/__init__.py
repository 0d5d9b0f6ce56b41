"""One module per kind of syntax; `d2s.pipeline` says in which order they run.

Read `base` first, then `if_stmt`: each module begins with a program and what becomes of it. What
the converters of compound statements share is in `blocks`.
"""
