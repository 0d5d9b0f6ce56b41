"""Parts of the user's code run once on abstract values, kept as graphs.

Read `regions` for what a region is, then `trace`, which makes one.
"""
