"""What passes the boundary of a call: arguments and state on the way in, results on the way out.

For the call ``counter.step(x)`` of a static method the engine works in this order:

    in      reader takes the leaves out: `x`, and the arrays in `counter`; edge does what options
            say about arguments; shortcut is the code for a key that was seen before;
            changing_numbers notes which Python numbers differ from call to call
    inside  copies stands in for `counter` while the graph is built (copy_maker makes the objects
            again from the key, surroundings the globals and closures of the functions)
    out     results finds what was returned and what the copies hold now; write_back puts it into
            the real `counter`; chosen remembers which of several objects a branch has taken

Read `copies` first, then `results`.
"""
