"""What is followed while a graph is built: changes of objects, where values come from, names.

Read `snapshot` first: whatever code under trial changed is found by comparing, and undone.
"""
