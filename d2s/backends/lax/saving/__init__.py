"""Graphs of static functions in files: built by `export`, run again by `loaded`."""
