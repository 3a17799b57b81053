"""A row played through the core, and what is wrong with what came of it.

Owns the judgement: what a client may be shown and sent in an honest turn, and in one that failed.
"""

from __future__ import annotations

import json
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from lastword.core.classify import classify, classify_exit
from lastword.core.failure.attribution import Attribution
from lastword.core.failure.taxonomy import ErrorType
from lastword.core.failure.wording import WHAT, WHAT_BY_REASON
from lastword.core.link.connection import Side
from lastword.core.link.retries.hints import Hint, HintSource
from lastword.sidecar.log_lines import read_own_line
from tests.kit.attribution.rows import ERROR, EXIT, HINT, LINE, RESULT, STDERR, UPDATE
from tests.kit.wire import INITIALIZE, Wire, prompt

if TYPE_CHECKING:
    from collections.abc import Iterator

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

LIMITS = {"first_update_timeout_seconds": 60, "idle_timeout_seconds": 60, "warn_after_seconds": 10}
LIMITS |= {"tool_timeout_seconds": 120}
START = 100.0

_ACCUSING = tuple(
    what
    for kind, whats in [(k, [w, *WHAT_BY_REASON.get(k, {}).values()]) for k, w in WHAT.items()]
    if kind not in {ErrorType.AGENT_STALLED, ErrorType.CANCELLED}
    for what in whats
)


class Outcome(NamedTuple):
    """What came of a row.

    Attributes:
        answers: the answer to each session's prompt, by session.
        added: what the client was shown that the agent did not send.
        prompts: how often each session's prompt reached the agent.
    """

    answers: dict[str, dict[str, Any]]
    added: list[dict[str, Any]]
    prompts: Counter[str]

    def error(self, session: str) -> dict[str, Any] | None:
        """The payload of a failed turn."""
        return payload_of(self.answers.get(session, {}))


def payload_of(answer: dict[str, Any]) -> dict[str, Any] | None:
    """The typed error in an answer, if it has failed."""
    data = answer.get("error", {}).get("data")
    payload = data.get("agent_error") if isinstance(data, dict) else None
    if payload is None and "error" in answer:
        return {"type": "unknown", "retryable": False}
    return payload


def play(row: Row, *, client: str = "typed", retry: int = 0) -> Outcome:
    """Play a row through the core."""
    wire = Wire(retry=retry, roll=lambda: 0.5, **LIMITS)
    wire.now = START - 10
    params = {"protocolVersion": 1, "clientCapabilities": CLIENTS[client]}
    wire.client(INITIALIZE | {"params": params})
    info = {"name": row.agent, "version": "1"}
    wire.agent({"jsonrpc": "2.0", "id": 0, "result": {"protocolVersion": 1, "agentInfo": info}})
    ids = {session: number for number, session in enumerate(row.sessions, 1)}
    agents: list[dict[str, Any]] = []
    prompted = False
    for event in row.events:
        if event.at >= 0 and not prompted:
            _prompt(wire, row, ids)
            prompted = True
        wire.time(START + event.at)
        _happen(wire, event, ids, agents)
        if event.kind == EXIT:
            break
    wire.time(wire.now + AFTER_SECONDS)
    return _outcome(wire, ids, agents)


def _prompt(wire: Wire, row: Row, ids: dict[str, int]) -> None:
    wire.time(START)
    for session, number in ids.items():
        wire.client(prompt(number, session, row.prompt))


def _happen(wire: Wire, event: Event, ids: dict[str, int], sent: list[dict[str, Any]]) -> None:
    value = event.value
    if event.kind == STDERR:
        wire.stderr(value.encode())
    elif event.kind == LINE:
        _read_log(wire, value)
    elif event.kind == HINT:
        _hint(wire, value)
    elif event.kind == EXIT:
        cause = partial(_cause, wire, *value)
        wire.carry_out(wire.core.receive_eof(Side.AGENT, cause, wire.now))
    else:
        frame = _frame(event, ids)
        sent.append(frame)
        wire.agent(frame)


def _cause(wire: Wire, code: int | None, signal: int | None) -> Verdict:
    """Why the process ended, as the sidecar has it."""
    tail = wire.core.stderr_tail()
    return classify_exit(exit_code=code, exit_signal=signal, stderr_tail=tail, in_turn=True)


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


def _outcome(wire: Wire, ids: dict[str, int], sent: list[dict[str, Any]]) -> Outcome:
    shown = [json.loads(frame) for frame in wire.to_client]
    added = [frame for frame in shown if "method" in frame and frame not in sent]
    answers = {
        session: frame
        for session, number in ids.items()
        for frame in shown
        if "method" not in frame and frame.get("id") == number
    }
    asked = [json.loads(frame) for frame in wire.to_agent]
    prompts = Counter(
        frame["params"]["sessionId"] for frame in asked if frame.get("method") == "session/prompt"
    )
    recorded = [{"recorded": entry.facts} for entry in wire.entries if entry.kind.value == "retry"]
    return Outcome(answers, [*added, *recorded], prompts)


# --- the judgement


def problems(row: Row, outcome: Outcome, quiet: Outcome | None = None) -> Iterator[tuple[str, str]]:
    """Say what must not be: a class of it, and the details.

    Args:
        row: what was played.
        outcome: what came of it.
        quiet: what comes of the same turn without anything beside it.
    """
    provider_failed = row.group == "provider" or any(
        not types & {"unknown", "internal"} for types in row.types.values()
    )
    if not provider_failed:
        for frame in outcome.added:
            if accuses(frame):
                yield "accused", f"added {json.dumps(frame, ensure_ascii=False)[:300]}"
    for session in row.sessions:
        payload, types = outcome.error(session), row.types.get(session)
        if types is None:
            if payload is not None:
                yield "accused", f"the turn of {session} has failed: {payload}"
        elif payload is None:
            # A success without a word passes where a tool was all that it was about.
            yield "missed", f"the turn of {session} passed"
        elif payload["type"] not in types:
            kind = "missed" if provider_failed and not accusing_type(payload) else "blamed"
            yield kind, f"{payload['type']} ({payload.get('reason')}), not {sorted(types)}"
        elif quiet is not None and not provider_failed:
            before = quiet.error(session)
            if payload["retryable"] and not (before and before["retryable"]):
                yield "blamed", f"retryable: {payload}"
        times = outcome.prompts[session]
        if times > 1 and not row.resent and not (quiet and quiet.prompts[session] > 1):
            yield "resent", f"the prompt of {session} was sent {times} times"


def accusing_type(payload: dict[str, Any]) -> bool:
    """Whether an error names a cause other than the agent itself."""
    return payload["type"] not in {"unknown", "internal", "agent_crash", "agent_stalled"}


def accuses(frame: dict[str, Any]) -> bool:
    """Whether a frame that is not the agent's speaks of a failure."""
    if "recorded" in frame:
        return True
    update = frame.get("params", {}).get("update", {})
    if update.get("sessionUpdate") in {
        "agent_retry",
        "_agent_retry",
        "agent_error",
        "_agent_error",
    }:
        return True
    words = json.dumps(update, ensure_ascii=False)
    return update.get("sessionUpdate") == "agent_thought_chunk" or any(
        what in words for what in _ACCUSING
    )
