"""Arrays that are written in place: which values may be one array, and who else has it.

Read `aliases` first.
"""
