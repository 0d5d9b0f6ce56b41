"""What a call can reach, taken apart: run-time leaves, a key of all the rest, mutable objects.

Arrays are leaves wherever they are found. Python numbers are leaves in arguments; found in an
object, a global or a closure they are constants until one of them is seen to change: most of them
are sizes and switches, and a graph with them as inputs would not be the one an expert writes.

    class Model: ...                            # model.w is an array, model.depth is 2
    f(model, 0.5)

gives the leaves ``[model.w, 0.5]``, the objects ``[model]`` and the key
``Node(Model, ("w", "depth")) ARRAY Number(2) float``. The same key later means the same graph.
"""

from __future__ import annotations

import enum
import functools
import io
import types
import weakref
from collections.abc import Iterator, Set
from typing import Any

import jax
import numpy as np

from d2s.backends.lax.forms import widths
from d2s.backends.lax.forms.dtypes import fits, is_dynamic
from d2s.backends.lax.forms.exact import Contents, exact_key
from d2s.backends.lax.forms.kinds.attributes import attribute_names, getattr_raw, own_dict
from d2s.backends.lax.forms.kinds.form import EMPTY, Form
from d2s.backends.lax.forms.kinds.table import form_of, known_form
from d2s.backends.lax.forms.origins import ARRAY as ARRAY
from d2s.backends.lax.forms.origins import left_kind
from d2s.backends.lax.forms.parts import (
    ATTRIBUTES_ONLY,
    WRITTEN_IN_PYTHON,
    container_form,
    is_copied,
)
from d2s.backends.lax.forms.registered import is_registered, opened, when_registered
from d2s.backends.lax.forms.trees import behind_proxy
from d2s.backends.lax.graph import sites
from d2s.backends.lax.objects.keys import Again, ChangingNumber, Itself, Node, Number, Pairs, Static
from d2s.backends.lax.objects.marks import Constant, Donated, FutureArray
from d2s.backends.lax.objects.nnx import is_mark
from d2s.backends.lax.objects.refs import REF, RefCopy
from d2s.errors import StagingError, a
from d2s.libraries import is_library_class
from d2s.options.specs import Spec
from d2s.static import BoundStatic, StaticFunction

_ATOMS = (str, bytes, bool, type(None), enum.Enum, range, np.dtype)
_IMMUTABLE = (int, float, complex, tuple, frozenset)
_FUNCTIONS = (type, types.FunctionType, types.BuiltinFunctionType, types.ModuleType)


