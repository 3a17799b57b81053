"""Failing turns beside the words of something else, and turns of several sessions at once.

Owns how an agent's own fault ends a turn, how a provider's failure does, and what a source that
names a session, a side call or an earlier moment may decide.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import chain, cycle, islice, product
from typing import Any, TypeAlias

from tests.kit.attribution.rows import (
    AGENTS,
    EXIT,
    FOLDER,
    HINT,
    LINE,
    NEVER_FROM_BESIDE,
    SESSION,
    Event,
    Row,
    Sample,
    error,
    result,
    samples,
    stderr,
    text,
    tool,
    tool_done,
    turn,
)

OWN = {SESSION: NEVER_FROM_BESIDE}
Fault: TypeAlias = Callable[[str], list[Event]]

# --- faults of the agent's own


def _command_failed(noise: str) -> list[Event]:
    """The agent throws what its tool's command has printed."""
    line = noise.strip().splitlines()[0].strip()
    failed = f"Command failed with exit code 1: {line}"
    return [tool(0.5), stderr(1, noise), error(2, message=failed)]


def _exit(code: int | None, signal: int | None = None) -> Event:
    return Event(1.2, EXIT, {"code": code, "signal": signal})


_NULL = {"details": "Cannot read properties of undefined (reading 'sort')"}
_THROWN = "TypeError: orders.sort is not a function\n    at main (/opt/agent/index.js:12:3)"

FAULTS: dict[str, Fault] = {
    "silent": lambda noise: [stderr(1, noise), result(2)],
    "bare": lambda noise: [stderr(1, noise), error(2)],
    "bare_later": lambda noise: [stderr(1, noise), error(20)],
    "null_pointer": lambda noise: [stderr(1, noise), error(2, data=_NULL)],
    "key_error": lambda noise: [stderr(1, noise), error(2, message="KeyError: 'orders'")],
    "after_tool": lambda noise: [
        *(tool(0.5), stderr(1, noise), tool_done(1.5, noise, failed=True), error(3))
    ],
    "command_failed": _command_failed,
    # The same in the error's data.
    "in_details": lambda noise: [
        tool(0.5),
        error(2, data={"details": f"Error: Command failed: ./build.sh\n{noise.strip()}"}),
    ],
    "exits": lambda noise: [stderr(1, noise), _exit(1)],
    "crashes": lambda noise: [stderr(1, noise), _exit(None, 11)],
    "throws": lambda noise: [stderr(1, noise), stderr(1.1, _THROWN), _exit(1)],
    "hangs": lambda noise: [stderr(1, noise)],
    "hangs_in_tool": lambda noise: [tool(0.5), stderr(1, noise)],
}

FAULTS_EACH = 2
"""With how many faults each sample is played."""

RETHROWN = ("command_failed", "in_details")
"""Those whose error has another program's words in it."""

IN_TOOLS = ("after_tool", "hangs_in_tool")


def _own_faults() -> Iterator[Row]:
    faults = cycle(FAULTS)
    beside = [*samples("programs.txt"), *samples("services.txt")]
    pairs = [(sample, fault) for sample in beside for fault in islice(faults, FAULTS_EACH)]
    pairs += product(samples("model_programs.txt"), IN_TOOLS)
    for number, (sample, fault) in enumerate(pairs):
        group = "rethrown" if fault in RETHROWN else "own fault"
        events = FAULTS[fault](sample.text)
        yield turn(group, f"{sample.id}, {fault}", number, events, types=OWN)


# --- failures of the provider's, with something else beside them


def _provider() -> Iterator[Row]:
    lines = (FOLDER / "failures.jsonl").read_text(encoding="utf-8").splitlines()
    noise = [*samples("programs.txt"), *samples("services.txt")]
    failures = product(map(json.loads, lines), (True, False, None))
    for number, (failure, before) in enumerate(failures):
        beside = noise[(number * 7) % len(noise)]
        yield turn(
            "provider",
            f"{failure['types'][0]}, {beside.id if before is not None else 'alone'}",
            number,
            _provider_events(failure, beside, before=before),
            agent=failure.get("agent", ""),
            types={SESSION: frozenset(failure["types"])},
            resent=True,
        )


