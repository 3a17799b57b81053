"""Failures and outages of a link, and turns that were ended because of one.

Failures of a link, in the words and frames of the contract. Owns what an editor is sent while the
connector searches for the gateway, when the search ends, and when something cannot be sent again.
`core.failure.ladder` chooses the rung.

Turns that were ended for the editor while the agent may still be working on them. Owns the list of
these turns. The outcome of each is reported once, as a notice, since its prompt already has an
answer. The decision to end a turn is made in `core`.

An outage: how long a connector has been without a link, and what its users know about it. Owns the
times. A short outage is not shown. A line that stays in the conversation, such as a thought, is
sent no more often than a sidecar sends those about retries.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from lastword.client.close_codes import Why
from lastword.client.link_words import BY_NAME
from lastword.core.failure import ladder
from lastword.core.failure.ladder import UNREACHABLE, error_object
from lastword.core.failure.payload import read_payload
from lastword.core.failure.taxonomy import Action, AgentError, ErrorType, Origin, Phase, RetrySafety
from lastword.core.link.evidence import SHOW_EVERY_SECONDS
from lastword.core.protocol import acp, jsonrpc
from lastword.core.protocol.acp import object_of

if TYPE_CHECKING:
    from lastword.client.reconnect import GiveUp
    from lastword.core.failure.transport_words import TransportWord
    from lastword.core.protocol.jsonrpc import Frame


_MAX_SHOWN = 200

_WORDS = {
    Why.UNREACHABLE: UNREACHABLE,
    Why.ASKED_TO_WAIT: UNREACHABLE,
    Why.SESSION_UNKNOWN: "gateway_not_found",
}
"""The words for ends of the search that differ from the policy's own: it asks for no session."""


RENEW = (
    "Make a new one with `lastword gateway token` on its machine, or by the `lastword setup` "
    "command with --host that made this one."
)
"""What to do about a refused token, which may have expired: an editor has no login."""

_OWN_SENTENCES = {"gateway_not_found", "frame_too_large"}
"""The words that say more here than the policy's own: a 404 without a session, and a close."""


def _word_of(end: GiveUp) -> TransportWord:
    if end.cause.startswith("closed 1009"):
        return BY_NAME["frame_too_large"]
    return BY_NAME[_WORDS.get(end.why, end.why.value)]


def sentence_of(end: GiveUp) -> str:
    """Return why the search has ended, and what to do."""
    word = _word_of(end)
    if word.word in _OWN_SENTENCES:
        return f"{word.sentence} {word.advice}"
    if end.why is Why.UNAUTHORIZED:
        return f"{end.line} {RENEW}"
    return f"{end.line} {end.advice}".strip()


def of_end(end: GiveUp) -> AgentError:
    """Return the failure of everything that was open when the search ended."""
    word = _word_of(end)
    kind = ErrorType(word.type)
    action = Action.WAIT if end.why is Why.ASKED_TO_WAIT else Action(word.action)
    retryable = word.word == UNREACHABLE
    detail = {"text": end.cause} if end.cause else None
    return AgentError(
        type=kind,
        message=sentence_of(end),
        detail=detail,
        retryable=retryable,
        source="lastword-gateway",
        reason=word.word,
        origin=Origin.NETWORK if kind is ErrorType.NETWORK else Origin.LASTWORD,
        retry_safety=RetrySafety.ASK,
        action=Action.CONFIRM_RETRY if action is Action.RETRY else action,
    )


def lost_track() -> AgentError:
    """Return the failure of a turn that the gateway may never have received."""
    message = (
        "The gateway no longer knows this connection, so the rest of the turn cannot be shown here."
        " It may still be running."
    )
    return AgentError(
        type=ErrorType.NETWORK,
        message=message,
        retryable=True,
        source="lastword-gateway",
        reason="gateway_forgot",
        origin=Origin.LASTWORD,
        retry_safety=RetrySafety.ASK,
        action=Action.CONFIRM_RETRY,
    )


