"""What a holder records of its sessions' logs: what befell them, and nobody's words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

import pytest

from lastword.core.protocol import jsonrpc
from lastword.core.timeline.entry import Entry, Kind
from lastword.core.timeline.session_events import PHRASES, problems_of
from lastword.gateway.holder import recorder_process, recording
from lastword.gateway.holder.recording import HolderRecord
from lastword.gateway.log.entries import (
    CAUSE_OF_CODE,
    CAUSES,
    About,
    LogEntry,
    LogKind,
    cause_of,
)
from tests.kit.recording import Carrier

if TYPE_CHECKING:
    from collections.abc import Callable

    Keep = Callable[..., tuple[HolderRecord, list[Carrier]]]

CANARY = "the-users-own-words"
PROMPT = LogEntry(
    LogKind.IN, 0, jsonrpc.request(b"1", "session/prompt", {}), About(method="session/prompt")
)


def life(word: str, viewer: str = "", **facts: Any) -> LogEntry:
    return LogEntry(LogKind.LIFE, 0, b"", About(word=word, viewer=viewer, facts=facts))


@pytest.fixture
def keep(monkeypatch: pytest.MonkeyPatch) -> Keep:
    """A holder's record, and where its rows go once they go anywhere."""

    def start(folder: str = "/nowhere") -> tuple[HolderRecord, list[Carrier]]:
        begun: list[Carrier] = []

        def spawned(*_: object) -> Carrier:
            begun.append(Carrier())
            return begun[-1]

        monkeypatch.setattr(recording, "started", spawned)
        return HolderRecord(folder, program="/bin/agent"), begun

    return start


def test_a_sessions_events_are_recorded_in_our_own_words(keep: Keep) -> None:
    record, begun = keep()
    # What each of them says is decided by the API, whose facts are the record's.
    left = life("viewer_left", "v1", code=1001, cause=CANARY, pos=8)
    gone = life("agent_ended", status=-9, exit_signal="SIGKILL", open_turns=0)
    decided = About(word="policy", facts={"why": "expired"})
    told = LogEntry(LogKind.TOLD, 0, CANARY.encode(), decided)
    record.committed("s1", [PROMPT, left, life("waits", text=CANARY), gone, told])
    record.flush()
    rows = begun[0].rows
    assert {(row.session_id, row.turn) for row in rows} == {("s1", None)}
    assert [(row.kind, row.facts) for row in rows] == [
        (Kind.VIEWER_LEFT, {"viewer": "v1", "code": 1001, "cause": "tab_closed"}),
        (Kind.SUPERVISOR_EXITED, {"exit_signal": "SIGKILL"}),
        (Kind.QUESTION_DECIDED, {"how": "expired"}),
    ]


def test_a_viewers_departure_without_a_word_is_described_by_its_code() -> None:
    assert cause_of(1006, "the front is gone") == "front_gone"
    assert cause_of(4408, "stalled") == "stalled"
    assert cause_of(4408, CANARY) == "no_heartbeat"
    assert cause_of(4999, CANARY) == "other"
    assert cause_of(1001, "") == "tab_closed"
    assert cause_of(1001, "gateway_stops") == "front_stops"
    assert {*CAUSES.values(), *CAUSE_OF_CODE.values()} <= set(PHRASES["left"])


def test_a_session_without_a_prompt_is_not_recorded(
    keep: Keep,
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
    keep: Keep,
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
    keep: Keep, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OTEL_TRACES_EXPORTER", "OTEL_EXPORTER_OTLP_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    record, begun = keep("")
    record.holds("s1", "s1")
    record.committed("s1", [PROMPT, life("holder_died")])
    record.flush()
    record.close()
    assert begun == []


def test_odd_facts_are_recorded_as_the_table_has_them(
    keep: Keep,
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


def test_a_session_continues_unrecorded_without_a_thread_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    refuses = Mock(side_effect=RuntimeError)
    monkeypatch.setattr(recorder_process, "ThreadedRecorder", refuses)
    record = HolderRecord("/nowhere", program="/bin/agent")
    record.committed("s1", [PROMPT, life("session_ended", cause="idle")])
    record.flush()
    record.close()
    assert refuses.called
