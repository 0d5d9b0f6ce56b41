"""A call of a static function: its arguments taken apart, the graph found or built, the results.

Read `compiled` first: it is the path of a call.
"""
