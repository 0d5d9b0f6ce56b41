"""Programs nobody wrote: generated from a seed, run in every mode, compared, shrunk, reported."""
