"""Faults of agents as clients live them: one cell is a fault, a client, and lastword or nothing.

Owns: which faults and clients there are, playing a cell with short limits, and reading what came of
it. Does not own: the table (`faults`) and what a cell must say (`test_faults`).
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from tests.interop.matrix import sidecar
from tests.interop.runs import Client, Event, Run, run
from tests.kit import left_behind
from tests.kit.agents import MISBEHAVING_AGENT

if TYPE_CHECKING:
    from pathlib import Path

PROMPTS = ("fail", "recall")
CLIENT_OPTIONS = ("--probe", "--undrained-stderr")
ENVIRONMENT = dict(os.environ)
"""Read once: cells are played in threads, and pytest changes `os.environ` meanwhile."""

BARE_LIMIT_SECONDS = 4.0
"""From when on a client that waits is said to hang. No client measured ever stops by itself."""

LIMIT_SECONDS = 60.0
BLOWN_FUSES = ("TimeoutError", "Hang")
"""By what the clients say that they waited in vain for anything but a turn."""

SIDECAR_OPTIONS = ("--first-update-timeout", "10", "--idle-timeout", "10", "--cancel-grace", "0.5")
"""For an agent that falls silent; every other has its fault told at once."""

ANSWERED = "answered"
"""What is expected where the agent's work reaches the client in spite of the fault."""


class How(StrEnum):
    """The ways in which a failing turn can end for a client."""

    TYPED = "a typed error"
    ANSWERED = "the agent's own answer"
    RAISED = "an untyped error, or an exception"
    SILENT = "success with nothing shown, or under a name that does not exist"
    HANG = "no answer"


@dataclass(frozen=True, slots=True)
class Fault:
    """One way of an agent to fail.

    Attributes:
        words: What happens, for the table.
        expected: The error type that a client behind lastword is told, or `ANSWERED`.
    """

    mode: str
    words: str
    expected: str
    arguments: tuple[str, ...] = ()


FAULTS = (
    Fault("kills-itself", "killed (SIGKILL) in mid-turn", "agent_crash"),
    Fault("traceback", "uncaught exception, exit 1, a tool call open", "agent_crash"),
    Fault("exits-0", "exit 0 in mid-turn", "agent_crash"),
    Fault("dies-in-answer", "dies in the middle of its answer's line", "agent_crash"),
    Fault("grandchild-holds-stdout", "killed; a child keeps its stdout open", "agent_crash"),
    Fault("closes-stdout", "closes its stdout and lives on", "agent_crash"),
    Fault("silence-after-text", "falls silent after some text", "agent_stalled"),
    Fault("stops-reading", "falls silent and reads no more", "agent_stalled"),
    Fault("foreign-id", "answers somebody else's request, never ours", "agent_stalled"),
    Fault("id-as-text", "answers with the id's text for its number", ANSWERED),
    Fault("id-null", "answers with an error whose id is null", "provider_unavailable"),
    Fault("noise", "scalars, arrays and bad bytes between its frames", ANSWERED),
    Fault("invalid-utf8", "a text with a byte that is no UTF-8", ANSWERED),
    Fault("long-line", "an update of 70 MB", "protocol_error", ("70000000",)),
    Fault("stderr-flood", "3 MB on stderr, which nobody reads", ANSWERED, ("3000000",)),
    Fault("unknown-stop-reason", "a stop reason that does not exist", "unknown"),
    Fault("null-result", "answers the prompt with null", "protocol_error"),
    Fault("string-code", "an error whose code is a string", "network"),
    Fault("silent-success", "says that all is well, with nothing shown", "unknown"),
    Fault("http-429", "an error that holds the provider's 429", "rate_limit"),
)
CLIENTS = {"py": "Python SDK", "ts": "TypeScript SDK", "raw": "strict JSON"}


@dataclass(frozen=True, slots=True)
class Cell:
    fault: Fault
    client: str
    behind: bool

    def __str__(self) -> str:
        return f"{self.fault.mode}-{self.client}{'' if self.behind else '-bare'}"


@dataclass(frozen=True, slots=True)
class Seen:
    """What came of a cell.

    Attributes:
        outcome: The same in words: what the client's code saw.
        connection: Whether a new session and a turn in it worked afterwards.
        session: Whether the next prompt of the same session worked, with its history.
    """

    how: How
    outcome: str
    type: str | None
    connection: bool
    session: bool
    leftovers: tuple[str, ...]


