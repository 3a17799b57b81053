"""Records of an agent's own log or session file in an unknown format, judged by their form alone.

A record is a line, or several if only the first has a time. Owns which records report a failed
model call. Such files also contain prompts and the output of tools, so a record needs two different
signs: its writer marks it as a failure (a level, a status, a stop reason), and its text is a
provider's error that the tables know. Text from a prompt, a tool or another server is never
considered. It reads no file and no clock.
"""

from __future__ import annotations

import re
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import msgspec

from lastword.core.classify import classify, read_lines, writers
from lastword.sidecar.journal_files import MARKS
from lastword.sidecar.journal_lines import (
    MAX_ATTEMPT,
    MAX_LINE_BYTES,
    MAX_TEXT_BYTES,
    MAX_WAIT_SECONDS,
    FailedCall,
    moment,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lastword.sidecar.journal_files import News

_MAX_DEPTH, _MAX_LEAVES = 6, 256
_HEAD_CHARS = 240
"""How much of a line shows its subject; the rest may quote anything."""

_MOMENT = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?", re.ASCII
)
_LEVEL = re.compile(
    r"\b(?:WARN(?:ING)?|ERR(?:OR)?|FATAL|CRITICAL|SEVERE)\b|\blevel=\"?(?:warn|err|fatal|crit)"
)
_MEMBER_OF_CALL = re.compile(r"\"(?:model|provider|llm)\w{0,12}\"\s*:", re.IGNORECASE)
"""A member that only an entry about a model call has."""

_AGAIN = re.compile(r"\b(?:re-?try(?:ing)?|will retry|reconnecting|trying again)\b", re.IGNORECASE)
_ATTEMPT = re.compile(r"\battempt\W{1,3}(\d{1,4})(?:\s?(?:/|of)\s?(\d{1,4}))?", re.IGNORECASE)
_WAIT = re.compile(
    r"\b(?:delay|wait(?:ing)?|in|after)[ =:]{1,2}(\d{1,6}(?:\.\d{1,6})?) ?s(?:ec\w*)?\b",
    re.IGNORECASE,
)


_WORD = re.compile(r"[^\W\d_]{3,}")
_OF_RETRIES = frozenset({
    *("retry", "retrying", "retries", "retried", "trying", "try", "tries", "again", "reconnecting"),
    *("attempt", "attempts", "will", "failed", "failure", "error", "after", "waiting", "wait"),
    *("delay", "backoff", "exponential", "with", "the", "for", "max", "maximum", "due", "sec"),
    *("seconds", "second", "request", "requests", "call", "stream", "turn", "response", "now"),
    *("model", "llm", "api", "provider", "completion", "inference", "sampling", "transient"),
})  # fmt: skip
"""Words in a line about a retry of a model call, or about one that names no other subject."""

_BEGIN = re.compile(rb"\[?(?:\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d)|\{|[ \t\r]*$")
"""The beginning of a line that does not continue the record before it."""

_FRAME = re.compile(r"^[ \t]++(?:at |File \").*$", re.MULTILINE)
"""A line of a stack trace: its paths and names do not describe the failure."""

_PAGE = re.compile(rb"<(?:html|!doctype)[^>]{0,80}>\s*$", re.IGNORECASE)
_PAGE_LINES = 4
_RECORD_LINES = 16
MAX_RECORDS = 32


def records(news: News) -> list[tuple[int, bytes]]:
    """Return the last records with a mark and their positions; an error page is one record."""
    lines = news.data.split(b"\n")
    positions = list(accumulate((len(line) + 1 for line in lines), initial=news.begin))
    ends: dict[int, int] = {}
    for number in range(len(lines) - 1, -1, -1):
        if MARKS.search(lines[number]) is None:
            continue
        # The record's first line, or else this line itself.
        first = number
        for earlier in range(number, max(number - _RECORD_LINES, -1), -1):
            if _BEGIN.match(lines[earlier]) is not None:
                if lines[earlier].strip():
                    first = earlier
                break
        end = first + 1
        if _PAGE.search(lines[first]) is not None and lines[first][:1] != b"{":
            end = first + _PAGE_LINES
        elif lines[first][:1] != b"{":
            most = min(first + _RECORD_LINES, len(lines))
            while end < most and _BEGIN.match(lines[end]) is None:
                end += 1
        ends.setdefault(first, end)
        if len(ends) == MAX_RECORDS:
            break
    return [(positions[first], b"\n".join(lines[first:end])) for first, end in sorted(ends.items())]


