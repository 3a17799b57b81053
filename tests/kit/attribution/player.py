"""A row played through the core: its events at their times, and what came of them."""

from __future__ import annotations

import json
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from lastword.core.classify import classify, classify_exit, writers
from lastword.core.failure.taxonomy import Attribution
from lastword.core.link.connection import Side
from lastword.core.link.evidence import Hint, HintSource
from lastword.sidecar.log_lines import read_own_line
from tests.kit.attribution.rows import ERROR, EXIT, HINT, LINE, RESULT, STDERR, UPDATE
from tests.kit.wire import INITIALIZE, Wire, prompt

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lastword.core.classify import Verdict
    from tests.kit.attribution.rows import Event, Row

CLIENTS: dict[str, dict[str, Any]] = {
    "typed": {"_meta": {"agent_error": {"version": 1, "retry": True}}},
    "notices": {"session": {"notices": {}}},
    "plain": {},
}
"""What a client can show: retries of their own, notices, or only the conversation."""

AFTER_SECONDS = 400.0
"""How long is waited for what still comes: longer than any limit, and any wait for a resend."""

STEP_SECONDS = 0.5
LATE_SECONDS = 5.0
"""How long is waited after the answer."""

LIMITS = {"first_update_timeout_seconds": 60, "idle_timeout_seconds": 60, "warn_after_seconds": 10}
LIMITS |= {"tool_timeout_seconds": 120}
START = 100.0


class Outcome(NamedTuple):
    """What came of a row.

    Attributes:
        answers: the answer to each session's prompt, by session.
        added: what the client was shown that the agent did not send, and retries in the record.
        prompts: how often each session's prompt reached the agent.
    """

    answers: dict[str, dict[str, Any]]
    added: list[dict[str, Any]]
    prompts: Counter[str]

    def error(self, session: str) -> dict[str, Any] | None:
        return payload_of(self.answers.get(session, {}))


def payload_of(answer: dict[str, Any]) -> dict[str, Any] | None:
    data = answer.get("error", {}).get("data")
    payload = data.get("agent_error") if isinstance(data, dict) else None
    if payload is None and "error" in answer:
        return {"type": "unknown", "retryable": False}
    return payload


class _Play:
    def __init__(self, row: Row, client: str, retry: int) -> None:
        self.row = row
        self.wire = Wire(retry=retry, roll=lambda: 0.5, **LIMITS)
        self.wire.now = START - 10
        self.ids = {session: number for number, session in enumerate(row.sessions, 1)}
        self.sent: list[dict[str, Any]] = []
        self.begun: Counter[str] = Counter()
        self._read = 0
        self.answers: dict[str, dict[str, Any]] = {}
        self.gone = False
        params = {"protocolVersion": 1, "clientCapabilities": CLIENTS[client]}
        self.wire.client(INITIALIZE | {"params": params})
        info = {"name": row.agent, "version": "1"}
        greeting = {"protocolVersion": 1, "agentInfo": info}
        self.wire.agent({"jsonrpc": "2.0", "id": 0, "result": greeting})

    def run(self) -> Outcome:
        """Play the row, and again what is sent again."""
        for event in self.row.events:
            if event.at < 0:
                self._happen(event, START + event.at)
        self.wire.time(START)
        for session, number in self.ids.items():
            self.wire.client(prompt(number, session, self.row.prompt))
            self.begun[session] = 1
        self._round(self.row.events, START)
        deadline = self.wire.now + AFTER_SECONDS
        while self.wire.now < deadline and len(self._answers()) < len(self.ids):
            self.wire.time(self.wire.now + STEP_SECONDS)
            for session, times in self._prompts().items():
                if times > self.begun[session]:
                    self.begun[session] = times
                    events = [event for event in self.row.events if event.session == session]
                    self._round(events, self.wire.now)
        self.wire.time(self.wire.now + LATE_SECONDS)
        return self._outcome()

    def _round(self, events: Iterable[Event], start: float) -> None:
        for event in events:
            if event.at >= 0 and not self.gone:
                self._happen(event, start + event.at)

    def _happen(self, event: Event, at: float) -> None:
        wire, value = self.wire, event.value
        wire.time(max(at, wire.now))
        if event.kind == STDERR:
            wire.stderr(value.encode())
        elif event.kind == LINE:
            _read_log(wire, value)
        elif event.kind == HINT:
            _hint(wire, value)
        elif event.kind == EXIT:
            cause = partial(_cause, wire, **value)
            wire.carry_out(wire.core.receive_eof(Side.AGENT, cause, wire.now))
            self.gone = True
        else:
            frame = _frame(event, self.ids)
            self.sent.append(frame)
            wire.agent(frame)

    def _answers(self) -> dict[str, dict[str, Any]]:
        sessions = {number: session for session, number in self.ids.items()}
        for line in self.wire.to_client[self._read :]:
            frame = json.loads(line)
            if "method" not in frame and frame.get("id") in sessions:
                self.answers[sessions[frame["id"]]] = frame
        self._read = len(self.wire.to_client)
        return self.answers

    def _prompts(self) -> Counter[str]:
        frames = [json.loads(line) for line in self.wire.to_agent if b"session/prompt" in line]
        return Counter(frame["params"]["sessionId"] for frame in frames)

    def _outcome(self) -> Outcome:
        shown = [json.loads(line) for line in self.wire.to_client]
        added = [frame for frame in shown if "method" in frame and frame not in self.sent]
        entries = [entry for entry in self.wire.entries if entry.kind.value == "retry"]
        added += [{"recorded": entry.facts} for entry in entries]
        return Outcome(self._answers(), added, self._prompts())


def play(row: Row, *, client: str = "typed", retry: int = 0) -> Outcome:
    return _Play(row, client, retry).run()


def _cause(wire: Wire, code: int | None, signal: int | None) -> Verdict:
    """Why the process ended, as the sidecar has it."""
    tail = wire.core.stderr_tail()
    return classify_exit(
        exit_code=code, exit_signal=signal, stderr_tail=writers.without_foreign(tail), in_turn=True
    )


def _frame(event: Event, ids: dict[str, int]) -> dict[str, Any]:
    if event.kind == UPDATE:
        params = {"sessionId": event.session, "update": event.value}
        return {"jsonrpc": "2.0", "method": "session/update", "params": params}
    assert event.kind in {RESULT, ERROR}
    return {"jsonrpc": "2.0", "id": ids[event.session], event.kind: event.value}


def _read_log(wire: Wire, text: str) -> None:
    """Lines of a file that the agent wrote, read as the sidecar reads them."""
    for line in text.splitlines():
        call = read_own_line(line.encode(), of_session=False)
        if call is None:
            continue
        hint = Hint(
            source=HintSource.LOG,
            verdict=call.verdict,
            attribution=Attribution.STRONG,
            at_seconds=wire.now,
            attempt=call.attempt,
            max_attempts=call.max_attempts,
            wait_seconds=call.wait_seconds,
            goes_on=call.goes_on,
        )
        wire.carry_out(wire.core.receive_hint(hint, wire.now))


def _hint(wire: Wire, value: dict[str, Any]) -> None:
    members = dict(value)
    verdict = classify(members.pop("error"))
    at = START + members.pop("at_seconds") if "at_seconds" in members else wire.now
    members = {"attribution": Attribution.PROVEN} | members
    hint = Hint(source=HintSource.JOURNAL, verdict=verdict, at_seconds=at, **members)
    wire.carry_out(wire.core.receive_hint(hint, wire.now))