def cells(*, behind: bool) -> list[Cell]:
    """All of them, those first that take longest."""
    return [Cell(fault, client, behind) for fault in FAULTS for client in CLIENTS]


def play(cell: Cell, folder: Path) -> Seen:
    home = folder / str(cell)
    cwd = home / "project"
    cwd.mkdir(parents=True)
    limit = LIMIT_SECONDS if cell.behind else BARE_LIMIT_SECONDS
    options = (*CLIENT_OPTIONS, "--turn-timeout", str(limit))
    client = Client(cell.client, options, prompts=PROMPTS, timeout_seconds=5 * limit)
    env = {**ENVIRONMENT, left_behind.VARIABLE: left_behind.new_mark()}
    command = _agent(cell.fault, home)
    options = SIDECAR_OPTIONS if cell.fault.expected == "agent_stalled" else ()
    return seen(run(client, sidecar(command, options) if cell.behind else command, env, cwd))


def _agent(fault: Fault, memory: Path) -> list[str]:
    program = [*MISBEHAVING_AGENT]
    return [*program, "--memory", str(memory), fault.mode, *fault.arguments]


def seen(result: Run) -> Seen:
    outcomes = {line["n"]: line for line in result.outcomes()}
    failing = outcomes.get(0) or _failed(result)
    shown = [line["update"] for line in result.named("update")]
    recalled = f"{len(PROMPTS)} prompts"
    how = _how(failing, nothing=_shows_nothing(result))
    return Seen(
        how=how,
        outcome=_in_words(failing, how),
        type=_type_of(failing),
        connection=_is_answer(outcomes.get(len(PROMPTS))),
        session=_is_answer(outcomes.get(1))
        and any(update.get("content", {}).get("text") == recalled for update in shown),
        leftovers=tuple(result.leftovers),
    )


def _failed(result: Run) -> Event:
    failed = result.named("failed")
    return failed[0] if failed else {"event": "nothing at all"}


def _shows_nothing(result: Run) -> bool:
    """Did the SDK hand nothing of the failing turn to user code?"""
    for line in result.events:
        if line["event"] == "update" and line["kind"] != "session_info_update":
            return False
        if line["event"] == "answer":
            return True
    return True


def _is_answer(outcome: Event | None) -> bool:
    return outcome is not None and outcome.get("stop_reason") == "end_turn"


def _type_of(outcome: Event) -> str | None:
    data = outcome.get("data")
    payload = data.get("agent_error") if isinstance(data, dict) else None
    return payload.get("type") if isinstance(payload, dict) else None


def _how(outcome: Event, *, nothing: bool) -> How:
    event = outcome["event"]
    if event == "answer":
        return How.ANSWERED if _is_answer(outcome) and not nothing else How.SILENT
    if event == "hang" or outcome.get("cause") in BLOWN_FUSES:
        return How.HANG
    return How.TYPED if _type_of(outcome) is not None else How.RAISED


def _in_words(outcome: Event, how: How) -> str:
    event = outcome["event"]
    stage = f" in {outcome['stage']}" if event == "failed" else ""
    if how is How.HANG:
        return f"hang{stage}"
    if how is How.TYPED:
        return f"error, `{_type_of(outcome)}`"
    if event == "answer":
        known = "silent success" if how is How.SILENT else ANSWERED
        return known if _is_answer(outcome) else f"answer `{outcome['stop_reason']}`"
    if event == "error":
        return f"untyped error {outcome.get('code')}"
    return f"exception {outcome.get('cause')}{stage}"


def wrong(cell: Cell, seen: Seen) -> list[str]:
    fault = cell.fault
    problems = []
    answered = seen.how is How.ANSWERED and fault.expected == ANSWERED
    if not answered and seen.type != fault.expected:
        problems.append(f"{fault.expected} was expected, and the client saw: {seen.outcome}")
    if not seen.connection:
        problems.append("the connection was not usable afterwards")
    if not seen.session:
        problems.append("the session was not usable afterwards")
    if seen.leftovers:
        problems.append(f"left behind: {seen.leftovers}")
    return problems
