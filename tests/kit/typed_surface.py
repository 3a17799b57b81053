"""The public surface as authors write against it, for type checkers: nothing here is run.

Owns the cases; `mypy` goes over them in the tests, `pyright` with the rest of the types.
"""

# pyright: reportUnnecessaryTypeIgnoreComment=true
from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Self, TypeVar, assert_type

import acp

import lastword
from lastword import client, errors
from lastword.client.acp import connect_to_agent, spawn_agent_process
from lastword.testing import (
    Outcome,
    RetryNotice,
    TurnResult,
    capture_timeline,
    open_session,
    take_turn,
    without_waits,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine


Item = TypeVar("Item")


class Plain:
    """An agent as examples have it: the SDK's methods, and no class of the SDK's."""

    async def initialize(self, **_: object) -> acp.InitializeResponse:
        return acp.InitializeResponse(protocol_version=1)

    async def new_session(self, **_: object) -> acp.NewSessionResponse:
        return acp.NewSessionResponse(session_id="1")

    async def prompt(self, session_id: str, **_: object) -> acp.PromptResponse:
        turn = lastword.current_turn()
        assert_type(turn.session_id, str | None)
        async for attempt in turn.attempts(lastword.Retry(attempts=2)):
            with attempt:
                assert_type(await asked(session_id), str)
        async for item in turn.watch(stream()):
            assert_type(item, bytes)
        turn.fail("budget", "Your team's budget is used up. Ask Ada.")


class FromPlain:
    async def new_session(self, client: Any, cwd: str) -> dict[str, Any]:
        await client.request("_open", {"cwd": cwd})
        return {"sessionId": "1"}

    async def prompt(self, client: Any, session_id: str, **_: Any) -> dict[str, Any]:
        await client.say(session_id, "Hello.")
        return {"stopReason": "end_turn"}


@lastword.retry
async def asked(prompt: str) -> str:
    return prompt


@lastword.retry(attempts=3, after_output=True)
async def asked_thrice(prompt: str) -> int:
    return len(prompt)


@lastword.retry(lastword.Retry(attempts=3))
async def stream() -> AsyncIterator[bytes]:
    yield b""


class Model:
    """A provider's client of the agent's own, whose methods are decorated."""

    @lastword.retry(attempts=2)
    async def ask(self, prompt: str, *, temperature: float = 1.0) -> str:
        return f"{prompt} {temperature}"

    @lastword.retry
    async def stream(self, prompt: str) -> AsyncIterator[str]:
        yield prompt

    @classmethod
    @lastword.retry
    async def made(cls) -> Self:
        return cls()


@lastword.retry
async def first_of(items: list[Item]) -> Item:
    return items[0]


def not_asynchronous(prompt: str) -> str:
    return prompt


async def of_decorators(model: Model, typed: acp.Agent) -> None:
    """A decorated function has the parameters and the result that it had before."""
    kept: Callable[[str], Coroutine[Any, Any, str]] = asked
    assert_type(await kept("x"), str)
    assert_type(await model.ask("x", temperature=0.5), str)
    assert_type([item async for item in model.stream("x")], list[str])
    assert_type(await Model.made(), Model)
    assert_type(await first_of([1, 2]), int)
    assert_type(await first_of(["a"]), str)
    async for item in stream():
        assert_type(item, bytes)
    await model.ask(1)  # type: ignore[arg-type]
    await model.ask("x", heat=1)  # type: ignore[call-arg]
    model.stream()  # type: ignore[call-arg]
    lastword.retry(not_asynchronous)  # type: ignore[type-var]
    lastword.retry(attempts=2)(not_asynchronous)  # type: ignore[type-var]
    lastword.retry(tries=2)  # type: ignore[call-overload]
    made: Callable[[acp.Agent], Plain] = lastword.guard(made_by)
    assert_type(made(typed), Plain)
    assert_type(client.raise_for_error({"stopReason": "end_turn"}), dict[str, str])
    told = client.raise_for_error(await typed.prompt(prompt=[], session_id="1"))
    assert_type(told, acp.PromptResponse)


def made_by(connection: acp.Agent) -> Plain:
    return Plain()


async def of_agents(typed: acp.Agent) -> None:
    options = lastword.Options(idle_timeout_seconds=300, record=False)
    assert_type(lastword.guard(Plain()), Plain)
    assert_type(lastword.guard(Plain), type[Plain])
    assert_type(await lastword.guard(Plain()).prompt("1"), acp.PromptResponse)
    assert_type(lastword.guard(typed, options=options), acp.Agent)
    acp.AgentSideConnection(lastword.guard(typed), None)
    await lastword.run_agent(Plain(), options=options)
    await lastword.run_agent(typed)
    own = FromPlain()
    await lastword.serve({"session/new": own.new_session, "session/prompt": own.prompt})
    assert_type(await asked("x"), str)
    assert_type(await asked_thrice("x"), int)


def of_failures(message: object, raised: Exception) -> None:
    error = lastword.classify(raised, facts=lastword.TurnFacts(text=True))
    assert_type(error, lastword.AgentError)
    assert_type(error.type, lastword.ErrorType)
    told = client.read_error(message)
    assert_type(told, lastword.AgentError | None)
    if told is not None:
        assert_type(client.describe(told, now=time.time(), received=0).countdown, str)
        assert_type(client.describe(told, received=0).countdown, str)
    try:
        client.raise_for_error(message)
    except errors.RateLimitError as limited:
        assert_type(limited.error, lastword.AgentError)
    with capture_timeline() as timeline:
        assert_type(timeline.turns[0].error_type, str | None)


async def of_tests(typed: acp.Agent) -> None:
    turn = await take_turn(Plain(), "Hi", cancel_after=5, answer_permission="reject")
    assert_type(turn, TurnResult)
    assert_type(turn.outcome, Outcome)
    assert_type(turn.error, lastword.AgentError | None)
    assert_type(turn.retries, tuple[RetryNotice, ...])
    await take_turn(typed)
    async with open_session({"session/new": FromPlain().new_session}) as session:
        await session.prompt([{"type": "text", "text": "Hi"}], cancel_after=lambda _: True)
    with without_waits():
        assert_type(await asked("x"), str)


class OwnClient:
    async def session_update(self, session_id: str, update: Any, **_: Any) -> None: ...

    async def agent_error(self, session_id: str, error: lastword.AgentError) -> None: ...


async def of_clients() -> None:
    async with spawn_agent_process(OwnClient(), "agent", "--acp") as (agent, process):
        await agent.initialize(protocol_version=1)
        assert_type(process.returncode, int | None)
    connect_to_agent(OwnClient(), process.stdin, process.stdout)
