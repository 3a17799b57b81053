"""What a holder records of its sessions' logs: what befell them, and nobody's words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from lastword.core.protocol import jsonrpc
from lastword.core.timeline.entry import Entry, Kind
from lastword.core.timeline.session_events import FACTS, GATEWAY, PHRASES, problems_of
from lastword.gateway.holder import recorder_process, recording
from lastword.gateway.holder.recording import HolderRecord
from lastword.gateway.log.entries import (
    CAUSE_OF_CODE,
    CAUSES,
    About,
    LogEntry,
    LogKind,
    cause_of,
    recorded,
)
from tests.kit.recording import Carrier
from tests.kit.rows import every

if TYPE_CHECKING:
    from collections.abc import Callable

CANARY = "the-users-own-words"
PROMPT = LogEntry(
    LogKind.IN, 0, jsonrpc.request(b"1", "session/prompt", {}), About(method="session/prompt")
)


def life(word: str, viewer: str = "", method: str = "", **facts: Any) -> LogEntry:
    about = About(word=word, viewer=viewer, method=method, facts=facts)
    return LogEntry(LogKind.LIFE, 0, b"", about)


def told(word: str, method: str = "session/request_permission", **facts: Any) -> LogEntry:
    about = About(word=word, method=method, facts=facts)
    return LogEntry(LogKind.TOLD, 0, CANARY.encode(), about)


@pytest.fixture
def keep(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[HolderRecord, list[Carrier]]]:
    """A holder's record, and where its rows go once they go anywhere."""

    def start(folder: str = "/nowhere") -> tuple[HolderRecord, list[Carrier]]:
        begun: list[Carrier] = []

        def spawned(*_: object) -> Carrier:
            begun.append(Carrier())
            return begun[-1]

        monkeypatch.setattr(recording, "started", spawned)
        return HolderRecord(folder, program="/bin/agent"), begun

    return start


@every(
    ("entry", "kind", "facts"),
    [
        (
            life("viewer_came", "v1", role="observer", client="zed", after=3, back=True),
            Kind.VIEWER_CAME,
            {"viewer": "v1", "role": "observer", "client": "zed", "back": True},
        ),
        (
            life("viewer_left", "v1", code=1001, cause=CANARY, pos=8),
            Kind.VIEWER_LEFT,
            {"viewer": "v1", "code": 1001, "cause": "tab_closed"},
        ),
        (
            life("viewer_lags", "v1", entries=9, bytes=900),
            Kind.VIEWER_LAGS,
            {"viewer": "v1", "entries": 9, "bytes": 900},
        ),
        (life("viewer_caught_up", "v1"), Kind.VIEWER_CAUGHT_UP, {"viewer": "v1"}),
        (
            life("gap_told", "v1", first=1, last=7, reason="trimmed"),
            Kind.GAP_TOLD,
            {"viewer": "v1", "first": 1, "last": 7, "reason": "trimmed"},
        ),
        (life("question_held", method="elicitation/create"), Kind.QUESTION_HELD, {"what": "form"}),
        (told("policy", why="expired"), Kind.QUESTION_DECIDED, {"how": "expired"}),
        (told("withdrawn", method="fs/read_text_file"), Kind.QUESTION_DECIDED, {"what": "file"}),
        (told("viewer", method="terminal/create"), Kind.QUESTION_DECIDED, {"what": "command"}),
        (told("lost", method="own/method"), Kind.QUESTION_DECIDED, {"what": "other"}),
        (
            life("holder_died", open_turns=1, incident_id="R-h1"),
            Kind.HOLDER_DIED,
            {"open_turns": 1, "incident_id": "R-h1"},
        ),
        (life("restored", history="none"), Kind.SESSION_RESTORED, {"history": "none"}),
        (
            life("not_restored", type="auth", reason="expired"),
            Kind.SESSION_NOT_RESTORED,
            {"type": "auth", "reason": "expired"},
        ),
        (
            life("agent_ended", status=-9, exit_signal="SIGKILL", open_turns=0),
            Kind.SUPERVISOR_EXITED,
            {"exit_signal": "SIGKILL"},
        ),
        (life("log_reset", reason="disk", epoch="e"), Kind.LOG_RESET, {"reason": "disk"}),
        (life("session_ended", cause="idle"), Kind.SESSION_ENDED, {"cause": "idle"}),
    ],
)
def test_a_sessions_events_are_recorded_in_our_own_words(
    keep: Callable[..., tuple[HolderRecord, list[Carrier]]],
    entry: LogEntry,
    kind: Kind,
    facts: dict[str, Any],
) -> None:
    record, begun = keep()
    record.committed("s1", [PROMPT, entry])
    record.flush()
    (carrier,) = begun
    (row,) = carrier.rows
    assert (row.kind, row.session_id, row.turn) == (kind, "s1", None)
    assert facts.items() <= row.facts.items()
    assert CANARY not in repr(row)
    assert kind in GATEWAY
    made = recorded(entry, "s1", 0.0)
    assert made is not None
    assert set(made.facts) == set(FACTS[kind])


