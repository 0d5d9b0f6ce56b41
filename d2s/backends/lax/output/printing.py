"""`print` in a graph: every call prints what plain Python prints, in its order.

    if x > 0:                  ->    tell(ticket, reached and x > 0, x)
        print("x is", x)             # with the text "x is {}\\n" kept on the host

A print is an operation with an ordered effect, so JAX keeps it in its place through branches,
loops and transformations, and runs it once. It hands the host three things: the ticket of the call,
whether its line was reached (under `jax.vmap` both sides of a branch run), and the values of its
text. The host writes the text at once; the texts of lanes, which must come one lane after the
other, are collected until the call returns. A function that does not print pays nothing; the first
print that is met makes the graph be built again, with the ticket as an argument.
"""

from d2s.backends.lax.output.building import NeedsTicket as NeedsTicket
from d2s.backends.lax.output.building import dropped as dropped
from d2s.backends.lax.output.building import into as into
from d2s.backends.lax.output.building import only_if as only_if
from d2s.backends.lax.output.building import separated as separated
from d2s.backends.lax.output.calls import run_with_ticket as run_with_ticket
from d2s.backends.lax.output.operation import prints as prints
from d2s.backends.lax.output.statement import print_ as print_
from d2s.backends.lax.output.unseen import refused as refused
