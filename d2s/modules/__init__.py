"""Whole files: which functions are in them, what their imports mean, their text rewritten."""
