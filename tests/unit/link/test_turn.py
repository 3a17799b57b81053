"""The turn's table, and the core that acts on it."""

from __future__ import annotations

import itertools

import pytest

from lastword.core.link.turn import ANSWERS, AT_WORK, FINAL, TABLE, Event, Move, State


def test_every_state_has_a_cell_for_every_event() -> None:
    assert set(TABLE) == set(itertools.product(State, Event))


def test_an_answer_leads_into_a_final_state_and_nothing_else_does() -> None:
    for (state, _), (next_state, move) in TABLE.items():
        if state not in FINAL:
            assert (move in ANSWERS) == (next_state in FINAL)


def test_a_final_state_is_never_left_and_answers_nothing() -> None:
    for (state, _), (next_state, move) in TABLE.items():
        if state in FINAL:
            assert next_state is state
            assert move not in ANSWERS


def test_a_frame_after_the_answer_is_not_a_second_one() -> None:
    for state in FINAL:
        for event in (Event.RESULT, Event.ERROR):
            assert TABLE[state, event][1] is Move.DROP
        assert TABLE[state, Event.CANCEL][1] is Move.PASS
    # Healthy agents still report usage and titles after their answer.
    assert TABLE[State.ENDED, Event.UPDATE][1] is Move.PASS
    assert TABLE[State.FAILED, Event.UPDATE][1] is Move.DROP


def test_the_updates_of_an_open_turn_pass_and_a_second_cancel_too() -> None:
    for state in set(State) - FINAL:
        assert TABLE[state, Event.UPDATE][1] is Move.PASS
    for state in (State.CANCELLING, State.STOPPING):
        assert TABLE[state, Event.CANCEL] == (State.CANCELLING, Move.PASS)


def test_a_cancel_by_the_user_never_ends_in_a_failure() -> None:
    for event in Event:
        next_state, move = TABLE[State.CANCELLING, event]
        assert next_state is not State.FAILED
        assert move is not Move.FAIL


def test_only_a_working_turns_failure_waits_and_only_the_waits_end_resends_it() -> None:
    for (state, event), (next_state, move) in TABLE.items():
        begins = state in AT_WORK and event is Event.RETRY
        assert (move is Move.WAIT) == begins
        assert (next_state is State.WAITING and state is not State.WAITING) == begins
        assert (move is Move.RESEND) == ((state, event) == (State.WAITING, Event.TIMEOUT))


def test_a_waiting_turn_is_answered_by_any_early_end_of_the_wait() -> None:
    for event, answer in (
        (Event.CANCEL, Move.CONFIRM),
        (Event.CLIENT_LOST, Move.CONFIRM),
        (Event.STOP, Move.FAIL),
        (Event.AGENT_LOST, Move.FAIL),
    ):
        assert TABLE[State.WAITING, event][1] is answer
    for event in (Event.RESULT, Event.ERROR, Event.RETRY):
        assert TABLE[State.WAITING, event] == (State.WAITING, Move.DROP)


def test_any_answer_to_our_own_stop_is_our_failure() -> None:
    for event in (Event.RESULT, Event.ERROR, Event.AGENT_LOST, Event.TIMEOUT):
        assert TABLE[State.STOPPING, event] == (State.FAILED, Move.FAIL)


@pytest.mark.parametrize("first", Event)
def test_every_four_event_sequence_gives_one_answer_at_the_latest_when_the_agent_ends(
    first: Event,
) -> None:
    for rest in itertools.product(Event, repeat=3):
        state = State.SENT
        answers = 0
        for event in (first, *rest, Event.AGENT_LOST):
            state, move = TABLE[state, event]
            answers += move in ANSWERS
        assert answers == 1, (first, *rest)