def read_own_line(line: bytes, *, of_session: bool) -> FailedCall | None:
    """Return the failed model call that a record reports; `None` if it reports none.

    Args:
        line: A whole record.
        of_session: Whether the file is the session's own, or the record names the session.
    """
    if len(line) > MAX_LINE_BYTES or MARKS.search(line) is None:
        return None
    if line[:1] == b"{":
        return _from_object(line, of_session=of_session)
    return _from_text(line[:MAX_TEXT_BYTES].decode(errors="replace"))


# --- lines of text -------------------------------------------------------------------------------


def _from_text(line: str) -> FailedCall | None:
    match = _MOMENT.search(line, 0, 80)
    if match is None:
        return None
    level = _LEVEL.search(line, match.end(), match.end() + 64) or _LEVEL.search(line, 0, 64)
    at = moment(match[0].replace(",", "."))
    if level is None or at is None:
        return None
    text = line[max(level.end(), match.end()) :].lstrip(" \t|:-]")
    text = writers.COLOUR.sub("", _FRAME.sub("", text))
    head = text[:_HEAD_CHARS]
    again = _AGAIN.search(head)
    if writers.is_foreign(text):
        return None
    if not writers.has_form(text):
        # A record may also say that something is retried and, on its next lines, why. An agent need
        # not name its model call there, but if the line names anything else, that is retried.
        first, _, cause = text.partition("\n")
        words = map(str.lower, _WORD.findall(first[:_HEAD_CHARS]))
        if again is None or not cause or not _OF_RETRIES.issuperset(words):
            return None
    verdict = read_lines(text, source="log")
    if verdict is None or not writers.names_call(verdict):
        return None
    tried = _ATTEMPT.search(head) if again else None
    wait = _WAIT.search(head) if again else None
    return FailedCall(
        at_epoch=at,
        verdict=verdict,
        attempt=int(tried[1]) + 1 if tried else None,
        max_attempts=int(tried[2]) + 1 if tried and tried[2] else None,
        wait_seconds=float(wait[1]) if wait else None,
        goes_on=True if again else None,
        may_go_on=writers.may_go_on(f"{level[0]} {text}"),
    )


# --- lines that are JSON objects -----------------------------------------------------------------

_MOMENTS = ("timestamp", "time", "ts", "at", "date", "datetime", "createdAt", "created_at")
_SPOKEN = frozenset({
    *("content", "contents", "text", "parts", "input", "output", "arguments", "args", "params"),
    *("prompt", "tools", "tool", "tooluseresult", "toolresult", "toolcall", "result", "results"),
    *("messages", "history", "sections", "snapshot", "diff", "stdout", "command", "thinking"),
})  # fmt: skip
"""Members with messages or a tool's data: nothing below them is read."""
_SPEAKERS = frozenset({"user", "tool", "system", "developer", "function", "human"})
_ERRORS = frozenset({"error", "err", "exception", "failure", "lasterror"})
_WHOLE_ERRORS = frozenset({"errormessage", "errmsg", "errormsg", "errortext"})
_MESSAGES = frozenset({"message", "msg"})
_STATUSES = frozenset({"status", "statuscode", "httpstatus", "httpstatuscode", "errorstatus"})
_CODES, _CLASSES = frozenset({"code", "type", "errortype", "errorcode"}), frozenset({"name"})
_KINDS = frozenset({
    *("type", "subtype", "event", "eventname", "kind", "level", "severity", "stopreason"),
    *("finishreason", "reason", "outcome", "status", "state"),
})  # fmt: skip
_FAILED = re.compile(r"error|fail|retry|warn|interrupt", re.IGNORECASE)
_KIND_BESIDE = re.compile(
    r"(?<![a-z])(?:mcp|hook|plugin|tool|extension|title|bash|shell|command|user|subagent)",
    re.IGNORECASE,
)
_ATTEMPTS = frozenset({"attempt", "retryattempt", "retrycount"})
_MOST = frozenset({"maxattempts", "maxretries"})
_WAITS_MS = frozenset({"retryinms", "retrydelayms", "delayms", "waitms"})
_STATUS_FROM, _STATUS_TO = 400, 599
_WITHIN = frozenset({"data", "cause", "details", "response", "body"})
"""Members with an error's details."""

_ERROR_EVENT = re.compile(r"[._-]error$")
"""The name of an event that is an error, such as `session.error`."""

_NOT_OF_TURN = frozenset({"issidechain", "sidechain", "issidetask"})
"""Members that are true if the call was not part of the turn itself."""


