"""The d2s errors that a case may end with instead of the plain result, by what they are about."""

MISMATCH = ("D2S010", "D2S011")

UNBOUND = (*MISMATCH, "D2S013")  # a variable only some paths bind is read after a staged block
STATIC_VALUES = (*MISMATCH, "D2S013")  # strings, functions or None differ between the paths
STRUCTURE = (*MISMATCH, "D2S013")  # tuples, lists or dicts differ between the paths
RETURN_NONE = (*MISMATCH, "D2S013")  # some paths return a value, others fall off the end
SHAPE = MISMATCH  # array shapes differ between the paths
LOSSY_JOIN = ("D2S012",)  # joining an integer with a float could change the integer
MULTI_ELEMENT_TEST = ("D2S022",)  # a test on an array with more than one element
MESSAGE = ("D2S020", "D2S021")  # an exception's message needs a traced value
HANDLER = ("D2S013", "D2S020", "D2S023")  # a handler for an exception under a traced condition
OBJECTS = ("D2S013", "D2S020", "D2S021")  # objects picked by a traced index or condition
RECURSION = ("D2S026",)  # recursion that only a traced value ends
ITERATOR = ("D2S025", "D2S030")  # an iterator that cannot be replayed
# a container is changed where the change depends on a run-time value, or on a failure
CHANGE = ("D2S024", "D2S074", "D2S075", "D2S076", "D2S077")
# a side effect outside the function or under a traced condition
EFFECT = ("D2S023", *CHANGE, "D2S078", "D2S079", "D2S080")
UNSEEN_PRINT = ("D2S023",)  # a print in code that d2s does not convert
LETTERS = ("D2S020",)  # the letters of a text with run-time values are needed
LOOKS = ("D2S020",)  # a run-time number in a container or by repr(): Python's or an array?
KIND = ("D2S020",)  # what kind of Python value a run-time number is
# an array is written that others have, or that has no place for a new one
WRITTEN = ("D2S070", "D2S071", "D2S072", "D2S073")
UNSEEN = ("D2S027",)  # a manager or `except*` would have to see a failure at run time
TRUTH = ("D2S020",)  # Python itself asks for the truth of a run-time value
KEYED = ("D2S020", "D2S021", "D2S023")  # an order that depends on run-time values
NOT_CONVERTED = ("D2S021",)  # code that is not converted needs the truth of a run-time value
# NumPy does what a graph cannot, or jax.numpy does not
NUMPY = ("D2S020", "D2S021", *WRITTEN)
OVERFLOW = ("D2S040",)  # an integer does not fit into 32 bits
