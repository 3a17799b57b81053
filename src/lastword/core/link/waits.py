"""Waits as values: for the end of a limit, for another model, of a prompt, and for an answer.

Owns what the link, its restarts, and shells that let a wait outlive the process remember about a
wait; and the clock of the agent's open question to the user, which a gateway's hub shares for its
viewers. `core.link.resend` and `core.link.clocks` act on them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from lastword.core.failure.option_values import seconds_of
from lastword.core.failure.taxonomy import ErrorType  # noqa: TC001 - a struct's member
from lastword.core.link.facts import Facts  # noqa: TC001 - likewise
from lastword.core.protocol import acp
from lastword.core.protocol.acp import object_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lastword.core.link.options import LinkOptions
    from lastword.core.protocol.jsonrpc import Frame


class LimitWait(msgspec.Struct, frozen=True, kw_only=True):
    """A turn's wait for the end of a limit.

    Attributes:
        until_epoch_seconds: its end by the time of day, if there is a clock for it.
        latest_epoch_seconds: the moment after which the turn does not continue any more, likewise.
        resends: nothing was shown or begun, so the user's own prompt is to be sent again.
    """

    until_epoch_seconds: float | None
    latest_epoch_seconds: float | None
    resends: bool


class StoredWait(msgspec.Struct, frozen=True, kw_only=True):
    """A turn's wait for the end of a limit, for another process to continue.

    Attributes:
        request_id: the id of the turn's prompt (JSON text).
        wait: the wait.
        type: the type of the turn's failure.
        reason: its reason, if it is known.
        waits: how often the turn has waited for a limit, including this time.
        waited_seconds: the total of these waits.
        facts: what happened earlier in the turn.
    """

    request_id: bytes
    wait: LimitWait
    type: ErrorType
    reason: str | None
    waits: int
    waited_seconds: float
    facts: Facts

    def left_seconds(self, epoch_seconds: float | None) -> float:
        """Return the rest of the wait, which began in another process, at this time of day.

        A clock that was set back makes no wait longer.
        """
        until = self.wait.until_epoch_seconds
        if until is None or epoch_seconds is None:
            return self.waited_seconds
        return min(max(until - epoch_seconds, 0.0), self.waited_seconds)


class ModelSwitch(msgspec.Struct, kw_only=True):
    """A turn's wait for another model, with which it continues.

    Attributes:
        resends: nothing was shown or begun, so the user's own prompt is to be sent again.
        due: when the turn continues, or when the agent is late.
        accepted: the agent has switched.
    """

    resends: bool
    due: float
    accepted: bool = False

    def accept(self, now: float) -> None:
        """Note that the agent has switched: the turn continues at once."""
        self.due, self.accepted = now, True


class WaitingPrompt(msgspec.Struct, frozen=True):
    """A prompt held back while its session is in quarantine."""

    frame: Frame
    due: float


def may_wait(waiting: Sequence[Frame], frame: Frame) -> bool:
    """Return whether there is room for this frame after those waiting; the first always fits."""
    if not waiting:
        return True
    size = len(frame.line) + sum(len(other.line) for other in waiting)
    return len(waiting) < acp.MAX_WAITING and size <= acp.MAX_WAITING_BYTES


# --- an open question of the agent to the user ----------------------------------------------------

WAITING = "The agent is waiting for your answer"
"""The beginning of a reminder."""

MAX_REMINDERS = 5
"""The most reminders of one question."""

REJECT = "reject"
REJECT_ONCE = "reject_once"


class QuestionTimeout(NamedTuple):
    """The value of `--ask-timeout`.

    Attributes:
        seconds: how long a question may wait.
        word: `reject` or `cancel`, the answer then.
    """

    seconds: float
    word: str


class Question(msgspec.Struct):
    """An open question, with its clock.

    Attributes:
        params: the request's params.
        since: when it was asked.
        reminder_at: when the user is reminded next.
        expires_at: when it is answered in the user's place.
        reminders: how often the user was reminded.
        is_answered_elsewhere: whether the shell answers it then (`LinkOptions.answers_questions`).
    """

    params: dict[str, Any]
    since: float
    reminder_at: float = math.inf
    expires_at: float = math.inf
    reminders: int = 0
    is_answered_elsewhere: bool = False

    @property
    def due(self) -> float:
        return (
            self.reminder_at
            if self.is_answered_elsewhere
            else min(self.reminder_at, self.expires_at)
        )

    def shift(self, seconds: float) -> None:
        """Shift its clock by the time that it stood still."""
        self.since += seconds
        self.reminder_at += seconds
        self.expires_at += seconds

    def remind(self, now: float, every_seconds: float) -> None:
        """Count a reminder, and set the time of the next."""
        self.reminders += 1
        following = now + every_seconds
        # After a reminder, there is still time to answer.
        is_last = self.reminders >= MAX_REMINDERS or following >= self.expires_at
        self.reminder_at = math.inf if is_last else following


def read_timeout(text: str) -> QuestionTimeout | None:
    """Return the value of the option's text, or `None` if it is off."""
    duration, _, word = text.partition("=")
    seconds = seconds_of(duration) if text else None
    return QuestionTimeout(seconds, word or REJECT) if seconds else None


def begin_question(options: LinkOptions, params: dict[str, Any], now: float) -> Question:
    timeout = read_timeout(options.ask_timeout)
    until_end = timeout.seconds if timeout else math.inf
    until_reminder = options.ask_reminder_seconds or math.inf
    return Question(
        params=params,
        since=now,
        reminder_at=now + until_reminder if until_reminder < until_end else math.inf,
        expires_at=now + until_end,
        is_answered_elsewhere=not options.answers_questions,
    )


def answer_of_nobody(method: str, params: dict[str, Any], word: str) -> tuple[dict[str, Any], str]:
    """Return the result that is sent in place of an answer, and its name in the record.

    Args:
        method: The question's method.
        params: Its params.
        word: `reject`, or `cancel`.
    """
    if method != acp.PERMISSION:
        action = "decline" if word == REJECT else "cancel"
        return {"action": action}, action
    options = params.get("options")
    for option in options if isinstance(options, list) and word == REJECT else ():
        option_id = object_of(option).get("optionId")
        if isinstance(option_id, str) and stands_for(options, option_id, REJECT_ONCE):
            return {"outcome": {"outcome": "selected", "optionId": option_id}}, REJECT_ONCE
    return {"outcome": {"outcome": acp.CANCELLED}}, acp.CANCELLED


def stands_for(options: object, option_id: str, kind: str) -> bool:
    """Return whether all options with this id are of this kind.

    An agent that gives its "yes" and its "no" the same id may confuse them.
    """
    listed = [object_of(option) for option in (options if isinstance(options, list) else ())]
    kinds = [each.get("kind") for each in listed if str(each.get("optionId")) == option_id]
    return bool(kinds) and all(each == kind for each in kinds)
