"""An open question of the agent to the user: until when it waits, and the answer of nobody.

Owns the value, over values alone: `core.link.questions` acts on it, and a gateway's hub answers its
viewers' questions in the same way.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from lastword.core.failure.duration_text import seconds_of
from lastword.core.protocol import acp
from lastword.core.protocol.tolerant import object_of

if TYPE_CHECKING:
    from lastword.core.link.options import LinkOptions

WAITING = "The agent is waiting for your answer"
"""What a reminder begins with."""

MAX_REMINDERS = 5
"""Reminders of one question."""

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
    """An open question, and what becomes of it.

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
        """When something is due."""
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
        # Whoever is reminded can still answer.
        is_last = self.reminders >= MAX_REMINDERS or following >= self.expires_at
        self.reminder_at = math.inf if is_last else following


def read_timeout(text: str) -> QuestionTimeout | None:
    """Return the value that the option's text means, or `None` for none."""
    duration, _, word = text.partition("=")
    seconds = seconds_of(duration) if text else None
    return QuestionTimeout(seconds, word or REJECT) if seconds else None


def begin(options: LinkOptions, params: dict[str, Any], now: float) -> Question:
    """Return a question that is asked now."""
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
    """Return the result that stands for an answer, and how the record names it.

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
    """Return whether an id is that of options of this kind alone.

    An agent that gives its "yes" and its "no" the same id may take either for the other.
    """
    listed = [object_of(option) for option in (options if isinstance(options, list) else ())]
    kinds = [each.get("kind") for each in listed if str(each.get("optionId")) == option_id]
    return bool(kinds) and all(each == kind for each in kinds)
