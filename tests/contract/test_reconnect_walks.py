"""What the reconnect policy promises whatever comes: walks through schedules of any events at all.

Single schedules are vectors (`test_reconnect_vectors`).
"""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from lastword.client import reconnect
from lastword.client.reconnect import (
    Closed,
    CloseSocket,
    Connect,
    GiveUp,
    LinkPhase,
    ReconnectState,
    Show,
    WaitUntil,
)
from tests.kit.reconnect_data import drawn_event, drawn_schedule, event_of


def walked(seed: int) -> list[tuple[ReconnectState, dict[str, Any], int, ReconnectState, Any]]:
    """Each step of a random schedule: state, event, moment, state after, actions."""
    state, came = reconnect.initial(0), []
    for told, now, random in drawn_schedule(seed):
        after, actions = reconnect.step(state, event_of(told), now, random)
        came.append((state, told, now, after, actions))
        state = after
    return came


SEEDS = st.integers(0, 2**32)


@given(SEEDS)
def test_random_walks_never_exceed_their_budget(seed: int) -> None:
    moments = [moment for moment in drawn_schedule(seed) if moment[0]["event"] != "offline"]
    state, last = reconnect.initial(0), 0
    for told, now, random in moments:
        before = state
        state, actions = reconnect.step(state, event_of(told), now, random)
        assert state.tries <= state.budget <= reconnect.PATIENT_TRIES
        held = before.phase is LinkPhase.ATTACHED and (before.stable or 0) <= now
        if held or state.tries < before.tries:
            last = 0  # a new round
        if any(isinstance(action, Connect) for action in actions):
            renewed = state.refused and not before.refused
            if state.tries and not renewed:
                assert state.tries > last, "an attempt that uses no try"
            last = state.tries


@given(SEEDS)
def test_each_step_of_a_random_walk_keeps_what_the_policy_promises(seed: int) -> None:
    timer: int | None = 0
    shown = ""
    for before, told, now, after, actions in walked(seed):
        over = after.phase in {LinkPhase.GAVE_UP, LinkPhase.ENDED}
        ends = [action for action in actions if isinstance(action, GiveUp)]
        # It does not connect before the gateway's wait is over, but for a user or a new token.
        if any(isinstance(action, Connect) for action in actions):
            by_user = told["event"] == "retry"
            by_refresh = told.get("code") in {4001, 4401} or "401" in str(told)
            assert now >= before.earliest or by_user or by_refresh
        # It never waits forever in silence.
        awaited = reconnect.timer(after)
        offline = after.phase is LinkPhase.WAITING and not after.online and after.tell is None
        held = after.phase is LinkPhase.ATTACHED and not after.probes and after.stable is None
        assert (awaited is None) == (over or offline or held)
        assert awaited is None or awaited - now <= reconnect.MAX_SERVER_WAIT + 1_000
        assert not offline or after.line == "Offline. Waits for the network."
        # Every end states its reason and what to do.
        assert (after.why is not None) == over
        for end in ends:
            assert (end.why, end.line) == (after.why, after.line)
            assert end.line.endswith(".")
            assert "{" not in end.line
            assert end.advice
            assert end.cause
        if over and not ends and before.why is not after.why:
            assert told["event"] == "close"
        # Going offline uses no try, and closes no socket.
        if told["event"] == "offline":
            assert (after.tries, after.phase) == (before.tries, before.phase)
            assert not any(isinstance(action, CloseSocket | Connect) for action in actions)
        if not before.online and not after.online:
            assert after.tries <= before.tries
        # The timer set last and the line shown last are those of the state.
        waits = [action.until for action in actions if isinstance(action, WaitUntil)]
        lines = [action.line for action in actions if isinstance(action, Show | GiveUp)]
        assert len(waits) <= 1
        timer = waits[-1] if waits else timer
        shown = lines[-1] if lines else shown
        assert (timer, shown) == (awaited, after.line)
        # A step is made of its arguments alone, and of whole numbers.
        assert not any(isinstance(value, float) for value in asdict(after).values())
        again = reconnect.step(before, event_of(told), now, 0.5)
        assert again == reconnect.step(before, event_of(told), now, 0.5)
        # Foreign text never steers a terminal.
        for text in (after.line, after.news, after.cause):
            assert text.isprintable()
            assert len(text) <= 200


@given(st.integers(0, 19), st.floats(0, 1, exclude_max=True))
def test_a_wait_is_within_a_quarter_of_its_mean(tries: int, random: float) -> None:
    state = replace(
        reconnect.initial(0), phase=LinkPhase.CONNECTING, tries=tries, budget=20, tell=None
    )
    after, _ = reconnect.step(state, Closed(1006), 0, random)
    mean = min(1000 * 2**tries, 30_000)
    assert after.due is not None
    assert math.floor(0.75 * mean) <= after.due <= math.ceil(1.25 * mean)


@given(SEEDS, st.data())
def test_every_event_has_an_answer_in_every_phase(seed: int, data: st.DataObject) -> None:
    rolls = data.draw(st.randoms(use_true_random=False))
    event = event_of(drawn_event(rolls, any_at_all=True))  # type: ignore[arg-type]
    for _, _, now, state, _ in walked(seed):
        after, _ = reconnect.step(state, event, now, 0.5)
        assert isinstance(after.phase, LinkPhase)
