"""What is played as on macOS, and what is not, each with its reason."""

from __future__ import annotations

_DOCTOR = "cli/test_doctor.py"
_GATEWAY, _RESTART = "gateway/test_commands.py", "sidecar/test_sidecar_restart.py"
PLAYED = (
    "platform",
    "sidecar/test_sidecar_crashes.py",
    "sidecar/test_sidecar_streams.py",
    _RESTART,
    "record/test_record_recorder.py",
    "inprocess/test_cancel.py",
    "outbox/test_sending.py",
    "notify/test_runs.py",
    "client/test_client_stderr.py",
    f"{_DOCTOR}::test_a_healthy_agent_is_reported_step_by_step",
    f"{_DOCTOR}::test_a_missing_command_is_reported",
    f"{_DOCTOR}::test_a_crash_at_the_start_is_explained_with_its_last_words_without_secrets",
    f"{_DOCTOR}::test_a_stubborn_agent_leaves_no_process_behind",
    f"{_GATEWAY}::test_status_stop_and_the_log_cover_what_runs_and_reveal_no_secret",
    f"{_GATEWAY}::test_a_reload_works_although_the_agents_program_is_gone",
    f"{_GATEWAY}::test_a_session_works_under_a_state_folder_with_a_long_path",
)
"""Files, folders and tests below `tests/process`."""

NEEDS_LSOF = ("sidecar/test_event_stream.py",)
"""The same: macOS has the program, Linux may lack it."""

_PROCESS = "platform/test_process.py"
_UNREAD = "test_a_client_that_reads_nothing_while_the_agent_dies_and_returns_misses_nothing"
LINUX_ONLY = {
    f"{_PROCESS}::test_a_child_can_write_its_last_half_megabyte_to_each_pipe": (
        "a pipe of macOS has 64 KiB at most"
    ),
    f"{_PROCESS}::test_an_ended_child_keeps_its_pid_until_reaped_and_later_signals_are_harmless": (
        "`waitpid` reads its end there, and reaps it: Python before 3.13 has no `waitid`"
    ),
    f"{_PROCESS}::test_a_killed_guardian_can_be_disarmed": "waits by `waitid`",
    "platform/test_silence_sources.py": "what only /proc knows of an agent",
    f"{_RESTART}::{_UNREAD}": (
        "1,500 frames are more than pipes of 16 KiB hold: the agent still writes, and takes both "
        "prompts with it"
    ),
    f"{_RESTART}::test_a_machine_without_descriptors_is_a_typed_answer_and_no_leak": (
        "looks for processes in /proc"
    ),
}
"""Files and tests below `tests/process`."""

OTHER_LOOP = "trio"
"""In the names of tests; trio's loop on macOS is one over kqueue, which Linux does not have."""
