"""A session in the list: its state, since when, and its last failure.

Owns how the state is derived from the log's pinned entries, so that a session whose process has
died is described in the same way as a running one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET

from lastword.core.failure.payload import read_payload
from lastword.core.failure.sentences import own_sentence
from lastword.core.protocol import acp, jsonrpc
from lastword.core.protocol.tolerant import object_of
from lastword.gateway.api.events import MAX_NAME_CHARS
from lastword.gateway.api.shapes import (
    ActivityWord,
    AgentNamed,
    LastFailure,
    OtherGateway,
    SessionState,
    SessionView,
    ViewerCount,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from msgspec import UnsetType

    from lastword.gateway.log.entries import Numbered
    from lastword.gateway.log.store import ReadableLog

MAX_TITLE_CHARS = 500


class SessionDetails(msgspec.Struct, frozen=True, kw_only=True):
    """What is known about a session beside its entries.

    Attributes:
        id: its id.
        agent: the agent's own description, as in the result of `initialize`.
        cwd: its working directory.
        viewers: its viewers.
        refused: the error object of an agent that could not resume it.
        ended_ms: when it ended; 0 if it has not.
        lost_ms: when its process was last known to be running; 0 if it is running or has ended.
        gateway: the other gateway that has it.
        activity: what the agent does without a turn.
    """

    id: str
    agent: dict[str, Any] = {}
    cwd: str | None = None
    viewers: ViewerCount = ViewerCount()
    refused: dict[str, Any] | None = None
    ended_ms: int = 0
    lost_ms: int = 0
    gateway: OtherGateway | None = None
    activity: str = ""


def view_of(log: ReadableLog, facts: SessionDetails) -> SessionView:
    """Return the session, including what only some may see; `visible` removes that."""
    ends = [each for each in log.pins_of("end:") if each.entry.about.method == acp.PROMPT]
    failed = next((each for each in reversed(ends) if each.entry.about.failure), None)
    updates = _state_updates(log)
    state, since = _state(log, facts, ends, _by_state(updates))
    _, info = updates.get("session_info_update", (None, {}))
    title = info.get("title")
    name, version = facts.agent.get("name"), facts.agent.get("version")
    return SessionView(
        id=facts.id,
        state=state,
        since_epoch_ms=since,
        agent=AgentNamed(_short(name) or "", _short(version)) if _short(name) else None,
        viewers=facts.viewers,
        questions=len(log.pins_of("ask:")) if not facts.ended_ms else 0,
        epoch=log.epoch,
        head=log.head,
        first=max(log.first, 1),
        last_failure=_last_failure(facts, failed, ends, since),
        title=title[:MAX_TITLE_CHARS] if isinstance(title, str) else None,
        cwd=facts.cwd,
        gateway=facts.gateway or UNSET,
        activity=ActivityWord(facts.activity) if facts.activity else UNSET,
        continues_at_epoch_ms=_continues_at(log) if not facts.ended_ms else UNSET,
    )


def _continues_at(log: ReadableLog) -> int | UnsetType:
    """Return when a turn goes on that waits for the end of a limit."""
    for pinned in log.pins_of("wait:"):
        until = pinned.entry.about.facts.get("until_epoch_ms")
        return until if isinstance(until, int) else UNSET
    return UNSET


def visible(view: SessionView, *, controls: bool, content: bool) -> SessionView:
    """Return what a given requester may see of it."""
    return msgspec.structs.replace(
        view,
        title=view.title if controls and content else UNSET,
        cwd=view.cwd if controls else UNSET,
        gateway=view.gateway if controls else UNSET,
        node=view.node if controls else UNSET,
    )


def _state(
    log: ReadableLog,
    facts: SessionDetails,
    ends: Sequence[Numbered],
    working: Numbered | None,
) -> tuple[SessionState, int]:
    if facts.ended_ms:
        return SessionState.ENDED, facts.ended_ms
    if facts.lost_ms:
        return SessionState.LOST, facts.lost_ms
    asks = log.pins_of("ask:")
    if asks:
        return SessionState.WAITING_FOR_ANSWER, asks[0].entry.at_ms
    prompts = [each for each in log.pins_of("open:") if each.entry.about.method == acp.PROMPT]
    prompts += [working] if working is not None else []
    if prompts:
        return SessionState.RUNNING, prompts[0].entry.at_ms
    is_failed = facts.refused is not None or bool(ends and ends[-1].entry.about.failure)
    state = SessionState.FAILED if is_failed else SessionState.IDLE
    if ends:
        return state, ends[-1].entry.at_ms
    oldest = log.read(log.first - 1, max_entries=1)
    return state, oldest[0].entry.at_ms if oldest else 0


def _state_updates(log: ReadableLog) -> dict[str, tuple[Numbered, dict[str, Any]]]:
    """Return the last update of each kind of state, by kind."""
    found = {}
    for kept in log.pins_of("state:"):
        params = object_of(object_of(jsonrpc.loads(kept.entry.frame)).get("params"))
        update = object_of(params.get("update"))
        found[str(update.get("sessionUpdate"))] = (kept, update)
    return found


def _by_state(updates: dict[str, tuple[Numbered, dict[str, Any]]]) -> Numbered | None:
    """Return the update that says that the agent is working, as in version 2 of the protocol."""
    kept, update = updates.get(acp.STATE_UPDATE, (None, {}))
    return kept if isinstance(update.get("state"), str) and update["state"] != acp.IDLE else None


def _last_failure(
    facts: SessionDetails, end: Numbered | None, ends: Sequence[Numbered], since: int
) -> LastFailure | None:
    payload = end.entry.about.failure if end is not None else None
    at_ms, seq = (end.entry.at_ms, end.seq) if end is not None else (since, 0)
    if facts.refused is not None:
        payload = object_of(object_of(facts.refused.get("data")).get("agent_error"))
        at_ms, seq = since, 0
    if payload is None:
        return None
    error = read_payload(payload)
    return LastFailure(
        type=error.type,
        sentence=own_sentence(error.type, error.action, error.reason),
        retryable=error.retryable,
        at_epoch_ms=at_ms,
        reason=error.reason,
        action=error.action,
        incident_id=error.incident_id,
        seq=seq,
        recovered=facts.refused is None and not ends[-1].entry.about.failure,
    )


def _short(text: object) -> str | None:
    return text[:MAX_NAME_CHARS] if isinstance(text, str) and text else None
