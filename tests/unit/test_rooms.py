"""The rooms of the package: which may import which, and what stands in them once."""

from __future__ import annotations

import ast
import re
from graphlib import TopologicalSorter
from typing import TYPE_CHECKING

import pytest

from tests.kit.places import ROOT as REPOSITORY
from tests.kit.rows import every
from tests.kit.sources import MODULES, ROOT, imports_of, module_of, statements, tree_of

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

BELOW = {"api", "log", "quality", "run_folder", "settings", "viewing", "wire"}
"""The rooms and files below `fleet`, `holder` and `front`."""

GATEWAY_ROOMS = {
    "wire": set(),
    "run_folder": set(),
    "settings": set(),
    "log": {"run_folder"},
    "viewing": {"log", "wire"},
    "quality": {"log"},
    "api": {"log", "quality", "viewing"},
    "fleet": {"api", "log", "quality", "run_folder", "settings", "viewing", "wire"},
    "holder": BELOW | {"fleet"},
    "front": BELOW | {"fleet", "holder"},
    "connecting": {"log", "wire"},
}
"""Each room of the gateway, and the rooms that it may import, also for types alone."""

LOOSE = {"wire", "run_folder"}
"""Files of the gateway that stand in no room."""

ROOMS = {
    "_version": set(),
    "_installation": {"platform"},
    "errors": {"_installation"},
    "quirks": set(),
    "core": {"quirks"},
    "platform": {"_version", "core"},
    "web": set(),
    "record": {"_version", "core", "errors", "platform"},
    "otel": {"_version", "core", "record"},
    "outbox": {"_version", "core", "errors", "platform", "record"},
    "notify": {"core", "errors", "outbox", "platform", "record"},
    "gateway": {"_version", "client", "core", "errors", "notify", "otel", "outbox", "platform"}
    | {"record", "web"},
    "client": {"core", "errors", "quirks"},
    "observer": {"core"},
    "sidecar": {"core", "observer", "platform", "quirks"},
    "inprocess": {"core", "errors", "observer", "otel", "outbox", "platform", "quirks"}
    | {"record"},
    "testing": {"_version", "client", "core", "errors", "inprocess", "platform"},
    "kit": {"_installation", "_version", "client", "core", "platform", "quirks"},
    "conformance": {"core", "kit"},
    "cli": {"_installation", "_version", "client", "core", "errors", "gateway", "kit", "otel"}
    | {"notify", "observer", "outbox", "platform", "quirks", "record", "sidecar", "web"},
    "__main__": {"cli"},
}
"""Each room of the package, and the rooms that it may import; `lastword` itself imports late."""


STORES = {
    "lastword.gateway.log.sqlite": {
        "lastword.gateway.fleet.replicated_log",
        "lastword.gateway.log.session_log",
    },
    "sqlite3": {
        "lastword.gateway.log.sqlite",
        "lastword.gateway.log.session_log",
        "lastword.gateway.quality.metrics",
    },
}
"""The store of the logs of sessions, and the files of the gateway that import it."""

IN_NO_PICTURE = {"_version", "_installation", "__main__", "errors", "testing", "conformance"}
"""Rooms that CONTRIBUTING names below its picture, if at all."""

PICTURED = r"^(?: {2,3}|[ │]*[├└]─ )([a-z]+) {2,}"
"""A line of the picture that begins with a room."""


def _needed_by(file: Path) -> set[str]:
    """The modules of ours that a file names: `from a import b` is `a.b` where that is a module."""
    needed: set[str] = set()
    for node in statements(tree_of(file).body):
        if isinstance(node, ast.Import):
            needed.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            needed.update(name if name in MODULES else node.module for name in names)
    return needed & MODULES.keys()


GRAPH = {name: _needed_by(file) - {name} for name, file in MODULES.items()}
"""Every file, and those that it imports, also for types alone."""


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


@every("room", ROOMS)
def test_a_room_imports_only_the_rooms_that_it_needs(room: str) -> None:
    place = ROOT / room
    files = place.rglob("*.py") if place.is_dir() else [place.with_suffix(".py")]
    for file in files:
        rooms = {name.split(".")[1] for name in _imported(file)}
        assert rooms <= ROOMS[room] | {room}, file


@every("room", GATEWAY_ROOMS)
def test_a_room_of_the_gateway_imports_only_the_rooms_below_it_also_for_types(room: str) -> None:
    for name, needed in GRAPH.items():
        if name.split(".")[1:3] == ["gateway", room]:
            rooms = {each.split(".")[2] for each in needed if each.startswith("lastword.gateway.")}
            assert rooms <= GATEWAY_ROOMS[room] | {room}, name


@pytest.mark.parametrize("store", STORES)
def test_the_gateway_uses_its_store_only_through_the_protocol(store: str) -> None:
    files = (ROOT / "gateway").rglob("*.py")
    users = {module_of(file) for file in files if store in imports_of(file, typing_too=True)}
    assert users == STORES[store]


def test_the_hub_does_not_depend_on_a_store_even_for_types() -> None:
    logs = {name for name in GRAPH["lastword.gateway.holder.hub"] if ".log." in name}
    assert logs == {f"lastword.gateway.log.{name}" for name in ("entries", "store")}
    source = (ROOT / "gateway" / "holder" / "hub.py").read_text(encoding="utf-8")
    assert {*re.findall(r"(?:self\._|[^.])log\.(\w+)", source)} == {"head", "pins"}


def test_neither_rooms_nor_the_files_that_a_run_loads_form_a_cycle() -> None:
    # A package's `__init__` is loaded before its modules; that alone is no circle.
    files = {
        module: {d for d in _imported(file) - {module} if not module.startswith(f"{d}.")}
        for module, file in MODULES.items()
    }
    for table in (CORE_ROOMS, GATEWAY_ROOMS, ROOMS, files):
        TopologicalSorter(table).prepare()  # raises a `CycleError`


def test_cycles_of_files_are_of_two_at_most_also_for_types() -> None:
    reached: dict[str, set[str]] = {}
    for start in GRAPH:
        seen, ahead = set[str](), [start]
        while ahead:
            new = GRAPH[ahead.pop()] - seen
            seen |= new
            ahead += new
        reached[start] = seen
    for name, seen in reached.items():
        circle = {other for other in seen if name in reached[other]}
        assert len(circle) <= 2, sorted(circle)


def test_the_tables_have_every_room_and_file_that_there_is() -> None:
    for place, table in (
        (ROOT, ROOMS),
        (ROOT / "core", CORE_ROOMS),
        (ROOT / "gateway", GATEWAY_ROOMS),
    ):
        found = {path for path in place.iterdir() if path.name not in {"__pycache__", "py.typed"}}
        assert {path.stem for path in found} == {*table, "__init__"}
        if place != ROOT:
            assert {path.stem for path in found if path.is_file()} <= {*LOOSE, "__init__"}


def test_the_picture_of_the_house_has_every_room_that_there_is_and_no_other() -> None:
    picture = (REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8").split("```text")[1]
    shown = re.findall(PICTURED, picture.split("```")[0], re.MULTILINE)
    assert sorted(shown) == sorted({*CORE_ROOMS, *GATEWAY_ROOMS, *ROOMS} - IN_NO_PICTURE - LOOSE)
