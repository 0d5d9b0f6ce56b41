"""Arrays that are written in place: which values may be one array, and who else holds it.

Read `aliases` first: what a write does to the other names of an array. `may_alias` tells which
values of a graph may be one array in NumPy, `carried_aliases` the same from trip to trip of a loop,
and `holders` who holds an array that cannot be marked. `constants` is about NumPy arrays that a
graph takes as constants.
"""
