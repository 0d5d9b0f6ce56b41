"""What the converters need to know about a function, computed by the runner on the current tree.

Read `scopes` first (which names code reads and binds), then `flow` (which of them a block takes and
gives). `order` follows the evaluation of one expression, `polynomials` the bounds of a slice.
"""

from d2s.analysis.flow import Block as Block
from d2s.analysis.flow import Flow as Flow
from d2s.analysis.scopes import Scopes as Scopes