def refused(error: AgentError) -> dict[str, Any]:
    """Return the error object that answers a request other than a prompt."""
    calm = msgspec.structs.replace(error, phase=Phase.BEFORE_REQUEST)
    return error_object(calm, had_output=True)


OF_ONE_SESSION = frozenset(
    {
        "holder_silent",
        "holder_ended",
        "log_unwritable",
        "outside_root",
        "session_elsewhere",
        "too_many_agents",
    }
)
"""Why a gateway cannot serve one session, while it serves others."""


def reason_of(error: dict[str, Any]) -> object:
    """Return the reason in an error object's payload."""
    return object_of(object_of(error.get("data")).get("agent_error")).get("reason")


INITIALIZE_FIRST: dict[str, Any] = {
    "code": acp.INVALID_REQUEST,
    "message": "Send initialize first.",
}


MAX_TURNS = 256
"""Turns whose outcome is still reported; the oldest are forgotten."""


class AbandonedTurns:
    """The abandoned turns of one editor, by the number of the prompt."""

    def __init__(self) -> None:
        self._session_of: dict[int, str] = {}

    def add(self, number: int, session_id: str) -> None:
        """Add a turn, by its prompt's number."""
        self._session_of[number] = session_id
        while len(self._session_of) > MAX_TURNS:
            del self._session_of[next(iter(self._session_of))]

    def answered(self, number: int, frame: Frame) -> bytes | None:
        """Return the notice for the editor when the prompt is answered after all."""
        result = object_of(jsonrpc.loads(frame.message.result))
        failure = object_of(result.get("_meta")).get("agent_error") or None
        error = object_of(jsonrpc.loads(frame.message.error))
        if failure is None and error:
            payload = object_of(error.get("data")).get("agent_error")
            failure = payload if isinstance(payload, dict) else {"message": error.get("message")}
        return self.ended(number, stop_reason=result.get("stopReason"), failure=failure)

    def ended(self, number: int, *, stop_reason: object, failure: object) -> bytes | None:
        """Return the notice for the editor when the turn ends; `None` if it is not one of these."""
        session_id = self._session_of.pop(number, None)
        if session_id is None:
            return None
        if isinstance(failure, dict):
            payload = read_payload(failure).payload() | {"stopReason": acp.STOP_ERROR}
            meta: dict[str, Any] = {"agent_error": payload}
        else:
            word = stop_reason[:_MAX_SHOWN] if isinstance(stop_reason, str) else acp.STOP_ERROR
            meta = {"lastword": {"turn": {"stopReason": word}}}
        update = {"sessionUpdate": "session_info_update", "_meta": meta}
        return ladder.session_update(session_id, update)


SHOW_AFTER_SECONDS = 5.0
"""How long a link may be gone before it is shown to the user of an open turn."""


class Outage:
    """The current outage, if there is one."""

    def __init__(self) -> None:
        self._since: float | None = None
        self._was_shown = False
        self._thought_at: dict[str, float] = {}

    def begin(self, now: float) -> None:
        """Note that there is no link; there may have been none before."""
        if self._since is None:
            self._since = now

    def end(self) -> None:
        """Note that there is a link again, or that the search has ended."""
        self._since = None
        self._was_shown = False

    @property
    def first_due(self) -> float | None:
        """Return when it is first shown; `None` after that, and while there is a link."""
        if self._since is None or self._was_shown:
            return None
        return self._since + SHOW_AFTER_SECONDS

    def must_show(self, now: float) -> bool:
        """Return whether it has lasted long enough to be shown."""
        if self._since is None or now - self._since < SHOW_AFTER_SECONDS:
            return False
        self._was_shown = True
        return True

    def may_add_thought(self, session_id: str, now: float) -> bool:
        """Return whether a line that stays in this session's conversation is due."""
        last = self._thought_at.get(session_id)
        if last is not None and now - last < SHOW_EVERY_SECONDS:
            return False
        self._thought_at[session_id] = now
        return True
