"""The record of the agent's stderr: bounded, and honest about what it left out."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lastword.core.link.evidence import HEAD_BYTES, MAX_SPANS, TAIL_BYTES, StderrRecord


@given(st.lists(st.binary(max_size=400), max_size=30))
def test_short_stderr_is_kept_whole(pieces: list[bytes]) -> None:
    record = StderrRecord()
    for piece in pieces:
        record.receive(piece)
    whole = b"".join(pieces)
    assert (record.total, record.summary()) == (len(whole), whole.decode(errors="replace"))


def test_lines_in_both_the_head_and_the_tail_appear_once() -> None:
    record = StderrRecord()
    lines = [b"%06d\n" % number for number in range((HEAD_BYTES + TAIL_BYTES // 2) // 7)]
    for line in lines:
        record.receive(line)
    assert record.summary() == b"".join(lines).decode()


def test_a_flood_keeps_its_head_and_tail_and_says_how_much_was_cut() -> None:
    record = StderrRecord()
    for number in range(10_000):
        record.receive(b"line %06d of a flood that does not end\n" % number)
    summary = record.summary()
    assert summary.startswith("line 000000")
    assert summary.endswith("line 009999 of a flood that does not end\n")
    cut = record.total - HEAD_BYTES - TAIL_BYTES
    assert f"{cut} bytes of stderr left out" in summary


def test_the_tail_of_one_turn_does_not_reach_back_into_the_turn_before() -> None:
    record = StderrRecord()
    record.receive(b"401 from the turn before\n")
    mark = record.total
    record.receive(b"all well\n")
    assert (record.tail(mark), record.tail(record.total)) == ("all well\n", "")


def test_a_tools_stderr_is_left_out_of_the_calls_tail() -> None:
    record = StderrRecord()
    record.receive(b"first\n")
    record.receive(b"tool\n", own=False)
    record.receive(b"more of it\n", own=False)
    record.receive(b"second\n")
    record.receive(b"another\n", own=False)
    assert record.own_tail(0).split() == ["first", "second"]
    assert record.own_tail(len("first\ntool\n")).split() == ["second"]
    assert record.tail(0).split()[-1] == "another"


def test_the_last_of_many_stretches_are_joined() -> None:
    record = StderrRecord()
    for number in range(MAX_SPANS + 10):
        record.receive(f"own{number}\n".encode())
        record.receive(b"tool\n", own=False)
    own = record.own_tail(0).split()
    assert "tool" not in own
    assert own == [f"own{number}" for number in range(MAX_SPANS)]


def test_excluded_output_may_have_been_trimmed() -> None:
    record = StderrRecord()
    record.receive(b"tool\n" * 10, own=False)
    record.receive(b"x" * 3 * TAIL_BYTES)
    assert set(record.own_tail(0)) == {"x"}
