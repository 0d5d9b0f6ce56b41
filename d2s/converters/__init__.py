"""One module per kind of syntax; `d2s.pipeline` says in which order they run."""
