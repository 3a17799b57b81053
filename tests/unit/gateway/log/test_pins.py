"""What of a session's state is kept when its log is trimmed."""

from __future__ import annotations

from msgspec.structs import replace

from lastword.gateway.log.entries import MAX_ENDS, MAX_TOOLS, About, LogEntry, LogKind, Pins
from tests.kit.gateway.entries_made import ask, end, out, said, told


def seqs(*entries: LogEntry) -> list[int]:
    """The entries that are pinned once all of these were noted."""
    pins = Pins()
    for seq, entry in enumerate(entries, 1):
        pins.note(seq, entry)
    return [kept.seq for kept in pins.between(0, len(entries))]


def test_the_last_update_of_each_kind_of_state_is_pinned_and_text_is_not() -> None:
    kinds = ("plan", "current_mode_update", "usage_update", "session_info_update")
    assert seqs(*map(out, kinds), out("plan")) == [2, 3, 4, 5]
    invalid = LogEntry(LogKind.OUT, 1, b"{")
    said_ = map(out, ("agent_message_chunk", "agent_thought_chunk", "user_said"))
    assert seqs(*said_, invalid) == []


def test_a_tool_call_is_pinned_with_its_last_update_until_it_ends() -> None:
    begins = out("tool_call", toolCallId="t", status="pending")
    goes_on = out("tool_call_update", toolCallId="t", status="in_progress")
    ends = out("tool_call_update", toolCallId="t", status="completed")
    assert seqs(begins, goes_on, goes_on) == [1, 3]
    assert seqs(begins, goes_on, ends) == []
    assert seqs(goes_on) == []  # of a call that nobody has seen begin
    many = [out("tool_call", toolCallId=f"t{n}") for n in range(2 * MAX_TOOLS + 5)]
    assert seqs(*many)[0] == 6


def test_a_request_is_pinned_until_its_answer_and_the_last_answers_stay() -> None:
    assert seqs(said(1)) == [1]
    assert seqs(said(1), end(1), said(2)) == [2, 3]
    entries = [entry for n in range(1, MAX_ENDS + 2) for entry in (said(n), end(n))]
    assert seqs(*entries)[0] == 4  # the second request's


def test_a_question_is_pinned_until_it_is_answered_as_a_file_is_told() -> None:
    assert seqs(ask(1), ask(2), told(1)) == [2]
    pins = Pins()
    (change,) = pins.note(1, ask(4))
    assert (change[0], change[1] and change[1].seq) == ("ask:4", 1)
    assert pins.note(2, told(4)) == [("ask:4", None)]
    assert pins.note(3, told(4)) == []


def test_a_wait_for_a_limit_is_pinned_until_it_ends_in_any_way() -> None:
    def of_method(entry: LogEntry, method: str) -> LogEntry:
        return replace(entry, about=replace(entry.about, method=method))

    wait, goes_on, over, restored = (
        LogEntry(LogKind.LIFE, 1, b"", About(word=word))
        for word in ("limit_wait", "continued", "session_ended", "restored")
    )
    assert seqs(wait, restored, wait) == [3]
    assert seqs(wait, goes_on) == seqs(wait, over) == []
    for method in ("session/cancel", "$/cancel_request", "session/prompt"):
        assert 1 not in seqs(wait, of_method(said(2), method))
    assert seqs(said(1), wait, end(1)) == [1, 3]
    assert seqs(wait, of_method(end(1), "session/set_mode")) == [1, 2]
