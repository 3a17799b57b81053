"""What a viewer may send, and the refusals that it gets.

Owns its rights, the folders that it may name, how often it may send, the error of each refusal, and
the codes that answer one question.
"""

from __future__ import annotations

import math
import os
from collections import OrderedDict, deque
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import unquote_to_bytes, urlsplit

import msgspec

from lastword.client.link_words import BY_NAME
from lastword.core.failure.ladder import error_object
from lastword.core.failure.sentences import own_sentence
from lastword.core.failure.taxonomy import Action, AgentError, ErrorType, Origin, Phase, RetrySafety
from lastword.core.link import waits
from lastword.core.link.waits import stands_for
from lastword.core.protocol import acp, jsonrpc
from lastword.core.protocol.acp import object_of

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

    from lastword.core.protocol.jsonrpc import Envelope, Frame
    from lastword.gateway.log.files import LogOwner


INITIALIZED: dict[str, Any] = {
    "code": acp.INVALID_REQUEST,
    "message": "This connection has been initialized.",
}
LIST = "session/list"
BEYOND_A_SESSION = acp.LOGIN | {"logout", "auth/logout", "session/new", acp.FORK}
"""Requests that concern more than the session that their params may name."""

_FOR_EVERYBODY = frozenset({None, LIST, acp.CANCEL_REQUEST, "_lastword/ping"})
"""Answers, and requests that concern the viewer alone."""


def refusal(message: Envelope, *, controls: bool, session: str) -> dict[str, Any] | None:
    """Return why a viewer may not send a message; `None` if it may.

    Args:
        message: The message.
        controls: The viewer is a controller.
        session: The only session that it may use; empty for all.
    """
    method, named = message.method, message.session_id
    if named is not None and session not in {"", named}:
        return unknown_session(named)
    if method == acp.INITIALIZE:
        return INITIALIZED
    if method not in BEYOND_A_SESSION and (named is not None or method in _FOR_EVERYBODY):
        return None  # the session's hub decides what an observer may send to it
    if not controls:
        return observes()
    return one_session() if session else None


UNCHECKED = acp.BRINGS_BACK | {acp.INITIALIZE, acp.PROMPT, acp.CANCEL, "session/list"}
"""Requests whose paths reach no agent, and prompts, which are content. A viewer that attaches to a
session may be on another machine and not know its folder; the session keeps its own."""


class OutsideRootError(Exception):
    """A path is outside of the root, or cannot be resolved; `member` names it."""

    def __init__(self, member: str) -> None:
        super().__init__(f"{member} is not below the root")
        self.member = member


def within(frame: Frame, root: str) -> Frame:
    """Return a viewer's frame with every path in it resolved.

    Args:
        frame: A frame from a viewer.
        root: The resolved folder below which sessions work; empty for anywhere.

    Raises:
        OutsideRootError: A path is not below the root.
    """
    method = frame.message.method
    if not root or method is None or method in UNCHECKED or method.startswith(("$/", "_lastword/")):
        return frame
    message = jsonrpc.loads(frame.readable)
    if not isinstance(message, dict):
        raise OutsideRootError("params")  # nested as deep as the parser goes
    params = object_of(message.get("params"))
    try:
        resolved = resolved_params(params, root)
        names_folder = _names_folder(params)
    except RecursionError:
        raise OutsideRootError("params") from None
    if method in {"session/new", acp.FORK} and "cwd" not in resolved:
        raise OutsideRootError("cwd")
    if not names_folder:
        return frame
    # Encoded from what was checked: of a member that comes twice, parsers choose differently.
    rewritten = jsonrpc.decode(jsonrpc.dumps(message | {"params": resolved}))
    if frame.shallow or not isinstance(rewritten, jsonrpc.Frame):
        raise OutsideRootError("params")  # nested deeper than can be encoded again
    return rewritten


def resolved_params(params: dict[str, Any], root: str) -> dict[str, Any]:
    """Return params with every path resolved, wherever it is in them.

    Agents read further folders from `_meta` and from the entries of `mcpServers`, so a member is
    known by its name alone.

    Raises:
        OutsideRootError: A path is not below the root.
    """
    resolved: dict[str, Any] = _mapped(params, root)
    return resolved


def _mapped(value: Any, root: str) -> Any:
    if isinstance(value, list):
        return [_mapped(item, root) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: _checked(key, item, root) if key in _MEMBERS else _mapped(item, root)
        for key, item in value.items()
    }


