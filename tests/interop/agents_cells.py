"""One cell of the agents' table: an agent, a failure of its provider, with lastword or without.

Owns the failures and what each must be called, playing a cell, and what its client was told when.
A moment is counted from the provider's first failure. Does not own: the agents
(`agents_registry`), or what is made of the cells (`agents_table`).
"""

from __future__ import annotations

import json
import os
import re
import socket
import sqlite3
import sys
import time
import uuid
from contextlib import ExitStack, closing
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from lastword.kit.peer import MARK, PeerEvent, StrictClient
from lastword.kit.provider.dialects import TEXT
from lastword.kit.provider.server import (
    API_KEY,
    Provider,
    ProviderFailure,
    ProviderScenario,
    Target,
)
from tests.interop.agents_registry import AGENTS
from tests.kit.places import ROOT, SOURCE
from tests.kit.recording import is_recorded, stored

if TYPE_CHECKING:
    from collections.abc import Iterator


_S = ProviderScenario
GIVES_UP_SECONDS = 90.0
OPENS_SECONDS = 90.0
LATE_SECONDS = 0.3
CAPABILITIES = {"session": {"notices": {}}, "_meta": {"agent_error": {"version": 1, "retry": True}}}
PROMPT = "What is the answer?"
RETRY = "agent_retry"
AUTH_REQUIRED = -32000
FIRST_FRAMES, LAST_FRAMES, FRAME_CHARS = 8, 6, 700
"""What is kept of a turn's messages for a report: enough to see how it began and how it ended."""

_OWN_RETRY = re.compile(
    rb'"willRetry": ?true|_session/retrying|Retrying \(attempt|"opencode/retry"|api_retry'
)
_NO_ERROR = re.compile(
    r"(?:Warning: )?Model metadata for `[^`]*` not found\.[^.]*\.|Retrying \(attempt[^)]*\)\.*"
    r"|Retry finished, resuming\."
)
"""What some agents say in a turn that tells nothing of how it failed."""


class Failure(msgspec.Struct, frozen=True):
    """One way in which the provider fails.

    Attributes:
        scenario: what the provider does; `None` where there is none to be reached.
        types: what it may rightly be called.
        retry_after_seconds: what the provider asks for, where it does.
        recovers: the turn goes well in the end.
        response: what every call gets, in place of the scenario's.
    """

    key: str
    words: str
    scenario: ProviderScenario | None
    types: tuple[str, ...]
    retry_after_seconds: int = 1
    recovers: bool = False
    response: ProviderFailure | None = None


_LOST = ("network", "provider_unavailable")
_UNUSABLE = (*_LOST, "protocol_error")
_NO_SUCH_MODEL = (
    b'{"type": "error", "error": {"type": "not_found_error", "code": "model_not_found", "message": '
    b'"The model `fake-model` does not exist or you do not have access to it."}}'
)
_PAGE = (
    b"<!DOCTYPE html>\n<html><head><title>Sign in to the network</title></head>\n"
    b"<body><h1>Sign in to the network</h1></body></html>\n"
)
FAILURES = {
    failure.key: failure
    for failure in (
        Failure("unauthorized", "401", _S.UNAUTHORIZED, ("auth",)),
        Failure("quota", "429, the quota is used up", _S.QUOTA, ("budget",)),
        Failure("rate_limited", "429, `Retry-After: 20`", _S.RATE_LIMITED, ("rate_limit",), 20),
        Failure("rate_limited_untimed", "429", _S.RATE_LIMITED_UNTIMED, ("rate_limit",)),
        Failure("bad_gateway", "502", _S.BAD_GATEWAY, ("provider_unavailable",)),
        Failure("overloaded", "529 or 503, overloaded", _S.OVERLOADED, ("provider_unavailable",)),
        Failure("context_overflow", "context overflow", _S.CONTEXT_OVERFLOW, ("context_overflow",)),
        Failure("refused", "connection refused", None, ("network",)),
        Failure("cut_before_text", "cut before any output", _S.CUT_BEFORE_TEXT, _LOST),
        Failure("cut", "cut after some text", _S.CUT, _LOST),
        Failure(
            "missing",
            "404, no such model",
            _S.HEALTHY,
            ("model_not_found",),
            response=ProviderFailure(404, _NO_SUCH_MODEL),
        ),
        Failure("empty", "an empty answer", _S.EMPTY, _UNUSABLE),
        Failure(
            "page",
            "200, a page of HTML",
            _S.HEALTHY,
            _UNUSABLE,
            response=ProviderFailure(200, _PAGE, "text/html"),
        ),
        Failure("hang", "hang", _S.HANG, ("timeout", "agent_stalled", "network")),
        Failure("fails_after_tool", "429 after a tool call", _S.FAILS_AFTER_TOOL, ("rate_limit",)),
        Failure(
            "recovers", "two 429s, then all is well", _S.RECOVERS, ("rate_limit",), 2, recovers=True
        ),
    )
}
"""By their short names."""


