"""All forms, by the class of the value: what everybody asks.

A new kind of value is one file in this folder, and one line here.
"""

from __future__ import annotations

from typing import Any

from d2s.backends.lax.forms.kinds import buffers, code, elsewhere, mappings, sequences, sets
from d2s.backends.lax.forms.kinds.form import form_of, forms, known_form

__all__ = ("CONTAINERS", "SEQUENCES", "form_of", "known_form")

KINDS = (sequences, mappings, sets, buffers, code, elsewhere)

#: the builtin classes of containers that a program can change
CONTAINERS: tuple[Any, ...] = tuple(form.base for form in forms() if form.is_container)
#: those of them whose entries are in an order
SEQUENCES: tuple[Any, ...] = (sequences.LIST.base, sequences.DEQUE.base)