def _names_folder(value: Any) -> bool:
    if isinstance(value, list):
        return any(_names_folder(item) for item in value)
    if not isinstance(value, dict):
        return False
    return any(key in _MEMBERS or _names_folder(item) for key, item in value.items())


def _checked(member: str, value: Any, root: str) -> Any:
    """Return a member's paths resolved, in their original form."""
    if value is None and member != "cwd":  # without a folder, an agent would use its own
        return None
    try:
        return _MEMBERS[member](value, root)
    except (OSError, TypeError, ValueError):  # renamed just now, of another type, or outside
        raise OutsideRootError(member) from None


def _folder(value: Any, root: str) -> str:
    """Return a folder, resolved.

    Raises:
        ValueError: It is relative, or outside of the root.
    """
    if not os.path.isabs(value):
        raise ValueError
    real = str(os.path.realpath(value))
    if real != root and not real.startswith(root.rstrip("/") + "/"):
        raise ValueError
    return real


def _folders(value: Any, root: str) -> list[str]:
    if not isinstance(value, list):
        raise TypeError
    return [_folder(each, root) for each in value]


def _uri(value: Any, root: str) -> str:
    parts = urlsplit(value if isinstance(value, str) else "")
    if parts.scheme != "file" or parts.netloc not in {"", "localhost"}:
        raise ValueError
    return Path(_folder(os.fsdecode(unquote_to_bytes(parts.path)), root)).as_uri()


def _uris(value: Any, root: str) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise TypeError
    if not all("uri" in each for each in value):
        raise TypeError
    return [each | {"uri": _uri(each["uri"], root)} for each in value]


_MEMBERS: dict[str, Callable[[Any, str], Any]] = {
    "cwd": _folder,
    "additionalDirectories": _folders,
    "additionalRoots": _folders,
    "workspaceUri": _uri,
    "workspaceFolders": _uris,
}
"""The members that name folders: ACP's of both versions, those of its drafts (`nes/start`), and
what agents read from `_meta` (claude-agent-acp's `additionalRoots`)."""


MAX_KEYS = 4096
"""The most tokens and addresses whose rate is kept; the longest quiet go first."""


class Rate(msgspec.Struct, frozen=True):
    """How often something may happen.

    Attributes:
        per_second: in the long run.
        burst: at once, after a pause.
    """

    per_second: float
    burst: float


class RateLimiter:
    """A token bucket for each key."""

    def __init__(self, rate: Rate, clock: Callable[[], float]) -> None:
        """Begin with full buckets; the clock gives seconds."""
        self._rate = rate
        self._clock = clock
        self._buckets: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()

    def wait_seconds(self, key: Hashable) -> int:
        """Count one event of a key; if it comes too soon, return the seconds to wait instead."""
        now = self._clock()
        left, at = self._buckets.pop(key, (self._rate.burst, now))
        left = min(self._rate.burst, left + max(now - at, 0.0) * self._rate.per_second)
        is_too_soon = left < 1
        self._buckets[key] = (left if is_too_soon else left - 1, now)
        if len(self._buckets) > MAX_KEYS:
            self._buckets.popitem(last=False)
        return math.ceil((1 - left) / self._rate.per_second) if is_too_soon else 0


class LastMinute:
    """What has happened within the last minute, by who did it."""

    def __init__(self, most: int, clock: Callable[[], float]) -> None:
        """Allow this much to each; the clock gives seconds."""
        self._most = most
        self._clock = clock
        self._times: OrderedDict[Hashable, deque[float]] = OrderedDict()

    def note(self, key: Hashable) -> None:
        """Count one event of a key."""
        self._times.setdefault(key, deque(maxlen=self._most)).append(self._clock())
        self._times.move_to_end(key)
        if len(self._times) > MAX_KEYS:
            self._times.popitem(last=False)

    def wait_seconds(self, key: Hashable) -> int:
        """Return how long a key must wait before its next event; 0 for not at all."""
        times = self._times.get(key)
        if times is None or len(times) < self._most:
            return 0
        left = times[0] + 60.0 - self._clock()
        return int(left) + 1 if left > 0 else 0


Refusal: TypeAlias = "partial[dict[str, Any]]"
"""A refusal; calling it returns the error object."""

RESERVED: dict[str, Any] = {
    "code": acp.METHOD_NOT_FOUND,
    "message": "Methods that begin with _lastword/ are the gateway's own.",
}
_CLOSED: dict[str, Any] = {
    "code": acp.REQUEST_CANCELLED,
    "message": "The session was closed before this was done.",
}


