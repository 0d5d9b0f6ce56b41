"""Measurements of what d2s costs; see README.md."""
