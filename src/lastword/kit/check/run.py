"""A run of checks: the acts that they need, in parallel, and the findings in a fixed order.

Nothing in it is left to chance: the acts, their keys and the order are the same in every run.
Owns the order and the pool. It does not own what is played (`probes`), judged (`checks`) or shown
(`documents`, `lastword.cli`).
"""

from __future__ import annotations

import difflib
import json
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from threading import Semaphore
from typing import TYPE_CHECKING, Self

from lastword.kit.check.checks import CHECKS, Check, CheckVerdict, Finding
from lastword.kit.check.checks.model import shown
from lastword.kit.check.probes import ACTS, Played, play
from lastword.kit.check.stage import WaitLimits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from lastword.kit.check.hooks import Hooks
    from lastword.kit.peer import StrictClient

WORKERS = 2
"""Agents at once: more would slow each other down on a small machine, and fail for that."""

WAITING = 2
"""As many more in acts whose provider fails: most of their time is the agent's wait for a retry."""

PLACES = {True: WAITING, False: WORKERS}
"""Places for acts, by whether they wait for the agent's retries."""


PLAYS = 5
"""How often an act is played that fails only sometimes."""

REPLAYED_SECONDS = 20.0
"""Acts that take longer are played once: a race does not last that long."""

FEW_ACTS = 2
"""A check of more acts than this looks at each separately."""


class UnknownCheckError(Exception):
    """A name of an unknown check; the text says which there are."""


@dataclass(frozen=True, slots=True)
class CheckSettings:
    """The settings of a run.

    Attributes:
        command: The agent's.
        hooks: How it is driven.
        limits: How long is waited.
        keep: The folder that transcripts are written to, if any.
        plays: How often what failed is played at most.
    """

    command: tuple[str, ...]
    hooks: Hooks
    limits: WaitLimits = field(default_factory=WaitLimits)
    keep: Path | None = None
    plays: int = PLAYS


def chosen(words: Iterable[str]) -> list[Check]:
    """Return the checks by their names or requirements, in the table's order; all, for no words.

    Raises:
        UnknownCheckError: One of them is neither.
    """
    names = [word.strip() for word in words if word.strip()]
    for word in names:
        if not any(word in {row.name, row.requirement} for row in CHECKS.values()):
            raise UnknownCheckError(_unknown(word))
    rows = CHECKS.values()
    return [row for row in rows if not names or {row.name, row.requirement} & set(names)]


def _unknown(word: str) -> str:
    choices = {
        name.lower(): name for row in CHECKS.values() for name in (row.name, row.requirement)
    }
    like = difflib.get_close_matches(word.lower(), choices, n=1)
    hint = f". Did you mean {choices[like[0]]}?" if like else ";"
    return f"there is no check {word!r}{hint} `lastword check --list` lists them all"


