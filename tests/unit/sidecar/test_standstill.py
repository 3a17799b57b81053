"""Clocks while this process stands still, and while it only gets too little of the processor."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from lastword.platform import standstill
from lastword.sidecar import loop as loops
from lastword.sidecar.loop import Descriptors, PollLoop

if TYPE_CHECKING:
    from collections.abc import Callable

LIMIT = 20.0


class Machine:
    """A clock, a thread that the machine lets run or not, and one limit of the link's."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, counts: bool = True) -> None:
        self.now = 1000.0
        self.busy = 0.0
        self.due: float = self.now + LIMIT
        self.pauses: Callable[[int], tuple[float, float]] = lambda _: (0.0, 0.0)
        self.rounds = 0
        self.looks = False
        fakes: list[tuple[Any, str, Any]] = [
            (loops.pipes, "Poller", lambda: self),
            (loops.time, "monotonic", lambda: self.now),
            (standstill, "busy_seconds", lambda: self.busy if counts else None),
        ]
        for place, name, fake in fakes:
            monkeypatch.setattr(place, name, fake)
        console: Any = SimpleNamespace(stderr=SimpleNamespace(pending=False, fd=-1))
        nobody = Descriptors(client=(-1, -1), agent=None, wake=-1)
        self.loop = PollLoop(
            cast("Any", self), nobody, console, lambda _: None, line_limit_bytes=1 << 20
        )

    def poll(self, timeout_ms: float) -> list[tuple[int, int]]:
        """Wait; the machine may let the process run only later."""
        waits, pauses = self.pauses(self.rounds)
        self.rounds += 1
        self.busy += waits
        self.now += timeout_ms / 1000 + waits + pauses
        return []

    def register(self, fd: int, events: int) -> None:
        """Take what is polled."""

    def next_timeout(self) -> float:
        """Return when the limit is due."""
        return self.due

    def stand_still(self, seconds: float) -> None:
        """Move the limit."""
        self.due += seconds

    def ends_after(self) -> float:
        """Return how long it takes until the limit is found to have passed."""
        began = self.now
        while self.now < self.due:
            self.loop.wait(None)
        return self.now - began


@pytest.mark.parametrize("counts", [True, False])
@pytest.mark.parametrize("late", [0.3, 1.0, 4.0])
def test_a_process_that_always_waits_for_the_processor_does_not_postpone_its_limits(
    monkeypatch: pytest.MonkeyPatch, late: float, *, counts: bool
) -> None:
    machine = Machine(monkeypatch, counts=counts)
    machine.pauses = lambda _: (late, 0.0)
    assert machine.ends_after() <= LIMIT + late + 0.01


@pytest.mark.parametrize("at", [0, 1, 10, 14])
@pytest.mark.parametrize("pause", [0.3, 30.0, 3600.0])
@pytest.mark.parametrize("waits", [0.0, 0.3])
def test_a_standstill_of_the_process_does_not_count_against_its_limit(
    monkeypatch: pytest.MonkeyPatch, at: int, pause: float, waits: float
) -> None:
    machine = Machine(monkeypatch)
    machine.pauses = lambda number: (waits, pause if number == at else 0.0)
    took = machine.ends_after()
    assert LIMIT + pause <= took + waits + 0.01
    assert took <= LIMIT + pause + waits + 0.01


def test_without_the_systems_statistics_of_the_processor_a_long_pause_still_does_not_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    machine = Machine(monkeypatch, counts=False)
    machine.pauses = lambda number: (0.0, 30.0 if number == 3 else 0.0)
    assert abs(machine.ends_after() - LIMIT - 30.0) < 0.01
    monkeypatch.undo()

    def none_left(*_: object) -> int:
        raise OSError

    monkeypatch.setattr(standstill.os, "open", none_left)
    assert standstill.busy_seconds() is None


def test_a_pause_counts_once_while_a_client_reads_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(monkeypatch)
    due, machine.pauses = machine.due, lambda _: (0.0, 60.0)
    machine.loop.to_client.pending_bytes = 1
    machine.loop.wait(machine.now + 1.0)
    machine.loop.wait(machine.now + 1.0)
    machine.loop.to_client.pending_bytes = 0
    machine.loop.wait(machine.now + 1.0)
    assert machine.due - due == pytest.approx(machine.now - 1000.0, abs=1.1)


def test_half_of_the_remaining_time_is_left_after_any_pause() -> None:
    for left in (0.2, 0.7, 1.5, 20.0, 900.0):
        assert left - standstill.beat_seconds(left) >= left / 2
    assert standstill.beat_seconds(0.05) == 0.05
    assert standstill.beat_seconds(-math.inf) == -math.inf
