"""The turn as its author speaks of it: failures in own words, tools, what comes too late."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

import pytest

import lastword
from lastword import Retry, current_turn
from lastword.errors import MisuseError, NotInTurnError, TurnFailedError
from tests.kit.rows import every

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from tests.kit.in_process import Json, Shell
    from tests.unit.inprocess.conftest import ShellFor

pytestmark = pytest.mark.anyio

ENDED: Json = {"jsonrpc": "2.0", "id": 2, "result": {"stopReason": "end_turn"}}
SECRET = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH"


async def failure(shell: Shell) -> Json:
    """The typed error of a turn that fails."""
    error: Json = (await shell.whole_turn())[-1]["error"]["data"]["agent_error"]
    return error


def failing(*arguments: Any, **named: Any) -> Callable[[Shell], Awaitable[None]]:
    async def handler(_: Shell) -> None:
        current_turn().fail(*arguments, **named)

    return handler


async def test_a_turn_fails_in_its_authors_words(shell_for: ShellFor) -> None:
    said = "The index is being built. Try again in a minute."
    handler = failing(
        "provider_unavailable",
        said,
        retry_after_seconds=59.2,
        reset_at_epoch_ms=1790000000000,
        reason="indexing",
        detail="shard 3 of 9",
    )
    error = await failure(shell_for(handler))
    assert error == {
        "type": "provider_unavailable",
        "message": said,
        "detail": {"text": "shard 3 of 9"},
        "retryable": True,
        "retry_after_seconds": 60,
        "reset_at_epoch_ms": 1790000000000,
        "reason": "indexing",
        "origin": "provider",
        "phase": "before_output",
        "retry_safety": "auto",
        "action": "wait",
        "incident_id": "t-1",
        "stopReason": "error",
    }


@every("error_type", lastword.ErrorType)
async def test_an_author_may_use_every_type_but_cancelled(
    shell_for: ShellFor, error_type: lastword.ErrorType
) -> None:
    error = await failure(shell_for(failing(error_type)))
    # Nobody has cancelled: what an agent calls cancelled is a failure of its own.
    assert error["type"] == ("unknown" if error_type == "cancelled" else error_type)
    assert error["message"].endswith(".")


@pytest.mark.parametrize("then", ["ends well", "another failure", "a bug"])
async def test_a_failure_counts_even_if_its_exception_is_caught_or_replaced(
    shell_for: ShellFor, then: str
) -> None:
    async def handler(shell: Shell) -> None:
        try:
            current_turn().fail("budget", "Your credit is used up. Add some.")
        except TurnFailedError:
            shell.say("ignored")
            if then == "another failure":
                current_turn().fail("auth")
            if then == "a bug":
                raise KeyError("on the way out") from None

    error = await failure(shell_for(handler))
    assert (error["type"], error["phase"]) == ("budget", "mid_output")
    assert error["message"] == "Your credit is used up. Add some."


async def test_an_authors_failure_is_never_retried(shell_for: ShellFor) -> None:
    begun: list[int] = []

    async def handler(_: Shell) -> None:
        async for attempt in current_turn().attempts(Retry(first_wait_seconds=0)):
            with attempt:
                begun.append(attempt.number)
                current_turn().fail("provider_unavailable", "Not today. Try again tomorrow.")

    error = await failure(shell_for(handler))
    assert (error["message"], begun) == ("Not today. Try again tomorrow.", [1])


async def test_a_message_is_plain_text_without_secrets_and_bounded_as_its_detail_is(
    shell_for: ShellFor,
) -> None:
    said = f"**No** `key`: <b>{SECRET}</b> of jane@example.com\nis [wrong](http://x). Log in."
    error = await failure(shell_for(failing("auth", said)))
    for part in (SECRET, "jane@example.com", "*", "`", "<", "[", "\n"):
        assert part not in error["message"]
    assert error["message"].endswith("Log in.")
    error = await failure(shell_for(failing("auth", "long " * 1000, detail="x" * 100_000)))
    assert len(error["message"]) <= 500
    assert len(error["detail"]["text"].encode()) <= 4096


@every(
    ("arguments", "said"),
    [
        *(
            ({"type": each}, r"there is no type .*; it is one of rate_limit, .*internal")
            for each in ("rate-limit", None)
        ),
        ({"type": "budget", "action": "pay"}, "there is no action 'pay'; it is one of wait, "),
        *(
            (
                {"type": "rate_limit", "retry_after_seconds": wait},
                "retry_after_seconds is a number of seconds from 0",
            )
            for wait in (-1, float("nan"), "5")
        ),
    ],
)
async def test_an_invalid_failure_raises_and_output_elsewhere_is_not_silence(
    shell_for: ShellFor, arguments: Json, said: str
) -> None:
    async def handler(_: Shell) -> None:
        with pytest.raises(MisuseError, match=said):
            current_turn().fail(**arguments)
        current_turn().output()

    assert await shell_for(handler).whole_turn() == [ENDED]


@pytest.mark.parametrize("action", [lastword.Action.LOGIN, "login"])
async def test_the_author_decides_the_button(shell_for: ShellFor, action: Any) -> None:
    error = await failure(shell_for(failing("rate_limit", "Sign in for more.", action=action)))
    assert (error["action"], error["message"]) == ("login", "Sign in for more.")
    error = await failure(shell_for(failing("rate_limit", action=action)))
    assert error["message"].endswith("Log in again or check the API key.")


async def test_a_wait_over_300_seconds_is_not_retryable_unless_the_author_says_so(
    shell_for: ShellFor,
) -> None:
    error = await failure(shell_for(failing("rate_limit", retry_after_seconds=301)))
    assert (error["retryable"], error["retry_after_seconds"]) == (False, 301)
    handler = failing("rate_limit", retry_after_seconds=301, retryable=True)
    assert (await failure(shell_for(handler)))["retryable"] is True


async def test_a_turn_accepts_no_report_after_its_end(shell_for: ShellFor) -> None:
    turns: list[Any] = []

    async def handler(shell: Shell) -> None:
        turns.append(current_turn())
        shell.say("done")

    shell = shell_for(handler)
    frames = list(await shell.whole_turn())
    (turn,) = turns
    turn.progress()
    turn.output()
    turn.tool_started("write", side_effects=True)
    turn.tool_finished("write")
    with pytest.raises(TurnFailedError):
        turn.fail("auth")
    assert shell.frames == frames
    assert (turn.session_id, turn.cancelled) == ("s1", False)


async def test_a_tool_that_finishes_without_a_start_is_logged_and_not_counted(
    shell_for: ShellFor, caplog: pytest.LogCaptureFixture
) -> None:
    async def handler(_: Shell) -> None:
        turn = current_turn()
        turn.tool_started("read", side_effects=False)
        turn.tool_finished("write")
        raise ConnectionResetError

    with caplog.at_level(logging.WARNING, "lastword"):
        error = await failure(shell_for(handler))
    assert error["phase"] == "tool_running"
    (record,) = caplog.records
    assert record.getMessage() == (
        "tool_finished('write') without tool_started('write'): nothing is counted."
    )


async def test_a_tool_that_runs_twice_at_once_is_over_when_both_are(shell_for: ShellFor) -> None:
    async def handler(_: Shell) -> None:
        turn = current_turn()
        turn.tool_started("read", side_effects=False)
        turn.tool_started("read", side_effects=False)
        turn.tool_finished("read")
        raise ConnectionResetError

    error = await failure(shell_for(handler))
    assert (error["phase"], error["retry_safety"]) == ("tool_running", "ask")


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_retry_in_a_threads_own_event_loop_is_reported_and_counted(
    shell_for: ShellFor,
) -> None:
    """As a framework may do that has no event loop of its own in its threads."""

    async def call() -> None:
        async for attempt in current_turn().attempts(Retry(attempts=2, first_wait_seconds=0)):
            with attempt:
                raise ConnectionResetError

    async def handler(_: Shell) -> None:
        await asyncio.to_thread(asyncio.run, call())

    *updates, answer = await shell_for(handler).whole_turn()
    kinds = [frame["params"]["update"]["sessionUpdate"] for frame in updates]
    assert kinds == ["agent_retry", "agent_error"]
    assert answer["error"]["data"]["agent_error"]["attempts"] == 2


def test_the_current_turn_raises_outside_of_a_turn() -> None:
    with pytest.raises(NotInTurnError, match="There is no current turn here") as caught:
        current_turn()
    assert isinstance(caught.value, RuntimeError)