class Mode(StrEnum):
    BARE = "bare"
    BEHIND = "behind"
    UNKNOWN = "unknown"
    """lastword, which knows nothing of this agent."""


class Cell(msgspec.Struct, frozen=True):
    """An agent, a failure, and what is between the agent and its client."""

    agent: str
    failure: str
    mode: Mode

    def __str__(self) -> str:
        return f"{self.agent}-{self.failure}-{self.mode}"


class Told(msgspec.Struct, frozen=True):
    seconds: float
    type: str | None
    attempt: float | None = None
    wait_seconds: float | None = None


class Passed(msgspec.Struct, frozen=True, array_like=True):
    """A message of the turn: when it passed, whether the client sent it, and its text, cut."""

    seconds: float
    is_sent: bool
    text: str


class End(StrEnum):
    ERROR = "error"
    ANSWER = "answer"
    NONE = "none"
    GONE = "gone"
    """The agent's output ended without an answer."""
    UNREADY = "unready"
    """There was no session to begin with."""


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a cell.

    Attributes:
        waited_seconds: how long the client waited at most.
        seconds: when, since the provider's first failure.
        silences: the silences that it was told of, with their causes' types.
        own_retry_seconds: when the agent itself told of one, in whatever way of its own.
        prose: the agent's text beside what the provider gave it, cut.
        has_text: did the provider's own text, or a part of it, come through?
        sources: whence lastword knew, as its record has it.
        date: when it was played, as in 2026-11-27.
        frames: the first and the last messages of the turn.
        left_out: how many there were between them.
    """

    agent: str
    failure: str
    mode: Mode
    version: str
    waited_seconds: float
    end: End
    seconds: float | None = None
    code: int | None = None
    stop_reason: str = ""
    type: str | None = None
    reason: str | None = None
    retries: tuple[Told, ...] = ()
    silences: tuple[Told, ...] = ()
    own_retry_seconds: float | None = None
    prose: str = ""
    has_text: bool = False
    calls: int = 0
    sources: tuple[str, ...] = ()
    date: str = ""
    frames: tuple[Passed, ...] = ()
    left_out: int = 0

    @property
    def cell(self) -> Cell:
        return Cell(self.agent, self.failure, self.mode)

    @property
    def ended_right(self) -> bool:
        """Did the turn end as it had to: with the right type, or well where all was well?"""
        failure = FAILURES[self.failure]
        if failure.recovers:
            return self.end is End.ANSWER and self.has_text
        return self.end is End.ERROR and self.named in failure.types

    @property
    def named(self) -> str | None:
        """The type that the end names: lastword's word for it, or the one code that ACP has."""
        return self.type or ("auth" if self.code == AUTH_REQUIRED else None)

    @property
    def right_seconds(self) -> float | None:
        """When the client was first told the right type, as a retry's, a silence's or the end's."""
        types = FAILURES[self.failure].types
        moments = [told.seconds for told in (*self.retries, *self.silences) if told.type in types]
        if self.end is End.ERROR and self.named in types and self.seconds is not None:
            moments.append(self.seconds)
        return min(moments, default=None)

    @property
    def is_prose(self) -> bool:
        return self._failed_well and bool(self.prose)

    @property
    def is_silent(self) -> bool:
        """Is it a success in which nothing tells that something failed?"""
        return self._failed_well and not self.prose

    @property
    def _failed_well(self) -> bool:
        return self.end is End.ANSWER and not FAILURES[self.failure].recovers


def outcome(one: Seen) -> str:
    if one.end is End.ERROR and one.type:
        return f"`{one.type}`" + (f" ({one.reason})" if one.reason else "")
    if one.end is End.ERROR:
        return f"error {one.code}"
    if one.end is End.ANSWER and FAILURES[one.failure].recovers and one.has_text:
        return f"`{one.stop_reason}`"
    if one.end is End.ANSWER:
        said = "the error as text" if one.prose else "nothing tells"
        return f"`{one.stop_reason}`, {said}"
    return {End.NONE: "no answer", End.GONE: "the agent's end", End.UNREADY: "no session"}[one.end]


