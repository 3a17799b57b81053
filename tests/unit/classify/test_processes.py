"""How a process ended, from its status and its last words."""

from __future__ import annotations

import pytest

from lastword.core.classify import (
    classify_exit,
    classify_spawn_failure,
    classify_text,
    own_failure,
)
from lastword.core.failure.sentences import exit_status_words
from lastword.core.failure.taxonomy import ErrorType
from tests.kit.rows import every

HEAP = "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory"


@every(
    ("code", "signal", "tail", "reason", "retryable", "name"),
    [
        (None, 9, "", "killed", True, "SIGKILL"),

        (137, None, "", "killed", True, "SIGKILL"),
        (134, None, HEAP, "oom", True, "SIGABRT"),
        (None, 11, "Segmentation fault", "native_crash", True, "SIGSEGV"),
        (143, None, "", "terminated", True, "SIGTERM"),
        (-64, None, "", "native_crash", True, "signal 64"),
        (127, None, "env: node: No such file or directory", "spawn_failed", False, None),
        (126, None, "Permission denied", "spawn_failed", False, None),
        (1, None, "Traceback (most recent call last):\n  x\nMemoryError", "oom", True, None),
        (1, None, "Traceback (most recent call last):\n  x\nKeyError: 'a'", "uncaught_exception",
         False, None),
        (1, None, "Error: boom\n    at main (a.js:1:7)", "uncaught_exception", False, None),
        (101, None, "thread 'main' panicked at src/main.rs:1", "panic", False, None),
        (2, None, "panic: nil map\n\ngoroutine 1 [running]:", "panic", False, None),
        (1, None, "java.lang.OutOfMemoryError: Java heap space", "oom", True, None),
        (2, None, "usage: agent [-h]\nagent: error: unrecognized arguments", "bad_arguments",
         False, None),
        (0, None, "", "premature_exit", True, None),
        (1, None, "", "exit_status", False, None),
        (None, None, "", "connection_closed", True, None),
        (0xC0000005, None, "", "native_crash", True, None),
        (0xC0000409 - (1 << 32), None, "", "aborted", True, None),
        (0xC000012D, None, "", "oom", True, None),
        (0xC0000135, None, "", "missing_library", False, None),
        (0xE0434352, None, "", "uncaught_exception", False, None),
        (0x40010004, None, "", "terminated", True, None),
        (1, None, "Fatal Python error: Aborted", "native_crash", True, None),
    ],
)  # fmt: skip
def test_an_exit_in_mid_turn_is_a_crash(  # noqa: PLR0913 - one row of the table
    code: int | None, signal: int | None, tail: str, reason: str, *, retryable: bool,
    name: str | None,
) -> None:  # fmt: skip
    verdict = classify_exit(exit_code=code, exit_signal=signal, stderr_tail=tail)
    assert verdict.type is ErrorType.AGENT_CRASH
    assert (verdict.reason, verdict.retryable) == (reason, retryable)
    assert verdict.exit_signal == name


@pytest.mark.parametrize("code", [130, -2, 3221225786])
def test_control_c_is_a_cancel(code: int) -> None:
    verdict = classify_exit(exit_code=code)
    assert (verdict.type, verdict.reason) == (ErrorType.CANCELLED, "interrupted")


def test_an_exit_while_idle_is_not_premature() -> None:
    assert classify_exit(exit_code=0, in_turn=False).reason == "exited"


def test_the_last_words_are_kept_as_detail() -> None:
    verdict = classify_exit(exit_code=1, stderr_tail="x" * 100_000 + "the end\n")
    assert verdict.detail is not None
    assert verdict.detail.endswith("the end")
    assert len(verdict.detail) < 10_000


@pytest.mark.parametrize("code", [2, 8, 13, 12, 0, -1, 10**30])
def test_a_process_that_never_started_is_not_retryable(code: int) -> None:
    verdict = classify_spawn_failure(code, "/opt/agent\n" * 1000)
    assert verdict.type is ErrorType.AGENT_CRASH
    assert (verdict.reason, verdict.retryable) == ("spawn_failed", False)
    assert verdict.detail is not None
    assert len(verdict.detail) < 1000


def test_a_failure_of_our_own_carries_its_reason_and_the_types_defaults() -> None:
    stalled = own_failure(ErrorType.AGENT_STALLED, "idle_timeout", detail="no update for 900 s")
    assert (stalled.retryable, stalled.reason) == (True, "idle_timeout")
    assert not own_failure(ErrorType.AGENT_STALLED, "runaway").retryable
    assert not own_failure(ErrorType.AGENT_CRASH, "crash_loop").retryable
    assert own_failure(ErrorType.INTERNAL).reason is None


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (3, "exit status 3"),
        (-11, "exit status -11"),
        (0xC0000005, "exit status 0xC0000005 (access violation)"),
        (0xC0000135 - (1 << 32), "exit status 0xC0000135 (DLL not found)"),
        (0xC0FFEE00, "exit status 0xC0FFEE00"),
    ],
)
def test_a_status_of_windows_has_its_name(code: int, words: str) -> None:
    assert exit_status_words(code) == words


@pytest.mark.parametrize(
    ("words", "code", "reason"),
    [
        (
            "/lib64/libc.so.6: version `GLIBC_2.34' not found (required by agent)",
            1,
            "missing_library",
        ),
        ("error while loading shared libraries: libssl.so.1.1", 127, "missing_library"),
        ("SyntaxError: '??='\n at Loader.moduleStrategy (x.js:1:1)", 1, "runtime_version"),
        ("npm WARN EBADENGINE Unsupported engine", 1, "runtime_version"),
        ("Error: Cannot find module '/opt/agent/index.js'", 1, "file_not_found"),
        ("sh: agent: not found: cannot find module", 127, "spawn_failed"),
    ],
)
def test_a_program_that_cannot_run_here_says_why(words: str, code: int, reason: str) -> None:
    verdict = classify_exit(exit_code=code, stderr_tail=words)
    assert (verdict.type, verdict.reason, verdict.retryable) == ("agent_crash", reason, False)
    if code == 1:
        assert classify_text(words).reason == reason
