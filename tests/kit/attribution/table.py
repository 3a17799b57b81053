"""Rows of the corpus played through the core, and what must not come of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from lastword.core.failure.sentences import WHAT, WHAT_BY_REASON
from lastword.core.failure.taxonomy import ErrorType
from tests.kit.attribution.player import CLIENTS, play
from tests.kit.attribution.rows import EXIT, NEVER_FROM_BESIDE, STDERR

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.kit.attribution.player import Outcome
    from tests.kit.attribution.rows import Row


_ACCUSING = tuple(
    what
    for kind, whats in [(k, [w, *WHAT_BY_REASON.get(k, {}).values()]) for k, w in WHAT.items()]
    if kind not in {*NEVER_FROM_BESIDE, ErrorType.CANCELLED}
    for what in whats
)


def problems(row: Row, outcome: Outcome, quiet: Outcome | None = None) -> Iterator[tuple[str, str]]:
    """Yield what must not be: a class of it, and the details.

    `quiet` is what comes of the same turn without anything beside it.
    """
    by_provider = any(types.isdisjoint(NEVER_FROM_BESIDE) for types in row.types.values())
    if not by_provider:
        for frame in outcome.added:
            if accuses(frame, failed=bool(row.types)):
                yield "accused", f"added {json.dumps(frame, ensure_ascii=False)[:300]}"
    for session in row.sessions:
        payload, types = outcome.error(session), row.types.get(session)
        if types is None:
            if payload is not None:
                yield "accused", f"the turn of {session} has failed: {payload}"
        elif payload is None:
            yield "missed", f"the turn of {session} passed"
        elif payload["type"] not in types:
            kind = "missed" if payload["type"] in NEVER_FROM_BESIDE else "blamed"
            yield kind, f"{payload['type']} ({payload.get('reason')}), not {sorted(types)}"
        elif not by_provider:
            yield from _own_fault(row, payload, quiet.error(session) if quiet else None)
        times = outcome.prompts[session]
        if times > 1 and not row.resent and not any(event.kind == EXIT for event in row.events):
            yield "resent", f"the prompt of {session} was sent {times} times"


def _own_fault(
    row: Row, payload: dict[str, Any], quiet: dict[str, Any] | None
) -> Iterator[tuple[str, str]]:
    """Yield what something beside it has changed in the report of an agent's own fault."""
    if payload["retryable"] and not (quiet and quiet["retryable"]):
        yield "blamed", f"retryable: {payload}"
    if row.group == "own fault" and _quotes(row, payload):
        yield "quoted", f"as the agent's own words: {payload['message']}"


def _quotes(row: Row, payload: dict[str, Any]) -> bool:
    """Whether a message has words of the first thing that stood on stderr, and does not say so."""
    message = payload.get("message", "")
    noise = "".join(event.value for event in row.events if event.kind == STDERR)
    if "It said" not in message or "stderr" in message:
        return False
    words = [line.strip()[:40] for line in noise.splitlines() if len(line.strip()) > 12]
    return any(each[-24:] in message for each in words[:1])


def accuses(frame: dict[str, Any], *, failed: bool = False) -> bool:
    """Whether a frame that is not the agent's speaks of a failure.

    Where the turn itself has failed, and may, its end is judged by its answer.
    """
    if "recorded" in frame:
        return True
    update = frame.get("params", {}).get("update", {})
    kind = update.get("sessionUpdate")
    if kind in {"agent_retry", "_agent_retry", "agent_thought_chunk"}:
        return True
    if failed and kind != "notice":
        return False
    words = json.dumps(update, ensure_ascii=False)
    return kind in {"agent_error", "_agent_error"} or any(what in words for what in _ACCUSING)


class Problem(NamedTuple):
    """What must not have come of a row.

    Its kind: a failure shown where none was (accused); a wrong cause (blamed), or one not seen
    (missed); a prompt sent again (resent); another program's words as the agent's own (quoted).
    """

    row: Row
    kind: str
    details: str


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


def measure(rows: list[Row], *, briefly: bool = False) -> list[Problem]:
    """Play every row, the kinds of clients in turn; `briefly` without and with resends in turn."""
    clients = list(CLIENTS)
    found = []
    for number, row in enumerate(rows):
        turn, client = divmod(number, len(clients))
        retries = (RETRIES[turn % 2],) if briefly else RETRIES
        found += problems_of(row, clients[client], retries)
    return found