def _refused(
    word: str, message: str = "", *, retry_safety: RetrySafety = RetrySafety.NEVER
) -> dict[str, Any]:
    """Return the error object of a word, with its own sentences where no message is given."""
    row = BY_NAME[word]
    error = AgentError(
        type=ErrorType(row.type),
        message=message or f"{row.sentence} {row.advice}",
        retryable=False,
        reason=word,
        origin=Origin.LASTWORD,
        phase=Phase.BEFORE_REQUEST,
        retry_safety=retry_safety,
        action=Action(row.action),
    )
    return error_object(error)


def _failed(
    kind: ErrorType, reason: str, message: str, action: Action, **facts: Any
) -> dict[str, Any]:
    """Return the error object of a failure of the agent's process."""
    error = AgentError(
        type=kind,
        message=message,
        retryable=True,
        reason=reason,
        origin=Origin.PROCESS,
        retry_safety=RetrySafety.ASK,
        action=action,
        **facts,
    )
    return error_object(error)


observes: Refusal = partial(_refused, "observer")
"""Refuse an observer's request that only a controller may send."""

one_session: Refusal = partial(_refused, "one_session")
"""Refuse a request about other sessions, or the whole agent, with a token for one session."""

too_many_sessions: Refusal = partial(_refused, "too_many_sessions")
"""Refuse another session in an agent with the maximum number of sessions."""

turn_open: Refusal = partial(_refused, "turn_open")
"""Refuse a prompt while another viewer's turn is running."""

too_many_viewers: Refusal = partial(_refused, "too_many_viewers")
"""Refuse another viewer of a session with the maximum number of viewers."""

too_fast: Refusal = partial(
    _refused,
    "too_many_requests",
    "Too many requests of this kind over this connection. Wait a moment.",
)
"""Refuse a request of a kind that comes too often."""

too_much_waits: Refusal = partial(
    _refused,
    "too_many_requests",
    "Too much from this connection is waiting for its agents. Send it again later.",
)
"""Refuse a frame from a viewer with too many frames waiting for agents."""

agent_not_running: Refusal = partial(
    _refused,
    "observer",
    "No agent is running for this session. It is available again once a controller opens it.",
)
"""Refuse an observer's request for a session whose agent would have to be started."""

no_log: Refusal = partial(_refused, "log_unwritable", retry_safety=RetrySafety.AUTO)
"""Refuse a request because the session's log cannot be written; its operator has to act."""

_died = partial(_failed, ErrorType.AGENT_CRASH, "holder_died", action=Action.RETRY)

holder_lost: Refusal = partial(_died, message="This session's agent has just ended. Send it again.")
"""Refuse a request to an agent that has just ended."""

holder_silent: Refusal = partial(
    _failed,
    ErrorType.TIMEOUT,
    "holder_silent",
    "What has this session does not answer. Send it again later; if this continues, the gateway on "
    "that machine has to be restarted.",
    Action.RETRY,
)
"""Refuse a request to a holder that does not answer, or for a log that is still being written."""

no_free_node: Refusal = partial(
    _failed,
    ErrorType.RATE_LIMIT,
    "no_free_node",
    "No machine of the fleet has room for another agent now. Close a session, or send it again "
    "later.",
    Action.WAIT,
    retry_after_seconds=5,
)
"""Refuse a new session because no node of the fleet has room."""

node_silent: Refusal = partial(
    _failed,
    ErrorType.TIMEOUT,
    "node_silent",
    "The machine with this session does not answer. Send it again in a moment.",
    Action.RETRY,
    retry_after_seconds=5,
)
"""Refuse a request to another node that does not answer in time."""

fleet_away: Refusal = partial(
    _failed,
    ErrorType.NETWORK,
    "fleet_away",
    "The fleet's servers do not answer. Send it again in a moment.",
    Action.RETRY,
    retry_after_seconds=5,
)
"""Refuse a request that needs the fleet's servers while none answers."""


def too_many_open(limit: int) -> dict[str, Any]:
    """Refuse a request from a viewer with too many open requests."""
    message = f"{limit} requests of this connection are waiting for answers. Wait for one of them."
    return _refused("too_many_requests", message)


