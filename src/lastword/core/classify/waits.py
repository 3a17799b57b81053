"""Waits: the pause and the moment of a reset, from headers, body, exception and prose.

A server's value is a minimum. The order is fixed: headers come before the body, the body before the
exception, and prose comes last. A value that makes no sense is skipped, not replaced.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

import msgspec

from lastword.core.classify.moments import UNIT, parse_moment, parse_wait

if TYPE_CHECKING:
    from lastword.core.classify.evidence import Evidence

_BODY_WAIT_KEYS = (
    "retrydelay",
    "resetsinseconds",
    "resetinseconds",
    "retryafter",
    "retryafterseconds",
    "resetseconds",
    "resetafterseconds",
    "retryafterms",
    "quotaresetdelay",
)
_BODY_MOMENT_KEYS = (
    "resetsat",
    "resetat",
    "quotaresettimestamp",
    "resetatepochms",
    "xllmerrorresetat",
)
_CODEX_WINDOWS = ("primary", "secondary")
_PER_CENT = 100
_PIPED_MOMENT = re.compile(r"limit reached\|(\d{10})\b")
_ANTHROPIC_RESET = r"anthropic-(?:priority-)?ratelimit-([a-z-]{1,32})-reset"

_REQUEST = r"""
    \b(?:try(?:ing)?\ again | retry(?:ing)?(?:\ again)? | resets? | wait(?:ing)?
       | available\ again | replenished | renews? | refills? | cooldown) (?:\ your\ request)?
"""
_TEXT_WAIT = re.compile(
    rf"""
    {_REQUEST} (?:\ (?:in|after|for))? (?:\ (?:about|approximately|at\ least))? [ :~]{{1,2}}
    ((?:\d{{1,9}}(?:\.\d{{1,12}})?\ ?{UNIT}(?:,?\ and\ |,\ |\ )?){{1,5}}) (?![a-z0-9])
    |
    {_REQUEST} \ (?:in|after)\ ((?:\d{{1,4}}\.)?\d{{1,3}}:\d\d:\d\d)
    |
    {_REQUEST} \ (?:in|after)\ (\d{{1,9}}(?:\.\d{{1,12}})?)
    (?![\w:/-] | \.\d | \ (?:am|pm|times?|more|attempts?|retries)\b)
    """,
    re.VERBOSE | re.ASCII,
)
"""A wait in prose: an amount with units after a word that asks for it, or bare seconds."""


_REQUESTS = ("please", "before", "after", "until", "try")
_REQUEST_CHARS = 16
"""How close before `retrying in 4 s` a word stands that makes it a request, no announcement."""


class Waits(msgspec.Struct, frozen=True):
    """The least wait in seconds (rounded up), and the moment a window reopens (epoch ms).

    `wait_from` and `reset_from` name the source of the value: `header retry-after`, `text`.
    """

    retry_after_seconds: int | None = None
    reset_at_epoch_ms: int | None = None
    wait_from: str | None = None
    reset_from: str | None = None


class Wait(msgspec.Struct, frozen=True):
    """Seconds, and the source that stated them."""

    seconds: float
    carrier: str


class Moment(msgspec.Struct, frozen=True):
    """Epoch milliseconds, and the source that stated them."""

    epoch_ms: int
    carrier: str


def read_waits(evidence: Evidence) -> Waits:
    """Return the wait and the moment of a reset that the evidence states."""
    wait, moment = _stated_wait(evidence), _stated_moment(evidence)
    return Waits(
        math.ceil(round(wait.seconds, 6)) if wait else None,
        moment.epoch_ms if moment else None,
        wait.carrier if wait else None,
        moment.carrier if moment else None,
    )


def read_seconds(evidence: Evidence) -> float | None:
    """Return the wait in seconds that the evidence states, not rounded."""
    wait = _stated_wait(evidence)
    return wait.seconds if wait else None


def _stated_wait(evidence: Evidence) -> Wait | None:
    headers = evidence.headers
    milliseconds = parse_wait(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return Wait(milliseconds / 1000, "header retry-after-ms")
    from_header = _retry_after_header(headers)
    if from_header is not None:
        return Wait(from_header, "header retry-after")
    from_body = _body_wait(evidence)
    if from_body is not None:
        return from_body
    if evidence.wait_seconds is not None:
        return Wait(evidence.wait_seconds, "exception's retry_after")
    return _codex_wait(headers) or _empty_bucket_wait(headers) or _text_wait(evidence.folded)


def _retry_after_header(headers: dict[str, str]) -> float | None:
    seconds = parse_wait(headers.get("retry-after"))
    if seconds is not None:
        return seconds
    moment, now = _retry_after_date(headers), parse_moment(headers.get("date"))
    return (moment - now) / 1000 if moment is not None and now is not None else None


def _body_wait(evidence: Evidence) -> Wait | None:
    for key in _BODY_WAIT_KEYS:
        seconds = parse_wait(evidence.fields.get(key))
        if seconds is not None:
            return Wait(seconds / 1000 if key.endswith("ms") else seconds, f"field {key}")
    return None


def _codex_wait(headers: dict[str, str]) -> Wait | None:
    """Return the wait for the used-up window that reopens last."""
    waits = {
        name: parse_wait(headers.get(name)) or None
        for name in (f"x-codex-{w}-reset-after-seconds" for w in _used_up_windows(headers))
    }
    return _longest(waits)


def _longest(waits: dict[str, float | None]) -> Wait | None:
    stated = {name: seconds for name, seconds in waits.items() if seconds is not None}
    if not stated:
        return None
    name = max(stated, key=stated.__getitem__)
    return Wait(stated[name], f"header {name}")


def _used_up_windows(headers: dict[str, str]) -> list[str]:
    return [
        window
        for window in _CODEX_WINDOWS
        if (parse_wait(headers.get(f"x-codex-{window}-used-percent", "100")) or 0) >= _PER_CENT
    ]


def _empty_bucket_wait(headers: dict[str, str]) -> Wait | None:
    waits = {}
    for name, value in headers.items():
        if name.startswith("x-ratelimit-reset-"):
            bucket = name.removeprefix("x-ratelimit-reset-")
            if parse_wait(headers.get(f"x-ratelimit-remaining-{bucket}")) == 0:
                waits[name] = parse_wait(value)
    return _longest(waits)


def _text_wait(folded: str) -> Wait | None:
    seconds = wait_in_text(folded)
    return None if seconds is None else Wait(seconds, "text")


def wait_in_text(folded: str) -> float | None:
    """Return the wait that prose (lower case, single spaces) asks for, if it names one."""
    return _first_wait(folded, is_own=False)


def announced_wait(folded: str) -> float | None:
    """Return the wait until an agent's own next try, if prose announces one."""
    return _first_wait(folded, is_own=True)


