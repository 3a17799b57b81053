"""A failure as a client shows it: text, one button, a countdown, and what may be pressed.

Owns the rules of the Retry button (`VOC-5`).
"""

from __future__ import annotations

import math
from datetime import UTC, datetime

import msgspec

from lastword.core.failure import wording
from lastword.core.failure.phrases import short_duration
from lastword.core.failure.sentences import BUTTONS, TITLES, own_sentence
from lastword.core.failure.taxonomy import (
    LIMITS,
    MAX_AUTO_WAIT_SECONDS,
    MAX_MESSAGE_CHARS,
    Action,
    AgentError,
    RetrySafety,
)

MAX_DETAILS_CHARS = 4096


class ErrorView(msgspec.Struct, frozen=True, kw_only=True):
    """What to show for a failure at one moment. Texts are plain; only `details` has several lines.

    Attributes:
        title: A few words.
        sentence: What happened and what to do, at most 500 characters.
        details: What the provider or the process said, at most 4096 characters; may be empty.
        action: What helps.
        button: The label of its button.
        wait_seconds: How much of the wait is left; 0 when it is over, `None` if there is none.
        countdown: The same in words, such as `retry in 18 s`; empty when there is none.
        can_retry: Whether a Retry button makes sense.
        needs_confirmation: Whether the user must agree first, because a retry might do something
            twice.
        automatic: Whether the client may press the button by itself, once `wait_seconds` is 0 or
            `None`. Always limit how often.
    """

    title: str
    sentence: str
    details: str
    action: Action
    button: str
    wait_seconds: int | None
    countdown: str
    can_retry: bool
    needs_confirmation: bool
    automatic: bool


def describe(
    error: AgentError, *, received: float | None = None, now: float | None = None
) -> ErrorView:
    """Return what to show for a failure: a title, a sentence, one button, a countdown.

    ```python
    received = time.time()  # when the failure came
    shown = client.describe(error, received=received)
    print(shown.title, shown.sentence)  # Rate limited  The model provider is limiting requests. …
    print(f"[{shown.button}] {shown.countdown}")  # [Try again] retry in 18 s
    ```

    To update the countdown, call it every second with the same `received`.

    Args:
        error: The failure.
        received: When it arrived, in seconds since 1970 UTC (`time.time()`): its wait counts from
            then. Without it, the wait has just begun.
        now: The moment to describe, in the same unit; the current time by default. If it is given,
            the function reads no clock.

    Returns:
        The texts, and what the button may do.
    """
    if now is None:
        now = datetime.now(UTC).timestamp()
    until: float | None = None
    if error.retry_after_seconds is not None:
        # No longer than was stated, even if the clock went back.
        until = (now if received is None else min(received, now)) + error.retry_after_seconds
    elif error.reset_at_epoch_ms is not None:
        until = error.reset_at_epoch_ms / 1000
    wait = None if until is None else max(0, math.ceil(until - now))
    is_harmful = error.retry_safety is RetrySafety.NEVER
    by_word = error.retryable and not is_harmful
    # After its reset, a limit no longer forbids a retry; whether that is safe is unknown.
    can_retry = by_word or (wait == 0 and error.type in LIMITS)
    is_harmless = error.retry_safety in {RetrySafety.AUTO, RetrySafety.OFFER_CONTINUE}
    action = error.action or wording.usual_action(
        error.type, error.retry_safety, retryable=error.retryable
    )
    sentence = wording.plain_text(error.message)[:MAX_MESSAGE_CHARS]
    countdown = f"{'retry' if can_retry else 'resets'} in {short_duration(wait)}" if wait else ""
    return ErrorView(
        title=TITLES[error.type],
        sentence=sentence or own_sentence(error.type, action),
        details=_details(error),
        action=action,
        button=BUTTONS[action],
        wait_seconds=wait,
        countdown=countdown,
        can_retry=can_retry,
        needs_confirmation=can_retry and not (by_word and is_harmless),
        automatic=by_word
        and error.retry_safety is RetrySafety.AUTO
        and (error.retry_after_seconds or wait or 0) <= MAX_AUTO_WAIT_SECONDS,
    )


def _details(error: AgentError) -> str:
    text = error.detail.get("text") if error.detail else None
    if not isinstance(text, str):
        return ""
    cut = text[: MAX_DETAILS_CHARS + 1]
    plain = "".join(char if char.isprintable() or char == "\n" else " " for char in cut).strip()
    return plain if len(text) <= MAX_DETAILS_CHARS else plain[: MAX_DETAILS_CHARS - 1] + "…"
