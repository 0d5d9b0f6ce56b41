"""What a saved function is made of in a file: an archive of parts, Python values as JSON."""
