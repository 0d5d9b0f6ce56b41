"""A static function: the graph for the arguments of a call, found or built, and run.

Read `compiled` first: it finds the entry for the arguments of a call, and `running` takes it from
there to the result. `entries` says what an entry is. What goes in and out is the room `boundary`.

    finding    compiled
    building   build
    running    running
    looking    inspection, reasons (why a graph was built), samples (arguments made up for a look)
    cache      compiled graphs that outlive the process
"""
