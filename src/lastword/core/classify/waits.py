"""When to try again: the wait and the reset moment out of headers, body, exception and prose.

A server's value is a minimum. The order is fixed (`FAILURES.md` of the design: a header beats the
body, the body beats the exception, prose comes last); a value that makes no sense is skipped, not
replaced.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

import msgspec

from lastword.core.classify.durations import UNIT, parse_moment, parse_wait

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
_ANTHROPIC_RESET = re.compile(r"anthropic-(?:priority-)?ratelimit-([a-z-]{1,32})-reset")

_ASKED = r"""
    \b(?:try(?:ing)?\ again | retry(?:ing)?(?:\ again)? | resets? | wait(?:ing)?
       | available\ again | cooldown) (?:\ your\ request)?
"""
_TEXT_WAIT = re.compile(
    rf"""
    {_ASKED} (?:\ (?:in|after|for))? (?:\ (?:about|approximately|at\ least))? [ :~]{{1,2}}
    ((?:\d{{1,9}}(?:\.\d{{1,12}})?\ ?{UNIT}(?:,?\ and\ |,\ |\ )?){{1,5}}) (?![a-z0-9])
    |
    {_ASKED} \ (?:in|after)\ (\d{{1,9}}(?:\.\d{{1,12}})?)
    (?![\w:/-] | \.\d | \ (?:am|pm|times?|more|attempts?|retries)\b)
    """,
    re.VERBOSE | re.ASCII,
)
"""A wait in prose: an amount with units after a word that asks for it, or bare seconds."""


class Waits(msgspec.Struct, frozen=True):
    """Seconds to wait at least (rounded up), and the moment a window opens again (epoch ms)."""

    retry_after_seconds: int | None = None
    reset_at_epoch_ms: int | None = None


def read_waits(evidence: Evidence) -> Waits:
    """The wait and the reset moment that the evidence states."""
    seconds = read_seconds(evidence)
    return Waits(
        math.ceil(round(seconds, 6)) if seconds is not None else None, _reset_moment(evidence)
    )


def read_seconds(evidence: Evidence) -> float | None:
    """The wait in seconds that the evidence states, not rounded."""
    headers = evidence.headers
    milliseconds = parse_wait(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    from_header = _retry_after_header(headers)
    if from_header is not None:
        return from_header
    from_body = _body_wait(evidence)
    if from_body is not None:
        return from_body
    if evidence.wait_seconds is not None:
        return evidence.wait_seconds
    from_codex = _codex_wait(headers)
    if from_codex is not None:
        return from_codex
    from_buckets = _empty_bucket_wait(headers)
    if from_buckets is not None:
        return from_buckets
    return wait_in_text(evidence.folded)


def _retry_after_header(headers: dict[str, str]) -> float | None:
    seconds = parse_wait(headers.get("retry-after"))
    if seconds is not None:
        return seconds
    moment, now = _retry_after_date(headers), parse_moment(headers.get("date"))
    return (moment - now) / 1000 if moment is not None and now is not None else None


def _body_wait(evidence: Evidence) -> float | None:
    for key in _BODY_WAIT_KEYS:
        seconds = parse_wait(evidence.fields.get(key))
        if seconds is not None:
            return seconds / 1000 if key.endswith("ms") else seconds
    return None


def _codex_wait(headers: dict[str, str]) -> float | None:
    """Of the windows that are used up, the one that opens last."""
    waits = [
        parse_wait(headers.get(f"x-codex-{window}-reset-after-seconds"))
        for window in _used_up_windows(headers)
    ]
    return max((seconds for seconds in waits if seconds), default=None)


def _used_up_windows(headers: dict[str, str]) -> list[str]:
    return [
        window
        for window in _CODEX_WINDOWS
        if (parse_wait(headers.get(f"x-codex-{window}-used-percent", "100")) or 0) >= _PER_CENT
    ]


def _empty_bucket_wait(headers: dict[str, str]) -> float | None:
    waits = []
    for name, value in headers.items():
        if name.startswith("x-ratelimit-reset-"):
            bucket = name.removeprefix("x-ratelimit-reset-")
            if parse_wait(headers.get(f"x-ratelimit-remaining-{bucket}")) == 0:
                seconds = parse_wait(value)
                if seconds is not None:
                    waits.append(seconds)
    return max(waits, default=None)


def wait_in_text(folded: str) -> float | None:
    """The wait that prose (lower case, single spaces) asks for, if it names one."""
    for found in _TEXT_WAIT.finditer(folded):
        amount = found.group(1) or found.group(2)
        seconds = parse_wait(amount.replace(",", "").replace(" and ", " ").strip())
        if seconds is not None:
            return seconds
    return None


def _reset_moment(evidence: Evidence) -> int | None:
    headers = evidence.headers
    for key in _BODY_MOMENT_KEYS:
        moment = parse_moment(evidence.fields.get(key))
        if moment is not None:
            return moment
    names = ["x-llm-error-reset-at", "anthropic-ratelimit-unified-reset"]
    names += [f"x-codex-{window}-reset-at" for window in reversed(_used_up_windows(headers))]
    for name in names:
        moment = parse_moment(headers.get(name))
        if moment is not None:
            return moment
    for moment in (_retry_after_date(headers), _empty_bucket_moment(headers)):
        if moment is not None:
            return moment
    piped = _PIPED_MOMENT.search(evidence.folded)
    return parse_moment(piped.group(1)) if piped else None


def _retry_after_date(headers: dict[str, str]) -> int | None:
    """`Retry-After` as a date; one that had passed when the server wrote it is none."""
    stated = headers.get("retry-after", "")
    moment = parse_moment(stated) if not stated.replace(".", "").isdigit() else None
    now = parse_moment(headers.get("date"))
    return None if moment is None or (now is not None and moment < now) else moment


def _empty_bucket_moment(headers: dict[str, str]) -> int | None:
    moments = [
        parse_moment(value)
        for name, value in headers.items()
        if _ANTHROPIC_RESET.fullmatch(name)
        and headers.get(f"{name.removesuffix('reset')}remaining") == "0"
    ]
    if headers.get("x-ratelimit-remaining", "0") == "0":
        moments.append(parse_moment(headers.get("x-ratelimit-reset")))
    return max((moment for moment in moments if moment is not None), default=None)
