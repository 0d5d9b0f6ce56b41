"""Passes over finished graphs: graph in, graph out. They know nothing of the user's Python."""