class CheckRun:
    """The acts of some checks, being played; a context manager that leaves none behind."""

    def __init__(
        self,
        settings: CheckSettings,
        checks: Sequence[Check],
        at: Callable[[Sequence[str], float | None], None] = lambda *_: None,
    ) -> None:
        self._settings = settings
        self._at = at
        self._playing: list[str] = []
        self._pools = {waits: ThreadPoolExecutor(places) for waits, places in PLACES.items()}
        self._peers: list[StrictClient] = []
        self._given_up = False
        self._slots = {waits: Semaphore(places) for waits, places in PLACES.items()}
        self._seconds: dict[str, float] = {}
        self._replays: dict[str, list[Played]] = {}
        needed = {act for row in checks for act in row.acts}
        self._order = [name for name in ACTS if name in needed]
        self._acts: dict[str, Future[Played]] = {}

    @property
    def command(self) -> tuple[str, ...]:
        """The agent's."""
        return self._settings.command

    def __enter__(self) -> Self:
        """Begin the acts; an interrupt meanwhile ends the agents that already run."""
        try:
            for name in self._order:
                self._acts[name] = self._pools[_waits(name)].submit(self._play, name)
        except BaseException as error:
            self.__exit__(type(error))
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self._give_up()
        try:
            for pool in self._pools.values():
                pool.shutdown(wait=True, cancel_futures=True)
        except BaseException:  # the user does not wait for what is left
            self._give_up()
            raise

    def _give_up(self) -> None:
        """End the agents that run, so that their acts end at once."""
        self._given_up = True
        for pool in self._pools.values():
            pool.shutdown(wait=False, cancel_futures=True)
        for peer in list(self._peers):
            peer.kill()

    def _started(self, peer: StrictClient) -> None:
        self._peers.append(peer)
        if self._given_up:
            peer.kill()

    @property
    def seconds_left(self) -> float | None:
        """About how long the acts that are left take; `None` before one of each sort is over."""
        seconds = dict(self._seconds)  # other threads add to it
        longest = 0.0
        for waits, places in PLACES.items():
            names = [name for name in self._order if _waits(name) is waits]
            over = [seconds[name] for name in names if name in seconds]
            if names and not over:
                return None
            left = sum(over) / max(len(over), 1) * (len(names) - len(over))
            longest = max(longest, left / places)
        return longest

    def in_order(self, checks: Iterable[Check]) -> list[Check]:
        """Return checks in the order in which their last acts begin, those that wait last."""
        begins = sorted(self._order, key=_waits)
        return sorted(checks, key=lambda row: max(map(begins.index, row.acts), default=0))

    def finding(self, check: Check) -> Finding:
        """Return what came of a check; waits for its acts, and plays again what failed."""
        acts = {name: self._acts[name].result() for name in check.acts}
        finding = check.find(acts)
        if finding.verdict is not CheckVerdict.FAIL or self._settings.plays == 1:
            return finding
        names = failing_acts(check, acts)
        if not names or sum(self._seconds[name] for name in names) > REPLAYED_SECONDS:
            return finding
        return self._played_again(replace(check, acts=names), finding)

    def _played_again(self, check: Check, first: Finding) -> Finding:
        """Return the finding as it is after more plays: twice the same, or how often it failed."""
        failed = 1
        for number in range(1, self._settings.plays):
            acts = {name: self._replay(name, number) for name in check.acts}
            failed += check.find(acts).verdict is CheckVerdict.FAIL
            if number == 1 and failed > 1:
                return first
        # A single failure may be due to this machine.
        verdict = CheckVerdict.FAIL if failed > 1 else CheckVerdict.WARN
        often = f"{failed} of {self._settings.plays} times"
        return replace(first, verdict=verdict, evidence=f"{often}: {first.evidence}")

    def _replay(self, name: str, number: int) -> Played:
        """Return an act's play of this number, from 1; several checks may look at one."""
        replays = self._replays.setdefault(name, [])
        while len(replays) < number:
            replays.append(self._play_once(name))
        return replays[number - 1]

    def _play(self, name: str) -> Played:
        played = self._play_once(name)
        if self._settings.keep is not None:
            _keep(played, self._settings.keep)
        return played

    def _play_once(self, name: str) -> Played:
        chosen = self._settings
        with self._slots[_waits(name)]:
            since = time.monotonic()
            self._playing.append(name)
            self._at(tuple(self._playing), self.seconds_left)
            played = play(name, chosen.command, chosen.hooks, chosen.limits, started=self._started)
            self._playing.remove(name)
            self._seconds.setdefault(name, time.monotonic() - since)
        return played


def _waits(name: str) -> bool:
    """Return whether an act waits for the agent's retries, since its provider fails."""
    return name.startswith("fail:")


def failing_acts(check: Check, acts: Mapping[str, Played]) -> tuple[str, ...]:
    """Return the acts by which a check failed; of many, each of which it looks at, the first.

    Those that were completed come first: what another sees of an agent that it ends at once may
    be missing when it is played again.
    """
    if len(acts) <= FEW_ACTS:
        return check.acts
    for name in sorted(check.acts, key=lambda name: not acts[name].is_complete):
        alone = replace(check, acts=(name,)).find({name: acts[name]})
        if alone.verdict is CheckVerdict.FAIL:
            return (name,)
    return ()


def findings(
    settings: CheckSettings,
    checks: Sequence[Check],
    at: Callable[[Sequence[str], float | None], None] = lambda *_: None,
) -> Iterator[tuple[Check, Finding]]:
    """Yield each check's finding, in the order in which their last acts begin.

    Args:
        settings: What is checked, and how.
        checks: Which.
        at: Called whenever an act begins, with those that are being played, and with about how many
            seconds are left.
    """
    with CheckRun(settings, checks, at) as run:
        for row in run.in_order(checks):
            yield row, run.finding(row)


def _keep(played: Played, folder: Path) -> None:
    """Write an act's transcript: one line for each line that passed, redacted."""
    lines = [
        json.dumps({"at": round(event.at, 3), "line": shown(event)[0]}, ensure_ascii=False)
        for event in played.transcript.events
    ]
    name = played.transcript.name.replace(":", "-")
    (folder / f"{name}.jsonl").write_text("".join(f"{line}\n" for line in lines), "utf-8")
