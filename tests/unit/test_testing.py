"""`lastword.testing`: a turn in the process of the test, and waits that pass at once."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import acp
import anyio
import pytest
import trio
from acp.schema import PermissionOption

import lastword
from lastword import Options, Retry, errors
from lastword.errors import MisuseError
from lastword.inprocess import waits
from lastword.testing import (
    Kind,
    Outcome,
    ToolCall,
    capture_timeline,
    open_session,
    take_turn,
    without_waits,
)
from tests.kit.patience import FUSE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from lastword.testing import TurnResult


class LimitError(Exception):
    status_code = 429

    def __init__(self, wait: str | None = "20") -> None:
        super().__init__("Too many requests")
        self.headers = {} if wait is None else {"retry-after": wait}


class SdkAgent:
    """An agent of the official SDK that does with each prompt what the test says."""

    def __init__(self, work: Callable[[SdkAgent, str], Awaitable[None]]) -> None:
        self.work = work
        self.prompts = 0

    def on_connect(self, conn: Any) -> None:
        self.client = conn

    async def initialize(self, **_: object) -> acp.InitializeResponse:
        return acp.InitializeResponse(protocol_version=1)

    async def new_session(self, **_: object) -> acp.NewSessionResponse:
        return acp.NewSessionResponse(session_id="s")

    async def prompt(self, session_id: str, **_: object) -> acp.PromptResponse:
        self.prompts += 1
        await self.work(self, session_id)
        return acp.PromptResponse(stop_reason="end_turn")

    async def say(self, text: str) -> None:
        await self.client.session_update("s", acp.update_agent_message_text(text))


async def greet(agent: SdkAgent, _: str) -> None:
    await agent.say("Hello, ")
    await agent.say("you.")


async def fail(agent: SdkAgent, _: str) -> None:
    raise LimitError


async def fail_without_sdk(client: Any) -> None:
    raise LimitError


async def hang(agent: SdkAgent, _: str) -> None:
    await asyncio.Event().wait()


async def use_a_tool(agent: SdkAgent, session_id: str) -> None:
    start = acp.start_tool_call("1", "Edit a.py", kind="edit", status="in_progress")
    await agent.client.session_update(session_id, start)
    await agent.client.session_update(session_id, acp.update_tool_call("1", status="completed"))


def methods(work: Callable[[Any], Awaitable[None]]) -> dict[str, Any]:
    """The same without an SDK."""

    async def new_session(client: Any) -> dict[str, Any]:
        return {"sessionId": "m"}

    async def prompt(client: Any, session_id: str) -> dict[str, Any]:
        await work(client)
        return {"stopReason": "end_turn"}

    return {"session/new": new_session, "session/prompt": prompt}


def taken(agent: Any, **given: Any) -> TurnResult:
    return asyncio.run(take_turn(agent, **given))


def limited(times: int, wait: str | None = "20", **limits: Any) -> SdkAgent:
    """An agent whose model's first calls are refused."""
    left = iter(range(times))

    @lastword.retry(Retry(**limits))
    async def ask() -> str:
        if next(left, None) is not None:
            raise LimitError(wait)
        return "Done."

    async def work(agent: SdkAgent, _: str) -> None:
        await agent.say(await ask())

    return SdkAgent(work)


