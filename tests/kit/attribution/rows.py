"""One turn of the corpus as data: what its agent does and when, and what may come of it.

Owns the form of a row and of its events, and how the text files of samples are read.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from lastword.quirks import agents

FOLDER = Path(__file__).parent
SESSION = "s"

STDERR, LINE, HINT, UPDATE = "stderr", "log", "hint", "update"
RESULT, ERROR, EXIT = "result", "error", "exit"
"""Kinds of events: bytes on stderr; a line of the agent's log, read by its form; what a source
reports; an update; the two answers to a prompt; the end of the process."""

NEVER_FROM_BESIDE = frozenset({"unknown", "internal", "agent_crash", "agent_stalled"})
"""What an agent's own failure may be, whatever else stands beside it."""

USAGE = {"inputTokens": 1200, "outputTokens": 40, "totalTokens": 1240}

AGENTS = (
    *("claude-agent-acp", "codex-acp", "OpenCode", "gemini-cli", "qwen-code", "kimi-code"),
    *("Kimi Code CLI", "@mistralai/mistral-vibe", "cline", "goose", "pi-acp"),
    *("newcomer", "@someone/other-agent"),
)
"""An agent for each row of `quirks.agents`, by the name it has on the wire, and two without."""

assert {agents.agent_key(name) for name in AGENTS} >= {row.name for row in agents.ROWS} - {"kimi"}


BARE = {"code": -32603, "message": "Internal error"}


PROMPTS = (
    "Sort the orders by date.",
    "Fix the failing test.",
    "Run the build and tell me what it prints.",
    "Why does the deployment not work?",
    "Füge eine Anmeldeseite hinzu.",
    "テストを直してください。",
)


class Event(NamedTuple):
    """What the agent, or a program beside it, does at a moment after the prompt."""

    at: float
    kind: str
    value: Any
    session: str = SESSION


class Row(NamedTuple):
    """A turn, or several at once.

    Attributes:
        group: the class that it is counted in.
        agent: how the agent calls itself.
        events: what happens, in order; a time below 0 is before the prompt.
        types: the types that the end of each session's turn may have; none if it must not fail.
    """

    id: str
    group: str
    agent: str
    prompt: str
    events: tuple[Event, ...]
    types: dict[str, frozenset[str]]
    sessions: tuple[str, ...] = (SESSION,)
    resent: bool = False

    @property
    def without_noise(self) -> Row:
        """The same turn with nothing on stderr and in logs, and with a bare error."""
        kept = tuple(
            event._replace(value=BARE) if event.kind == ERROR else event
            for event in self.events
            if event.kind not in {STDERR, LINE, HINT}
        )
        return self._replace(events=kept)


def turn(
    group: str, name: str, number: int, events: list[Event], *, agent: str = "", **more: Any
) -> Row:
    """A turn of an agent, of each in turn unless one is named; by default it must not fail."""
    agent = agent or AGENTS[(number + number // len(AGENTS)) % len(AGENTS)]
    return Row(
        id=f"{group} {number}: {name}, {agent}",
        group=group,
        agent=agent,
        events=tuple(sorted(events, key=lambda event: event.at)),
        **({"types": {}, "prompt": PROMPTS[number % len(PROMPTS)]} | more),
    )


class Sample(NamedTuple):
    id: str
    source: str
    text: str

    @property
    def first_line(self) -> str:
        return self.text.strip().splitlines()[0].strip()


def samples(name: str) -> list[Sample]:
    """The samples of a text file: each begins with a line of two number signs and its source."""
    found: list[Sample] = []
    for part in ("\n" + (FOLDER / name).read_text(encoding="utf-8")).split("\n## ")[1:]:
        source, _, text = part.partition("\n")
        number = sum(each.source == source for each in found) + 1
        found.append(Sample(f"{source} {number}", source, text.rstrip("\n")))
    return found


# --- events


def stderr(at: float, text: str) -> Event:
    return Event(at, STDERR, f"{text}\n")


def update(at: float, kind_of: str, session: str = SESSION, /, **members: Any) -> Event:
    return Event(at, UPDATE, {"sessionUpdate": kind_of, **members}, session)


def text(at: float, words: str, session: str = SESSION) -> Event:
    return update(
        at, "agent_message_chunk", session, content={"type": "text", "text": words}, messageId="m1"
    )


def thought(at: float, words: str = "I look at the output first.") -> Event:
    return update(at, "agent_thought_chunk", content={"type": "text", "text": words})


def tool(at: float, session: str = SESSION) -> Event:
    members = {"toolCallId": "t1", "title": "Run a command", "kind": "execute"}
    return update(at, "tool_call", session, status="in_progress", **members)


def tool_done(at: float, output: str = "", *, failed: bool = False) -> Event:
    status = "failed" if failed else "completed"
    content = [{"type": "content", "content": {"type": "text", "text": output}}]
    return update(at, "tool_call_update", toolCallId="t1", status=status, content=content)


def result(at: float, session: str = SESSION, *, usage: bool = False) -> Event:
    more = {"usage": USAGE} if usage else {}
    return Event(at, RESULT, {"stopReason": "end_turn", **more}, session)


def error(at: float, message: str = "Internal error", data: Any = None, **more: Any) -> Event:
    members = BARE | {"message": message, **more}
    return Event(at, ERROR, members if data is None else members | {"data": data})
