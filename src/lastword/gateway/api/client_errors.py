"""Errors that pages and connectors report about themselves.

Owns how many reports one sender may send, how they are counted, and the log entry or report that
each becomes.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET

from lastword.client.link_words import BY_NAME
from lastword.core.failure.taxonomy import ErrorType
from lastword.gateway.api.requests import ProblemError
from lastword.gateway.api.shapes import ClientEvent

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

REPORTS = 60
WITHIN_SECONDS = 60.0
"""How many from one address, with one token, within what time."""

MAX_SENDERS = 4096
MAX_BODY_BYTES = 4096
MAX_WORDS = 256
"""Words that are counted by themselves; others count together."""


class ReportPace:
    """The rate at which each sender reports."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """Measure with a clock in seconds."""
        self._clock = clock
        self._by_sender: OrderedDict[Hashable, deque[float]] = OrderedDict()

    def wait_seconds(self, sender: Hashable) -> int:
        """Count one report; return the seconds that the sender must wait instead, or 0."""
        now = self._clock()
        times = self._by_sender.setdefault(sender, deque(maxlen=REPORTS))
        self._by_sender.move_to_end(sender)
        if len(self._by_sender) > MAX_SENDERS:
            self._by_sender.popitem(last=False)
        if len(times) == REPORTS and now - times[0] < WITHIN_SECONDS:
            return max(1, int(times[0] + WITHIN_SECONDS - now) + 1)
        times.append(now)
        return 0


class ReportCounts:
    """The number of reports, by word."""

    def __init__(self) -> None:
        self._by_word: Counter[str] = Counter()

    def note(self, event: ClientEvent) -> None:
        """Count one."""
        known = event.word in self._by_word or len(self._by_word) < MAX_WORDS
        self._by_word[event.word if known else "other"] += 1

    def by_word(self) -> dict[str, int]:
        """Return the count of each word."""
        return dict(self._by_word)


def read_report(body: bytes) -> ClientEvent:
    """Return a report.

    Raises:
        ProblemError: It is not a report, or too large.
    """
    if len(body) > MAX_BODY_BYTES:
        message = f"A report has at most {MAX_BODY_BYTES} bytes."
        raise ProblemError(413, "too_large", message)
    try:
        return msgspec.json.decode(body, type=ClientEvent)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        message = f"This is not a report of an error: {str(error)[:200]}."
        raise ProblemError(400, "bad_request", message) from None


def facts_of(event: ClientEvent) -> dict[str, Any]:
    """Return the facts for the log entry."""
    facts: dict[str, Any] = msgspec.to_builtins(event)
    facts.pop("session_id", None)
    return facts


def failure_of(event: ClientEvent) -> dict[str, Any]:
    """Return the members of the payload for a collector."""
    known = BY_NAME.get(event.word)
    members = {
        "type": known.type if known is not None else ErrorType.UNKNOWN.value,
        "reason": event.word,
        "by": event.source.value,
        "http_status": event.status,
        "attempts": event.tries,
    }
    return {name: value for name, value in members.items() if value is not UNSET}
