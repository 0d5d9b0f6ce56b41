"""Engines that run converted code. Only the jax engine, `d2s.backends.lax`, imports jax."""
