"""The version of d2s, which files of saved functions carry."""

__version__ = "0.1.0"
