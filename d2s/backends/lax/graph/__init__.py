"""The graph that is being built: its scopes and channels, and the user's line it is at.

Read `scopes` first: every region of a graph has a scope, which carries the error code.
"""
