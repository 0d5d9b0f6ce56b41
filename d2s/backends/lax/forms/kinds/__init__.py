"""The kinds of Python values that hold others: one file each, all of one shape.

Read `form` first, the questions that every form answers. `table` has all of them; a new kind is one
more file, and one more name in the table.
"""
