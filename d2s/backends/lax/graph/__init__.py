"""The graph that is being built: its scopes, and the user's line it is at.

Read `scopes` first: every region of a graph has a scope, which carries the error code.
`construction` is the one object that holds all this for a thread, `sites` finds lines of the user.
"""
