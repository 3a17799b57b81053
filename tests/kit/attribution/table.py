"""The whole corpus played through the core, counted by class of row and of problem."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from tests.kit.attribution import failing, honest
from tests.kit.attribution.judgement import problems
from tests.kit.attribution.player import CLIENTS, play

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.kit.attribution.rows import Row

PROBLEMS = ("accused", "blamed", "resent", "missed", "quoted")
"""A failure shown where none was; a wrong cause; a prompt sent again; a cause not seen; and words
of another program's as the agent's own."""


class Problem(NamedTuple):
    """What must not have come of a row."""

    row: Row
    kind: str
    details: str


class Measure(NamedTuple):
    """The rows of each group, and the problems."""

    rows: Counter[str]
    found: list[Problem]


def all_rows() -> list[Row]:
    return [*honest.rows(), *failing.rows()]


RETRIES = (0, 2)
"""Without resends and with them."""


def problems_of(row: Row, client: str, retries: Sequence[int] = RETRIES) -> list[Problem]:
    """What is wrong with a row, each kind of problem once."""
    found: dict[str, Problem] = {}
    for retry in retries:
        outcome = play(row, client=client, retry=retry)
        quiet = play(row.without_noise, client=client, retry=retry) if row.types else None
        for kind, details in problems(row, outcome, quiet):
            found.setdefault(kind, Problem(row, kind, f"--retry {retry}, {client}: {details}"))
    return list(found.values())


def measure(rows: list[Row] | None = None, *, briefly: bool = False) -> Measure:
    """Play every row, the kinds of clients in turn; `briefly` without and with resends in turn."""
    clients = list(CLIENTS)
    rows = all_rows() if rows is None else rows
    found = []
    for number, row in enumerate(rows):
        turn, client = divmod(number, len(clients))
        retries = (RETRIES[turn % 2],) if briefly else RETRIES
        found += problems_of(row, clients[client], retries)
    return Measure(Counter(row.group for row in rows), found)


def render(measured: Measure, *, listed: bool = False) -> str:
    """The table, and the problems where they are wanted."""
    counts = Counter((problem.row.group, problem.kind) for problem in measured.found)
    lines = [f"{'class':12}{'rows':>6}" + "".join(f"{kind:>9}" for kind in PROBLEMS)]
    for group, rows in measured.rows.items():
        cells = "".join(f"{counts[group, kind]:>9}" for kind in PROBLEMS)
        lines.append(f"{group:12}{rows:>6}{cells}")
    whole = Counter(problem.kind for problem in measured.found)
    cells = "".join(f"{whole[kind]:>9}" for kind in PROBLEMS)
    lines.append(f"{'all':12}{sum(measured.rows.values()):>6}{cells}")
    if listed:
        lines += [f"{p.kind}: {p.row.id}: {p.details}" for p in measured.found]
    return "\n".join(lines) + "\n"
