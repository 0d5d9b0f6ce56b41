"""Static functions in files: graphs with their state, which run without the code that made them.

Read `export` first: it makes the parts of a file. `loaded` runs them again.

    writing    export, traced (a graph and what is known about it), paths (the names of its leaves),
               writes (what a call changes), symbols and named_sizes (named dimensions)
    reading    files (are the parts what they claim to be?), loaded, arguments, outcomes, gradients
    both       tensors (arrays), exceptions
"""
