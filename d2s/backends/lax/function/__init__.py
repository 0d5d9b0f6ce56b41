"""A call of a static function: its arguments taken apart, the graph found or built, the results.

Read `compiled` first: it finds the entry for the arguments of a call, and `running` takes it from
there to the result. `entries` says what an entry is.

    finding    compiled, edge (options about arguments), changing_numbers, shortcut and reader
    building   build, copies (copy_maker, surroundings), results
    running    running, results, chosen
    looking    inspection, reasons (why a graph was built), samples (arguments made up for a look)
    cache      compiled graphs that outlive the process
"""
