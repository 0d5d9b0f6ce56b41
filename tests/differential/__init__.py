"""Differential tests: plain Python is the oracle, every other way to run a program must agree."""
