"""Rows of the corpus played through the core, and what must not come of them."""

from __future__ import annotations

import json
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from lastword.core.classify import Verdict, classify, classify_exit, writers
from lastword.core.failure.sentences import WHAT, WHAT_BY_REASON
from lastword.core.failure.taxonomy import Attribution, ErrorType
from lastword.core.link.connection import Side
from lastword.core.link.evidence import Hint, HintSource
from lastword.sidecar.log_lines import read_own_line
from tests.kit.attribution.rows import EXIT, HINT, LINE, NEVER_FROM_BESIDE, STDERR, UPDATE
from tests.kit.wire import INITIALIZE, Wire, prompt, reply
from tests.kit.wire import update as update_frame

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tests.kit.attribution.rows import Event, Row

Json = dict[str, Any]

CLIENTS: tuple[Json, ...] = (
    {"_meta": {"agent_error": {"version": 1, "retry": True}}},
    {"session": {"notices": {}}},
    {},
)
"""What a client can show: retries of their own, notices, or only the conversation."""

RETRIES = (0, 2)
"""Without resends and with them."""

LIMITS = {"first_update_timeout_seconds": 60, "idle_timeout_seconds": 60, "warn_after_seconds": 10}
LIMITS |= {"tool_timeout_seconds": 120}
START = 100.0
AFTER_SECONDS = 400.0
"""How long is waited for what still comes: longer than any limit, and any wait for a resend."""

STEP_SECONDS = 0.5
LATE_SECONDS = 5.0
"""How long is waited after the answer."""

_ACCUSING = tuple(
    what
    for kind, first in WHAT.items()
    if kind not in {*NEVER_FROM_BESIDE, ErrorType.CANCELLED}
    for what in (first, *WHAT_BY_REASON.get(kind, {}).values())
)


class Played:
    """A row played through the core.

    Attributes:
        answers: The answer to each session's prompt, by session.
        prompts: How often each session's prompt reached the agent.
        added: What the client was shown that the agent did not send, and retries in the record.
    """

    def __init__(self, row: Row, client: Json, retry: int) -> None:
        self._wire = Wire(retry=retry, roll=lambda: 0.5, **LIMITS)
        self._wire.now = START - 10
        self._ids = {session: number for number, session in enumerate(row.sessions, 1)}
        self._sent: list[Json] = []
        self._read = 0
        self._gone = False
        self.answers: dict[str, Json] = {}
        self.prompts = Counter[str]()
        self._wire.client(
            INITIALIZE | {"params": {"protocolVersion": 1, "clientCapabilities": client}}
        )
        info = {"name": row.agent, "version": "1"}
        self._wire.agent(reply(0, protocolVersion=1, agentInfo=info))
        self._run(row)
        shown = map(json.loads, self._wire.to_client)
        self.added = [frame for frame in shown if "method" in frame and frame not in self._sent]
        entries = [entry for entry in self._wire.entries if entry.kind.value == "retry"]
        self.added += [{"recorded": entry.facts} for entry in entries]

    def _run(self, row: Row) -> None:
        """Play the events, and again those of a session whose prompt is sent again."""
        wire = self._wire
        self._happen([event for event in row.events if event.at < 0], START)
        wire.time(START)
        for session, number in self._ids.items():
            wire.client(prompt(number, session, row.prompt))
        coming = [event for event in row.events if event.at >= 0]
        self._happen(coming, START)
        deadline, begun = wire.now + AFTER_SECONDS, Counter(row.sessions)
        while wire.now < deadline and len(self._listen()) < len(self._ids):
            wire.time(wire.now + STEP_SECONDS)
            self._listen()
            for session in self.prompts - begun:
                begun[session] = self.prompts[session]
                self._happen([event for event in coming if event.session == session], wire.now)
        wire.time(wire.now + LATE_SECONDS)
        self._listen()

    def _listen(self) -> dict[str, Json]:
        sessions = {number: session for session, number in self._ids.items()}
        for line in self._wire.to_client[self._read :]:
            frame = json.loads(line)
            if "method" not in frame and frame.get("id") in sessions:
                self.answers[sessions[frame["id"]]] = frame
        self._read = len(self._wire.to_client)
        asked = [json.loads(line) for line in self._wire.to_agent if b"session/prompt" in line]
        self.prompts = Counter(frame["params"]["sessionId"] for frame in asked)
        return self.answers

    def _happen(self, events: Iterable[Event], start: float) -> None:
        wire = self._wire
        for event in events:
            if self._gone:
                return
            wire.time(max(start + event.at, wire.now))
            if event.kind == STDERR:
                wire.stderr(event.value.encode())
            elif event.kind == LINE:
                self._hint(*_hints_of_log(event.value, wire.now))
            elif event.kind == HINT:
                self._hint(_hint_of_journal(event.value, wire.now))
            elif event.kind == EXIT:
                cause = partial(_cause, wire, **event.value)
                wire.carry_out(wire.core.receive_eof(Side.AGENT, cause, wire.now))
                self._gone = True
            elif event.kind == UPDATE:
                self._say(update_frame(event.session, **event.value))
            else:
                number = self._ids[event.session]
                self._say({"jsonrpc": "2.0", "id": number, event.kind: event.value})

    def _say(self, frame: Json) -> None:
        self._sent.append(frame)
        self._wire.agent(frame)

    def _hint(self, *hints: Hint) -> None:
        for hint in hints:
            self._wire.carry_out(self._wire.core.receive_hint(hint, self._wire.now))

    def error(self, session: str) -> Json | None:
        answer = self.answers.get(session, {})
        data = answer.get("error", {}).get("data")
        payload = data.get("agent_error") if isinstance(data, dict) else None
        if payload is None and "error" in answer:
            return {"type": "unknown", "retryable": False}
        return payload


