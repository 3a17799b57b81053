"""From a failing link to the shortest schedule that still fails, and from that to a test.

Owns delta debugging over events: pieces are left out as long as the same promise breaks.
"""

from __future__ import annotations

import pprint
from typing import TYPE_CHECKING, Any

from lastword.core.link.connection import Connection
from tests.kit.simulation.links import replay

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.kit.simulation.player import Event

_MAX_TRIES = 3000


def shortest(
    options: dict[str, Any],
    schedule: list[Event],
    promise: str,
    core: Callable[..., Any] = Connection,
) -> tuple[dict[str, Any], list[Event]]:
    """The options and the events that are needed to break this promise."""
    tries = 0

    def fails(with_options: dict[str, Any], events: list[Event]) -> bool:
        nonlocal tries
        tries += 1
        broken = replay(with_options, events, core)
        return broken is not None and broken.promise == promise

    events = _apart(schedule)
    if not fails(options, events):
        events = list(schedule)
    size = max(len(events) // 2, 1)
    while tries < _MAX_TRIES:
        at, before = 0, len(events)
        while at < len(events) and tries < _MAX_TRIES:
            fewer = events[:at] + events[at + size :]
            if fails(options, fewer):
                events = fewer
            else:
                at += size
        if size == 1 and len(events) == before:
            break
        size = max(size // 2, 1)
    for name in list(options):
        fewer_options = {key: value for key, value in options.items() if key != name}
        if fails(fewer_options, events):
            options = fewer_options
    return options, events


def _apart(schedule: list[Event]) -> list[Event]:
    """The same with each burst as single lines: they can be left out one by one."""
    events: list[Event] = []
    for event in schedule:
        if event[0] == "block":
            events += [("agent", line) for line in event[1].split(b"\n")]
        else:
            events.append(event)
    return events


def as_test(options: dict[str, Any], events: list[Event], broken: Exception) -> str:
    """Text that can be pasted into `tests/unit/link/test_connection_simulated.py`."""
    shown = pprint.pformat(events, width=100, sort_dicts=False)
    body = "\n".join(f"    {line}" for line in shown.splitlines())
    return (
        "def test_what_should_hold_in_one_sentence() -> None:\n"
        f"    # broke: {str(broken)[:160]}\n"
        f"    events =\\\n{body}\n"
        f"    assert replay({options!r}, events) is None\n"
    ).replace("events =\\\n    [", "events = [")