@pytest.fixture
def soon_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent that does nothing is taken to do nothing further after a fifth of the real time."""
    monkeypatch.setattr(waits, "QUIET_SECONDS", 0.05)


def test_the_environment_changes_no_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LASTWORD_PASSTHROUGH", "1")
    monkeypatch.setenv("LASTWORD_FALLBACK", "text")
    for agent in (SdkAgent(fail), methods(fail_without_sdk)):
        assert taken(agent).error_type == "rate_limit"


def test_an_update_without_content_is_the_agents_and_not_the_tests() -> None:
    async def work(client: Any) -> None:
        await client.notify("session/update", {"sessionId": "m"})
        await client.update("m", session_update="agent_message_chunk")
        await client.say("m", "Hello.")

    turn = taken(methods(work), cancel_after=lambda update: "never" in update)
    assert (turn.outcome, turn.text) == (Outcome.OK, "Hello.")


def test_a_successful_turn_has_its_text_stop_reason_and_frames() -> None:
    turn = taken(SdkAgent(greet), prompt="Hi")
    assert (turn.outcome, turn.stop_reason, turn.error) == (Outcome.OK, "end_turn", None)
    assert turn.text == "Hello, you."
    assert [u["sessionUpdate"] for u in turn.updates] == ["agent_message_chunk"] * 2
    assert turn.frames[-1]["result"]["stopReason"] == "end_turn"
    assert (turn.tools, turn.retries, turn.error_type) == ((), (), None)
    assert turn.all(Kind.PROMPT)
    assert turn.summary().text.startswith("The turn ended well")


def test_a_failure_is_the_value_that_a_client_reads_in_whatever_form_it_gets_it() -> None:
    for capabilities in (None, {}):
        given = {} if capabilities is None else {"client_capabilities": capabilities}
        turn = taken(SdkAgent(fail), **given)
        assert (turn.outcome, turn.stop_reason, turn.error_type) == ("failed", None, "rate_limit")
        assert turn.error is not None
        assert turn.error.type == "rate_limit"
        typed = any(u["sessionUpdate"] == "agent_error" for u in turn.updates)
        assert typed == (capabilities is None)
        assert turn.error.retry_after_seconds == 20


def test_tools_are_listed_with_their_last_status() -> None:
    turn = taken(SdkAgent(use_a_tool))
    tool = ToolCall(tool_call_id="1", title="Edit a.py", kind="edit", status="completed")
    assert turn.tools == (tool,)


def test_skipped_waits_are_reported_at_full_length_and_pass_at_once() -> None:
    began = time.monotonic()
    turn = taken(limited(2, "200"))
    assert time.monotonic() - began < FUSE_SECONDS
    assert (turn.outcome, turn.text) == ("ok", "Done.")
    assert [(r.attempt, r.max_attempts, r.wait_seconds) for r in turn.retries] == [
        (2, 6, 200),
        (3, 6, 200),
    ]
    assert [entry.facts["wait_seconds"] for entry in turn.all(Kind.RETRY)] == [200, 200]
    assert 400 <= turn.duration_seconds < 400 + FUSE_SECONDS
    assert "waits of 7 minutes in all" in turn.summary().text


def test_skipped_waits_are_the_longest_that_they_can_be_and_count_against_the_budget() -> None:
    assert [retry.wait_seconds for retry in taken(limited(3, None)).retries] == [1, 2, 4]
    turn = taken(limited(9, attempts=9, budget_seconds=50))
    assert (turn.outcome, len(turn.retries)) == ("failed", 2)


def test_a_real_wait_takes_its_time() -> None:
    began = time.monotonic()
    turn = taken(limited(1, "0.05", first_wait_seconds=0), real_waits=True)
    assert turn.outcome == "ok"
    assert time.monotonic() - began >= 0.05


@pytest.mark.parametrize("seconds", [150, 300])
@pytest.mark.parametrize("oversleeps", [False, True])
def test_a_cancel_in_the_middle_of_a_skipped_wait_comes_at_its_moment(
    seconds: float, oversleeps: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if oversleeps:
        monkeypatch.setattr(anyio, "sleep", lambda _: anyio.lowlevel.checkpoint())
    turn = taken(limited(9, "200"), cancel_after=seconds)
    assert (turn.outcome, turn.stop_reason) == ("cancelled", "cancelled")
    assert len(turn.retries) == 1 + seconds // 200
    assert seconds <= turn.duration_seconds < seconds + FUSE_SECONDS


def test_a_cancel_with_real_waits_comes_when_its_time_has_come() -> None:
    assert taken(SdkAgent(hang), cancel_after=0.01, real_waits=True).outcome == "cancelled"


def test_a_cancel_can_come_with_an_update() -> None:
    async def talk(agent: SdkAgent, _: str) -> None:
        await agent.say("one")
        await asyncio.Event().wait()

    turn = taken(SdkAgent(talk), cancel_after=lambda update: "content" in update)
    assert (turn.outcome, turn.text) == ("cancelled", "one")


@pytest.mark.usefixtures("soon_quiet")
def test_the_earlier_of_a_limit_on_silence_and_a_cancel_ends_the_turn_at_once() -> None:
    began = time.monotonic()
    options = Options(first_update_timeout_seconds=600)
    assert taken(SdkAgent(hang), cancel_after=30, options=options).outcome == "cancelled"
    turn = taken(SdkAgent(hang), cancel_after=3600, options=options)
    assert time.monotonic() - began < FUSE_SECONDS
    assert turn.error is not None
    assert (turn.error.type, turn.error.reason) == ("agent_stalled", "first_update_timeout")
    assert turn.duration_seconds >= 600


@pytest.mark.usefixtures("soon_quiet")
def test_a_slow_handler_is_not_stopped_by_a_limit_that_was_not_set() -> None:
    async def think(agent: SdkAgent, _: str) -> None:
        await asyncio.sleep(3 * waits.QUIET_SECONDS)  # the agent's own time
        await agent.say("So.")

    turn = taken(SdkAgent(think))
    assert (turn.outcome, turn.all(Kind.SILENCE)) == ("ok", [])
    assert turn.duration_seconds < FUSE_SECONDS


@pytest.mark.usefixtures("soon_quiet")
def test_a_turn_waits_for_a_limit_and_continues_with_the_same_call_unless_cancelled() -> None:
    turn = taken(limited(2, "7200", until_reset_seconds=21_600))
    assert (turn.outcome, turn.text) == ("ok", "Done.")
    assert [retry.wait_seconds for retry in turn.retries] == [7200, 7200]
    assert [entry.facts["wait_seconds"] for entry in turn.all(Kind.LIMIT_WAIT)] == [7200, 7200]
    assert [entry.facts["what"] for entry in turn.all(Kind.CONTINUED)] == ["same_call"] * 2
    turn = taken(limited(2, "7200", until_reset_seconds=21_600), cancel_after=60)
    assert (turn.outcome, turn.text, turn.all(Kind.CONTINUED)) == ("cancelled", "", [])


@pytest.mark.usefixtures("soon_quiet")
def test_a_wait_ends_by_a_cancel_that_is_due_just_before_it_begins() -> None:
    async def test() -> list[str]:
        passed, came = waits.SkippedTime(), list[str]()
        loop = asyncio.get_running_loop()

        def cancel(rounds: int = 10) -> None:
            if rounds:
                loop.call_soon(cancel, rounds - 1)
            else:
                came.append("cancel")

        passed.call_at(passed.now() + 60, cancel)
        passed.skip_to(passed.now() + 61)
        await passed.sleep(7200)
        return came

    assert asyncio.run(test()) == ["cancel"]


@pytest.mark.usefixtures("soon_quiet")
@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_methods_without_an_sdk_are_served_cancelled_and_limited_on_both_loops(
    backend: str,
) -> None:
    async def work(client: Any) -> None:
        async for attempt in lastword.current_turn().attempts():
            with attempt:
                if attempt.number < 3:
                    raise LimitError
        await client.say("m", "Done.")

    async def hang_on(_: Any) -> None:
        await anyio.sleep_forever()

    async def test() -> tuple[TurnResult, ...]:
        limit = Options(first_update_timeout_seconds=60)
        return (
            await take_turn(methods(work), "Hi"),
            await take_turn(methods(hang_on), cancel_after=5),
            await take_turn(methods(hang_on), options=limit),
        )

    turn, cancelled, limited = anyio.run(test, backend=backend)
    assert (turn.outcome, turn.text) == ("ok", "Done.")
    assert [retry.wait_seconds for retry in turn.retries] == [20, 20]
    assert (cancelled.outcome, limited.error_type) == ("cancelled", "agent_stalled")


def test_an_update_from_a_handlers_thread_arrives_too() -> None:
    async def work(client: Any) -> None:
        await anyio.to_thread.run_sync(anyio.from_thread.run, client.say, "m", "from a thread")

    assert taken(methods(work)).text == "from a thread"


def test_a_session_has_several_turns_and_continues_after_a_failure() -> None:
    async def test() -> list[TurnResult]:
        async with open_session(limited(3, attempts=3)) as session:
            return [await session.prompt("one"), await session.prompt("two")]

    first, second = asyncio.run(test())
    assert [first.outcome, second.outcome] == ["failed", "ok"]
    assert [first.number, second.number] == [1, 2]
    assert [len(first.all(Kind.PROMPT)), len(second.all(Kind.PROMPT))] == [1, 1]
    assert second.text == "Done."


OPTIONS = [
    PermissionOption(option_id=kind, name=kind, kind=kind)
    for kind in ("allow_always", "allow_once", "reject_once")
]


@pytest.mark.parametrize(
    ("answer", "chosen"),
    [
        ("allow", "allow_once"),
        ("reject", "reject_once"),
        ("cancel", None),
        (lambda params: params["options"][0]["optionId"], "allow_always"),
        (lambda _: None, None),
    ],
)
def test_a_question_is_answered_as_the_test_says(answer: Any, chosen: str | None) -> None:
    async def ask(agent: SdkAgent, session_id: str) -> None:
        asked = await agent.client.request_permission(
            session_id=session_id,
            tool_call=acp.update_tool_call("1", title="Edit a.py"),
            options=OPTIONS,
        )
        await agent.say(str(getattr(asked.outcome, "option_id", None)))

    assert taken(SdkAgent(ask), answer_permission=answer).text == str(chosen)


def test_the_client_answers_other_requests_as_the_test_says_and_refuses_the_rest() -> None:
    async def read(agent: SdkAgent, session_id: str) -> None:
        file = await agent.client.read_text_file(session_id=session_id, path="/a.py")
        await agent.say(file.content)
        with pytest.raises(acp.RequestError, match="answers="):
            await agent.client.write_text_file(session_id=session_id, path="/a.py", content="")

    async def test() -> TurnResult:
        answers = {"fs/read_text_file": lambda params: {"content": f"of {params['path']}"}}
        async with open_session(SdkAgent(read), answers=answers) as session:
            return await session.prompt()

    turn = asyncio.run(test())
    assert (turn.outcome, turn.text) == ("ok", "of /a.py")


def test_an_exception_of_the_tests_own_is_raised_in_the_test() -> None:
    async def read(agent: SdkAgent, session_id: str) -> None:
        await agent.client.read_text_file(session_id=session_id, path="/a.py")

    async def test(answer: Any) -> None:
        answers = {"fs/read_text_file": answer}
        async with open_session(SdkAgent(read), answers=answers) as session:
            turn = await session.prompt()
            assert turn.outcome == "cancelled", "not as the test wants it"

    with pytest.raises(ZeroDivisionError):
        asyncio.run(test(lambda _: 1 / 0))
    with pytest.raises(AssertionError, match="not as the test wants it"):
        asyncio.run(test(lambda _: {"content": "x"}))


def test_an_agent_that_opens_no_session_is_an_exception_by_its_type() -> None:
    class Locked(SdkAgent):
        async def new_session(self, **_: object) -> acp.NewSessionResponse:
            raise acp.RequestError.auth_required()

    with pytest.raises(errors.AuthError):
        taken(Locked(greet))


def test_a_turn_that_does_not_end_stops_the_test_at_its_fuse() -> None:
    with pytest.raises(TimeoutError, match=r"within 0\.05 s"):
        taken(SdkAgent(hang), fuse_seconds=0.05)


def test_a_misuse_is_refused_in_a_sentence() -> None:
    class Closed(SdkAgent):
        async def new_session(self, **_: object) -> Any:
            return None

    with pytest.raises(MisuseError, match="session/new has no sessionId"):
        taken(Closed(greet))
    with pytest.raises(MisuseError, match='"allow", "reject", "cancel"'):
        taken(SdkAgent(greet), answer_permission="yes")
    with pytest.raises(MisuseError, match=r"it has no `prompt`.*not object"):
        taken(object())
    with pytest.raises(MisuseError, match="runs on asyncio alone"):
        trio.run(take_turn, SdkAgent(greet))


def test_a_captured_turn_has_an_outcome() -> None:
    with capture_timeline() as timeline:
        taken(SdkAgent(greet))
        taken(SdkAgent(fail))
        taken(SdkAgent(hang), cancel_after=1)
    assert [turn.outcome for turn in timeline.turns] == ["ok", "failed", "cancelled"]


def test_two_turns_at_once_do_not_see_each_other() -> None:
    async def test() -> list[TurnResult]:
        return list(await asyncio.gather(take_turn(limited(1)), take_turn(SdkAgent(greet))))

    one, other = asyncio.run(test())
    assert [len(one.retries), len(other.retries)] == [1, 0]
    assert len(other.all(Kind.PROMPT)) == 1


def test_a_retried_function_waits_for_nothing_outside_of_turns_too() -> None:
    left = iter(range(2))

    @lastword.retry
    async def ask() -> str:
        if next(left, None) is not None:
            raise LimitError("200")
        return "answer"

    began = time.monotonic()
    with without_waits():
        assert asyncio.run(ask()) == "answer"
        taken(SdkAgent(greet))
    assert waits.SKIPPED.get() is None
    assert time.monotonic() - began < FUSE_SECONDS


@pytest.mark.parametrize("error", [SystemExit(3), BaseExceptionGroup("both", [SystemExit(3)])])
@pytest.mark.parametrize("of", ["sdk", "methods"])
def test_an_agent_that_leaves_its_process_fails_its_turn_and_not_the_test(
    error: BaseException, of: str
) -> None:
    async def leave(*_: object) -> None:
        raise error

    turn = taken(SdkAgent(leave) if of == "sdk" else methods(leave))
    assert turn.error is not None
    assert (turn.outcome, turn.error.type, turn.error.reason) == (
        "failed",
        "agent_crash",
        "premature_exit",
    )


def test_an_interrupt_by_the_user_ends_the_test() -> None:
    async def interrupted(*_: object) -> None:
        # asyncio reports the lost task when it is collected, which may be in another test's
        # `ast.parse`: formatting the traceback parses too, and breaks it (cpython gh-106905).
        asyncio.get_running_loop().set_exception_handler(lambda *_: None)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        taken(methods(interrupted))
