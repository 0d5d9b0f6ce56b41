"""What became of a program: `explain` as data, text and page; plain against static."""
