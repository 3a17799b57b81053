"""Process endings: exit codes, signals, and the last lines of stderr.

Shells report a death by signal N as 128+N, Python as -N, Windows as an NTSTATUS; all three are
read. Only signals, exhausted memory and an exit with 0 during a turn are worth a retry; what the
program itself raised, or could not start, would only happen again. The words by which that is known
are in `protocol/failures/process.json`.
"""

from __future__ import annotations

import re

from lastword.core.classify.evidence import ProcessEnding
from lastword.core.classify.text import phrase_in
from lastword.core.failure.sentences import CTRL_C, WINDOWS_STATUSES, WOULD_HAPPEN_AGAIN
from lastword.quirks import failure_groups

SIGNALS = {
    1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 7: "SIGBUS",
    8: "SIGFPE", 9: "SIGKILL", 10: "SIGUSR1", 11: "SIGSEGV", 12: "SIGUSR2", 13: "SIGPIPE",
    14: "SIGALRM", 15: "SIGTERM", 24: "SIGXCPU", 25: "SIGXFSZ", 31: "SIGSYS",
}  # fmt: skip
"""Signal numbers as Linux has them, by name; the core may not ask the platform."""

_SIGNAL_REASONS = {
    "SIGKILL": "killed",
    "SIGTERM": "terminated",
    "SIGHUP": "terminated",
    "SIGQUIT": "terminated",
    "SIGABRT": "aborted",
    "SIGXCPU": "cpu_limit",
    "SIGPIPE": "broken_pipe",
}

_NOT_FOUND = 127

_GROUPS = failure_groups("process")


def _signs(tier: str) -> tuple[tuple[str, str], ...]:
    """Return the signs of one tier, each with its reason."""
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

In any language: the number of a line, of a process, words, and the command in a column of its own.
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
    """Return the meaning of a process's end, by its status first and its last words second."""
    # The memory of a graphics card is not the process's.
    words = stderr_tail.lower().replace("cuda out of memory", "").replace("cuda.outofmemory", "")
    number, code = _signal_of(exit_code, exit_signal)
    if number is not None:
        return _by_signal(number, code, words)
    if code in WINDOWS_STATUSES:
        reason = WINDOWS_STATUSES[code][1]
        retryable = reason not in WOULD_HAPPEN_AGAIN
        return ProcessEnding(reason, retryable, exit_code=code, cancelled=code == CTRL_C)
    if any(sign in words for sign in _MEMORY_SIGNS):
        return ProcessEnding("oom", retryable=True, exit_code=code)
    unable = read_start_failure(words) if code != 0 else None
    if unable is not None and (code != _NOT_FOUND or unable == "missing_library"):
        return ProcessEnding(unable, retryable=False, exit_code=code)
    if code in {126, _NOT_FOUND}:
        return ProcessEnding("spawn_failed", retryable=False, exit_code=code)
    if any(sign in words for sign in _NATIVE_SIGNS):
        return ProcessEnding("native_crash", retryable=True, exit_code=code)
    for sign, reason in _EXCEPTION_SIGNS:
        if sign in words:
            return ProcessEnding(reason, retryable=False, exit_code=code)
    if code == 0:
        return ProcessEnding(
            "premature_exit" if in_turn else "exited", retryable=True, exit_code=code
        )
    if code is None:
        return ProcessEnding("connection_closed", retryable=True)
    return ProcessEnding("exit_status", retryable=False, exit_code=code)


_EXIT_CODE = (
    r"(?:exit(?:ed)?|terminated|failed) (?:with )?(?:exit )?(?:code|status):? ?(-?\d{1,10})\b"
)


def exit_code_in(folded: str) -> int | None:
    """Return the exit code that prose states: `process exited with code 143`."""
    match = re.search(_EXIT_CODE, folded)
    return int(match.group(1)) if match else None


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
    if code < 0 and code & 0xFFFFFFFF in WINDOWS_STATUSES:
        return None, code & 0xFFFFFFFF
    return None, code


def _by_signal(number: int, code: int | None, words: str) -> ProcessEnding:
    name = SIGNALS.get(number, f"signal {number}" if number < 65 else "signal")  # noqa: PLR2004
    if name == "SIGINT":
        return ProcessEnding("interrupted", False, code, name, cancelled=True)  # noqa: FBT003
    reason = _SIGNAL_REASONS.get(name, "native_crash")
    if any(sign in words for sign in _MEMORY_SIGNS):
        reason = "oom"
    elif "overflowed its stack" in words:
        reason = "native_crash"
    return ProcessEnding(reason, True, code, name)  # noqa: FBT003


def is_spawn_text(folded: str) -> bool:
    """Return whether a message says that a program could not be started."""
    return any(sign in folded for sign in _SPAWN_SIGNS)
