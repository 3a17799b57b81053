"""The look before a timer takes effect, on a machine that leaves too little of the processor."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from lastword.platform import standstill
from lastword.sidecar import loop as loops
from lastword.sidecar import sources as module
from lastword.sidecar.loop import Descriptors, PollLoop
from lastword.sidecar.sources import Sources

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

STEPS = 40
LIMIT = 20.0


class Steps(Sources):
    """Sources with looks of so many steps, each of which costs some of the processor's time."""

    def __init__(self, connection: Any, cpu: Any, cost: float, steps: int) -> None:
        start: Any = SimpleNamespace(port=None, group=0)
        console: Any = SimpleNamespace()
        loop: Any = SimpleNamespace()
        super().__init__(connection, loop, start, console, lambda _: None, enabled=True)
        self.finished = 0
        self.loads: list[object] = []
        self._cpu, self._cost, self._count = cpu, cost, steps

    def _steps(self, *_: object) -> Iterator[None]:  # type: ignore[override]
        for _ in range(self._count):
            self._cpu.seconds += self._cost
            yield
        self.finished += 1


def made(monkeypatch: pytest.MonkeyPatch, *, cost: float, steps: int = STEPS) -> Steps:
    cpu = SimpleNamespace(seconds=0.0)
    monkeypatch.setattr(module.time, "thread_time", lambda: cpu.seconds)
    monkeypatch.setattr(module.time, "perf_counter", lambda: cpu.seconds)
    loads: list[object] = []
    monkeypatch.setattr(
        module.late_modules.LateModules, "loaded", lambda which: loads.append(which) or True
    )
    turn = SimpleNamespace(
        session_id="s",
        began_at=100.0,
        silent_since=100.0,
        answered=False,
        unread=False,
        number=1,
        tries=0,
    )
    connection = SimpleNamespace(
        expects_hints=lambda **_: None,
        silent_turns=lambda now, seconds: [turn] if turn.silent_since + seconds <= now else [],
        next_timeout=lambda: 100.0 + LIMIT,
        receive_silence=lambda *_: None,
        looked=lambda _: ["passes"],
        turn=turn,
    )
    made = Steps(connection, cpu, cost, steps)
    made.loads = loads
    return made


@pytest.mark.parametrize("begun", [False, True])
@pytest.mark.parametrize("late", [0.001, 0.6, 30.0])
def test_a_timer_waits_for_a_whole_look_however_late_its_slices_run(
    monkeypatch: pytest.MonkeyPatch, late: float, *, begun: bool
) -> None:
    sources = made(monkeypatch, cost=0.001)
    now = 100.0
    if begun:
        assert not sources.look(now)
    while not sources.look(now, for_timer=True):
        assert sources.holds_timer
        assert sources.due is not None
        assert sources.due > now
        now = sources.due + late
    # The rest of a look that had begun before the timer was due may have missed the cause.
    assert sources.finished == 1 + begun
    assert not sources.holds_timer


def test_neither_an_endless_look_nor_an_outdated_timer_is_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sources = made(monkeypatch, cost=0.001, steps=1_000_000)
    slices = 0
    while not sources.look(100.0, for_timer=True):
        slices += 1
    assert 0 < slices < 1000
    sources = made(monkeypatch, cost=0.001)
    assert not sources.look(100.0, for_timer=True)
    sources.look(101.0)
    assert not sources.holds_timer


def test_the_code_for_the_end_of_a_silence_is_loaded_well_before_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sources = made(monkeypatch, cost=0.001, steps=1)
    failures = sources._failures
    for seconds in (1.0, 3.0):
        assert sources.look(100.0 + seconds)
    assert failures not in sources.loads
    assert sources.look(107.0)
    assert failures in sources.loads


def at_end(monkeypatch: pytest.MonkeyPatch, *, cost: float, steps: int) -> Steps:
    """Sources of a turn whose answer waits for a look of so many steps."""
    sources = made(monkeypatch, cost=cost, steps=steps)
    sources._connection.turn.answered = True  # type: ignore[attr-defined]
    journals: Any = SimpleNamespace(look=sources._steps)
    sources._journals = journals
    return sources


def test_an_answer_passes_after_one_short_look_once_the_code_that_reads_stderr_is_loaded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sources = at_end(monkeypatch, cost=0.0005, steps=2)
    assert sources.look_at_end(100.0) == ["passes"]
    assert (sources.finished, sources.loads) == (1, [])
    turn = sources._connection.turn  # type: ignore[attr-defined]
    turn.unread = True
    assert sources.look_at_end(100.0) == ["passes"]
    monkeypatch.setattr(module.late_modules.LateModules, "loaded", lambda _: False)
    assert sources.look_at_end(100.0) == []
    turn.answered = False
    looks = sources.finished
    assert (sources.look_at_end(100.0), sources.finished) == ([], looks)


def test_a_long_look_at_an_end_continues_before_the_timer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sources = at_end(monkeypatch, cost=0.001, steps=STEPS)
    assert sources.look_at_end(100.0) == []
    now = 100.0
    while not sources.look(now, for_timer=True):
        now += 0.001
    assert sources.finished == 2  # the rest of that look, and a whole one


@pytest.mark.parametrize("reason", ["no files", "no time left", "no sources", "a fault"])
def test_an_answer_passes_if_no_look_is_possible(
    monkeypatch: pytest.MonkeyPatch, reason: str
) -> None:
    sources = at_end(monkeypatch, cost=0.0005, steps=2)
    if reason == "no files":
        sources._journals = None
    elif reason == "no time left":
        sources._budget.seconds = -1.0
    elif reason == "no sources":
        sources._start = None
    else:
        sources._journals.look = lambda *_: 1 / 0  # type: ignore[union-attr, method-assign]
        sources._console.say = lambda _: None  # type: ignore[method-assign]
    assert (sources.look_at_end(100.0), sources.finished) == (["passes"], 0)


# --- a process that stands still


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
