"""Rows played by real processes: an agent that plays them behind `lastword run`.

Owns how times are scaled down, and how several of them are played at once.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from tests.kit.attribution.agent import WRITE
from tests.kit.attribution.judgement import problems
from tests.kit.attribution.player import CLIENTS, Outcome, play
from tests.kit.attribution.rows import ERROR, EXIT, RESULT, SESSION, STDERR, UPDATE, Row
from tests.kit.attribution.table import Problem
from tests.kit.client import update_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from lastword.kit.peer import Frame
    from tests.kit.sidecar import SidecarClient

    Starts = Callable[..., SidecarClient]

SCALE = 0.08
"""Twenty seconds of silence last 1.6."""

LIMITS = {
    "core.link.clocks.STDERR_PAUSE_SECONDS": 0.03,
    "core.link.clocks.STDERR_LOOK_SECONDS": 0.08,
    "core.link.retries.reporting.UNCONFIRMED_SECONDS": 0.08,
    "core.failure.retry_policy.FIRST_WAIT_SECONDS": 0.05,
}
"""The waits that no option sets, scaled likewise."""

LIMIT_SECONDS = 4
OPTIONS = (
    *("--retry", "2", "--warn-after", "1"),
    *(f"--{name}-timeout={LIMIT_SECONDS}" for name in ("first-update", "idle", "tool")),
)
LATE_SECONDS = 0.2
READ_SECONDS = 0.01
"""For what has come already."""

BETWEEN_SECONDS = 0.3
ROUND_FUSE_SECONDS = 30.0

_PLAYABLE = frozenset({STDERR, UPDATE, RESULT, ERROR, EXIT})


def playable(rows: Sequence[Row]) -> list[Row]:
    """The rows that a process can play by itself: one session, and nothing from files."""
    return [
        row
        for row in rows
        if row.sessions == (SESSION,) and all(event.kind in _PLAYABLE for event in row.events)
    ]


class _Lane:
    """One sidecar, and the rows that its agent plays one after another."""

    def __init__(self, start: Starts, folder: Path, number: int, rows: Sequence[Row]) -> None:
        self.rows = list(rows)
        self._tally = folder / f"tally{number}"
        scripts = folder / f"scripts{number}.json"
        events = {
            row.id: [
                (event.at * SCALE, event.kind, event.value, None if own else event.session)
                for event in row.events
                if event.at >= 0
                for own in (event.session == SESSION,)
            ]
            for row in rows
        }
        scripts.write_text(json.dumps(events), encoding="utf-8")
        module = [sys.executable, "-m", "tests.kit.attribution.agent"]
        command = [*module, rows[0].agent, str(scripts), str(self._tally)]
        # Nobody's own files are looked at.
        home = folder / f"home{number}"
        home.mkdir()
        environment = {"HOME": str(home)}
        self.client = start(command, options=OPTIONS, limits=LIMITS, environment=environment)
        self.kind = list(CLIENTS)[number % len(CLIENTS)]
        self._since = self._prompt = 0
        self._answer: Frame = {}
        self._hello = self.client.request(
            "initialize",
            protocolVersion=1,
            clientInfo=self.client.info,
            clientCapabilities=CLIENTS[self.kind],
        )

    def begin(self, row: Row) -> None:
        """Send the prompt of a row, in a session of its own."""
        client = self.client
        client.answer(self._hello)
        client.session = client.call("session/new", cwd="/", mcpServers=[])["result"]["sessionId"]
        for event in row.events:
            if event.at < 0:
                client.notify(WRITE, text=event.value)
                client.listen(BETWEEN_SECONDS)
        self._since = len(client.frames)
        self._prompt = client.prompt(f"{row.id}\n{row.prompt}")

    def wait(self) -> None:
        """Wait for the answer."""
        self._answer = self.client.answer(self._prompt, fuse=ROUND_FUSE_SECONDS)

    def end(self, row: Row, late: float) -> list[Problem]:
        """Judge what came until a moment after the answers of all rows of this round."""
        self.client.listen(max(late - time.monotonic(), READ_SECONDS))
        sent = [event.value for event in row.events if event.kind == UPDATE]
        frames = self.client.frames[self._since :]
        added = [f for f in frames if _is_added(f, sent)]
        lines = self._tally.read_text(encoding="utf-8").splitlines()
        outcome = Outcome({SESSION: self._answer}, added, Counter({SESSION: lines.count(row.id)}))
        quiet = play(row.without_noise, client=self.kind, retry=2) if row.types else None
        return [
            Problem(row, kind, f"as a process, {self.kind}: {details}")
            for kind, details in problems(row, outcome, quiet)
        ]


def _is_added(frame: Frame, sent: list[Any]) -> bool:
    return bool(update_of(frame)) and update_of(frame) not in sent


def tenth(rows: Sequence[Row]) -> list[Row]:
    """One of every ten of them, not always the same of the ten: shapes and agents recur."""
    return [row for number, row in enumerate(rows) if number % 10 == number // 10 * 7 % 10]


def lanes(rows: Sequence[Row]) -> Iterator[list[Row]]:
    """The rows of each sidecar: those of one agent, and each whose process ends by itself alone."""
    by_agent: dict[str, list[Row]] = {}
    for row in rows:
        if any(event.kind == EXIT for event in row.events):
            yield [row]
        else:
            by_agent.setdefault(row.agent, []).append(row)
    for lane in by_agent.values():
        # Those that take long in the same rounds: a round is as long as its longest row.
        yield sorted(lane, key=_seconds, reverse=True)


def _seconds(row: Row) -> float:
    ends_by_itself = any(event.kind in {RESULT, ERROR, EXIT} for event in row.events)
    last = max((event.at for event in row.events), default=0.0) * SCALE
    return last if ends_by_itself else last + LIMIT_SECONDS


def measure(rows: Sequence[Row], start: Starts, folder: Path) -> tuple[list[Problem], float]:
    """Play the rows, those of all agents at once; gives the problems, and how long it took."""
    began = time.monotonic()
    playing = [_Lane(start, folder, number, lane) for number, lane in enumerate(lanes(rows))]
    found: list[Problem] = []
    for number in range(max(len(lane.rows) for lane in playing)):
        now = [(lane, lane.rows[number]) for lane in playing if number < len(lane.rows)]
        for lane, row in now:
            lane.begin(row)
        for lane, _row in now:
            lane.wait()
        late = time.monotonic() + LATE_SECONDS
        for lane, row in now:
            found += lane.end(row, late)
    return found, time.monotonic() - began
