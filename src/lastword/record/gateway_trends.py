"""Totals for sessions behind gateways, and their viewers, over a period.

Owns what is counted. Reads nothing itself.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from lastword.core.protocol.tolerant import number_of
from lastword.core.timeline.entry import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lastword.record.reader import RecordedEntry


class GatewayPeriod(msgspec.Struct, frozen=True, kw_only=True):
    """The totals.

    Attributes:
        viewers_came: how often a viewer connected.
        viewers_came_back: how many of these resumed where they had left off.
        connections_ended: how often one disconnected, by close code and cause (`1006 link_cut`).
        lags: how often a viewer was far behind.
        gaps: how often one learned that entries are gone.
        missed_entries: how many entries that was.
        questions_held: the agents' questions that found no viewer.
        questions: those that are settled, by how.
        holders_died: processes that died while holding a session.
        supervisors_exited: ends of the link between a gateway and an agent.
        restored: sessions that were restored.
        restored_without_history: how many of these lost their history.
        not_restored: sessions that could not be restored.
        log_resets: logs whose numbering began again.
        sessions_ended: ended sessions, by cause.
    """

    viewers_came: int
    viewers_came_back: int
    connections_ended: dict[str, int]
    lags: int
    gaps: int
    missed_entries: int
    questions_held: int
    questions: dict[str, int]
    holders_died: int
    supervisors_exited: int
    restored: int
    restored_without_history: int
    not_restored: int
    log_resets: int
    sessions_ended: dict[str, int]


def gateway_period(recorded: Iterable[RecordedEntry]) -> GatewayPeriod | None:
    """Sum up the entries, or return `None` if there are none."""
    entries = [each.entry for each in recorded]
    if not entries:
        return None
    kinds = Counter(entry.kind for entry in entries)

    def words(kind: Kind, *facts: str) -> dict[str, int]:
        sentences = (
            " ".join(str(entry.facts.get(fact, "unknown")) for fact in facts)
            for entry in entries
            if entry.kind is kind
        )
        return dict(sorted(Counter(sentences).items(), key=lambda each: (-each[1], each[0])))

    came_back = (e.facts.get("back") is True for e in entries if e.kind is Kind.VIEWER_CAME)
    gaps = [entry.facts for entry in entries if entry.kind is Kind.GAP_TOLD]
    return GatewayPeriod(
        viewers_came=kinds[Kind.VIEWER_CAME],
        viewers_came_back=sum(came_back),
        connections_ended=words(Kind.VIEWER_LEFT, "code", "cause"),
        lags=kinds[Kind.VIEWER_LAGS],
        gaps=len(gaps),
        missed_entries=sum(
            int(number_of(facts.get("last")) - number_of(facts.get("first"))) + 1 for facts in gaps
        ),
        questions_held=kinds[Kind.QUESTION_HELD],
        questions=words(Kind.QUESTION_DECIDED, "how"),
        holders_died=kinds[Kind.HOLDER_DIED],
        supervisors_exited=kinds[Kind.SUPERVISOR_EXITED],
        restored=kinds[Kind.SESSION_RESTORED],
        restored_without_history=words(Kind.SESSION_RESTORED, "history").get("none", 0),
        not_restored=kinds[Kind.SESSION_NOT_RESTORED],
        log_resets=kinds[Kind.LOG_RESET],
        sessions_ended=words(Kind.SESSION_ENDED, "cause"),
    )