def unknown_session(session_id: str) -> dict[str, Any]:
    """Refuse a session that does not exist, by a code that clients know."""
    message = (
        "This session does not exist on the gateway. Start a new one, or find its whole id with "
        "`lastword log` on the gateway's machine."
    )
    return {
        "code": acp.RESOURCE_NOT_FOUND,
        "message": message,
        "data": {"sessionId": session_id[:200]},
    }


def outside_root(member: str, root: str) -> dict[str, Any]:
    """Refuse a path outside of the gateway's root.

    Args:
        member: The member with the path.
        root: The root; empty for a viewer that may not see it.
    """
    below = f"below {root}" if root else "below the gateway's root"
    message = f"Sessions of this gateway work {below}; {member} is outside. See --root."
    return _refused("outside_root", message) | {"code": acp.INVALID_PARAMS}


def owned_elsewhere(owner: LogOwner) -> dict[str, Any]:
    """Refuse a session whose log belongs to another gateway's process."""
    port = owner.address.rpartition(":")[2]
    ends = f"`lastword gateway stop --agents --port {port}`" if port.isdigit() else "its gateway"
    message = (
        f"This session belongs to another of your gateways, {owner.address or 'on this machine'}"
        f" (process {owner.pid}). Connect to that one, or end its agents with {ends}."
    )
    error = _refused("session_elsewhere", message)
    error["data"]["gateway"] = {"pid": owner.pid, "address": owner.address}
    return error


def too_many_agents(limit: int) -> dict[str, Any]:
    """Refuse to start an agent beyond the limit."""
    message = (
        f"The gateway is full: {limit} agents are running. Close a session, or see --sessions."
    )
    return _refused("too_many_agents", message)


def not_started(reason: str) -> dict[str, Any]:
    """Refuse a request because an agent could not be started."""
    message = "The agent could not be started; the gateway's stderr says why. Try again after that."
    return _failed(ErrorType.AGENT_CRASH, reason, message, Action.RESTART, phase=Phase.STARTUP)


def agent_lost(advice: str, incident: str | None = None) -> dict[str, Any]:
    """Refuse a request that was open when an agent, or its gateway, ended.

    Args:
        advice: A sentence on what to do.
        incident: The id of the incident, if it is recorded.
    """
    return _died(message=f"The agent's process ended unexpectedly. {advice}", incident_id=incident)


def gateway_stopped(incident: str) -> dict[str, Any]:
    """Refuse a request that was open when its gateway was stopped or killed."""
    message = "The gateway was stopped while the agent worked. Send the prompt again."
    return _died(message=message, incident_id=incident)


def not_continued(incident: str) -> dict[str, Any]:
    """Refuse a prompt that waited for a limit in a session that the agent could not load again."""
    reason = "not_continued"
    message = own_sentence(ErrorType.AGENT_CRASH, Action.RETRY, reason)
    return _failed(ErrorType.AGENT_CRASH, reason, message, Action.RETRY, incident_id=incident)


agent_stopped: Refusal = partial(
    _died, message="The agent was stopped on its machine. Send the prompt again to start it."
)
"""Refuse a request that was open when an agent was stopped with its session."""


MAX_QUOTED_CHARS = 500
_MACHINE_LOST = "The machine that ran this session's agent cannot be reached."
_CAN_BE_READ = f"{_MACHINE_LOST} Its conversation can be read."


def machine_lost(incident: str, *, goes_on: bool) -> dict[str, Any]:
    """Refuse a request that was open when a session's machine was lost.

    Args:
        incident: The incident's id.
        goes_on: The session's files are on this machine, too.
    """
    if goes_on:
        message, action = f"{_MACHINE_LOST} Send the prompt again.", Action.RETRY
        return _failed(ErrorType.AGENT_CRASH, "machine_lost", message, action, incident_id=incident)
    return _session_lost("machine_lost", None, _CAN_BE_READ, incident)


def context_lost(incident: str) -> dict[str, Any]:
    """Refuse a prompt to a session whose agent and files were on a lost machine."""
    return _session_lost("context_lost", Phase.BEFORE_REQUEST, _CAN_BE_READ, incident)


def log_lost() -> dict[str, Any]:
    """Refuse a prompt to a session whose log was lost, which had what the agent needs for it."""
    why = "The session's log was lost, and with it the folder in which its agent worked."
    return _session_lost("context_lost", Phase.BEFORE_REQUEST, why)


