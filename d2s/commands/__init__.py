"""The commands of ``d2s``: one module each, with ``add`` for its arguments and ``run``."""
