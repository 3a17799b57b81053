"""What lastword writes to the log of an agent's author, on the logger `lastword`.

Owns that a handler of the author's logging that raises keeps no turn from its answer (the standard
library's own handlers never raise out of a call, but others do), and the warnings to authors whose
handlers break the rules, with how to fix that. The core informs the client in its own words.
"""

from __future__ import annotations

import contextlib
import logging
import traceback
from typing import Any

from lastword.core.timeline.entry import Entry, Kind


class AuthorLog(logging.LoggerAdapter[logging.Logger]):
    """A logger that never raises."""

    def log(self, level: int, msg: object, *args: object, **kwargs: Any) -> None:
        """Log as `Logger.log` does, and print what a handler of the author's raises."""
        try:
            self.logger.log(level, msg, *args, **kwargs)
        except Exception:  # noqa: BLE001 - whatever an author's handler raises
            if logging.raiseExceptions:
                with contextlib.suppress(Exception):
                    traceback.print_exc()


logger: AuthorLog = AuthorLog(logging.getLogger("lastword"), {})
timeline: AuthorLog = AuthorLog(logging.getLogger("lastword.timeline"), {})
"""The record's entries, as `docs/agent.md` describes them."""


_MENDED_BY = {
    "no_stop_reason": "the handler of session/prompt returned no stop reason: return "
    'acp.PromptResponse(stop_reason="end_turn"), or {"stopReason": "end_turn"} under serve',
    "unknown_stop_reason": "the handler of session/prompt returned a stop reason that the "
    "protocol does not know",
    "silent_success": "the handler of session/prompt returned without having shown anything: send "
    "an update, raise what went wrong, or call current_turn().output() if the user did see "
    "something",
    "runaway": "the handler sends the same update endlessly",
    "first_update_timeout": "the handler showed nothing in time: send updates, or call "
    "current_turn().progress() while it works",
    "idle_timeout": "the handler went silent: send updates, or call current_turn().progress() "
    "while it works",
    "agent_cancelled": "the handler cancelled itself, or the agent cancelled its task: it raised "
    "CancelledError although no user cancelled",
    "no_answer": "the handler did not stop when it was cancelled: let the cancellation pass, "
    "and do not catch BaseException around an await",
    "busy_with_ended_turn": "a prompt could not be accepted: the handler of an earlier turn "
    "swallowed its cancellation and is still running",
}

_DROPPED = {
    "answer_to_nobody": "an answer was sent to a request that was already answered, or that nobody "
    "made: answer once, by returning from the handler",
    "late_answer": "a handler returned after its turn was ended: it swallowed its cancellation",
    "quarantine": "an update of a turn that has been ended was dropped: its handler swallowed its "
    "cancellation and is still running",
    "not_json": "a frame that is not JSON was not sent to the client",
}


def note(entry: Entry) -> None:
    """Warn if an entry of the core's shows something that the author can fix."""
    if entry.kind is Kind.ERROR:
        advice = _MENDED_BY.get(str(entry.facts.get("reason")))
        if advice:
            what = f"Session {entry.session_id}" if entry.session_id else "A request"
            logger.warning("%s failed: %s.", what, advice)
    elif entry.kind is Kind.FRAME_DROPPED and entry.facts.get("side") == "agent":
        advice = _DROPPED.get(str(entry.facts.get("reason")))
        if advice:
            logger.warning("lastword: %s.", advice)
    elif entry.kind is Kind.QUARANTINED:
        logger.warning("Session %s: %s.", entry.session_id, _MENDED_BY["no_answer"])


def after_its_answer(method: str, of: str, *, dropped: bool) -> None:
    """Warn that a frame was sent by a turn, or a request `of` another method, that is over."""
    logger.warning(
        "%s was sent after the answer to its own %s, and is %s: await what you send, and every "
        "task that sends, before the handler returns.",
        method,
        of,
        "dropped" if dropped else "sent, out of turn",
    )


def before_initialize() -> None:
    """Warn that a prompt came before `initialize`."""
    logger.warning(
        "The client sent session/prompt before initialize: the handler is called as for a client "
        "of protocol version 1 without capabilities."
    )


def printed() -> None:
    """Warn that something was printed while stdout is reserved for the client."""
    logger.warning(
        "Printed output goes to stderr, because stdout is reserved for messages to the client: "
        "print to sys.stderr, or use logging. This warning is shown once."
    )


def raised(method: str, error: BaseException) -> None:
    """Warn that a handler raised something that is not an `Exception`."""
    logger.error(
        "The handler of %s raised %s, which is not an Exception, so its turn fails. Raise an "
        "Exception, or call current_turn().fail().",
        method,
        type(error).__name__,
    )


def unprintable(method: str, error: BaseException) -> None:
    """Warn that a handler raised an exception whose own methods raise."""
    logger.error(
        "The handler of %s raised %s, which cannot be printed: its __str__, its __repr__ or one of "
        "its attributes raises in turn. Its turn fails; look at that class.",
        method,
        type(error).__name__,
    )


def unusable(method: str, error: BaseException) -> None:
    """Warn that a handler returned something that is not JSON."""
    logger.error(
        "The handler of %s returned a value that cannot be sent as JSON (%s): return plain values "
        "or the SDK's own models.",
        method,
        error,
    )


def reused(error: BaseException) -> None:
    """Warn that an attempt of a model call was given what an earlier attempt had used up."""
    logger.warning(
        "A model call was not tried again, because its stream or coroutine was made before the "
        "attempts began (%s): make the call itself within `with attempt:`.",
        error,
    )


def unguarded(stream: str, item: str) -> None:
    """Warn that a stream passed unchecked."""
    logger.warning(
        "current_turn().watch() does not know this stream (%s, of %s): it passes the items on and "
        "guards nothing, so a truncated stream looks complete. Pass the stream of the provider's "
        "package itself, or say which item is the last: watch(stream, finished=...). This warning "
        "is shown once for each type.",
        stream,
        item,
    )