def not_loaded(error: dict[str, Any]) -> dict[str, Any]:
    """Refuse a prompt to a session that the agent could not load, for which it gave this error.

    An error that has a type stays, and so does the one that asks for a login.
    """
    if error.get("code") == acp.AUTH_REQUIRED or "agent_error" in object_of(error.get("data")):
        return error
    why = "The agent could not load this session again."
    refused = _session_lost("context_lost", Phase.BEFORE_REQUEST, why)
    if isinstance(said := error.get("message"), str) and said:
        refused["data"]["details"] += f" ({said[:MAX_QUOTED_CHARS]})"
    return refused


def _session_lost(
    reason: str, phase: Phase | None, why: str, incident: str | None = None
) -> dict[str, Any]:
    error = AgentError(
        type=ErrorType.AGENT_CRASH,
        message=f"{why} Start a new session.",
        retryable=False,
        reason=reason,
        origin=Origin.PROCESS,
        phase=phase,
        retry_safety=RetrySafety.NEVER,
        action=Action.RESTART,
        incident_id=incident,
    )
    return error_object(error)


def answer_of_nobody(method: str, question: bytes) -> bytes:
    """Return the answer to an agent's question that nobody answered; the id is added later."""
    if method == acp.PERMISSION:
        params = object_of(object_of(jsonrpc.loads(question)).get("params"))
        result, _ = waits.answer_of_nobody(method, params, "reject")
        return jsonrpc.result(b"0", result)
    message = "No viewer of this session is connected to do this. Go on without it."
    return jsonrpc.error(b"0", {"code": acp.INTERNAL_ERROR, "message": message})


def cancelled_answer(method: str, request_id: bytes) -> bytes:
    """Return the answer to an agent's question in a session that is closed."""
    if method == acp.PERMISSION:
        return jsonrpc.result(request_id, {"outcome": {"outcome": "cancelled"}})
    return jsonrpc.error(request_id, _CLOSED)


def closed_answer(request_id: bytes, method: str) -> bytes:
    """Return the answer to a viewer's request that was open when its session was closed."""
    if method == acp.PROMPT:
        return jsonrpc.result(request_id, {"stopReason": acp.CANCELLED})
    if method in acp.ENDS_SESSION:
        return jsonrpc.result(request_id, {})
    return jsonrpc.error(request_id, _CLOSED)


VIEWER = "notification"
"""The viewer that answers by a code, in a session's log."""


class AnswerCode(msgspec.Struct, frozen=True, array_like=True):
    """What a code is for.

    Attributes:
        session: the session.
        run: the run of the holder with the question, which no later run has.
        question: the question's number.
        option: the place of the chosen option among those of the question.
        expires: in seconds since 1970 UTC.
        kind: the option's kind, which the answer page shows.
    """

    session: str
    run: str
    question: int
    option: int
    expires: int
    kind: str = ""


class Choice(msgspec.Struct, frozen=True):
    """An option of a question.

    Attributes:
        place: its index in the question, from 0.
        option_id: the agent's id for it.
        kind: such as `allow_once`.
        name: the agent's name for it, which is content.
    """

    place: int
    option_id: str
    kind: str
    name: str


def choices_of(question: bytes) -> Iterator[Choice]:
    """Return the valid options of a request for permission."""
    params = object_of(object_of(jsonrpc.loads(question)).get("params"))
    options = params.get("options")
    for place, option in enumerate(options if isinstance(options, list) else ()):
        members = object_of(option)
        option_id, kind, name = (members.get(each) for each in ("optionId", "kind", "name"))
        if isinstance(option_id, str) and isinstance(kind, str):
            yield Choice(place, option_id, kind, name if isinstance(name, str) else "")


def title_of(question: bytes) -> str:
    """Return what a question is about, which is content."""
    params = object_of(object_of(jsonrpc.loads(question)).get("params"))
    title = object_of(params.get("toolCall")).get("title") or params.get("message")
    return title if isinstance(title, str) else ""


def answer_to(method: str, question: bytes, place: int) -> bytes | None:
    """Return the answer to the agent for one option; `None` if the question does not have it.

    If an option of another kind has the same id, the question is cancelled.
    """
    if method != acp.PERMISSION:
        return None
    chosen = next((each for each in choices_of(question) if each.place == place), None)
    if chosen is None:
        return None
    outcome: dict[str, Any] = {"outcome": "selected", "optionId": chosen.option_id}
    options = object_of(object_of(jsonrpc.loads(question)).get("params")).get("options")
    if not stands_for(options, chosen.option_id, chosen.kind):
        outcome = {"outcome": acp.CANCELLED}
    return jsonrpc.result(b"0", {"outcome": outcome})
