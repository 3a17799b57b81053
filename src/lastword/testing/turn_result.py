"""Result of one turn, as the client of a test received it.

Owns the values that are read from its frames: text, tools, retries, the failure.
"""

from __future__ import annotations

from typing import Any

import msgspec

from lastword.client.reading import read_error
from lastword.client.retries import RetryNotice, read_retry
from lastword.core.failure.taxonomy import AgentError  # noqa: TC001 - of a public signature
from lastword.core.protocol import acp
from lastword.core.timeline.summary import Outcome
from lastword.testing.timeline import CapturedTurn

Json = dict[str, Any]


class ToolCall(msgspec.Struct, frozen=True, kw_only=True):
    """One tool call, as far as the client saw it.

    Attributes:
        tool_call_id: its id.
        title: its title; empty if it was not given.
        kind: ACP's word for its kind, such as `edit`; empty if it was not given.
        status: its last status, such as `completed`; empty if it was not given.
    """

    tool_call_id: str
    title: str = ""
    kind: str = ""
    status: str = ""


class TurnResult(CapturedTurn, frozen=True, kw_only=True):
    """The result of one turn: what the client received, and what happened in it.

    Has everything that a captured turn has (`outcome`, `entries`, `all`, `summary`).

    Attributes:
        frames: every message that the client received from the prompt to the answer, in order, as
            decoded JSON. The answer is the last one.
        duration_seconds: the time from the prompt to its answer, including skipped waits.
    """

    frames: tuple[Json, ...]
    duration_seconds: float

    @property
    def stop_reason(self) -> str | None:
        """The answer's `stopReason`, such as `end_turn`, or `None` if it is an error."""
        result = self.frames[-1].get("result")
        reason = result.get("stopReason") if isinstance(result, dict) else None
        return reason if isinstance(reason, str) else None

    @property
    def error(self) -> AgentError | None:
        """The failure as this client could read it, or `None` if the turn did not fail.

        A client that does not accept typed errors may have got it in prose alone: then this is
        `None` too, although `outcome` is `failed` and `error_type` says why.
        """
        if self.outcome is not Outcome.FAILED:
            return None
        errors = [read_error(frame) for frame in (self.frames[-1], *reversed(self.updates))]
        return next((error for error in errors if error is not None), None)

    @property
    def updates(self) -> tuple[Json, ...]:
        """The `update` of each `session/update`, in order, as decoded JSON."""
        return tuple(
            frame["params"]["update"] for frame in self.frames if frame.get("method") == acp.UPDATE
        )

    @property
    def text(self) -> str:
        """What the agent said: the text of its message chunks, joined, without its thoughts."""
        contents = (u["content"] for u in self.updates if u.get("sessionUpdate") in acp.TEXT_KINDS)
        return "".join(content["text"] for content in contents if content.get("type") == "text")

    @property
    def tools(self) -> tuple[ToolCall, ...]:
        """The tool calls that the client saw, in the order of their beginnings."""
        tools: dict[str, ToolCall] = {}
        for update in self.updates:
            if update.get("sessionUpdate") in acp.TOOL_KINDS:
                tool_id = str(update.get("toolCallId"))
                changes = {
                    name: update[name] for name in _MEMBERS if isinstance(update.get(name), str)
                }
                tool = tools.get(tool_id) or ToolCall(tool_call_id=tool_id)
                tools[tool_id] = msgspec.structs.replace(tool, **changes)
        return tuple(tools.values())

    @property
    def retries(self) -> tuple[RetryNotice, ...]:
        """The retries that the client saw: the next attempt, and the wait before it.

        A client that does not accept typed errors is informed in other ways, or not at all:
        `all(Kind.RETRY)` has them for every client.
        """
        notices = map(read_retry, self.updates)
        return tuple(notice for notice in notices if notice is not None)


_MEMBERS = ("title", "kind", "status")

# The names before 0.3, which still work.
SeenTool = ToolCall
TakenTurn = TurnResult