class _Report(msgspec.Struct):
    """A failure as a JSON object reports it, collected from its leaves."""

    message: str | None = None
    status: int | None = None
    code: str | None = None
    name: str | None = None
    failed: bool = False
    beside: bool = False
    warns: bool = False
    attempt: int | None = None
    most: int | None = None
    wait_ms: float | None = None

    def add(self, parent: str, key: str, value: str | float) -> None:
        """Add a member that is a string or a number."""
        if isinstance(value, str):
            within = parent in _ERRORS
            if key in _WHOLE_ERRORS or key in _ERRORS or (within and key in _MESSAGES):
                self.message = self.message or value
            elif (within and key in _CODES) or key in {"errortype", "errorcode"}:
                self.code = self.code or value
            elif within and key in _CLASSES:
                self.name = value
            if key in _KINDS and not within:
                self.failed = self.failed or _FAILED.search(value) is not None
                self.beside = self.beside or _KIND_BESIDE.search(value) is not None
                self.warns = self.warns or writers.may_go_on(value)
        elif key in _STATUSES and _STATUS_FROM <= value <= _STATUS_TO:
            self.status = self.status or int(value)
        elif key in _ATTEMPTS and 0 <= value <= MAX_ATTEMPT:
            self.attempt = int(value) + 1
        elif key in _MOST and 0 <= value <= MAX_ATTEMPT:
            self.most = int(value) + 1
        elif key in _WAITS_MS and 0 <= value <= MAX_WAIT_SECONDS * 1000:
            self.wait_ms = value


def _from_object(line: bytes, *, of_session: bool) -> FailedCall | None:
    try:
        whole = msgspec.json.decode(line)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None
    at = next((at for key in _MOMENTS if (at := moment(whole.get(key))) is not None), None)
    report = _Report()
    for parent, key, value in _leaves(whole):
        report.add(parent, key, value)
    if at is None or not report.message or report.beside or not (report.failed or report.status):
        return None
    if any(value is True and _plain(name) in _NOT_OF_TURN for name, value in whole.items()):
        return None
    text = line[:MAX_TEXT_BYTES].decode(errors="replace")
    if not of_session and (
        writers.is_foreign(text)
        or not (writers.has_form(text) or _MEMBER_OF_CALL.search(text) is not None)
    ):
        return None
    verdict = classify(
        {
            "message": report.message,
            "http_status": report.status,
            "code": report.code,
            "exception_class": report.name,
        }
    )
    if not writers.names_call(verdict):
        return None
    return FailedCall(
        at_epoch=at,
        verdict=verdict,
        attempt=report.attempt,
        max_attempts=report.most,
        wait_seconds=None if report.wait_ms is None else report.wait_ms / 1000,
        goes_on=True if report.attempt is not None else None,
        may_go_on=report.warns or writers.may_go_on(report.message),
    )


def _leaves(whole: dict[str, Any]) -> Iterator[tuple[str, str, str | float]]:
    """Yield an object's strings and numbers, with their names and parents, but no messages."""
    is_error = any(_ERROR_EVENT.search(str(whole.get(name))) for name in ("type", "event", "kind"))
    waiting: list[tuple[str, dict[str, Any], int]] = [("", whole, 0)]
    left = _MAX_LEAVES
    while waiting and left > 0:
        parent, each, depth = waiting.pop(0)
        if each.get("role") in _SPEAKERS:
            continue
        for name, value in each.items():
            key = _plain(name)
            left -= 1
            if isinstance(value, dict):
                if depth < _MAX_DEPTH and key not in _SPOKEN:
                    more = parent in _ERRORS or (is_error and each is whole)
                    owner = "error" if more and key in _WITHIN else key
                    waiting.append((owner, value, depth + 1))
            elif isinstance(value, bool) or key in _SPOKEN:
                continue
            elif isinstance(value, str | int | float):
                yield parent, key, value


def _plain(name: str) -> str:
    """Return a member's name without separators."""
    return "".join(char for char in name.lower() if char.isalnum())


_SESSION = re.compile(rb"session[._ -]?id[\"\s:=]{1,4}([\w.-]{8,128})", re.IGNORECASE)
_PID = re.compile(rb"\bpid[\"\s:=]{1,4}(\d{1,9})\b", re.IGNORECASE)


def named_session(line: bytes) -> bytes | None:
    """Return the session that a line names, in a log that several processes may write."""
    named = _SESSION.search(line)
    return None if named is None else named[1]


def named_process(line: bytes) -> int | None:
    named = _PID.search(line)
    return None if named is None else int(named[1])
