"""Python objects as slots that hold values, and what a graph belongs to.

Read `slots` first, then `flatten`, which takes apart what a call can reach into leaves and a key.
`keys` says when two calls may use one graph, `guards` asks whether what a graph was built from has
changed. `attributes` and `contents` read objects as they are stored, `marks` are what options say
of arguments, `nnx` and `refs` know the objects of Flax NNX and the references of JAX.
"""
