"""At the end of a link: does the core still hold anything, and was all of it within its bound?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lastword.core.restart.layer import RestartLayer
from tests.kit.simulation.ledger import BrokenPromiseError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.kit.simulation.ledger import Ledger

MAX_REMEMBERED = 1000
"""Nothing that a peer can make grow may be longer than this."""

_GIVEN = frozenset({"options", "agent", "client", "greeting"})
"""Values that are replaced, never grown."""


def check(core: Any, ledger: Ledger) -> None:
    """The agent is gone for good, and every request has been answered."""
    link = core.link
    left = {
        "requests of the client's": link.from_client,
        "requests of the agent's": link.from_agent,
        "an answer held back": link.withheld_error,
        "prompts to be sent again": link.resent,
        "turns": [turn for session in link.sessions.values() for turn in session.turns],
        "prompts that wait": [p for session in link.sessions.values() for p in session.waiting],
        "questions": [asked for session in link.sessions.values() for asked in session.asking],
        "terminals": link.terminals,
    }
    if isinstance(core, RestartLayer):
        left["a queue"] = core.state.queue
        left["requests of ours"] = core.state.own
        left["sessions on their way"] = core.state.returning
    for what, value in left.items():
        if value:
            raise BrokenPromiseError("unbounded", f"after the end there are {what}: {value}")
    named = {asked.session for asked in ledger.asked.values()}
    if len(link.sessions) > len(named) + len(ledger.asked):
        raise BrokenPromiseError("unbounded", f"{len(link.sessions)} sessions remembered")
    for path, size in sizes(core, "core"):
        if size > MAX_REMEMBERED:
            raise BrokenPromiseError("unbounded", f"{path} holds {size}")


def sizes(value: Any, path: str) -> Iterator[tuple[str, int]]:
    """Every container that can be reached, and its length."""
    if isinstance(value, dict | list | set | tuple):
        yield path, len(value)
        values = value.values() if isinstance(value, dict) else value
        for inner in values:
            if not isinstance(inner, str | bytes | int | float):
                yield from sizes(inner, f"{path}[]")
    for name in getattr(type(value), "__slots__", ()):
        if name not in _GIVEN and name != "session":
            inner = getattr(value, name)
            if isinstance(inner, dict | list | set | tuple) or hasattr(type(inner), "__slots__"):
                yield from sizes(inner, f"{path}.{name}")
