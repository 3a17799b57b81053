"""The messages of sessions' streams."""

from __future__ import annotations

import pytest

from lastword.gateway import wire
from lastword.gateway.fleet.replica import BUCKET_ENTRIES, LogState, ReplicaBatch, StreamEnd
from lastword.gateway.fleet.stream_messages import (
    PART_BYTES,
    BatchAssembly,
    StoredMessage,
    StreamMessage,
    Subjects,
    batch_messages,
    claim_message,
    state_in,
)
from tests.kit.gateway.entries_made import out

END = StreamEnd(sequence=41, term=3, node="box", epoch="e1", last=BUCKET_ENTRIES - 2)
FIRST = BUCKET_ENTRIES - 1
SUBJECTS = Subjects.of(wire.name_of("s1"))
LARGE = out(text="x" * 2 * PART_BYTES)


def stored(messages: list[StreamMessage]) -> list[StoredMessage]:
    return [
        StoredMessage(sequence, message.headers, message.payload)
        for sequence, message in enumerate(messages, 42)
    ]


def test_subjects_are_those_of_one_of_sixteen_streams() -> None:
    name = wire.name_of("s1")
    share = int(name, 16) % 16
    batches, state = f"lw.{share}.s.{name}.*", f"lw.{share}.p.{name}"
    assert Subjects(f"LW{share}", batches, state, f"lwh.{name}") == SUBJECTS
    assert SUBJECTS.bucket(FIRST) == f"lw.{share}.s.{name}.0"
    assert SUBJECTS.bucket(FIRST + 1) == f"lw.{share}.s.{name}.1"


def test_a_small_batch_is_one_message_with_the_fence() -> None:
    batch = ReplicaBatch("e1", FIRST, [out(), out()])
    (message,) = batch_messages(SUBJECTS, batch, END)
    assert message.subject == SUBJECTS.bucket(FIRST)
    assert message.headers == {
        "LW-First": "4095",
        "LW-Last": "4096",
        "LW-Term": "3",
        "LW-Epoch": "e1",
        "LW-Node": "box",
        "Nats-Expected-Last-Subject-Sequence": "41",
        "Nats-Expected-Last-Subject-Sequence-Subject": SUBJECTS.batches,
    }
    (read,) = BatchAssembly().completed(stored([message]), 0)
    assert (read.first, read.entries) == (FIRST, [out(), out()])
    assert read.end == StreamEnd(sequence=42, term=3, node="box", epoch="e1", last=FIRST + 1)


def test_a_claim_is_the_next_terms_and_has_no_entries() -> None:
    message = claim_message(SUBJECTS, END, "other")
    assert (message.payload, message.headers["LW-Term"]) == (b"", "4")
    (read,) = stored([message])
    assert read.end == StreamEnd(sequence=42, term=4, node="other", epoch="e1", last=END.last)
    assert BatchAssembly().completed([read], 0) == []


def test_a_state_and_a_large_entry_are_stored_in_one_step_behind_one_fence() -> None:
    state = LogState("e1", END.last, {"result": "y" * PART_BYTES}, [])
    messages = batch_messages(SUBJECTS, ReplicaBatch("e1", FIRST, [LARGE], state), END)
    assert [message.subject for message in messages] == [
        *[SUBJECTS.state] * 2,
        *[SUBJECTS.bucket(FIRST)] * 3,
    ]
    assert all(len(message.payload) <= PART_BYTES for message in messages)
    expected = "Nats-Expected-Last-Subject-Sequence"
    assert [expected in message.headers for message in messages] == [True, *[False] * 4]
    assert ["Nats-Rollup" in message.headers for message in messages] == [True, *[False] * 4]
    assert [message.headers["Nats-Batch-Sequence"] for message in messages] == list("12345")
    assert ["Nats-Batch-Commit" in message.headers for message in messages] == [*[False] * 4, True]
    assert len({message.headers["Nats-Batch-Id"] for message in messages}) == 1
    assert state_in(stored(messages)[:2]) == state
    assembly = BatchAssembly()
    assert assembly.completed(stored(messages)[2:4], 0) == []
    assert not assembly.is_complete
    (read,) = assembly.completed(stored(messages)[4:], 0)
    assert (read.entries, read.end.last, assembly.is_complete) == ([LARGE], FIRST, True)


def test_parts_without_their_beginning_are_dropped() -> None:
    messages = stored(batch_messages(SUBJECTS, ReplicaBatch("e1", FIRST, [LARGE]), END))
    small = stored(batch_messages(SUBJECTS, ReplicaBatch("e1", FIRST, [out()]), END))
    for rest in (messages[1:], messages[:1] + messages[2:], messages[:2]):
        (read,) = BatchAssembly().completed([*rest, *small], 0)
        assert read.entries == [out()]
    assert state_in(messages[1:]) is None


@pytest.mark.parametrize("payload", [b"\xc1", b""])
def test_an_unreadable_message_counts_as_missing(payload: bytes) -> None:
    broken = StoredMessage(1, {"LW-First": "1", "LW-Last": "1", "LW-Term": "1"}, payload)
    foreign = StoredMessage(2, {}, b"\x90")
    small = stored(batch_messages(SUBJECTS, ReplicaBatch("e1", FIRST, [out()]), END))
    (read,) = BatchAssembly().completed([broken, foreign, *small], 0)
    assert read.entries == [out()]
    assert BatchAssembly().completed(small, FIRST) == []
    assert state_in([broken]) is None
