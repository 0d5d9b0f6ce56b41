"""The order of the house: who may import whom, how large things may be, where JAX is touched."""

from __future__ import annotations

import ast
import collections
import re

import pytest

from tests.packaging.rooms import (
    ENGINE,
    MAP,
    ORDER,
    ROOMS,
    ROOT,
    drawing,
    imports,
    modules,
    room_of,
    tree_of,
)

ROW = {room: n for n, row in enumerate(ORDER) for room in row}


def test_every_module_is_in_a_room():
    assert [module for module in modules() if room_of(module) not in ROOMS] == []
    assert [room for room in ROOMS if room not in map(room_of, modules())] == []


@pytest.mark.parametrize("module", modules())
def test_a_module_imports_only_rooms_before_its_own(module):
    """Imports inside of functions and for type checkers are imports, too."""
    own = room_of(module)
    wrong = [
        f"line {line}: {other}"
        for other, line in imports()[module].items()
        if other and room_of(other) != own and ROW[room_of(other)] >= ROW[own]
    ]
    assert not wrong


def test_no_modules_import_each_other():
    done: set[str] = set()

    def follow(module, way):
        assert module not in way, " -> ".join([*way[way.index(module) :], module])
        if module not in done:
            for other in imports()[module]:
                follow(other, [*way, module])
            done.add(module)

    for module in modules():
        follow(module, [])


@pytest.mark.parametrize("module", modules())
def test_modules_and_functions_are_short(module):
    path = modules()[module]
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 500
    long = [
        f"{node.name}: {node.end_lineno - node.lineno + 1} lines"
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno - node.lineno >= 60
    ]
    assert not long


def test_rooms_are_small():
    """Converters are one kind of syntax each, in the order of the pipeline: a list, not a maze."""
    counts = collections.Counter(room_of(m) for m in modules() if m not in ROOMS)
    large = {room: n for room, n in counts.items() if n > 16 and room != "converters"}
    assert large == {}


def test_a_class_name_exists_once():
    found = collections.defaultdict(list)
    for module, path in modules().items():
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(module)
    assert {name: homes for name, homes in found.items() if len(homes) > 1} == {}


def test_private_names_of_jax_are_in_one_module():
    text = {module: path.read_text(encoding="utf-8") for module, path in modules().items()}
    assert [module for module in text if "jax._src" in text[module]] == [ENGINE + "private"]


def test_only_the_engine_knows_jax():
    knows = [
        module
        for module, path in modules().items()
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in [getattr(node, "module", None) or node.names[0].name]
        if name.partition(".")[0] in ("jax", "jaxlib")
    ]
    assert [module for module in knows if not module.startswith(ENGINE[:-1])] == []


def test_the_map_is_the_house():
    """`python -m tests.packaging.rooms` draws it anew."""
    assert MAP.read_text(encoding="utf-8") == drawing()


TOUR = ROOT / "docs" / "how_it_works.md"


def test_the_tour_names_files_that_are_there():
    """A path is written from the root, or from the engine; a room is named with what to read."""
    text = TOUR.read_text(encoding="utf-8")
    for path in re.findall(r"`([\w/]+\.py)`", text):
        homes = (ROOT, ROOT / "d2s" / "backends" / "lax")
        assert any((home / path).exists() for home in homes), path
    for room, first in re.findall(r"^\| `([\w/]+)`[^|]*\|[^|]*\|([^|]*)\|$", text, re.MULTILINE):
        for module in re.findall(r"`(\w+)`", first):
            homes = (ROOT / room, ROOT / "d2s" / "backends" / "lax" / room)
            assert any((home / f"{module}.py").exists() for home in homes), (room, module)


def test_the_tour_visits_every_room_of_the_engine():
    rooms = re.findall(r"^\| `(\w+)` \|", TOUR.read_text(encoding="utf-8"), re.MULTILINE)
    folders = (ROOT / "d2s" / "backends" / "lax").glob("*/__init__.py")
    assert {path.parent.name for path in folders} == set(rooms)


#: kinds of values that only the room of forms knows by name
KINDS = {"deque", "OrderedDict", "defaultdict", "Counter", "ChainMap", "UserDict", "UserList"}
#: modules that have such a container of their own
OWN = {"backends.lax.function.compiled"}


@pytest.mark.parametrize("module", [m for m in modules() if m.startswith(ENGINE)])
def test_only_forms_know_kinds_of_containers(module):
    if module.startswith(f"{ENGINE}forms.") or module in OWN:
        return
    names = {node.id for node in ast.walk(tree_of(modules()[module])) if isinstance(node, ast.Name)}
    assert not names & KINDS, "ask the table of forms"
