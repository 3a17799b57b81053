"""The graph of the package's imports: which file needs which, circles, and rooms with their floors.

`python -m tests.kit.import_graph` prints the numbers.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tests.kit.sources import MODULES, ROOT, statements, tree_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from collections.abc import Set as AbstractSet
    from pathlib import Path

    Graph = dict[str, set[str]]


def needed_by(file: Path, *, typing_too: bool = True) -> set[str]:
    """The modules of ours that a file names: `from a import b` is `a.b` where that is a module."""
    needed: set[str] = set()
    for node in statements(tree_of(file).body, typing_too=typing_too):
        if isinstance(node, ast.Import):
            needed.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                needed.add(name if name in MODULES else node.module)
    return needed & MODULES.keys()


def graph_of(*, typing_too: bool = True) -> Graph:
    return {name: needed_by(file, typing_too=typing_too) - {name} for name, file in MODULES.items()}


def circles_of(graph: Mapping[str, AbstractSet[str]]) -> list[set[str]]:
    """The sets of nodes that all reach one another, of two or more."""

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        ahead = [start]
        while ahead:
            for name in graph.get(ahead.pop(), ()):
                if name not in seen:
                    seen.add(name)
                    ahead.append(name)
        return seen

    reach = {name: reached(name) for name in graph}
    circles: list[set[str]] = []
    for name in graph:
        if name in reach[name] and not any(name in circle for circle in circles):
            circles.append({other for other in reach[name] if name in reach[other]})
    return circles


def floors(rooms: Mapping[str, AbstractSet[str]]) -> int:
    """How many floors a table of rooms has, each needing only those below it.

    Raises:
        ValueError: They form a circle.
    """
    left, count = dict(rooms), 0
    while left:
        free = [room for room, needs in left.items() if not needs & left.keys() - {room}]
        if not free:
            raise ValueError(f"a circle among {sorted(left)}")
        for room in free:
            del left[room]
        count += 1
    return count


def rooms_of(graph: Graph, place: str) -> Graph:
    """The rooms below a package, and the arrows between them."""
    depth = place.count(".") + 1
    rooms: Graph = {}
    for name, needed in graph.items():
        if not name.startswith(f"{place}."):
            continue
        room = name.split(".")[depth]
        rooms.setdefault(room, set()).update(
            each.split(".")[depth] for each in needed if each.startswith(f"{place}.")
        )
    return {room: needed - {room} for room, needed in rooms.items()}


def _report() -> Iterator[str]:
    whole = graph_of()
    for place in ("lastword", "lastword.core", "lastword.gateway"):
        # Above the core and the gateway, a package imports what only types need from where it is.
        rooms = rooms_of(
            whole if place == "lastword.gateway" else graph_of(typing_too=False), place
        )
        try:
            count = f"{floors(rooms)} floors"
        except ValueError as error:
            count = str(error)
        arrows = sum(len(needed) for needed in rooms.values())
        yield f"{place}: {len(rooms)} rooms, {count}, {arrows} arrows"
    files = sum(len(needed) for needed in whole.values())
    yield f"{ROOT.name}: {len(whole)} files, {files} arrows, types included"
    for typing_too in (False, True):
        circles = sorted(circles_of(graph_of(typing_too=typing_too)), key=len)
        kind = "types included" if typing_too else "as it runs"
        yield f"circles of files, {kind}: {len(circles)}"
        for circle in circles:
            yield f"  {len(circle)}: {', '.join(sorted(circle))}"


if __name__ == "__main__":
    for line in _report():
        print(line)
