"""A session between its agent and its viewers: who is asked, who is answered, and how often."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any
from unittest import mock

import msgspec
import pytest

from lastword.core.protocol import jsonrpc
from lastword.core.timeline.entry import Kind
from lastword.gateway.fleet.replicated_log import ReplicatedLog
from lastword.gateway.holder.effects import Commit, Effects, Retell, ToAgent, ToViewer
from lastword.gateway.holder.handover import past_lines
from lastword.gateway.holder.hub import MAX_OPEN, Hub
from lastword.gateway.log.entries import Cursor, LogKind, Pins
from lastword.gateway.log.session_log import LastingLog
from lastword.gateway.log.sqlite import SqliteLog
from lastword.gateway.log.store import MemoryLog
from lastword.gateway.viewing.frames import question_id, session_key
from lastword.gateway.viewing.reader import CursorError, Role, Viewer
from lastword.gateway.viewing.render import WAITS
from tests.kit.fleet.in_memory import LatePublisher
from tests.kit.gateway.entries_made import SESSION, ask, frame_of, out, said, update_line
from tests.kit.rows import every

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from lastword.gateway.holder.effects import HubEffect
    from lastword.gateway.log.entries import LogEntry
    from lastword.gateway.log.store import Log
    from lastword.gateway.viewing.reader import Attachment

KEY = session_key(SESSION)
ERROR = {"code": -32603, "message": "gone", "data": {"agent_error": {"type": "agent_crash"}}}
A, B = Viewer(id="a"), Viewer(id="b")


class CommittingHub(Hub):
    """A hub whose entries are in its log at once; its effects are what is sent."""

    def __init__(self, log: Log, **options: Any) -> None:
        super().__init__(log, **options)
        self.log = log

    def _commit(self, entries: Sequence[LogEntry]) -> list[HubEffect]:
        self.head += len(entries)
        self.log.append(entries)
        return []


class Play:
    """A hub and what came of it."""

    def __init__(self, log: MemoryLog | None = None, **options: Any) -> None:
        self.log = log or MemoryLog()
        numbers = itertools.count(1)
        self.hub = CommittingHub(
            self.log, session_id=SESSION, numbers=lambda: next(numbers), **options
        )

    def comes(self, viewer: Viewer = A, cursor: Cursor | None = None) -> Attachment:
        return self.hub.attach(viewer, cursor, 0)[0]

    def says(self, attachment: Attachment, line: bytes) -> list[HubEffect]:
        return self.hub.receive(attachment, frame_of(line), 0)

    def prompts(self, attachment: Attachment, request: bytes = b"7") -> list[HubEffect]:
        params = {"sessionId": SESSION, "prompt": []}
        return self.says(attachment, jsonrpc.request(request, "session/prompt", params))

    def agent(self, *lines: bytes, now: float = 1.0) -> None:
        assert self.hub.from_agent([frame_of(line) for line in lines], now, 0) == []

    def asks(self, agent_id: bytes = b'"q"', method: str = "session/request_permission") -> None:
        params = {"sessionId": SESSION, "options": [{"kind": "reject_once", "optionId": "no"}]}
        self.agent(jsonrpc.request(agent_id, method, params))

    def kinds(self) -> list[LogKind]:
        return [entry.kind for _, entry in self.log.read(0) if entry.kind is not LogKind.LIFE]

    def words(self) -> list[str]:
        return [entry.about.word for _, entry in self.log.read(0) if entry.about.word]


def lines(effects: list[HubEffect]) -> list[dict[str, Any]]:
    return [jsonrpc.loads(effect.line) for effect in effects if isinstance(effect, ToAgent)]


def reason(effects: list[HubEffect]) -> str:
    (refused,) = effects
    assert isinstance(refused, ToViewer)
    told: str = jsonrpc.loads(refused.line)["error"]["data"]["agent_error"]["reason"]
    return told


def test_a_prompt_is_committed_and_then_reaches_the_agent_under_our_own_number() -> None:
    play = Play()
    viewer = play.comes()
    effects = play.prompts(viewer)
    assert [line["id"] for line in lines(effects)] == [1]
    assert play.kinds() == [LogKind.IN]
    assert play.hub.turn_of == "a"
    assert play.hub.has_open(1)
    mode = {"sessionId": SESSION, "modeId": "m"}
    play.says(viewer, jsonrpc.request(b"8", "session/set_mode", mode))
    assert play.hub.open_turns == 1  # which is no turn
    play.agent(jsonrpc.result(b"1", {"stopReason": "end_turn"}))
    assert play.kinds() == [LogKind.IN, LogKind.IN, LogKind.END]
    assert (play.hub.turn_of, play.hub.open_turns) == (None, 0)


def test_a_repeated_prompt_reaches_the_agent_once() -> None:
    play = Play()
    first = play.comes()
    play.prompts(first)
    again = play.comes(A, Cursor(play.log.epoch, 0))
    assert play.prompts(again) == []
    assert play.kinds() == [LogKind.IN]


def test_the_end_of_a_prompt_that_lies_before_the_cursor_is_repeated() -> None:
    play = Play()
    play.prompts(play.comes())
    play.agent(jsonrpc.result(b"1", {"stopReason": "end_turn"}))
    again = play.comes(A, Cursor(play.log.epoch, play.log.head))
    (effect,) = play.prompts(again)
    assert isinstance(effect, Retell)
    assert effect.end.entry.about.number == 1


def test_a_repeated_prompt_is_not_answered_again_while_its_answer_is_still_to_be_read() -> None:
    play = Play()
    play.prompts(play.comes())
    play.agent(jsonrpc.result(b"1", {"stopReason": "end_turn"}))
    again = play.comes(A, Cursor(play.log.epoch, 1))
    assert play.prompts(again) == []
    assert again.repeated == {1}
    again.answered.add(1)
    assert play.prompts(again) == []


def test_two_viewers_may_use_the_same_id() -> None:
    play = Play()
    a, b = play.comes(A), play.comes(B)
    assert lines(play.prompts(a))[0]["id"] == 1
    mode = jsonrpc.request(b"7", "session/set_mode", {"sessionId": SESSION, "modeId": "x"})
    assert lines(play.says(b, mode))[0]["id"] == 2


def test_another_viewers_prompt_is_refused_during_a_turn_and_the_turns_viewers_is_not() -> None:
    play = Play()
    a, b = play.comes(A), play.comes(B)
    play.prompts(a)
    assert reason(play.prompts(b)) == "turn_open"
    assert len(lines(play.prompts(a, b"8"))) == 1
    assert play.kinds() == [LogKind.IN, LogKind.IN]


def test_an_observer_neither_prompts_nor_cancels_nor_answers() -> None:
    play = Play()
    observer = play.comes(Viewer(id="o", role=Role.OBSERVER))
    assert reason(play.prompts(observer)) == "observer"
    cancel = jsonrpc.notification("session/cancel", {"sessionId": SESSION})
    assert play.says(observer, cancel) == []
    play.asks()
    assert play.says(observer, jsonrpc.result(question_id(KEY, 1), {})) == []
    assert play.hub.open_questions == 1


def test_a_viewer_with_too_many_open_requests_is_refused_the_next() -> None:
    play = Play()
    a = play.comes()
    for number in range(MAX_OPEN):
        play.prompts(a, b"%d" % number)
    assert reason(play.prompts(a, b"9999")) == "too_many_requests"


def test_the_first_answer_counts_and_later_ones_are_ignored() -> None:
    play = Play()
    a, b = play.comes(A), play.comes(B)
    play.asks(b'"q"')
    assert play.says(a, jsonrpc.result(question_id(session_key("other"), 1), {})) == []
    assert play.says(a, jsonrpc.result(b"1", {})) == []
    (answer,) = lines(play.says(b, jsonrpc.result(question_id(KEY, 1), {"x": 1})))
    assert answer == {"jsonrpc": "2.0", "id": "q", "result": {"x": 1}}
    assert play.says(a, jsonrpc.result(question_id(KEY, 1), {"x": 2})) == []
    assert play.kinds() == [LogKind.ASK, LogKind.TOLD]


def test_a_question_that_the_agent_withdraws_is_closed() -> None:
    play = Play()
    play.asks(b'"q"')
    play.agent(jsonrpc.notification("$/cancel_request", {"requestId": "other"}))
    play.agent(jsonrpc.notification("$/cancel_request", {}))
    assert play.hub.open_questions == 1
    play.agent(jsonrpc.notification("$/cancel_request", {"requestId": "q"}))
    assert play.hub.open_questions == 0
    assert play.words()[-1] == "withdrawn"


def test_a_viewers_cancelled_request_is_cancelled_under_the_agents_number() -> None:
    play = Play()
    a, b = play.comes(A), play.comes(B)
    play.prompts(a)
    cancel = jsonrpc.notification("$/cancel_request", {"requestId": 7})
    assert lines(play.says(a, cancel))[0]["params"] == {"requestId": 1}
    assert play.says(b, cancel) == []  # its own 7, which it never sent
    assert play.says(a, jsonrpc.notification("$/cancel_request", {})) == []
    turn = jsonrpc.notification("session/cancel", {"sessionId": SESSION})
    assert lines(play.says(b, turn))[0]["method"] == "session/cancel"


def test_messages_of_one_read_are_committed_in_order_and_an_end_counts_once() -> None:
    play = Play()
    play.prompts(play.comes())
    end = jsonrpc.result(b"1", {"stopReason": "end_turn"})
    nobodys = jsonrpc.result(b"99", {}), jsonrpc.result(b"9" * 5000, {})
    play.agent(*nobodys, update_line("plan"), end, end, update_line("usage_update"))
    assert play.kinds() == [LogKind.IN, LogKind.OUT, LogKind.END, LogKind.OUT]


def test_a_typed_failure_is_part_of_the_answer_in_a_turn_and_separate_outside() -> None:
    play = Play()
    play.prompts(play.comes())
    failed = update_line("agent_error", error={"type": "timeout"})
    play.agent(failed, jsonrpc.error(b"1", ERROR), failed)
    assert play.kinds() == [LogKind.IN, LogKind.END, LogKind.OUT]
    end = play.log.read(2)[0].entry
    assert end.about.failure == {"type": "agent_crash"}


def test_a_question_is_kept_while_a_controller_is_attached_and_for_a_time_after() -> None:
    play = Play(unattended_seconds=50.0)
    a = play.comes()
    play.comes(Viewer(id="o", role=Role.OBSERVER))
    play.asks()
    assert play.hub.next_timeout() is None
    play.hub.detach(a, 100.0, 0, code=1006, cause="cut")
    assert play.hub.next_timeout() == 150.0
    assert play.hub.handle_timeout(149.0, 0) == []
    again = play.comes()  # in time, which stops the clock
    assert play.hub.next_timeout() is None
    assert play.hub.handle_timeout(10_000.0, 0) == []
    play.hub.detach(again, 200.0, 0, code=1006, cause="cut")
    (answer,) = lines(play.hub.handle_timeout(250.0, 0))
    assert answer["result"]["outcome"] == {"outcome": "selected", "optionId": "no"}
    assert play.words()[-1] == "policy"
    assert play.hub.next_timeout() is None


def test_a_question_is_rejected_as_soon_as_no_viewer_is_left() -> None:
    play = Play(unattended_seconds=None)
    play.asks()
    assert len(play.hub.handle_timeout(1.0, 0)) == 1


@pytest.mark.parametrize(("word", "outcome"), [("reject", "selected"), ("cancel", "cancelled")])
def test_a_question_that_viewers_leave_open_is_answered_at_its_timeout(
    word: str, outcome: str
) -> None:
    play = Play(question_timeout=f"2m={word}")
    a = play.comes()
    play.asks()
    play.asks(b"5", "fs/read_text_file")
    assert play.hub.next_timeout() == 121.0
    (answer,) = lines(play.hub.handle_timeout(121.0, 0))
    assert answer["id"] == "q"
    assert answer["result"]["outcome"]["outcome"] == outcome
    late = jsonrpc.result(question_id(KEY, 1), {"outcome": {"outcome": "cancelled"}})
    assert play.says(a, late) == []
    assert play.hub.handle_timeout(10_000.0, 0) == []


def test_the_earlier_of_two_limits_answers_an_unattended_question() -> None:
    play = Play(question_timeout="2m", unattended_seconds=50.0)
    play.asks()
    assert play.hub.next_timeout() == 51.0
    assert len(lines(play.hub.handle_timeout(130.0, 0))) == 1


def test_a_request_for_a_viewers_files_is_refused_after_half_a_minute() -> None:
    play = Play()
    play.asks(b"5", "fs/read_text_file")
    assert play.hub.next_timeout() == 31.0
    (answer,) = lines(play.hub.handle_timeout(31.0, 0))
    assert answer["id"] == 5
    assert "error" in answer


def test_an_agent_that_is_lost_ends_all_that_was_open_once() -> None:
    play = Play()
    a = play.comes()
    play.prompts(a)
    play.asks()
    play.hub.lost_agent(ERROR, 0)
    play.hub.lost_agent(ERROR, 0)
    assert play.kinds() == [LogKind.IN, LogKind.ASK, LogKind.TOLD, LogKind.END]
    assert play.hub.turn_of is None
    assert play.hub.open_questions == 0


def test_a_hub_on_an_existing_log_knows_the_open_and_the_ended_requests() -> None:
    old = Play()
    a = old.comes()
    old.prompts(a, b"7")
    old.agent(jsonrpc.result(b"1", {"stopReason": "end_turn"}))
    old.prompts(a, b"8")
    old.asks()
    new = Play(old.log)
    assert new.hub.turn_of == "a"
    assert new.hub.last_number == 2
    back = new.comes(A, Cursor(old.log.epoch, old.log.head))
    assert isinstance(new.prompts(back, b"7")[0], Retell)
    assert new.prompts(back, b"8") == []
    new.hub.lost_agent(ERROR, 0)
    assert new.hub.turn_of is None
    assert old.log.pins.of("ask:") == []
    assert new.prompts(back, b"8") == []
    assert back.repeated == {2}


def test_the_questions_of_a_new_agent_have_new_ids() -> None:
    old = Play()
    for _ in range(3):
        old.asks()
    used = {entry.about.number for _, entry in old.log.read(0)}
    old.hub.lost_agent(ERROR, 0)
    new = Play(old.log)
    new.asks()
    number = new.log.read(new.log.head - 1)[0].entry.about.number
    assert number not in used


def test_a_cursor_of_another_epoch_starts_at_the_oldest_entry_and_one_beyond_is_refused() -> None:
    play = Play()
    play.agent(update_line("plan"))
    attachment, is_reset, _ = play.hub.attach(A, Cursor("another", 1), 0)
    assert is_reset
    assert attachment.reader.pos == 0
    assert not attachment.from_cursor
    with pytest.raises(CursorError):
        play.hub.attach(A, Cursor(play.log.epoch, 99), 0)
    assert len(play.hub.attached) == 1
    now, _, _ = play.hub.attach(B, None, 0, replay=False)
    assert now.reader.pos == now.live_from


def test_arrivals_departures_and_returns_are_logged() -> None:
    play = Play()
    a = play.comes()
    play.hub.detach(a, 1.0, 0, code=4409, cause="superseded")
    play.hub.detach(a, 1.0, 0, code=4409, cause="superseded")
    play.hub.note(0, Kind.SESSION_RESTORED, history="full")
    assert play.words() == ["viewer_came", "viewer_left", "restored"]
    assert play.log.read(1)[0].entry.about.facts["code"] == 4409
    play.comes(A, Cursor(play.log.epoch, 1))
    play.comes(A, Cursor("another", 1))
    came = [play.log.read(seq)[0].entry.about.facts.get("back", False) for seq in (0, 3, 4)]
    assert came == [False, True, False]


def test_a_lasting_wait_is_shown_as_a_line_and_repeated_rarely_until_it_ends() -> None:
    def retry_line(attempt: int) -> bytes:
        error = {"type": "rate_limit", "message": "Wait.", "retryable": True}
        told = {"attempt": attempt, "max_attempts": 10, "wait_seconds": 60, "error": error}
        return update_line("agent_retry", **told)

    play = Play()
    play.prompts(play.comes())
    play.agent(retry_line(2), now=100.0)
    assert play.hub.next_timeout() == 105.0
    assert play.hub.handle_timeout(104.9, 0) == []
    assert WAITS not in play.words()
    assert play.hub.handle_timeout(105.0, 0) == []
    assert play.words()[-1] == WAITS
    line = play.log.read(play.log.head - 1)[0].entry.about.facts["text"]
    assert "in 55 seconds (attempt 2 of 10)" in line
    play.agent(retry_line(3), now=110.0)
    assert play.hub.next_timeout() == 135.0
    play.agent(update_line("agent_message_chunk"), now=111.0)
    assert play.hub.next_timeout() is None
    play.agent(retry_line(4), now=112.0)
    play.agent(jsonrpc.result(b"1", {"stopReason": "end_turn"}), now=113.0)
    assert play.hub.next_timeout() is None


def test_a_new_viewer_can_reuse_an_answered_id_for_another_request() -> None:
    for viewer, reaches_agent in ((Viewer(id="a", is_new=True), True), (A, False)):
        play = Play()
        there = play.comes(viewer)
        play.prompts(there)
        play.agent(jsonrpc.result(b"1", {"stopReason": "end_turn"}))
        there.answered.add(1)
        assert bool(play.prompts(there)) is reaches_agent


def told_of_questions(play: Play) -> list[tuple[str, str, int]]:
    """The words of what became of questions, with how, and which question."""
    abouts = [entry.about for _, entry in play.log.read(0) if entry.about.number]
    return [(each.word, each.facts.get("why", ""), each.number) for each in abouts if each.word]


def test_a_question_is_noted_as_kept_while_no_controller_is_there() -> None:
    play = Play()
    first, second = play.comes(A), play.comes(B)
    watching = play.comes(Viewer(id="o", role=Role.OBSERVER))
    play.asks(b'"q"')
    play.asks(b'"r"')
    for attachment in (first, second, watching):
        play.hub.detach(attachment, 5.0, 0, code=1006, cause="cut")
        held = 2 if attachment is not first else 0
        assert len(told_of_questions(play)) == held
    play.comes(Viewer(id="o", role=Role.OBSERVER))
    play.asks(b'"s"')
    assert told_of_questions(play) == [("question_held", "", number) for number in (1, 2, 3)]


@every(
    ("seconds", "method", "why"),
    [
        (60.0, "session/request_permission", "expired"),
        (None, "session/request_permission", "rejected"),
        (None, "fs/read_text_file", "expired"),
    ],
)
def test_an_unanswered_question_records_why_it_ended(
    seconds: float | None, method: str, why: str
) -> None:
    play = Play(unattended_seconds=seconds)
    play.asks(method=method)
    play.hub.handle_timeout(1000.0, 0)
    assert told_of_questions(play) == [("question_held", "", 1), ("policy", why, 1)]


def test_a_commit_is_an_effect_that_precedes_its_dependents() -> None:
    log = MemoryLog()
    hub = Hub(log, session_id=SESSION, numbers=itertools.count(1).__next__)
    attachment, _, effects = hub.attach(A, None, 0)
    assert [type(each) for each in effects] == [Commit]
    prompt = jsonrpc.request(b"7", "session/prompt", {"sessionId": SESSION, "prompt": []})
    effects = hub.receive(attachment, frame_of(prompt), 0)
    assert [type(each) for each in effects] == [Commit, ToAgent]
    effects = hub.from_agent(
        [frame_of(jsonrpc.result(b"1", {})), frame_of(update_line("plan"))], 0, 0
    )
    assert [type(each) for each in effects] == [Commit]
    effects = hub.detach(attachment, 0.0, 0, code=1006, cause="cut")
    assert [type(each) for each in effects] == [Commit]
    assert hub.from_agent([], 0.0, 0) == hub.detach(attachment, 0.0, 0, code=1006, cause="") == []
    assert (hub.head, log.head) == (5, 0)


def test_a_message_waits_for_the_commits_before_it_and_for_no_other(tmp_path: Path) -> None:
    sent: list[object] = []
    written: list[Callable[[], None]] = []
    disk = LastingLog(SqliteLog(str(tmp_path / "log.db")))
    late = ReplicatedLog(disk, LatePublisher(written.append), 0, Pins())
    effects = Effects(late, sent.append)
    line = [ToAgent(b"%d" % number) for number in range(5)]
    entry = said(1)
    effects.carry_out([line[0]])
    effects.carry_out([Commit([entry]), line[1], Commit([entry]), line[2]])
    effects.carry_out([line[3]])
    assert sent == [line[0]]
    written.pop(0)()
    effects.send_waiting()
    assert sent == line[:2]
    assert not effects.are_committed
    written.pop(0)()
    assert effects.are_committed
    effects.carry_out([line[4]])
    assert sent == line
    disk.close()


def test_a_session_is_closed_once_its_agent_has_closed_it() -> None:
    play = Play()
    viewer = play.comes()
    for number, answer in ((1, jsonrpc.error(b"1", ERROR)), (2, jsonrpc.result(b"2", {}))):
        close = jsonrpc.request(b"%d" % number, "session/close", {"sessionId": SESSION})
        play.says(viewer, close)
        assert not play.hub.is_closed
        play.agent(answer)
    assert play.hub.is_closed


def test_what_a_reload_keeps_is_as_old_as_it_was_although_the_wall_clock_has_jumped() -> None:
    log = MemoryLog()
    prompt = msgspec.structs.replace(said(1), at_ms=1_000_000)
    question = msgspec.structs.replace(ask(3), at_ms=1_007_000)
    log.append([prompt, out(at_ms=1_005_000), question])
    hub = Hub(log, session_id=SESSION, numbers=int, question_timeout="60=reject", clock=990.0)
    assert hub.next_timeout() == 77.0
    session = mock.Mock(agents_id=SESSION, log=log, clock=990.0, towards_agent=bytes)
    session.recall.return_value = {}
    session.choices.return_value.made = {}
    handed = mock.Mock(initialized={})
    assert [line.at for line in past_lines({}, handed, [session])][-3:] == [10.0, 15.0, 17.0]
