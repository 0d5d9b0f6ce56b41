"""All forms, by the class of the value: what everybody asks.

A new kind of value is one file in this folder, and one line here.
"""

from __future__ import annotations

from d2s.backends.lax.forms.kinds import buffers, code, elsewhere, mappings, sequences, sets
from d2s.backends.lax.forms.kinds.form import form_of, known_form

__all__ = ("form_of", "known_form")

KINDS = (sequences, mappings, sets, buffers, code, elsewhere)