class How(msgspec.Struct, frozen=True, kw_only=True):
    """How a cell is played.

    Attributes:
        until_told: does the first retry that is told rightly end the wait, too?
    """

    waits: float = GIVES_UP_SECONDS
    until_told: bool = False
    options: tuple[str, ...] = ()


DEFAULT = How()


def play(cell: Cell, folder: Path, how: How = DEFAULT) -> Seen:
    """Run one turn, the agent's home in a folder, and return what its client was told."""
    failure, program = FAILURES[cell.failure], AGENTS[cell.agent]
    place = folder / str(cell)
    home, cwd, state = place / "home", place / "work", place / "state"
    for each in (home, cwd, state):
        each.mkdir(parents=True)
    with ExitStack() as stack:
        provider = stack.enter_context(
            Provider(
                failure.scenario or _S.HEALTHY,
                retry_after_seconds=failure.retry_after_seconds,
                failure=failure.response,
            )
        )
        root = provider.url if failure.scenario else f"http://127.0.0.1:{_deaf_port(stack)}"
        command = program.command(cwd)
        environment = program.environment(Target(root, f"{root}/v1"), home)
        environment |= {MARK: uuid.uuid4().hex}
        if cell.mode is not Mode.BARE:
            options = ("run", "--record", str(state), *how.options, "--")
            command = [*_lastword(cell), *options, *command]
            environment |= {"LASTWORD_STATE_DIR": str(state), "PYTHONPATH": _python_path()}
        talk = Talk(command, environment)
        stack.callback(talk.close)
        enough = failure.types if how.until_told and not failure.recovers else ()
        talk.play(str(cwd), how.waits, enough)
        failed_at = provider.failed_at
        zero = talk.prompted_at if failed_at is None else failed_at - talk.started_at
        seen = _seen(cell, talk, zero, how.waits, provider)
        seen = _with_frames(seen, talk, zero, place)
    # The record is whole once the process has ended.
    return msgspec.structs.replace(seen, version=program.version(), sources=record_sources(state))


class Talk(StrictClient):
    """A client that prompts once.

    Attributes:
        first: the event from which on all is the turn's.
    """

    prompted_at = 0.0
    first = 0
    answer: PeerEvent | None = None
    ready = False

    def play(self, cwd: str, waits: float, enough: tuple[str, ...] = ()) -> None:
        """Open a session and prompt in it; what is told of these types is as good as the end."""
        greeted = self.answer_to(self.initialize(CAPABILITIES, info=_INFO), OPENS_SECONDS)
        opened = greeted and self.answer_to(self.new_session(cwd), OPENS_SECONDS)
        result = (opened.frame or {}).get("result") if opened else None
        if not isinstance(result, dict):
            self.answer = opened or greeted
            return
        self.ready = True
        self.first, self.prompted_at = len(self.events), self.now
        prompt = self.prompt(result["sessionId"], PROMPT)
        first = self.find(
            lambda event: event.answers(prompt) or _type_told(event) in enough,
            waits,
            since=self.first,
        )
        self.listen(LATE_SECONDS)
        self.answer = first if first is not None and first.answers(prompt) else None

    @property
    def turn(self) -> list[PeerEvent]:
        return [event for event in self.events[self.first :] if not event.sent]


_INFO = {"name": "lastword-table", "version": "1"}


def _lastword(cell: Cell) -> list[str]:
    if cell.mode is Mode.BEHIND:
        return [sys.executable, "-m", "lastword"]
    words = ",".join(AGENTS[cell.agent].words)
    return [sys.executable, "-m", "tests.interop.agents_unknown", words]


def _python_path() -> str:
    return os.pathsep.join((str(ROOT), str(SOURCE)))


def _deaf_port(stack: ExitStack) -> int:
    """A port that is taken and refuses whoever calls."""
    taken = stack.enter_context(socket.socket())
    taken.bind(("127.0.0.1", 0))
    port: int = taken.getsockname()[1]
    return port


