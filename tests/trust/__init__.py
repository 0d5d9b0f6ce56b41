"""Generated programs at the edges of trust: the same as plain Python, or a d2s error."""
