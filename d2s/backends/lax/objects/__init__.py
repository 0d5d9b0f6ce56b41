"""Python objects as places that hold values: slots, keys, guards, objects taken apart.

Read `slots` first, then `flatten`, which takes apart what a call can reach.
"""
