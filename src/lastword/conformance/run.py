"""Running checks: the acts that they need, side by side, and the findings in the table's order.

Owns the order and the pool. Does not own what is done (`acts`), judged (`checks`) or shown
(`report`, `machine`).
"""

from __future__ import annotations

import json
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from lastword.conformance.acts import ACTS, Played, play
from lastword.conformance.checks import CHECKS, Check, Finding
from lastword.conformance.checks.model import shown
from lastword.conformance.transcript import Limits

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from lastword.conformance.hooks import Hooks
    from lastword.conformance.link import Link

WORKERS = 2
"""Agents at once: more would slow each other down on a small machine, and be judged for it."""


class UnknownCheckError(Exception):
    """A name that is no check's; says which there are."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What is checked, and how.

    Attributes:
        command: The agent's.
        hooks: How it is driven.
        limits: How long is waited.
        keep: The folder that transcripts are written to, if any.
    """

    command: tuple[str, ...]
    hooks: Hooks
    limits: Limits = field(default_factory=Limits)
    keep: Path | None = None


def chosen(words: Iterable[str]) -> list[Check]:
    """The checks by their names or requirements, in the table's order; all, for no words.

    Raises:
        UnknownCheckError: One of them is neither.
    """
    wanted = [word.strip() for word in words if word.strip()]
    for word in wanted:
        if not any(word in {row.name, row.requirement} for row in CHECKS.values()):
            raise UnknownCheckError(
                f"there is no check {word!r}; `lastword check --list` shows what there is"
            )
    rows = CHECKS.values()
    return [row for row in rows if not wanted or {row.name, row.requirement} & set(wanted)]


class Run:
    """The acts of some checks, being played; a context manager that leaves none behind."""

    def __init__(self, settings: Settings, checks: Sequence[Check]) -> None:
        self._settings = settings
        self._pool = ThreadPoolExecutor(WORKERS)
        self._links: list[Link] = []
        self._given_up = False
        needed = {act for row in checks for act in row.acts}
        self._acts: dict[str, Future[Played]] = {
            name: self._pool.submit(self._play, name) for name in ACTS if name in needed
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self._give_up()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _give_up(self) -> None:
        """End the agents that run, so that nobody has to wait for their acts."""
        self._given_up = True
        self._pool.shutdown(wait=False, cancel_futures=True)
        for link in list(self._links):
            link.close()

    def _started(self, link: Link) -> None:
        self._links.append(link)
        if self._given_up:
            link.close()

    def finding(self, check: Check) -> Finding:
        """What came of a check; waits for its acts."""
        return check.find({name: self._acts[name].result() for name in check.acts})

    def _play(self, name: str) -> Played:
        chosen = self._settings
        played = play(name, chosen.command, chosen.hooks, chosen.limits, started=self._started)
        if chosen.keep is not None:
            _keep(played, chosen.keep)
        return played


def findings(settings: Settings, checks: Sequence[Check]) -> Iterator[tuple[Check, Finding]]:
    """Each check's finding, in order, as soon as there is one."""
    with Run(settings, checks) as run:
        for row in checks:
            yield row, run.finding(row)


def _keep(played: Played, folder: Path) -> None:
    """Write an act's transcript: one line for each line that passed, redacted."""
    lines = [
        json.dumps({"at": round(event.at, 3), "line": shown(event)[0]}, ensure_ascii=False)
        for event in played.transcript.events
    ]
    name = played.transcript.name.replace(":", "-")
    (folder / f"{name}.jsonl").write_text("".join(f"{line}\n" for line in lines), "utf-8")