def _cause(wire: Wire, code: int | None, signal: int | None) -> Verdict:
    """Why the process ended, as the sidecar has it."""
    tail = writers.without_foreign(wire.core.stderr_tail())
    return classify_exit(exit_code=code, exit_signal=signal, stderr_tail=tail, in_turn=True)


def _hints_of_log(text: str, now: float) -> list[Hint]:
    """Lines of a file that the agent wrote, read as the sidecar reads them."""
    calls = [read_own_line(line.encode(), of_session=False) for line in text.splitlines()]
    return [
        Hint(
            source=HintSource.LOG,
            verdict=call.verdict,
            attribution=Attribution.STRONG,
            at_seconds=now,
            attempt=call.attempt,
            max_attempts=call.max_attempts,
            wait_seconds=call.wait_seconds,
            goes_on=call.goes_on,
        )
        for call in calls
        if call is not None
    ]


def _hint_of_journal(value: Json, now: float) -> Hint:
    members = {"attribution": Attribution.PROVEN} | value
    verdict = classify(members.pop("error"))
    at = START + members.pop("at_seconds") if "at_seconds" in members else now
    return Hint(source=HintSource.JOURNAL, verdict=verdict, at_seconds=at, **members)


# --- what must not come of a row


class Problem(NamedTuple):
    """What must not have come of a row.

    Its kind: a failure shown where none was (accused); a wrong cause (blamed), or one not seen
    (missed); a prompt sent again (resent).
    """

    row: Row
    kind: str
    details: str


def measure(rows: list[Row], *, briefly: bool = False) -> list[Problem]:
    """Play every row, the kinds of clients in turn; `briefly` without and with resends in turn.

    Each kind of problem is there once for each row.
    """
    found: dict[tuple[str, str], Problem] = {}
    for number, row in enumerate(rows):
        turn, client = divmod(number, len(CLIENTS))
        for retry in (RETRIES[turn % 2],) if briefly else RETRIES:
            played = Played(row, CLIENTS[client], retry)
            # What comes of the same turn without anything beside it.
            quiet = Played(row.without_noise, CLIENTS[client], retry) if row.types else None
            for kind, details in _problems(row, played, quiet):
                problem = Problem(row, kind, f"--retry {retry}, {CLIENTS[client]}: {details}")
                found.setdefault((row.id, kind), problem)
    return list(found.values())


def _problems(row: Row, played: Played, quiet: Played | None) -> Iterator[tuple[str, str]]:
    by_provider = any(types.isdisjoint(NEVER_FROM_BESIDE) for types in row.types.values())
    if not by_provider:
        for frame in played.added:
            if _accuses(frame, failed=bool(row.types)):
                yield "accused", f"added {json.dumps(frame, ensure_ascii=False)[:300]}"
    for session in row.sessions:
        payload, types = played.error(session), row.types.get(session)
        if types is None:
            if payload is not None:
                yield "accused", f"the turn of {session} has failed: {payload}"
        elif payload is None:
            yield "missed", f"the turn of {session} passed"
        elif payload["type"] not in types:
            kind = "missed" if payload["type"] in NEVER_FROM_BESIDE else "blamed"
            yield kind, f"{payload['type']} ({payload.get('reason')}), not {sorted(types)}"
        elif not by_provider:
            bare = quiet.error(session) if quiet else None
            if payload["retryable"] and not (bare and bare["retryable"]):
                yield "blamed", f"retryable: {payload}"
        times = played.prompts[session]
        if times > 1 and not row.resent and not any(event.kind == EXIT for event in row.events):
            yield "resent", f"the prompt of {session} was sent {times} times"


def _accuses(frame: Json, *, failed: bool) -> bool:
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
