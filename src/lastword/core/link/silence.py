"""The cause of a silence: what a silent agent waits for or does, as far as the system shows it.

Owns the words for it. `lastword.sidecar.silence` finds the cause; here it decides no more than what
a remark says, and the type of a failure whose turn has run out of time. It never ends a turn.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from lastword.core.link import late

MAX_PROGRAM_CHARS = 40
MAX_TITLE_CHARS = 120
_MINUTES_FROM_SECONDS = 120


class Cause(StrEnum):
    """What a silent agent waits for or does."""

    PROVIDER = "provider"
    """A request was sent to the model provider, and nothing has come back."""
    TRIES = "tries"
    """The same request was sent several times, and answered each time with an error's size."""
    UNREACHABLE = "unreachable"
    """A connection is not made, or no longer carries anything."""
    TOOL = "tool"
    """A program that the agent has started in this turn runs."""
    MCP_SERVER = "mcp_server"
    """A server on this machine was sent a request, and nothing has come back."""
    BUSY = "busy"
    """The agent computes."""
    STOPPED = "stopped"
    """The agent's process is stopped, as by a debugger or Ctrl-Z."""
    DISK = "disk"
    """The agent's process waits for a disk."""
    DONE = "done"
    """Its last words and its usage have come, and its answer has not."""


WAITS: dict[Cause, str] = {
    Cause.PROVIDER: "provider_seconds",
    Cause.TRIES: "provider_seconds",
    Cause.UNREACHABLE: "provider_seconds",
    Cause.TOOL: "tool_seconds",
    Cause.MCP_SERVER: "tool_seconds",
    Cause.BUSY: "agent_seconds",
    Cause.STOPPED: "agent_seconds",
    Cause.DISK: "agent_seconds",
    Cause.DONE: "agent_seconds",
}
"""The fact of a turn's end that counts each cause's time."""


class SilenceCause(msgspec.Struct, frozen=True, kw_only=True):
    """Why an agent is silent.

    Attributes:
        cause: what it waits for or does.
        since: when that began, by the clock of `now`.
        program: the program's name, of a tool.
        tries: how many requests were sent, of silent tries.
    """

    cause: Cause
    since: float
    program: str | None = None
    tries: int | None = None


def sentence(cause: SilenceCause, now: float) -> str:
    """Return the cause in a sentence."""
    span = _span(now - cause.since)
    match cause.cause:
        case Cause.PROVIDER:
            return f"The model provider has not answered for {span}."
        case Cause.TRIES:
            return f"The agent has sent its request {cause.tries} times and keeps trying."
        case Cause.UNREACHABLE:
            return f"The agent has been trying to connect to the model provider for {span}."
        case Cause.TOOL:
            program = plain_program(cause.program)
            name = f'"{program}"' if program else "A program"
            return f"{name} has been running for {span}."
        case Cause.MCP_SERVER:
            return f"A server on this machine has not answered the agent for {span}."
        case Cause.BUSY:
            return "The agent itself is busy."
        case Cause.STOPPED:
            return "The agent's process is stopped."
        case Cause.DONE:
            return "The agent seems to be done; its answer has not come yet."
        case _:
            return "The agent is waiting for a disk."


def of_tool(title: str, cause: SilenceCause, now: float) -> str:
    """Return how long a tool has been running, in a sentence.

    Args:
        title: Its title, redacted and on one line.
        cause: Since when it runs, or its program, where that is seen.
        now: The time.
    """
    shown = title.replace('"', "'")
    if len(shown) > MAX_TITLE_CHARS:
        shown = f"{shown[:MAX_TITLE_CHARS].rstrip()}…"
    program = plain_program(cause.program)
    of = f' (program "{program}")' if program else ""
    return f'The tool "{shown}"{of} has been running for {_span(now - cause.since)}.'


def plain_program(name: str | None) -> str | None:
    """Return a program's name without anything that a client reads as markup."""
    if not name:
        return None
    return late.wording.on_one_line(name).replace('"', "'")[:MAX_PROGRAM_CHARS] or None


def _span(seconds: float) -> str:
    whole = max(round(seconds), 1)
    return f"{whole} s" if whole < _MINUTES_FROM_SECONDS else f"{whole // 60} min"