def _provider_events(failure: Any, noise: Sample, *, before: bool | None) -> list[Event]:
    beside = [] if before is None else [stderr(1 if before else 2.5, noise.text)]
    if failure["where"].startswith("prose"):
        told = [stderr(2.9, failure["beside"])] if "beside" in failure else []
        return [*beside, *told, text(3, failure["text"]), result(3.1)]
    if failure["where"] == "stderr":
        return [*beside, stderr(2, failure["text"]), error(6)]
    members = {key: failure[key] for key in ("code", "data") if key in failure}
    return [*beside, error(3, message=failure["message"], **members)]


# --- several sessions, side calls, and lines of another time


def hint(at: float, error: Any, session: str | None = SESSION, **more: Any) -> Event:
    """What a journal reports: an error, of which session, and when."""
    return Event(at, HINT, {"error": error, "session_id": session, **more}, session or SESSION)


LIMITED = {"error": {"message": "slow down", "type": "rate_limit_error"}, "status": 429}
EMPTY = {"error": {"message": "insufficient_quota", "code": "insufficient_quota"}}
WAITS: dict[str, Any] = {"goes_on": True, "attempt": 2}
ENDS: dict[str, Any] = {"goes_on": False}
LOG_LINE = "2026-11-20T09:00:00.000Z ERROR llm model call failed: 429 Too Many Requests"


def _sessions() -> Iterator[Row]:
    both = (SESSION, "other")
    limited, empty = frozenset({"rate_limit"}), frozenset({"budget"})
    two = [result(5), result(5, "other")]
    both_end = [
        *(text(3, "Done.", session) for session in both),
        *(result(5, session) for session in both),
    ]
    done = [text(9, "Done."), result(10)]
    passes: dict[str, Any] = {"types": {}}
    fails: dict[str, Any] = {"types": {SESSION: limited}}
    shared: dict[str, Any] = {"sessions": both, "resent": True}
    each = {"types": {SESSION: limited, "other": empty}, **shared}
    stderr_line = "openai.RateLimitError: Error code: 429 - {'error': {}}"
    cases: list[tuple[str, list[Event], dict[str, Any]]] = [
        ("each its own", [hint(1, LIMITED, **ENDS), hint(1.1, EMPTY, "other", **ENDS), *two], each),
        (
            "each its own retry",
            [hint(1, LIMITED, **WAITS), hint(1.1, EMPTY, "other", **WAITS), *two],
            each,
        ),
        (
            "one of two",
            [hint(1, LIMITED, **ENDS), result(5), text(6, "Done.", "other"), result(7, "other")],
            fails | shared,
        ),
        ("another session", [hint(1, LIMITED, "elsewhere", **WAITS), *done], passes),
        ("another session, and silence", [hint(1, LIMITED, "elsewhere", **ENDS), error(5)], {}),
        (
            "a file that names none, two turns",
            [hint(1, LIMITED, None, **WAITS), *both_end],
            passes | {"sessions": both},
        ),
        ("before the turn", [hint(1, LIMITED, at_seconds=-5, **WAITS), *done], passes),
        ("before the turn, and then a fault", [hint(-2, LIMITED, **ENDS), error(5)], {}),
        ("a line of before the turn", [Event(-2, LINE, LOG_LINE + "\n"), error(5)], {}),
        ("stderr of before the turn", [stderr(-2, stderr_line), error(5)], {}),
        ("a title fails", [hint(1, LIMITED, side=True, **ENDS), *done], passes),
        ("a title fails, and then a fault", [hint(1, LIMITED, side=True, **ENDS), error(5)], {}),
        ("a title is tried again", [hint(1, LIMITED, side=True, **WAITS), *done], passes),
        ("got over", [hint(1, LIMITED, **ENDS), text(9, "Done."), text(10, " All"), error(15)], {}),
        ("a sub-agent's tool", [tool(1, "sub"), error(5, message="429 Too Many Requests")], fails),
        (
            "a sub-agent's tool and silence",
            [tool(1, "sub"), hint(2, LIMITED, **ENDS), result(5)],
            fails,
        ),
        (
            "a sub-agent's failure",
            [tool(1), hint(2, LIMITED, "sub", **WAITS), tool_done(4), *done],
            passes,
        ),
    ]
    for number, ((name, events, more), agent) in enumerate(product(cases, AGENTS)):
        yield turn("sessions", name, number, events, agent=agent, **({"types": OWN} | more))


def rows() -> list[Row]:
    """Every failing turn, and those of several sessions."""
    return list(chain(_own_faults(), _provider(), _sessions()))
