"""Acts about methods and sessions: advertised methods, others, and restored sessions.

Owns these acts, which `probes` adds to its own, and which method belongs to which capability.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from lastword.core.protocol import acp
from lastword.kit.check.transcript import NotApplicableError, UnreachedError, capabilities
from lastword.kit.provider.server import ProviderScenario

if TYPE_CHECKING:
    from collections.abc import Callable

    from lastword.kit.check.stage import Conversation
    from lastword.kit.peer import Frame, PeerEvent

LIST = "session/list"
DELETE = "session/delete"
LARGE_IDS = (2**31, 2**32 + 7, 2**53 - 1)
"""Beyond what 32 bits hold, and up to what every JSON reader holds exactly."""

BURST = 4
MAX_PAGES = 50
PROBE_SECONDS = 10.0
"""How long an agent that has been greeted may take for an answer that needs no thought."""

_CAPABILITIES = {
    LIST: "list",
    acp.LOAD: "load",
    acp.RESUME: "resume",
    acp.CLOSE: "close",
    DELETE: "delete",
}
OPTIONAL = tuple(_CAPABILITIES)
"""Methods that an agent may have and then has to advertise."""


def advertises(welcome: Frame, method: str) -> bool:
    """Return whether an agent said that it has a method."""
    own = capabilities(welcome)
    if acp.dialect(welcome.get("protocolVersion")) is acp.V2:
        sessions = own.get("session")
        if method == DELETE:
            return isinstance(sessions, dict) and sessions.get("delete") is not None
        return method != acp.LOAD and sessions is not None  # the rest comes with sessions
    if method == acp.LOAD:
        return own.get("loadSession") is True
    sessions = own.get("sessionCapabilities")
    return isinstance(sessions, dict) and sessions.get(_CAPABILITIES[method]) is not None


def _need(talk: Conversation, method: str) -> None:
    if not advertises(talk.transcript.welcome, method):
        raise NotApplicableError(f"it does not advertise {method}")


def _request(talk: Conversation, method: str, params: Frame, seconds: float | None = None) -> Any:
    """Ask, and note the answer under the method's name; return its result, if there is one."""
    request_id = talk.peer.request(method, params)
    answer = talk.answer_to(request_id, seconds)
    talk.transcript.notes[method] = answer
    return (answer.frame or {}).get("result") if answer else None


def _params(talk: Conversation, method: str, session: str) -> Frame:
    if method == LIST:
        return {}
    if method in {acp.CLOSE, DELETE}:
        return {"sessionId": session}
    return {"sessionId": session, "cwd": str(talk.cwd), "mcpServers": []}


def _optional(talk: Conversation) -> None:
    talk.initialize()
    try:
        session = talk.new_session()
    except UnreachedError:
        session = "no-such-session"  # no method may be there for it either
    for method in OPTIONAL:
        if advertises(talk.transcript.welcome, method):
            continue
        _request(talk, method, _params(talk, method, session), PROBE_SECONDS)
        if talk.transcript.notes[method] is None:
            break  # one that hangs is enough


def _large_ids(talk: Conversation) -> None:
    talk.initialize()
    params = {"cwd": str(talk.cwd), "mcpServers": []}
    for request_id in LARGE_IDS:
        talk.peer.request("session/new", params, request_id)
        if talk.answer_to(request_id, PROBE_SECONDS) is None:
            break


def _burst(talk: Conversation) -> None:
    talk.initialize()
    ids = [f"burst-{number}" for number in range(BURST)]
    params = {"cwd": str(talk.cwd), "mcpServers": []}
    message = {"jsonrpc": "2.0", "method": "session/new", "params": params}
    lines = [json.dumps(message | {"id": request_id}).encode() for request_id in ids]
    talk.peer.send_bytes(b"".join(line + b"\n" for line in lines))
    answers = [talk.answer_to(request_id) for request_id in ids]
    talk.transcript.notes["burst"] = answers
    results = [(answer.frame or {}).get("result") for answer in answers if answer]
    given = [result.get("sessionId") for result in results if isinstance(result, dict)]
    opened = [session for session in given if isinstance(session, str)]
    if not opened:
        talk.new_session()  # says why there is none
    talk.transcript.notes["opened"] = opened
    if len(set(opened)) < BURST:
        return
    for session in opened:
        turn = talk.prompt(session, ProviderScenario.HEALTHY)
        talk.finish(turn)
        if turn.failed and session == opened[0] and not talk.hooks.can_play(turn.scenario):
            return  # as those without a model do


def _list(talk: Conversation) -> None:
    talk.initialize()
    _need(talk, LIST)
    session = talk.new_session()
    talk.finish(talk.prompt(session, ProviderScenario.HEALTHY))
    talk.transcript.notes["session"] = session
    listed: list[object] = []
    params: Frame = {}
    for _ in range(MAX_PAGES):
        result = _request(talk, LIST, params)
        if not isinstance(result, dict) or not isinstance(result.get("sessions"), list):
            return
        listed += [each.get("sessionId") for each in result["sessions"] if isinstance(each, dict)]
        talk.transcript.notes["listed"] = listed
        if not isinstance(result.get("nextCursor"), str) or session in listed:
            return
        params = {"cursor": result["nextCursor"]}


def _returning(method: str) -> Callable[[Conversation], None]:
    """A session that a second process of the agent brings back."""

    def act(talk: Conversation) -> None:
        talk.initialize()
        _need(talk, method)
        session = talk.new_session()
        turn = talk.prompt(session, ProviderScenario.HEALTHY)
        talk.finish(turn)
        notes = talk.transcript.notes
        notes["shown"] = not turn.failed and bool(_of(talk, session, 0))
        talk.restart()
        talk.initialize()
        begin = len(talk.peer.events)
        result = _request(talk, method, _params(talk, method, session))
        if notes[method] is None or "error" in (notes[method].frame or {}):
            return
        notes["result"] = result
        talk.wait(0.3)
        at = talk.peer.events.index(notes[method])
        notes["replayed"] = _of(talk, session, begin, at)
        notes["replayed_late"] = _of(talk, session, at)
        if notes["shown"]:
            talk.finish(talk.prompt(session, ProviderScenario.HEALTHY))

    return act


def _of(talk: Conversation, session: str, since: int, until: int | None = None) -> list[PeerEvent]:
    """Return the shown updates of a session."""
    events = talk.peer.events[since:until]
    return [e for e in events if e.session == session and e.kind in acp.TEXT_KINDS | acp.TOOL_KINDS]


def _close(talk: Conversation) -> None:
    talk.initialize()
    _need(talk, acp.CLOSE)
    session = talk.new_session()
    turn = None
    if talk.hooks.can_play(ProviderScenario.HANG_AFTER_TEXT):
        turn = talk.prompt(session, ProviderScenario.HANG_AFTER_TEXT)
        turn.cancelled = talk.wait_for_update(turn, talk.limits.answer_seconds)
    _request(talk, acp.CLOSE, {"sessionId": session})
    if turn is not None and turn.cancelled:
        talk.transcript.notes["closed_turn"] = turn
        talk.finish(turn, PROBE_SECONDS)
    talk.transcript.notes["again"] = talk.answer_to(talk.request_session())


SESSION_ACTS: dict[str, Callable[[Conversation], None]] = {
    "optional": _optional,
    "large_ids": _large_ids,
    "burst": _burst,
    "list": _list,
    "load": _returning(acp.LOAD),
    "resume": _returning(acp.RESUME),
    "close": _close,
}