def _seen(cell: Cell, talk: Talk, zero: float, waits: float, provider: Provider) -> Seen:
    frame = (talk.answer.frame or {}) if talk.answer else {}
    error, result = frame.get("error"), frame.get("result")
    payload = _payload(error)
    text = "".join(_texts(talk.turn))
    return Seen(
        agent=cell.agent,
        failure=cell.failure,
        mode=cell.mode,
        version="",
        waited_seconds=waits,
        end=_end(talk),
        seconds=round(talk.answer.at - zero, 2) if talk.answer and talk.ready else None,
        code=error.get("code") if isinstance(error, dict) else None,
        stop_reason=str(result.get("stopReason")) if isinstance(result, dict) else "",
        type=payload.get("type"),
        reason=payload.get("reason"),
        retries=tuple(_retries(talk.turn, zero)),
        silences=tuple(
            Told(round(event.at - zero, 2), kind)
            for event in talk.turn
            if (kind := _silence_type(event)) is not None
        ),
        own_retry_seconds=_own_retry(talk.turn, zero),
        prose=_prose(text)[:300],
        has_text=TEXT[-1].strip() in text or text.startswith(TEXT[0]),
        calls=len(provider.calls),
    )


def _with_frames(seen: Seen, talk: Talk, zero: float, place: Path) -> Seen:
    events = talk.events[talk.first :]
    cut = [*events[:FIRST_FRAMES], *events[FIRST_FRAMES:][-LAST_FRAMES:]]
    frames = [Passed(round(each.at - zero, 2), each.sent, _shown(each.raw, place)) for each in cut]
    return msgspec.structs.replace(
        seen,
        date=time.strftime("%F", time.gmtime()),
        frames=tuple(frames),
        left_out=len(events) - len(cut),
    )


def _shown(raw: bytes, place: Path) -> str:
    """A message's text without the key and this machine's folders, cut."""
    text = raw.decode("utf-8", "replace").replace(API_KEY, "[KEY]")
    for folder, name in ((place, "/agent"), (ROOT, "/lastword"), (Path.home(), "/home/me")):
        text = text.replace(str(folder), name)
    return text if len(text) <= FRAME_CHARS else f"{text[:FRAME_CHARS]}…"


def _end(talk: Talk) -> End:
    if not talk.ready:
        return End.UNREADY
    if talk.answer is None:
        return End.NONE if talk.stdout.open else End.GONE
    return End.ERROR if "error" in (talk.answer.frame or {}) else End.ANSWER


def _payload(error: object) -> dict[str, Any]:
    data = error.get("data") if isinstance(error, dict) else None
    payload = data.get("agent_error") if isinstance(data, dict) else None
    return payload if isinstance(payload, dict) else {}


def _texts(turn: list[PeerEvent]) -> Iterator[str]:
    for event in turn:
        content = event.update.get("content")
        if event.kind == "agent_message_chunk" and isinstance(content, dict):
            yield str(content.get("text") or "")


def _prose(text: str) -> str:
    for known in TEXT:
        text = text.replace(known, "").replace(known.strip(), "")
    return " ".join(_NO_ERROR.sub("", text).replace(API_KEY, "…").split())


def _retries(turn: list[PeerEvent], zero: float) -> Iterator[Told]:
    for event in turn:
        if event.kind == RETRY:
            told = event.update
            moment = round(event.at - zero, 2)
            yield Told(moment, _retry_type(event), told.get("attempt"), told.get("wait_seconds"))


def _retry_type(event: PeerEvent) -> str | None:
    error = event.update.get("error") if event.kind == RETRY else None
    return error.get("type") if isinstance(error, dict) else None


def _silence_type(event: PeerEvent) -> str | None:
    meta = event.update.get("_meta") if event.kind == "notice" else None
    own = meta.get("lastword") if isinstance(meta, dict) else None
    silence = own.get("silence") if isinstance(own, dict) else None
    return silence.get("type") if isinstance(silence, dict) else None


def _type_told(event: PeerEvent) -> str | None:
    return _retry_type(event) or _silence_type(event)


def _own_retry(turn: list[PeerEvent], zero: float) -> float | None:
    moments = (event.at for event in turn if _OWN_RETRY.search(event.raw))
    first = next(moments, None)
    return None if first is None else round(first - zero, 2)


def record_sources(state: Path) -> tuple[str, ...]:
    """Whence the retries and the error were known, in the words of a folder's record, each once."""
    if not (is_recorded(state) or (state / "record.db").exists()):
        return ()
    with closing(sqlite3.connect(stored(state))) as connection:
        asked = "SELECT kind, facts FROM entries WHERE kind IN ('retry', 'error') ORDER BY rowid"
        rows = connection.execute(asked).fetchall()
    known: dict[str, None] = {}
    for kind, text in rows:
        facts = json.loads(text)
        where = facts.get("rule") if kind == "error" else facts.get("source")
        known[f"{kind} {where or '-'}"] = None
    return tuple(known)
