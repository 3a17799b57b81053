"""What the reconnect policy promises whatever comes, on a clock of our own.

`Desk` is a shell without a socket: it carries out what it is told, and a gateway of a test's own
answers. The walks are schedules of any events at all.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastword.client import reconnect, reconnect_model
from lastword.client.reconnect import (
    Attached,
    Closed,
    CloseSocket,
    Connect,
    GiveUp,
    LinkPhase,
    Probe,
    ReconnectState,
    Refused,
    Show,
    Signal,
    WaitUntil,
    Why,
)
from tests.kit.reconnect_data import drawn_event, drawn_schedule, event_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from lastword.client.reconnect import Event


STEPS = 400


@dataclass
class Desk:
    """A shell on a fake clock; `answers` are the events, and when, that follow each connect."""

    answers: Callable[[int], Iterable[tuple[int, Event]]]
    now: int = 0
    random: float = 0.5
    connects: list[int] = field(default_factory=list)
    shown: list[tuple[int, str]] = field(default_factory=list)
    ends: list[GiveUp] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.state = reconnect.initial(self.now)
        self._timer: int | None = self.now
        self._coming: list[tuple[int, Event]] = []

    def tell(self, event: Event) -> None:
        """Pass an event, and carry out what follows from it."""
        self.state, actions = reconnect.step(self.state, event, self.now, self.random)
        for action in actions:
            match action:
                case Connect():
                    answers = self.answers(len(self.connects))
                    self._coming = [(self.now + after, event) for after, event in answers]
                    self.connects.append(self.now)
                case CloseSocket():
                    self._coming = []
                case Show():
                    self.shown.append((self.now, action.line))
                case GiveUp():
                    self.shown.append((self.now, action.line))
                    self.ends.append(action)
                case WaitUntil():
                    self._timer = action.until

    def run(self, until: int = 10_000_000) -> None:
        """Let time pass: to that moment, or until nothing is awaited any more."""
        for _ in range(STEPS):
            moments = [at for at, _ in self._coming[:1]]
            moments += [] if self._timer is None else [self._timer]
            if not moments or min(moments) > until:
                self.now = until
                return
            self.now = max(self.now, min(moments))
            if self._coming and self._coming[0][0] <= self.now:
                self.tell(self._coming.pop(0)[1])
            else:
                self._timer = None
                self.tell(Signal.TICK)
        raise AssertionError("it goes on and on")


UP: tuple[tuple[int, Event], ...] = ((40, Signal.OPENED), (60, Attached()))


def always(*answers: tuple[int, Event]) -> Callable[[int], Iterable[tuple[int, Event]]]:
    return lambda _attempt: answers


def first(
    answers: Iterable[tuple[int, Event]], then: Iterable[tuple[int, Event]]
) -> Callable[[int], Iterable[tuple[int, Event]]]:
    return lambda attempt: answers if attempt == 0 else then


# --- codev's acceptance points -------------------------------------------------------------------


@pytest.mark.parametrize("random", [0.0, 0.5, 0.999])
def test_there_is_at_most_one_notice_an_interval(random: float) -> None:
    desk = Desk(first((*UP, (90_000, Closed(1006))), [(10, Closed(1006))]), random=random)
    desk.run()
    for since, until in pairwise([*desk.connects[1:], desk.now + 1]):
        assert len([line for at, line in desk.shown if since <= at < until]) <= 1
    lines = [line for _, line in desk.shown]
    assert len(lines) == len(set(lines)) <= reconnect.TRIES
    assert "(6 of 6)" in lines[-2]
    assert lines[-1] == "Gave up after 6 tries."


def test_after_six_tries_the_link_gives_up() -> None:
    desk = Desk(always((10, Closed(1006))))
    desk.run()
    assert desk.now == 10_000_000, "nothing is awaited any more"
    assert len(desk.connects) == 1 + reconnect.TRIES
    assert [end.why for end in desk.ends] == [Why.UNREACHABLE]
    assert desk.shown[-1] == (61_070, "Gave up after 6 tries.")
    desk.tell(Signal.TICK)
    assert desk.shown[-1][0] == 61_070


@pytest.mark.parametrize("answer", [Closed(4404), Refused(404), Refused(410)])
def test_a_session_that_is_unknown_is_given_up_at_once(answer: Event) -> None:
    desk = Desk(always((40, answer)))
    desk.run()
    assert desk.connects == [0]
    assert desk.shown == [(40, "This session no longer exists on the gateway.")]


LOOPS: dict[str, tuple[tuple[int, Event], ...]] = {
    "opened": ((40, Signal.OPENED), (50, Closed(1011))),
    "attached": (*UP, (70, Closed(1011))),
    "attached for a while": (*UP, (25_000, Closed(1006))),
    "stalled": (*UP, (70, Closed(4408))),
}


@pytest.mark.parametrize("loop", LOOPS.values(), ids=LOOPS)
def test_a_loop_of_accept_and_close_reaches_its_end(loop: tuple[tuple[int, Event], ...]) -> None:
    desk = Desk(always(*loop))
    desk.run()
    assert len(desk.connects) == 1 + reconnect.TRIES
    assert [end.why for end in desk.ends] == [Why.UNREACHABLE]


def test_tries_are_reset_only_after_30_s_attached() -> None:
    for lasts, tries in ((29_999, 1), (30_000, 0)):
        desk = Desk(first([(10, Closed(1011))], UP))
        desk.run(1_070)
        assert desk.state.phase is LinkPhase.ATTACHED
        assert desk.state.tries == 1
        desk.run(desk.now + lasts)
        assert desk.state.tries == tries


# --- whatever comes ------------------------------------------------------------------------------


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
def test_random_walks_never_connect_before_the_gateways_wait_is_over(seed: int) -> None:
    for before, told, now, _, actions in walked(seed):
        if any(isinstance(action, Connect) for action in actions):
            by_user = told["event"] == "retry"
            by_refresh = told.get("code") in {4001, 4401} or "401" in str(told)
            assert now >= before.earliest or by_user or by_refresh


@given(SEEDS)
def test_random_walks_never_wait_forever_in_silence(seed: int) -> None:
    for _, _, now, after, _ in walked(seed):
        awaited = reconnect.timer(after)
        over = after.phase in {LinkPhase.GAVE_UP, LinkPhase.ENDED}
        assert (awaited is None) == (
            over
            or (after.phase is LinkPhase.WAITING and not after.online and after.tell is None)
            or (after.phase is LinkPhase.ATTACHED and not after.probes and after.stable is None)
        )
        assert awaited is None or awaited - now <= reconnect.MAX_SERVER_WAIT + 1_000
        if awaited is None and after.phase is LinkPhase.WAITING:
            assert after.line == "Offline. Waits for the network."


@given(SEEDS)
def test_the_timer_is_always_the_one_set_last(seed: int) -> None:
    timer: int | None = 0
    for _, _, _, after, actions in walked(seed):
        waits = [action.until for action in actions if isinstance(action, WaitUntil)]
        timer = waits[-1] if waits else timer
        assert len(waits) <= 1
        assert timer == reconnect.timer(after)


@given(SEEDS)
def test_every_end_states_its_reason_and_what_to_do(seed: int) -> None:
    for before, told, _, after, actions in walked(seed):
        ends = [action for action in actions if isinstance(action, GiveUp)]
        is_over = after.phase in {LinkPhase.GAVE_UP, LinkPhase.ENDED}
        assert (after.why is not None) == is_over
        for end in ends:
            assert (end.why, end.line) == (after.why, after.line)
            assert end.line.endswith(".")
            assert "{" not in end.line
            assert end.advice
            assert end.cause
        if is_over and not ends and before.why is not after.why:
            assert told["event"] == "close"


def test_only_ends_that_waking_can_help_have_a_wake() -> None:
    woken = {why for why, end in reconnect_model.ENDS.items() if end.wakes}
    assert woken == {Why.UNREACHABLE, Why.ASKED_TO_WAIT, Why.UNAUTHORIZED}
    assert set(Why) == {*reconnect_model.ENDS, Why.CLOSED}


@given(SEEDS)
def test_going_offline_uses_no_try_and_closes_no_socket(seed: int) -> None:
    for before, told, _, after, actions in walked(seed):
        if told["event"] == "offline":
            assert after.tries == before.tries
            assert after.phase is before.phase
            assert not any(isinstance(action, CloseSocket | Connect) for action in actions)
        if not before.online and not after.online:
            assert after.tries <= before.tries


@given(SEEDS)
def test_foreign_text_never_steers_a_terminal(seed: int) -> None:
    for _, _, _, after, _ in walked(seed):
        for text in (after.line, after.news, after.cause):
            assert text.isprintable()
            assert len(text) <= 200


@given(SEEDS)
def test_the_line_shown_is_the_line_of_the_state(seed: int) -> None:
    shown = ""
    for _, _, _, after, actions in walked(seed):
        lines = [action.line for action in actions if isinstance(action, Show | GiveUp)]
        shown = lines[-1] if lines else shown
        assert shown == after.line


@given(SEEDS)
def test_moments_are_whole_numbers_and_states_are_immutable(seed: int) -> None:
    for before, told, now, after, actions in walked(seed):
        kept = asdict(before)
        again = reconnect.step(before, event_of(told), now, 0.5)
        assert asdict(before) == kept
        assert again == reconnect.step(before, event_of(told), now, 0.5)
        for value in asdict(after).values():
            assert not isinstance(value, float)
        assert isinstance(actions, tuple)


@given(SEEDS, st.data())
def test_every_event_has_an_answer_in_every_phase(seed: int, data: st.DataObject) -> None:
    rolls = data.draw(st.randoms(use_true_random=False))
    event = event_of(drawn_event(rolls, any_at_all=True))  # type: ignore[arg-type]
    for _, _, now, state, _ in walked(seed):
        after, _ = reconnect.step(state, event, now, 0.5)
        assert isinstance(after.phase, LinkPhase)


@given(st.integers(0, 19), st.floats(0, 1, exclude_max=True))
def test_a_wait_is_within_a_quarter_of_its_mean(tries: int, random: float) -> None:
    state = replace(
        reconnect.initial(0), phase=LinkPhase.CONNECTING, tries=tries, budget=20, tell=None
    )
    after, _ = reconnect.step(state, Closed(1006), 0, random)
    mean = min(1000 * 2**tries, 30_000)
    assert after.due is not None
    assert math.floor(0.75 * mean) <= after.due <= math.ceil(1.25 * mean)


@given(st.integers(0, 1_899))
def test_a_link_that_is_back_within_2_s_shows_nothing(lasts: int) -> None:
    desk = Desk(
        first((*UP, (600_000, Closed(1006))), [(lasts, Signal.OPENED), (lasts, Attached())])
    )
    desk.run(700_000)
    assert desk.state.phase is LinkPhase.ATTACHED
    assert desk.shown == []


def test_frames_cost_an_idle_state_nothing() -> None:
    desk = Desk(first((*UP,), ()))
    desk.run(100_000)
    after, actions = reconnect.step(desk.state, Signal.FRAME, desk.now, 0.5)
    assert after is desk.state
    assert actions == ()


def test_a_probing_viewer_gives_up_on_a_gateway_that_stopped_answering() -> None:
    desk = Desk(always((40, Signal.OPENED), (60, Attached(probes=True))))
    desk.run()
    assert [end.why for end in desk.ends] == [Why.UNREACHABLE]
    assert len(desk.connects) == 1 + reconnect.TRIES


def test_a_probe_is_sent_every_30_s() -> None:
    state, sent = reconnect.initial(0), []
    for now, event in [(0, Signal.TICK), (1, Signal.OPENED), (2, Attached(probes=True))]:
        state, _ = reconnect.step(state, event, now, 0.5)
    for _ in range(10):
        now = reconnect.timer(state) or 0
        state, actions = reconnect.step(state, Signal.TICK, now, 0.5)
        assert actions[0] == Probe()
        sent.append(now)
        state, _ = reconnect.step(state, Signal.FRAME, now + 20, 0.5)
    assert sent == [2 + 30_000 * n for n in range(1, 11)]
