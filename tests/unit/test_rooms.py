"""The rooms of the package: which may import which, and what stands in them once."""

from __future__ import annotations

import ast
from collections import defaultdict
from typing import TYPE_CHECKING

import pytest

from tests.kit.sources import FILES, MODULES, ROOT, imports_of, module_of, statements, tree_of

if TYPE_CHECKING:
    from pathlib import Path

CORE_ROOMS = {
    "protocol": set(),
    "redact": set(),
    "failure": {"protocol", "redact"},
    "classify": {"failure", "protocol", "redact"},
    "timeline": {"failure", "protocol"},
    "link": {"classify", "failure", "protocol", "redact", "timeline"},
    "restart": {"classify", "failure", "link", "protocol", "timeline"},
}
"""Each room of the core, and the rooms that it may import."""

ABOVE_ITS_ROOM = {"lastword.core.link.failopen"}
"""Puts the layer of restarts around the link at the first crash, and imports it then."""

ROOMS = {
    "_version": set(),
    "_installation": set(),
    "errors": {"_installation"},
    "quirks": set(),
    "core": {"quirks"},
    "posix": {"_version"},
    "web": set(),
    "record": {"_version", "core", "errors", "posix"},
    "otel": {"_version", "core", "record"},
    "outbox": {"_version", "core", "errors", "posix", "record"},
    "gateway": {"_version", "client", "core", "errors", "otel", "outbox", "posix", "record"}
    | {"web"},
    "client": {"core", "errors", "quirks"},
    "sidecar": {"core", "posix", "quirks"},
    "inprocess": {"core", "errors", "otel", "outbox", "posix", "quirks"} | {"record"},
    "testing": {"_version", "client", "core", "errors", "inprocess", "posix"},
    "kit": {"_installation", "_version", "client", "core", "posix", "quirks"},
    "conformance": {"core", "kit"},
    "cli": {"_installation", "_version", "client", "core", "errors", "gateway", "kit", "otel"}
    | {"outbox", "posix", "quirks", "record", "sidecar", "web"},
    "__main__": {"cli"},
}
"""Each room of the package, and the rooms that it may import; `lastword` itself imports late."""


def _imported(file: Path) -> set[str]:
    """The modules of ours that a file imports when it runs; what only types need is left out."""
    return set((imports_of(file, typing_too=False) & MODULES.keys()) - {"lastword"})


@pytest.mark.parametrize("room", CORE_ROOMS)
def test_a_room_of_the_core_imports_only_the_rooms_below_it(room: str) -> None:
    for file in (ROOT / "core" / room).rglob("*.py"):
        if module_of(file) in ABOVE_ITS_ROOM:
            continue
        rooms = {name.split(".")[2] for name in _imported(file) if name.count(".") > 1}
        assert rooms & CORE_ROOMS.keys() <= CORE_ROOMS[room] | {room}, file


def test_the_core_has_these_rooms_and_no_loose_file() -> None:
    found = {path.name for path in (ROOT / "core").iterdir() if path.name != "__pycache__"}
    assert found == {*CORE_ROOMS, "__init__.py"}


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_the_rooms_that_it_needs(room: str) -> None:
    place = ROOT / room
    files = place.rglob("*.py") if place.is_dir() else [place.with_suffix(".py")]
    for file in files:
        rooms = {name.split(".")[1] for name in _imported(file)}
        assert rooms <= ROOMS[room] | {room}, file


def test_the_package_has_these_rooms() -> None:
    found = {path.stem for path in ROOT.iterdir() if path.name not in {"__pycache__", "py.typed"}}
    assert found == {*ROOMS, "__init__"}


def test_rooms_form_no_circle() -> None:
    for table in (CORE_ROOMS, ROOMS):
        left = dict(table)
        while left:
            free = [room for room, needs in left.items() if not needs & left.keys()]
            assert free, f"a circle among {sorted(left)}"
            for room in free:
                del left[room]


def test_a_class_name_is_defined_once() -> None:
    homes = defaultdict(list)
    for file in FILES:
        for node in statements(tree_of(file).body):
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(module_of(file))
    assert {name: places for name, places in homes.items() if len(places) > 1} == {}
