"""The order in which a session's log is published, and what each answer of the broker leads to."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from lastword.gateway.fleet.replica import EMPTY, STATE_ENTRIES, StreamEnd
from lastword.gateway.fleet.replication import (
    STALL_SECONDS,
    Claim,
    Effect,
    Fenced,
    NewEpoch,
    Publish,
    ReadEnd,
    Replication,
    Stalled,
    Visible,
)

INHERITED = StreamEnd(sequence=7, term=2, node="other", epoch="e", last=10)
CLAIMED = StreamEnd(sequence=8, term=3, node="mine", epoch="e", last=10)


def begun(committed: int = 10, *, goes_on_without: bool = False) -> Replication:
    """An owner whose claim and state are stored."""
    made = Replication(
        CLAIMED, INHERITED, committed=committed, now=0.0, goes_on_without=goes_on_without
    )
    (first,) = made.begin(0.0)
    assert isinstance(first, Publish)
    assert first.with_state
    return made


def idle(*, goes_on_without: bool = False) -> Replication:
    """The same, with nothing under way."""
    made = begun(goes_on_without=goes_on_without)
    assert made.stored(CLAIMED, 0.0) == []
    return made


def end_at(last: int, *, sequence: int = 9) -> StreamEnd:
    """The stream's end after a batch of this owner's."""
    return replace(CLAIMED, sequence=sequence, last=last)


def test_an_inherited_tail_is_published_first_with_the_state() -> None:
    replication = Replication(CLAIMED, INHERITED, committed=15, now=0.0)
    assert replication.begin(0.0) == [Publish(10, 15, CLAIMED, with_state=True)]


def test_one_publication_is_in_flight_and_what_came_meanwhile_follows() -> None:
    replication = idle()
    assert replication.committed(30, 1.0) == [Publish(10, 30, CLAIMED, with_state=False)]
    assert replication.committed(32, 1.0) == []
    assert replication.state_changed(1.0) == []
    effects = replication.stored(end_at(20), 1.1)
    assert effects == [Visible(20), Publish(20, 32, end_at(20), with_state=True)]
    assert replication.stored(end_at(32), 1.2) == [Visible(32)]


def test_a_changed_fact_is_stored_without_entries_and_again_if_it_changes_meanwhile() -> None:
    replication = idle()
    state = Publish(10, 10, CLAIMED, with_state=True)
    assert replication.state_changed(1.0) == [state]
    assert replication.state_changed(1.1) == []
    assert replication.stored(CLAIMED, 1.2) == [state]


def test_the_state_is_not_stored_before_entries_that_it_already_counts() -> None:
    replication = idle()
    replication.committed(12, 1.0)
    replication.stored(end_at(12), 1.1)
    replication.state_changed(1.2)
    replication.refused(1.3)
    assert replication.end_read(CLAIMED, 1.4) == [Publish(10, 12, CLAIMED, with_state=False)]
    effects = replication.stored(end_at(12), 1.5)
    assert effects == [Publish(12, 12, end_at(12), with_state=True)]


def test_the_state_is_stored_again_after_many_entries() -> None:
    replication = idle()
    replication.committed(10 + STATE_ENTRIES + 5, 1.0)
    effects = replication.stored(end_at(10 + STATE_ENTRIES), 1.1)
    assert [each.with_state for each in effects if isinstance(each, Publish)] == [True]


@pytest.mark.parametrize("fails", ["refused", "unknown"])
def test_the_stream_is_read_before_anything_is_published_again(fails: str) -> None:
    replication = idle()
    replication.committed(12, 1.0)
    assert getattr(replication, fails)(2.0) == [ReadEnd()]
    assert replication.committed(13, 2.0) == []
    assert replication.end_read(CLAIMED, 2.1) == [Publish(10, 13, CLAIMED, with_state=False)]


@pytest.mark.parametrize(
    ("last", "effects"),
    [
        (12, [Visible(12)]),
        (11, [Visible(11), Publish(11, 12, end_at(11), with_state=False)]),
    ],
    ids=["all", "a part"],
)
def test_what_is_stored_without_an_acknowledgement_is_not_published_again(
    last: int, effects: list[Effect]
) -> None:
    replication = idle()
    replication.committed(12, 1.0)
    replication.unknown(2.0)
    assert replication.end_read(end_at(last), 2.1) == effects


def test_a_state_with_an_unknown_outcome_is_stored_again() -> None:
    replication = begun()
    replication.unknown(2.0)
    assert replication.end_read(CLAIMED, 2.1) == [Publish(10, 10, CLAIMED, with_state=True)]


@pytest.mark.parametrize("term", [3, 4])
def test_the_same_or_a_newer_term_of_another_node_fences(term: int) -> None:
    replication = idle()
    replication.committed(12, 1.0)
    replication.refused(1.1)
    theirs = replace(CLAIMED, sequence=9, term=term, node="other")
    assert replication.end_read(theirs, 1.2) == [Fenced()]
    assert replication.is_fenced
    assert replication.committed(13, 1.3) == []
    assert replication.stored(end_at(12), 1.3) == []
    assert replication.end_read(CLAIMED, 1.3) == []
    assert replication.unknown(1.3) == []
    assert replication.handle_timeout(99.0) == []
    assert replication.next_timeout() is None


def test_entries_that_the_broker_lost_are_published_again_from_its_last() -> None:
    replication = idle()
    replication.committed(14, 1.0)
    replication.stored(end_at(14), 1.1)
    replication.committed(15, 1.2)
    replication.refused(1.3)
    before = end_at(12)
    assert replication.end_read(before, 1.4) == [Publish(12, 15, before, with_state=False)]
    assert replication.stored(end_at(15), 1.5) == [Visible(15)]


@pytest.mark.parametrize(
    ("end", "after"), [(INHERITED, 10), (EMPTY, 0)], ids=["a lost claim", "a deleted stream"]
)
def test_a_claim_that_the_broker_lost_is_made_again_in_a_new_term(
    end: StreamEnd, after: int
) -> None:
    replication = idle()
    replication.connected()
    mine = replace(end, term=3, node="mine")
    assert replication.end_read(end, 1.0) == [Claim(mine)]
    replication.committed(12, 1.0)
    claimed = replace(mine, sequence=9, term=4)
    assert replication.stored(claimed, 1.1) == [Publish(after, 12, claimed, with_state=False)]


@pytest.mark.parametrize(
    "theirs",
    [
        replace(INHERITED, sequence=8, last=13),
        replace(INHERITED, sequence=5, last=8),
        replace(INHERITED, sequence=3, term=1, node="third", last=5),
    ],
)
def test_the_whole_log_is_published_in_a_new_epoch_if_others_may_have_written(
    theirs: StreamEnd,
) -> None:
    replication = idle()
    replication.connected()
    mine = replace(theirs, term=3, node="mine", last=0)
    assert replication.end_read(theirs, 1.2) == [NewEpoch(), Claim(mine)]
    claimed = replace(mine, sequence=9, term=4)
    assert replication.stored(claimed, 1.3) == [Publish(0, 10, claimed, with_state=False)]
    end = replace(claimed, sequence=10, last=10)
    assert replication.stored(end, 1.4) == [Publish(10, 10, end, with_state=True)]


@pytest.mark.parametrize("term", [3, 4, 5])
def test_an_own_claim_with_an_unknown_outcome_does_not_fence(term: int) -> None:
    replication = idle()
    replication.connected()
    assert replication.end_read(INHERITED, 1.2) == [Claim(replace(INHERITED, term=3, node="mine"))]
    assert replication.unknown(6.2) == [ReadEnd()]
    assert replication.end_read(INHERITED, 6.3) == [Claim(replace(INHERITED, term=4, node="mine"))]
    replication.refused(6.4)
    replication.handle_timeout(9.0)
    end = replace(CLAIMED, sequence=9, term=term)
    assert replication.end_read(end, 9.1) == []
    assert replication.committed(11, 9.2) == [Publish(10, 11, end, with_state=False)]


def test_a_refusal_for_another_reason_is_retried_after_growing_pauses() -> None:
    replication = idle()
    replication.committed(12, 1.0)
    pauses = []
    now = 1.0
    for _ in range(6):
        assert replication.refused(now, "the stream is full") == []
        due = replication._pause_until
        pauses.append(due - now)
        now = due
        assert ReadEnd() in replication.handle_timeout(now)
        replication.end_read(CLAIMED, now)
    assert pauses == [0.25, 0.5, 1.0, 1.0, 1.0, 1.0]


def test_a_stall_is_reported_again_and_again_with_its_reason_and_its_end() -> None:
    replication = idle()
    replication.committed(12, 1.0)
    replication.refused(1.0, "the stream is full")
    assert replication.handle_timeout(1.0 + STALL_SECONDS) == [
        ReadEnd(),
        Stalled("the stream is full"),
    ]
    replication.read_failed(6.5)
    assert replication.handle_timeout(6.6) == []
    replication.handle_timeout(7.5)
    assert replication.next_timeout() == 11.0
    assert replication.handle_timeout(11.0) == [Stalled("the stream is full", 2)]
    assert replication.next_timeout() == 16.0
    assert replication.end_read(end_at(12), 12.0) == [Visible(12)]
    assert replication.next_timeout() is None


@pytest.mark.parametrize("since", [0.1, 1 / 3, 44_456.935846167])
def test_a_stall_report_is_never_due_twice(since: float) -> None:
    replication = idle()
    replication.disconnected(since)
    for times in range(1, 200):
        due = replication.next_timeout()
        assert due is not None
        assert replication.handle_timeout(due) == [Stalled("", times)]


def test_a_lost_connection_is_reported_with_nothing_to_replicate() -> None:
    replication = idle()
    replication.disconnected(1.0)
    assert replication.next_timeout() == 1.0 + STALL_SECONDS
    assert replication.handle_timeout(6.0) == [Stalled()]
    assert replication.connected() == [ReadEnd()]
    assert replication.end_read(CLAIMED, 8.0) == []


def test_a_slow_stream_that_grows_is_not_stalled() -> None:
    replication = idle()
    for number in range(11, 31):
        replication.committed(number + 1, number)
        replication.stored(end_at(number, sequence=number), number + 4.0)
        assert not [
            each for each in replication.handle_timeout(number + 4.0) if isinstance(each, Stalled)
        ]


def test_entries_are_visible_in_a_new_epoch_without_a_broker_until_it_is_back() -> None:
    replication = idle(goes_on_without=True)
    replication.committed(12, 1.0)
    replication.unknown(5.0)
    assert replication.handle_timeout(6.0) == [Stalled(), NewEpoch(), Visible(12)]
    assert replication.committed(13, 7.0) == [Visible(13)]
    effects = replication.end_read(CLAIMED, 8.0)
    assert effects == [Publish(10, 13, CLAIMED, with_state=False, keeps_epoch=True)]
    effects = replication.stored(end_at(13), 8.1)
    assert effects == [Publish(13, 13, end_at(13), with_state=True)]
    replication.stored(end_at(13), 8.1)
    assert replication.committed(14, 8.2) == [Publish(13, 14, end_at(13), with_state=False)]