class Taken:
    """Leaves, key and mutable objects, in the order they were met.

    `pinned` are the identities of objects that must stay themselves inside the graph.
    """

    def __init__(self, pinned: Set[int], places: tuple[Any, ...] = ()) -> None:
        self.places = places
        self.leaves: list[Any] = []
        self.key: list[Any] = []
        self.owners: list[Any] = []
        #: leaves whose memory the graph may use
        self.donated: list[int] = []
        #: numbers that have changed before and are leaves, after all others, by position in the key
        self.changing: dict[int, Any] = {}
        #: how many marks of NNX were met: in the graph, they are those of another trace
        self.marks = 0
        self._pinned = pinned
        #: the dicts of attributes, and other dicts, by identity, with what they were found in
        self._dicts: dict[int, Any] = {}
        #: the numbers of the mutable objects, by identity
        self._numbers: dict[int, int] = {}

    def take(self, value: Any, given: bool) -> None:
        """Take a value apart; `given` says that only containers lie between it and an argument."""
        kind = type(value)
        if kind is ARRAY:
            number = None if given else left_kind(value)
            if number is None:
                self.leaves.append(value)
                self.key.append(ARRAY)
            else:
                self.changing[len(self.key)] = value
                self.key.append(ChangingNumber(number))
            return
        how = _HOW.get(kind)
        if how is None:
            how = _HOW[kind] = _how(kind, value)
        how(self, value, given)

    def _owner(self, value: Any) -> bool:
        """Whether a mutable object is met for the first time, and may be replaced in the graph."""
        known = self._numbers.get(id(value))
        if known is not None:
            self.key.append(Again(known))
            return False
        if id(value) in self._pinned:
            self.key.append(Itself(value))
            return False
        self._refuse_shared(value)
        self._numbers[id(value)] = len(self.owners)
        self.owners.append(value)
        return True

    def _refuse_shared(self, value: Any) -> None:
        """An object whose attributes are a dict that the program has besides is not two things."""
        own = value if type(value) is dict else own_dict(value)
        if own is None:
            return
        known = self._dicts.setdefault(id(own), value)
        # the dict of attributes of a container is a part of that, and has a number itself
        is_part = form_of(type(known)) is not None and own_dict(known) is value
        if known is not value and not is_part:
            kind = next((type(v) for v in (known, value) if type(v) is not dict), dict)
            raise StagingError(
                f"the attributes of {a(kind)} are a dict that is reached in another way, too",
                code="D2S079",
                site=sites.where(),
                fix="one of the two",
            )

    def place(self, value: Any) -> None:
        """A global or a variable of an enclosing function, which may have no value."""
        if value is EMPTY:
            self.key.append(Itself(EMPTY))
        else:
            self.take(value, False)

    # -- one for each kind of value ---------------------------------------------------------------

    def _leaf(self, value: Any, given: bool) -> None:
        self.leaves.append(value)
        self.key.append(jax.Array)

    def _ref(self, value: Any, given: bool) -> None:
        """A reference of JAX: what it holds is an input, and an output where it is written."""
        if self._owner(value):
            self.key.append(Node(RefCopy, ("value",)))
            self.take(value[...], True)

    def _struct(self, value: Any, given: bool) -> None:
        """Stands for an array where a graph is looked at and not run."""
        if given:
            self.leaves.append(value)
            self.key.append(ARRAY)
        else:
            self._opaque(value, given)

    def _wanted(self, value: Any, given: bool) -> None:
        self._struct(value.value, True)

    def _constant(self, value: Any, given: bool) -> None:
        """A static argument; the graph belongs to its value."""
        try:
            if type(value.value) is not slice:  # it has a hash from Python 3.12 on
                hash(value.value)
        except TypeError:
            raise StagingError(
                f"the argument {value.name} is static, and {a(type(value.value))} has no hash by "
                "which its value could be known again",
                code="D2S030",
                site=sites.where(),
                fix="a hashable value, such as a number, a text or a tuple of those, or an "
                f"argument that is not static: {value.name} left out of static_argnums and "
                "static_argnames",
            ) from None
        self._opaque(value.value, True)

    def _donated(self, value: Any, given: bool) -> None:
        start = len(self.leaves)
        self.take(value.value, given)
        self.donated += range(start, len(self.leaves))

    def _number(self, value: Any, given: bool) -> None:
        kind = type(value)
        if kind is int and not fits(value):
            self.key.append(Static(value))
        elif given:
            self.leaves.append(value)
            self.key.append(kind)
        else:
            self.key.append(Number(value))

    def _atom(self, value: Any, given: bool) -> None:
        self.key.append(Static(value))

    def _itself(self, value: Any, given: bool) -> None:
        self.key.append(Itself(value))

    def _opaque(self, value: Any, given: bool) -> None:
        if not given:
            # a number or tuple of a class of the user's may have attributes, which can change
            token = Static(value) if issubclass(type(value), _IMMUTABLE) else None
            self.key.append(Itself(value) if token is None or not token.holders else token)
            return
        try:
            if isinstance(value, Iterator) and not isinstance(value, io.IOBase):
                raise TypeError("an iterator is used up while the graph is built")
            if type(value) is not slice:
                hash(value)
            self.key.append(Static(value))
        except TypeError:
            raise StagingError(
                f"an argument of type {type(value).__name__} is neither an array, a number, a "
                "container of those, nor hashable",
                code="D2S030",
                site=sites.where(),
                fix="an array, a list, a dict, an object of your own, or a hashable value",
            ) from None

    def _scalar(self, value: Any, given: bool) -> None:
        if not is_dynamic(value):
            self._opaque(value, given)
        elif given:
            self.leaves.append(widths.taken(value))
            self.key.append(np.generic)
        else:
            self._contents(np.asarray(value), value)

    def _ndarray(self, value: Any, given: bool) -> None:
        if not is_dynamic(value):
            self._opaque(value, given)
        elif self._owner(value):
            if given:
                self.leaves.append(widths.taken(value))
                self.key.append(np.ndarray)
            else:
                self._contents(value, value)

    def _contents(self, array: Any, value: Any) -> None:
        self.key.append(Contents(array) if array is value else Static(value))

    def _container(self, value: Any, given: bool) -> None:
        """What it has besides its entries, then those, then its attributes.

        Keys and items of sets are constants; those that have copies themselves are parts.
        """
        if not self._owner(value):
            return
        kind: Any = type(value)
        form, own = known_form(kind), _own_attributes(value)
        held = form.held(value)
        names, exact = form.names(held), None
        if isinstance(names, list):
            # A program can see the order of a set, which an equal set may have differently.
            exact = tuple(map(exact_key, names))
            if any(is_copied(type(key)) for key in names):
                names, exact = Pairs(len(names)), None
        self.key.append(Node(kind, names, exact, own is not None))
        if form.extra_name is not None:
            extra = form.extra(value)
            self._atom(extra, False) if isinstance(extra, int) else self.take(extra, False)
        self._entries(form, held, names, given)
        if own is not None:
            self.take(own, False)

    def _entries(self, form: Form, held: Any, names: Any, given: bool) -> None:
        if not form.has_slots:
            for item in held if isinstance(names, Pairs) else ():
                self.take(item, False)
            return
        for entry in held.items() if form.is_by_key else held:
            if form.is_by_key:
                if isinstance(names, Pairs):
                    self.take(entry[0], False)
                entry = entry[1]
            self.take(entry, given)

    def _slice(self, value: Any, given: bool) -> None:
        """Its bounds are arrays, or constants: the shape of what it selects depends on them."""
        self.key.append(Node(slice, None))
        for part in (value.start, value.stop, value.step):
            if isinstance(part, jax.Array):
                self.take(part, given)
            else:
                self._atom(part, given)

    def _own_tuple(self, value: Any, given: bool) -> None:
        """A tuple of a class of the user: its items, and then its attributes."""
        if self._owner(value):
            names = attribute_names(value)
            self.key.append(Node(type(value), (tuple.__len__(value), names)))
            for part in tuple.__iter__(value):
                self.take(part, given)
            for name in names:
                self.take(getattr_raw(value, name), False)

    def _frozenset(self, value: Any, given: bool) -> None:
        if not any(is_copied(type(item)) for item in value):
            self._opaque(value, given)
        elif self._owner(value):
            self.key.append(Node(frozenset, Pairs(len(value))))
            for item in value:
                self.take(item, False)

    def _tuple(self, value: Any, given: bool) -> None:
        self.key.append(Node(type(value), len(value)))
        for part in value:
            self.take(part, given)

    def _proxy(self, value: Any, given: bool) -> None:
        """A view of a dict that only that dict can change."""
        if self._owner(value):
            self.key.append(Node(types.MappingProxyType, None))
            self.take(behind_proxy(value), given)

    def _specification(self, value: Any, given: bool) -> None:
        """A specification is no value; who only looks at a graph has replaced it before."""
        if given:
            raise no_array()
        self._opaque(value, given)

    def _method(self, value: Any, given: bool) -> None:
        self.key.append(Node(type(value), value.__func__, id(value.__func__)))
        self.take(value.__self__, given and not is_copied(type(value.__self__)))

    def _partial(self, value: Any, given: bool) -> None:
        self.key.append(Node(functools.partial, None))
        for part in (value.func, value.args, value.keywords):
            self.take(part, False)

    def _static_function(self, value: Any, given: bool) -> None:
        self.key.append(Node(type(value), value, id(value)))
        for part in value.bound:  # inside the graph it is called with copies of these
            self.take(part, False)

    def _frozen(self, value: Any, given: bool) -> None:
        """A frozen dataclass: a configuration, static as a whole, if it has a hash."""
        try:
            hash(value)
        except TypeError:
            self._instance(value, given)
            return
        token = Static(value)
        if token.is_frozen():
            self.key.append(token)
        else:  # it holds something that can change
            self._instance(value, given)

    def _instance(self, value: Any, given: bool) -> None:
        self._record(value, False)

    def _record(self, value: Any, given: bool) -> None:
        if self._owner(value):
            names = attribute_names(value)
            self.key.append(Node(type(value), names))
            for name in names:
                self.take(getattr_raw(value, name), given)

    def _library(self, value: Any, given: bool) -> None:
        """An object of a library: taken apart only if there are arrays or marks of NNX in it."""
        start, owners, inner = len(self.key), len(self.owners), self._inner()
        self._instance(value, given)
        if self._inner() == inner and type(self.key[start]) is Node:
            for owner in self.owners[owners:]:
                del self._numbers[id(owner)]
            del self.key[start:], self.owners[owners:]
            self._opaque(value, False)

    def _inner(self) -> tuple[int, int, int]:
        return len(self.leaves), len(self.changing), self.marks

    def _mark(self, value: Any, given: bool) -> None:
        self.marks += 1
        self.key.append(Node(type(value), ()))

    def _registered(self, value: Any, given: bool) -> None:
        if self._owner(value):
            parts, layout = opened(value)
            self.key.append(Node(type(value), layout))
            for part in parts:
                self.take(part, given)

    def _pytree(self, value: Any, given: bool) -> None:
        if not self._owner(value):
            return
        parts, treedef = jax.tree_util.tree_flatten(value, is_leaf=lambda v: v is not value)
        self.key.append(Node(type(value), treedef))
        for part in parts:
            self.take(part, False)


