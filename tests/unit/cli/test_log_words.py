"""The words and marks that a record is shown in, whatever it holds."""

from __future__ import annotations

from lastword.cli import log_page
from lastword.core.timeline.entry import Entry, Kind
from lastword.record.present import documents
from tests.kit.rows import every


@every("kind", list(Kind))
def test_every_kind_has_words_for_any_facts(kind: Kind) -> None:
    values: list[object] = [None, 3, "word", ["a"], {"b": 1}, 2.5, True]
    assert documents.words(Entry(kind=kind, at_seconds=0.0))
    names = ("type", "reason", "wait_seconds", "call", "tool", "status", "count", "kinds", "bytes")
    names += ("tail", "by", "stop_reason", "attempt", "retry_safety", "action", "open_turns")
    names += ("viewer", "client", "role", "code", "cause", "entries", "first", "last", "what")
    names += ("how", "history", "exit_code", "exit_signal", "incident_id", "name", "back")
    for value in values:
        assert documents.words(Entry(kind=kind, at_seconds=0.0, facts=dict.fromkeys(names, value)))


def test_a_strip_keeps_the_latest_and_says_that_there_were_more() -> None:
    assert (log_page.turn_strip(".x", 5), log_page.turn_strip(".....xx-", 4)) == (".x", "<xx-")
    assert log_page.retry_strip([0, 1.5, 4, 10, 30, 100, 500, 5000], 8, bars=False) == ".:-=+*%#"
    assert log_page.retry_strip([0] * 9, 3, bars=True) == "<▁▁"


@every(
    ("kind", "facts", "told"),
    [
        (
            Kind.AGENT_EXITED,
            {"exit_code": 2, "reason": "exit_status", "open_turns": 1},
            "agent exited: exit status 2, during 1 turn",
        ),
        (
            Kind.AGENT_EXITED,
            {"exit_code": 0, "reason": "client_left"},
            "agent exited: exit status 0 (the client left)",
        ),
        (Kind.AGENT_RESTARTED, {"attempt": 1}, "agent restarted (restart 1 of this run)"),
        (
            Kind.VIEWER_CAME,
            {"viewer": "0123456789", "role": "observer", "client": "zed", "back": True},
            "viewer 012345 came back: zed, to watch",
        ),
        (
            Kind.VIEWER_LEFT,
            {"viewer": "0123456789", "code": 1006, "cause": "link_cut"},
            "viewer 012345 left: the connection was cut (1006)",
        ),
        (
            Kind.VIEWER_LAGS,
            {"viewer": "01", "entries": 40_000, "bytes": 18 * 1024 * 1024},
            "viewer 01 is 40,000 entries (18.0 MiB) behind",
        ),
        (
            Kind.GAP_TOLD,
            {"viewer": "01", "first": 11, "last": 20},
            "viewer 01 missed 10 entries (11 to 20), no longer kept",
        ),
        (
            Kind.QUESTION_DECIDED,
            {"what": "permission", "how": "expired"},
            "the agent's question for a permission: refused, since no viewer came in time",
        ),
        (
            Kind.SUPERVISOR_EXITED,
            {"exit_signal": "SIGKILL", "open_turns": 1, "incident_id": "R-h1"},
            "the gateway's link to the agent ended: SIGKILL, during 1 turn, incident R-h1",
        ),
        (
            Kind.SESSION_RESTORED,
            {"history": "none"},
            "session restored; the agent remembers nothing of the conversation",
        ),
        (
            Kind.SESSION_NOT_RESTORED,
            {"type": "agent_crash", "reason": "exit_status"},
            "session not restored: the agent refused (agent crashed, exit status)",
        ),
        (Kind.LOG_RESET, {"reason": "disk"}, None),
        (
            Kind.SESSION_ENDED,
            {"cause": "idle"},
            "session ended: no viewer was connected for too long",
        ),
        (Kind.SESSION_HELD, {"name": "1-4af0"}, "held by a gateway, which names it 1-4af0"),
    ],
)
def test_an_event_is_described_in_a_plain_sentence(
    kind: Kind, facts: dict[str, object], told: str | None
) -> None:
    said = documents.words(Entry(kind=kind, at_seconds=0.0, facts=facts))
    assert said == (told or said)
    assert "_" not in said
