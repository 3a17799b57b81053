"""What the environment sets about an agent in this process, and what it cannot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lastword import Options
from lastword.inprocess.settings import from_environment, passthrough

if TYPE_CHECKING:
    import pytest


def test_the_variables_of_lastword_run_set_the_same_here() -> None:
    options = from_environment(
        {
            "LASTWORD_IDLE_TIMEOUT": "5s",
            "LASTWORD_FALLBACK": "text",
            "LASTWORD_RECORD_TEXT": "yes",
        }
    )
    assert options == Options(idle_timeout_seconds=5.0, fallback="text", record_text=True)


def test_an_earlier_name_of_a_rung_is_read_here_too() -> None:
    assert from_environment({"LASTWORD_FALLBACK": "rpc_error"}) == Options(fallback="error")


def test_what_is_a_process_s_own_is_not_read_here() -> None:
    environment = {"LASTWORD_STDERR_LIMIT": "1KiB", "LASTWORD_RESTART": "on-crash"}
    assert from_environment(environment) == Options()


def test_a_value_that_cannot_be_used_is_said_and_left_out(
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert from_environment({"LASTWORD_IDLE_TIMEOUT": "soon"}) == Options()
    (said,) = caplog.messages
    assert said.startswith("Ignoring LASTWORD_IDLE_TIMEOUT: it takes a duration")
    assert said.endswith("not 'soon'.")


def test_passthrough_is_a_flag() -> None:
    assert passthrough({"LASTWORD_PASSTHROUGH": "TRUE"})
    assert not passthrough({"LASTWORD_PASSTHROUGH": "0"})
    assert not passthrough({})