def no_array() -> StagingError:
    return StagingError(
        "a specification is given where the function runs, which needs an array",
        code="D2S030",
        fix="an array; specifications are for .jaxpr, .explain, .compile and their kin",
    )


def stays_whole(value: Any) -> bool:
    """Whether something has no copy in the graph: it stays what it is, with all its parts."""
    kind: Any = type(value)
    if isinstance(value, np.ndarray):
        return not is_dynamic(value)
    return _how(kind, value) is Taken._opaque


_ITEMS = ("__getitem__", "__setitem__", "__delitem__", "__iter__", "__len__")


def _is_own_container(kind: Any) -> bool:
    """Whether a class of the user is a list or dict that reads and stores items as those do."""
    form = container_form(kind)
    if form is None or not form.has_slots:
        return False
    own = all(getattr(kind, name) is getattr(form.base, name) for name in _ITEMS)
    return own or kind in WRITTEN_IN_PYTHON


def _own_attributes(value: Any) -> dict[str, Any] | None:
    """The dict of attributes that a container has beside its items; a builtin one has none."""
    kind: Any = type(value)
    if kind is known_form(kind).base:
        return None
    # a dict may be its own attributes: ``self.__dict__ = self``
    return value if getattr(value, "__dict__", None) is value else own_dict(value)


