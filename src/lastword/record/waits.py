"""Who made the user wait: seconds by provider, tool, agent and user, from a period's entries.

Owns the counting. A tool counts from its first entry to its last, a question until its answer, and
the rest as the end of each turn says of its silences.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from lastword.core.protocol.tolerant import number_of
from lastword.core.timeline.entry import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lastword.record.reader import RecordedEntry

_BEGIN = {Kind.TOOL_STARTED: "tool", Kind.ASKED: "user"}
_END = {
    Kind.TOOL_ENDED: "tool",
    Kind.USER_ANSWERED: "user",
    Kind.QUESTION_EXPIRED: "user",
}
_FACTS = {
    "provider": "provider_seconds",
    "tool": "tool_seconds",
    "agent": "agent_seconds",
}


class WaitTotals(msgspec.Struct, frozen=True):
    """How long turns waited, in seconds.

    Attributes:
        provider: for the model provider, in silence.
        tool: for tools.
        agent: for the agent itself, which computed, was stopped or waited for a disk.
        user: for answers to the agent's questions.
    """

    provider: float = 0.0
    tool: float = 0.0
    agent: float = 0.0
    user: float = 0.0


def waits_of(entries: Iterable[RecordedEntry]) -> WaitTotals:
    """Count the waits in the entries of some sessions, each session's in order."""
    seconds: dict[str, float] = dict.fromkeys(("provider", "tool", "agent", "user"), 0.0)
    began: dict[tuple[int, str | None, str], list[float]] = {}
    for recorded in entries:
        entry = recorded.entry
        session = recorded.run, entry.session_id
        if entry.kind in _BEGIN:
            began.setdefault((*session, _BEGIN[entry.kind]), []).append(entry.at_seconds)
        elif entry.kind in _END:
            who = _END[entry.kind]
            opened = began.get((*session, who), [])
            # Those that run at the same time are one wait, from the first to the last.
            if len(opened) == 1:
                seconds[who] += max(entry.at_seconds - opened[0], 0.0)
            del opened[1 if len(opened) > 1 else 0 : 2 if len(opened) > 1 else 1]
        else:
            for who in ("tool", "user"):
                opened = began.pop((*session, who), [])
                if opened and entry.kind is not Kind.PROMPT:
                    seconds[who] += max(entry.at_seconds - opened[0], 0.0)
            for who, fact in _FACTS.items():
                seconds[who] += number_of(entry.facts.get(fact))
    return WaitTotals(**seconds)
