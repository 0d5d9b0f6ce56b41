"""What d2s keeps track of while the user's code runs to build a graph.

Read `snapshot` first: whatever code under trial changed is found by comparing, and undone. It is
made of `before`, `labels`, `visitor` and `modules_read`. Then `boxes`, which takes lists, dicts and
objects apart that leave a region, and `blame`, which words errors about values that do not fit.
"""