def _how(kind: Any, value: Any) -> Any:
    """The method of `Taken` that takes objects of a class apart; asked once per class."""
    if kind in (int, float, complex):
        return Taken._number
    if issubclass(kind, _ATOMS):
        return Taken._atom
    exactly = {
        tuple: Taken._tuple,
        slice: Taken._slice,
        frozenset: Taken._frozenset,
        types.MappingProxyType: Taken._proxy,
        types.MethodType: Taken._method,
        BoundStatic: Taken._method,
        functools.partial: Taken._partial,
        np.ndarray: Taken._ndarray,
        REF: Taken._ref,
        jax.ShapeDtypeStruct: Taken._struct,
        Constant: Taken._constant,
        Donated: Taken._donated,
        FutureArray: Taken._wanted,
        Spec: Taken._specification,
    }
    if kind in exactly:
        return exactly[kind]
    form = container_form(kind)
    if form is not None and kind is form.base:
        return Taken._container
    if is_registered(kind):
        return Taken._registered
    if issubclass(kind, _FUNCTIONS):
        return Taken._itself
    if issubclass(kind, StaticFunction):
        return Taken._static_function
    if issubclass(kind, jax.Array | jax.core.Tracer):
        return Taken._leaf
    if issubclass(kind, np.generic):
        return Taken._scalar
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        has_attributes = bool(kind.__dictoffset__) and not is_library_class(kind)
        return Taken._own_tuple if has_attributes else Taken._tuple
    if is_mark(kind):
        return Taken._mark
    is_pytree = not jax.tree_util.all_leaves([value])
    if not is_pytree and issubclass(kind, tuple) and not is_library_class(kind):
        return Taken._own_tuple
    if not is_pytree and _is_own_container(kind):
        return Taken._container
    if not is_copied(kind):
        return Taken._pytree if is_pytree else Taken._opaque
    params = getattr(kind, "__dataclass_params__", None)
    if params is not None and params.frozen:
        return Taken._pytree if is_pytree else Taken._frozen
    if is_library_class(kind) and kind not in ATTRIBUTES_ONLY:
        return Taken._library
    # Numbers in a dataclass are treated as in a list, those in any other object as constants.
    return Taken._record if params is not None and not is_pytree else Taken._instance


_HOW: weakref.WeakKeyDictionary[type, Any] = weakref.WeakKeyDictionary()
when_registered.append(lambda kind: _HOW.pop(kind, None))