def test_most_entries_of_a_log_are_not_recorded() -> None:
    assert recorded(life("waits", text=CANARY), "s1", 0.0) is None


def test_a_viewers_departure_without_a_word_is_described_by_its_code() -> None:
    assert cause_of(1006, "the front is gone") == "front_gone"
    assert cause_of(4408, "stalled") == "stalled"
    assert cause_of(4408, CANARY) == "no_heartbeat"
    assert cause_of(4999, CANARY) == "other"
    assert cause_of(1001, "") == "tab_closed"
    assert cause_of(1001, "gateway_stops") == "front_stops"
    assert {*CAUSES.values(), *CAUSE_OF_CODE.values()} <= set(PHRASES["left"])


def test_a_session_without_a_prompt_is_not_recorded(
    keep: Callable[..., tuple[HolderRecord, list[Carrier]]],
) -> None:
    record, begun = keep()
    record.holds("s1", "s1")
    record.committed("s1", [life("viewer_came", "v1", role="controller", client="zed")])
    record.flush()
    assert begun == []
    record.committed("s1", [PROMPT])
    record.flush()
    assert [row.kind for row in begun[0].rows] == ["session_held", "viewer_came"]


def test_a_process_that_died_is_recorded_even_without_a_prompt(
    keep: Callable[..., tuple[HolderRecord, list[Carrier]]],
) -> None:
    record, begun = keep()
    record.holds("1", "1-4af0")
    record.committed("1", [life("holder_died", incident_id=record.incident())])
    record.flush()
    held, died = begun[0].rows
    assert held.facts == {"name": "1-4af0"}
    assert died.facts == {"incident_id": f"{record.run}-h1"}
    assert died.level == "error"


def test_a_holder_without_record_and_traces_does_nothing(
    keep: Callable[..., tuple[HolderRecord, list[Carrier]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OTEL_TRACES_EXPORTER", "OTEL_EXPORTER_OTLP_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    record, begun = keep("")
    record.holds("s1", "s1")
    record.committed("s1", [PROMPT, life("holder_died")])
    record.flush()
    record.close()
    assert begun == []


def test_a_session_continues_unrecorded_without_a_thread_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    refused = []

    def refuses(*_: object) -> Carrier:
        refused.append(1)
        raise RuntimeError

    monkeypatch.setattr(recorder_process, "ThreadedRecorder", refuses)
    record = HolderRecord("/nowhere", program="/bin/agent")
    record.committed("s1", [PROMPT, life("session_ended", cause="idle")])
    record.flush()
    record.close()
    assert refused


def test_an_entry_of_every_kind_keeps_to_the_table_of_facts(
    keep: Callable[..., tuple[HolderRecord, list[Carrier]]],
) -> None:
    record, begun = keep()
    record.committed("s1", [PROMPT, life("viewer_left", "v1", code="1000", cause=7)])
    record.committed("s1", [life("viewer_came", "v1", role="controller", client="x" * 500)])
    record.close()
    assert [row.facts.get("code") for row in begun[0].rows] == [0, None]
    assert len(begun[0].rows[1].facts["client"]) == 128
    for row in begun[0].rows:
        entry = Entry(kind=Kind(row.kind), at_seconds=0.0, facts=row.facts)
        assert problems_of(entry) == []
