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
