"""When an agent that died may start again, and what waits for it, to the second and to the byte."""

from __future__ import annotations

import pytest

from lastword.core.protocol import jsonrpc
from lastword.core.restart import state as state_module
from lastword.core.restart.state import (
    RestartState,
    Stage,
    with_id,
)


def frame(size: int = 40) -> jsonrpc.Frame:
    """A request of so many bytes."""
    line = b'{"jsonrpc":"2.0","id":1,"method":"%s"}' % (b"m" * (size - 36))
    decoded = jsonrpc.decode(line)
    assert isinstance(decoded, jsonrpc.Frame)
    assert len(decoded.line) == size
    return decoded


def crashes(*lives: float) -> tuple[RestartState, float]:
    """An agent that died after each of these lives, and started again when it might, as it waits.

    Returns:
        The state, and its last wait.
    """
    state = RestartState(0.0)
    now = last = 0.0
    for life in lives:
        last = now + life
        state.crashed(last)
        now = state.started_at = state.not_before
    return state, now - last


@pytest.mark.parametrize(
    ("lives", "seconds"),
    [((10,), 1), ((10, 10), 2), ((100, 100, 100), 4), ((100,) * 5, 16), ((100,) * 6, 30),
     ((100,) * 20, 30), ((10, 299), 2), ((10, 300), 1), ((10, 10, 300, 10), 2), ((1, 1, 1), 30)],
)  # fmt: skip
def test_the_wait_doubles_up_to_half_a_minute_until_a_life_was_long(
    lives: tuple[float, ...], seconds: float
) -> None:
    assert crashes(*lives)[1] == seconds


@pytest.mark.parametrize(
    ("lives", "looping"),
    [
        ((4.9, 4.9), False),
        ((4.9, 4.9, 4.9), True),
        ((4.9, 4.9, 5.0), False),
        ((4.9, 4.9, 5.0, 4.9, 4.9), True),  # the fifth within three minutes
        ((5.0,) * 4, False),
        ((5.0,) * 5, True),
    ],
)
def test_three_short_lives_or_five_crashes_are_a_loop(
    lives: tuple[float, ...], *, looping: bool
) -> None:
    assert crashes(*lives)[0].looping is looping


@pytest.mark.parametrize(("span", "looping"), [(180.0, True), (180.5, False)])
def test_only_five_crashes_within_three_minutes_are_a_loop(span: float, *, looping: bool) -> None:
    state = RestartState(-100.0)
    for at in (0.0, 20.0, 40.0, 60.0, span):
        state.crashed(at)
        state.started_at = at - 10
    assert state.looping is looping


def test_an_agent_that_we_ended_has_not_crashed() -> None:
    state = RestartState(0.0)
    state.killed_by_us = True
    state.crashed(7.0)
    assert (state.not_before, state.killed_by_us, state.stage) == (7.0, False, Stage.DOWN)
    state.crashed(8.0)
    assert state.not_before == 9.0


def test_the_queue_is_bounded_in_requests_and_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_module, "MAX_QUEUED_BYTES", 100)
    state = RestartState(0.0)
    assert state.enqueue(frame(101))  # an empty queue takes one of any size
    state.pop_queue()
    assert state.enqueue(frame(60))
    assert not state.enqueue(frame(41))
    assert state.enqueue(frame(40))
    assert (state.queued_bytes, len(state.pop_queue())) == (100, 2)
    assert (state.queue, state.queued_bytes) == ([], 0)
    assert state.enqueue(frame(100))
    monkeypatch.setattr(state_module, "MAX_QUEUED_BYTES", 1000)
    monkeypatch.setattr(state_module, "MAX_QUEUED", 2)
    assert [state.enqueue(frame()) for _ in range(2)] == [True, False]


def test_our_own_ids_are_never_reused() -> None:
    state = RestartState(0.0)
    state.generation = 2
    ids = [state.next_own_id(), state.rename(b"0"), state.next_own_id(), state.rename(b"1")]
    assert ids == [b'"lastword:2:%d"' % number for number in (1, 2, 3, 4)]


def test_a_line_that_is_not_a_frame_keeps_its_bytes() -> None:
    assert with_id(b"no frame", b"7") == b"no frame"
    assert with_id(b'{"id":1,"method":"m"}', b"7") == b'{"id":7,"method":"m"}'
