"""Timeline of an agent's turns, for tests of the agent, and the result of one turn.

Owns the collected timeline, and the values that a test's client reads from a turn's frames: text,
tools, retries, the failure. The agent must run in the test's process, through `lastword.run_agent`,
`lastword.guard` or `lastword.serve`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator  # noqa: TC003 - of a public signature
from typing import Any

import msgspec

from lastword.client.reading import RetryNotice, object_of, read_error, read_retry
from lastword.core.failure.taxonomy import AgentError  # noqa: TC001 - of a public signature
from lastword.core.protocol import acp
from lastword.core.timeline.entry import Entry, Kind
from lastword.core.timeline.session_events import histories
from lastword.core.timeline.summary import Outcome, Summary, outcome_of, summarise
from lastword.inprocess import journal

__all__ = ["CapturedTurn", "Timeline", "capture_timeline"]


class CapturedTurn(msgspec.Struct, frozen=True, kw_only=True):
    """One turn, possibly still running.

    Attributes:
        session_id: its session.
        number: its number, counted from 1 within its link.
        entries: what happened in it, in order.
    """

    session_id: str | None
    number: int
    entries: tuple[Entry, ...]

    def all(self, kind: Kind) -> list[Entry]:
        """Return its entries of this kind."""
        return [entry for entry in self.entries if entry.kind is kind]

    @property
    def end(self) -> Entry | None:
        """The entry that ended it, or `None` while it is open."""
        ends = [e for e in self.entries if e.kind in (Kind.ANSWER, Kind.ERROR)]
        return ends[0] if ends else None

    @property
    def outcome(self) -> Outcome:
        """How it ended: `ok`, `failed` or `cancelled`; `open` while it has not.

        `ok` covers every other end: look at `stop_reason` for a refusal or a token limit. The words
        are those of `lastword log`, and compare equal to plain text.
        """
        ended = histories(self.entries)
        return outcome_of(ended[0]) if ended else Outcome.OPEN

    @property
    def error_type(self) -> str | None:
        """The type of its failure, as in `lastword.ErrorType`, or `None` if it did not fail."""
        end = self.end
        return end.facts["type"] if end is not None and end.kind is Kind.ERROR else None

    @property
    def stop_reason(self) -> str | None:
        """The stop reason if it did not fail: `end_turn`, `cancelled` and so on."""
        end = self.end
        return end.facts.get("stop_reason") if end is not None else None

    def summary(self) -> Summary:
        """A summary for a person: what failed and where, who was at fault, what to do."""
        return summarise(self.entries)


class Timeline:
    """Everything since `capture_timeline` was entered; it grows while events occur."""

    def __init__(self) -> None:
        self._entries: list[tuple[str, Entry]] = []

    def take(self, link: str, entry: Entry) -> None:
        """Take an entry, as the links do."""
        self._entries.append((link, entry))

    @property
    def entries(self) -> list[Entry]:
        """Every entry, in order."""
        return [entry for _, entry in self._entries]

    @property
    def turns(self) -> list[CapturedTurn]:
        """The turns, in the order of their prompts."""
        by_turn: dict[tuple[str, int], list[Entry]] = {}
        for link, entry in self._entries:
            if entry.turn is not None:
                by_turn.setdefault((link, entry.turn), []).append(entry)
        return [
            CapturedTurn(session_id=entries[0].session_id, number=number, entries=tuple(entries))
            for (_, number), entries in by_turn.items()
        ]

    def summary(self) -> Summary:
        """The summary of the last turn that did not end well, or else of the last one."""
        return summarise(self.entries)


@contextlib.contextmanager
def capture_timeline() -> Iterator[Timeline]:
    """Collect what happens in this process, in place of the user's record.

    ```python
    with capture_timeline() as timeline:
        ...  # the test's client sends the agent a prompt
    assert timeline.turns[0].error_type == "rate_limit"
    ```

    Yields:
        The timeline, which can be read at any time, even afterwards.
    """
    timeline = Timeline()
    with journal.collected_by(timeline):
        yield timeline


Json = dict[str, Any]


def update_of(frame: Json) -> Json:
    """Return the `update` of a `session/update`; empty if the agent sent none."""
    return object_of(object_of(frame.get("params")).get("update"))


class ToolCall(msgspec.Struct, frozen=True, kw_only=True):
    """One tool call, as the client saw it.

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

        A client that does not accept typed errors may receive it only in prose: then this is
        `None` too, although `outcome` is `failed` and `error_type` says why.
        """
        if self.outcome is not Outcome.FAILED:
            return None
        errors = [read_error(frame) for frame in (self.frames[-1], *reversed(self.updates))]
        return next((error for error in errors if error is not None), None)

    @property
    def updates(self) -> tuple[Json, ...]:
        """The `update` of each `session/update`, in order, as decoded JSON."""
        return tuple(update_of(frame) for frame in self.frames if frame.get("method") == acp.UPDATE)

    @property
    def text(self) -> str:
        """The agent's text: its message chunks, joined, without its thoughts."""
        chunks = (u for u in self.updates if u.get("sessionUpdate") in acp.TEXT_KINDS)
        texts = (object_of(chunk.get("content")).get("text") for chunk in chunks)
        return "".join(text for text in texts if isinstance(text, str))

    @property
    def tools(self) -> tuple[ToolCall, ...]:
        """The tool calls that the client saw, in the order in which they began."""
        tools: dict[str, ToolCall] = {}
        for update in self.updates:
            if update.get("sessionUpdate") in acp.TOOL_KINDS:
                tool_id = str(update.get("toolCallId"))
                members = ("title", "kind", "status")
                changes = {
                    name: update[name] for name in members if isinstance(update.get(name), str)
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
