"""Process endings: exit codes, signals, and the last lines of stderr.

Shells report a death by signal N as 128+N, Python as -N, Windows as an NTSTATUS; all three are
read. Only signals, exhausted memory and an exit with 0 during a turn are worth a retry; what the
program itself raised, or could not start, would only happen again. What each signal, code and word
means is in `protocol/failures/process.json`.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from lastword.core.classify.evidence import ProcessEnding
from lastword.core.classify.text import phrase_in
from lastword.core.failure.taxonomy import ErrorType
from lastword.quirks import failure_groups

_NOT_FOUND = 127

_GROUPS = failure_groups("process")


def _rows(tier: str) -> dict[Any, dict[str, Any]]:
    """Return the rows of one tier by the number that each matches; `other` is for all others."""
    return {row["match"]: row for group in _GROUPS if group.tier == tier for row in group.entries}


_SIGNALS = _rows("signal")
_WINDOWS_STATUSES = _rows("windows_status")
_EXIT_CODES = _rows("exit_code")
_OTHER_SIGNAL, _OTHER_CODE = _SIGNALS.pop("other"), _EXIT_CODES.pop("other")
SIGNALS: dict[int, str] = {number: row["name"] for number, row in _SIGNALS.items()}
"""Signal numbers as Linux has them, by name; the core may not ask the platform."""


def _signs(tier: str) -> tuple[tuple[str, str], ...]:
    """Return the signs of one tier with their reasons."""
    groups = (group for group in _GROUPS if group.tier == tier)
    return tuple((sign, group.reason or "") for group in groups for sign in group.matches)


_MEMORY_SIGNS = tuple(sign for sign, _ in _signs("memory"))
_SPAWN_SIGNS = tuple(sign for sign, _ in _signs("spawn"))
_NATIVE_SIGNS = tuple(sign for sign, _ in _signs("native"))
_CRASHES = [group for group in _GROUPS if group.tier == "crash"]
_EXCEPTION_SIGNS = _signs("exception")
_START_SIGNS = _signs("start")

_JOB_REPORT = (
    r"[:\uff1a] ?[^\d:\uff1a\n]{0,16}\d{1,6}[^\d:\uff1a\n]{0,12}[:\uff1a] ?"
    r" {0,5}\d{2,7} \S[^\n]{0,40}?  +\S"
    r"|\bzsh: [a-z][a-z ]{3,30}?  +\S"
)
"""A shell's report of a job that a signal ended: `x.sh: line 3: 12345 Killed      node acp`.

In any language: the number of a line, of a process, words, and the command in its own column.
"""


def read_start_failure(words: str) -> str | None:
    """Return why a program cannot run on this system, if its last (lower-case) words say so."""
    return next((reason for sign, reason in _START_SIGNS if sign in words), None)


def read_crash(text: str, folded: str) -> tuple[str, ProcessEnding] | None:
    """Return the sign of a crash or of a failed start that a text holds, and its meaning."""
    if "  " in text and re.search(_JOB_REPORT, text):
        native = any(sign in folded for sign in _NATIVE_SIGNS)
        return "job", ProcessEnding("native_crash" if native else "killed", retryable=True)
    for group in _CRASHES:
        sign = phrase_in(folded, group.matches)
        if sign is not None:
            return sign, ProcessEnding(str(group.reason), retryable=group.retryable is True)
    return None


def read_ending(
    exit_code: int | None, exit_signal: int | None, stderr_tail: str, *, in_turn: bool = True
) -> ProcessEnding:
    """Return the meaning of a process's end, by its status first, then by its last words."""
    # A graphics card's memory is not the process's.
    words = stderr_tail.lower().replace("cuda out of memory", "").replace("cuda.outofmemory", "")
    number, code = _signal_of(exit_code, exit_signal)
    if number is not None:
        name = SIGNALS.get(number) or (f"signal {number}" if number < 65 else "signal")  # noqa: PLR2004
        ending = _ending_of(_SIGNALS.get(number, _OTHER_SIGNAL), code, name)
        if not ending.cancelled and any(sign in words for sign in _MEMORY_SIGNS):
            return msgspec.structs.replace(ending, reason="oom")
        if not ending.cancelled and "overflowed its stack" in words:
            return msgspec.structs.replace(ending, reason="native_crash")
        return ending
    if code in _WINDOWS_STATUSES:
        return _ending_of(_WINDOWS_STATUSES[code], code)
    if any(sign in words for sign in _MEMORY_SIGNS):
        return ProcessEnding("oom", retryable=True, exit_code=code)
    unable = read_start_failure(words) if code != 0 else None
    if unable is not None and (code != _NOT_FOUND or unable == "missing_library"):
        return ProcessEnding(unable, retryable=False, exit_code=code)
    if code in _EXIT_CODES and code != 0:
        return _ending_of(_EXIT_CODES[code], code)
    if any(sign in words for sign in _NATIVE_SIGNS):
        return ProcessEnding("native_crash", retryable=True, exit_code=code)
    for sign, reason in _EXCEPTION_SIGNS:
        if sign in words:
            return ProcessEnding(reason, retryable=False, exit_code=code)
    if code is None:
        return ProcessEnding("connection_closed", retryable=True)
    if code == 0 and not in_turn:
        return ProcessEnding("exited", retryable=True, exit_code=code)
    return _ending_of(_EXIT_CODES.get(code, _OTHER_CODE), code)


def _ending_of(row: dict[str, Any], code: int | None, signal: str | None = None) -> ProcessEnding:
    """Return the ending that the row of a signal or an exit code describes."""
    cancelled = row["type"] == ErrorType.CANCELLED
    return ProcessEnding(row["reason"], row["retryable"], code, signal, cancelled=cancelled)


def _signal_of(code: int | None, signal: int | None) -> tuple[int | None, int | None]:
    """Return the signal number and remaining exit code, given -N, 128+N or a separate signal."""
    if signal is not None and signal != 0:
        return abs(signal), None
    if code is None:
        return None, None
    if -64 <= code < 0:  # noqa: PLR2004 - Linux has 64 signals
        return -code, None
    if code - 128 in SIGNALS:
        return code - 128, code
    if code < 0 and code & 0xFFFFFFFF in _WINDOWS_STATUSES:
        return None, code & 0xFFFFFFFF
    return None, code


def is_spawn_text(folded: str) -> bool:
    """Return whether a message says that a program could not be started."""
    return any(sign in folded for sign in _SPAWN_SIGNS)
