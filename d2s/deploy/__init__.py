"""Static functions outside of the process that made them."""
