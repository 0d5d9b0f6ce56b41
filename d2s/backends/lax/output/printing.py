"""`print` in a graph: every call prints what plain Python prints, in its order.

A print is an operation with an ordered effect, so jax keeps it in its place through branches,
loops and transformations, and runs it once. It hands the host three things: the ticket of the call,
whether this place was reached (under `jax.vmap` both sides of a branch run), and the values of its
text. The host writes it at once, or collects it until the call returns where lanes come one after
the other. A function that does not print pays nothing; one that does is traced again, with the
ticket as an argument.
"""

from d2s.backends.lax.output.building import Asked as Asked
from d2s.backends.lax.output.building import dropped as dropped
from d2s.backends.lax.output.building import into as into
from d2s.backends.lax.output.building import only_if as only_if
from d2s.backends.lax.output.building import separated as separated
from d2s.backends.lax.output.calls import run_with_ticket as run_with_ticket
from d2s.backends.lax.output.operation import prints as prints
from d2s.backends.lax.output.statement import print_ as print_
from d2s.backends.lax.output.unseen import refused as refused