def _first_wait(folded: str, *, is_own: bool) -> float | None:
    for match in _TEXT_WAIT.finditer(folded):
        if _is_own_retry(folded, match) is not is_own:
            continue
        amount = match.group(1) or match.group(2) or match.group(3)
        seconds = parse_wait(amount.replace(",", "").replace(" and ", " ").strip())
        if seconds is not None:
            return seconds
    return None


def _is_own_retry(folded: str, match: re.Match[str]) -> bool:
    """Return whether this announces an agent's own next try, which no server asked for."""
    if not match.group().startswith(("retrying", "trying", "waiting")):
        return False
    before = folded[max(0, match.start() - _REQUEST_CHARS) : match.start()]
    return not any(word in before for word in _REQUESTS)


def _stated_moment(evidence: Evidence) -> Moment | None:
    headers = evidence.headers
    for key in _BODY_MOMENT_KEYS:
        moment = parse_moment(evidence.fields.get(key))
        if moment is not None:
            return Moment(moment, f"field {key}")
    names = ["x-llm-error-reset-at", "anthropic-ratelimit-unified-reset"]
    names += [f"x-codex-{window}-reset-at" for window in reversed(_used_up_windows(headers))]
    for name in names:
        moment = parse_moment(headers.get(name))
        if moment is not None:
            return Moment(moment, f"header {name}")
    for moment, carrier in (
        (_retry_after_date(headers), "header retry-after"),
        (_empty_bucket_moment(headers), "header ratelimit-reset"),
    ):
        if moment is not None:
            return Moment(moment, carrier)
    piped = _PIPED_MOMENT.search(evidence.folded)
    moment = parse_moment(piped.group(1)) if piped else None
    return None if moment is None else Moment(moment, "text")


def _retry_after_date(headers: dict[str, str]) -> int | None:
    """Read `Retry-After` as a date; one already past when the server wrote it does not count."""
    stated = headers.get("retry-after", "")
    moment = parse_moment(stated) if not stated.replace(".", "").isdigit() else None
    now = parse_moment(headers.get("date"))
    return None if moment is None or (now is not None and moment < now) else moment


def _empty_bucket_moment(headers: dict[str, str]) -> int | None:
    moments = [
        parse_moment(value)
        for name, value in headers.items()
        if re.fullmatch(_ANTHROPIC_RESET, name)
        and headers.get(f"{name.removesuffix('reset')}remaining") == "0"
    ]
    if headers.get("x-ratelimit-remaining", "0") == "0":
        moments.append(parse_moment(headers.get("x-ratelimit-reset")))
    return max((moment for moment in moments if moment is not None), default=None)
