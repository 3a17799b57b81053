"""What is played as on macOS, and what is not, each with its reason."""

from __future__ import annotations

PLAYED = (
    "platform",
    "sidecar/test_sidecar_crashes.py",
    "sidecar/test_sidecar_turns.py",
)

SEARCHES = "looks for processes in /proc"
LINUX_ONLY = {
    "platform/test_process.py::test_the_last_words_of_a_child_fit_into_its_pipes": (
        "a pipe of macOS has 64 KiB at most"
    ),
    "platform/test_process.py::test_an_ended_child_keeps_its_pid_until_it_is_reaped": (
        "`waitpid` reads its end there, and reaps it: Python before 3.13 has no `waitid`"
    ),
    "platform/test_process.py::test_a_guardian_that_somebody_killed_can_be_disarmed": (
        "waits by `waitid`"
    ),
    "platform/test_spawned_guardian.py": SEARCHES,
    "platform/test_silence_sources.py": "what only /proc knows of an agent",
}
"""By file or test below `tests/process`."""
