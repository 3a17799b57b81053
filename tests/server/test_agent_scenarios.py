"""The scripted agent: each scenario's frames as a raw client and the official SDK's see them."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import acp
import pytest
from serve_client import RETRY, TYPED, clean_environment

from lastword.conformance.scenarios import SCENARIOS, Scenario
from lastword.core.taxonomy import DEFAULTS, ErrorType

if TYPE_CHECKING:
    from collections.abc import Callable

    from serve_client import ServeClient, Turn

    Run = Callable[..., ServeClient]

ON_TRIO = "import sys, trio, lastword.conformance.agent as a; trio.run(a.play, sys.argv[1])"
SIDECAR = [sys.executable, "-m", "lastword", "run", "--idle-timeout", "1", "--cancel-grace", "1"]

CONFIRMED_BY_USER = "cancelled"
FAILING = [s for s in SCENARIOS.values() if s.error_type and s.name != CONFIRMED_BY_USER]
GOING_WELL = [s for s in SCENARIOS.values() if s.error_type is None]

KINDS = {
    "healthy": ["agent_message_chunk"] * 2,
    "healthy_tool": ["tool_call", "tool_call_update", "agent_message_chunk"],
    "slow": ["agent_message_chunk"] * 6,
    "retried": ["agent_retry", "agent_retry", "agent_message_chunk"],
    "after_text": ["agent_message_chunk", "agent_error"],
    "after_tool": ["tool_call", "tool_call_update", "agent_error"],
    "protocol_error": ["agent_message_chunk", "agent_error"],
    "agent_stalled": ["agent_message_chunk", "agent_error"],
    "crash_after_text": ["agent_message_chunk", "tool_call", "tool_call_update", "agent_error"],
    "stderr_overflow": ["agent_message_chunk", "agent_error"],
    "hang": ["agent_message_chunk", "agent_error"],
}
"""The kinds of update of each turn; of every other, a failure before any output."""

SAFETY = {
    "after_text": "offer_continue",
    "after_tool": "ask",
    "agent_stalled": "offer_continue",
    "crash_after_text": "ask",
    "stderr_overflow": "offer_continue",
    "hang": "offer_continue",
}
"""Where it is not what an early failure has: `auto` for a retryable one, else `never`."""


def command(scenario: str, backend: str = "asyncio") -> list[str]:
    own = [sys.executable, "-m", "lastword", "agent", scenario]
    if backend == "trio":
        own = [sys.executable, "-c", ON_TRIO, scenario]
    return [*SIDECAR, "--", *own] if SCENARIOS[scenario].needs_sidecar else own


def test_every_type_of_failure_has_a_scenario_of_its_name() -> None:
    for error_type in ErrorType:
        assert SCENARIOS[error_type.value].error_type is error_type


def test_every_scenario_says_in_one_short_line_what_a_client_sees() -> None:
    for scenario in SCENARIOS.values():
        assert 0 < len(scenario.sees) < 100
        assert "\n" not in scenario.sees
        assert scenario.name.count("_") <= 2


@pytest.mark.parametrize("scenario", FAILING, ids=lambda s: s.name)
def test_a_typed_client_gets_the_failure_with_its_type(
    run: Run, backend: str, scenario: Scenario
) -> None:
    client = run(command(scenario.name, backend))
    client.open(**TYPED)
    turn = client.turn("Why does the parser fail?")
    assert turn.kinds == KINDS.get(scenario.name, ["agent_error"])
    shown = turn.updates[-1]["error"]
    assert shown["type"] == scenario.error_type
    assert shown.items() <= turn.error.items()
    assert_as_the_type_has_it(scenario, turn)


def assert_as_the_type_has_it(scenario: Scenario, turn: Turn) -> None:
    assert scenario.error_type is not None
    retryable = DEFAULTS[scenario.error_type].retryable
    assert turn.error["retryable"] is retryable
    early = "auto" if retryable else "never"
    assert turn.error["retry_safety"] == SAFETY.get(scenario.name, early)


@pytest.mark.parametrize("scenario", FAILING, ids=lambda s: s.name)
def test_a_strict_client_gets_one_error_with_the_type_inside(run: Run, scenario: Scenario) -> None:
    client = run(command(scenario.name))
    client.open()
    turn = client.turn("Why does the parser fail?")
    assert "agent_error" not in turn.kinds
    assert turn.error["type"] == scenario.error_type
    assert turn.answer["error"]["message"] == turn.error["message"]


@pytest.mark.parametrize("scenario", GOING_WELL, ids=lambda s: s.name)
def test_a_turn_that_goes_well_ends_well(run: Run, backend: str, scenario: Scenario) -> None:
    client = run(command(scenario.name, backend))
    client.open(**RETRY)
    turn = client.turn("Why does the parser fail?")
    assert turn.kinds == KINDS[scenario.name]
    assert turn.answer["result"] == {"stopReason": "end_turn"}
    assert client.end() == 0
    assert client.said == ""


def test_a_retried_call_tells_each_failure_and_its_wait(run: Run, backend: str) -> None:
    client = run(command("retried", backend))
    client.open(**RETRY)
    first, second, _ = client.turn("go").updates
    assert (first["error"]["type"], second["error"]["type"]) == ("provider_unavailable", "timeout")
    assert {"attempt", "sessionUpdate"} <= set(first)
    assert second["attempt"] == first["attempt"] + 1


def test_a_turn_that_waits_for_the_user_is_cancelled_without_an_error(
    run: Run, backend: str
) -> None:
    client = run(command("cancelled", backend))
    client.open(**TYPED)
    prompt = client.prompt("go")
    client.expect_text("This turn goes on until you cancel it.")
    client.cancel()
    assert client.answer(prompt)["result"] == {"stopReason": "cancelled"}
    assert client.end() == 0
    assert client.said == ""


@pytest.mark.parametrize("scenario", FAILING, ids=lambda s: s.name)
def test_stderr_holds_no_traceback(run: Run, scenario: Scenario) -> None:
    client = run(command(scenario.name))
    client.open()
    client.turn("go")
    client.end()
    assert "Traceback" not in client.said
    assert ".py" not in client.said


@pytest.mark.parametrize("text", ["/scenario budget", "please\n /scenario\tbudget now"])
def test_a_prompt_plays_another_scenario_for_its_turn(run: Run, text: str) -> None:
    client = run(command("healthy"))
    client.open()
    assert client.turn(text).error["type"] == "budget"
    assert client.turn("go").answer["result"] == {"stopReason": "end_turn"}


def test_a_prompt_that_names_no_scenario_is_told_the_nearest(run: Run) -> None:
    client = run(command("healthy"))
    client.open()
    error = client.turn("/scenario rate-limits").error
    assert error["type"] == "invalid_request"
    assert 'no scenario "rate-limits"; like it: rate_limit' in error["message"]


def test_a_limit_of_the_environment_comes_before_the_scripted_agents_own(run: Run) -> None:
    client = run(command("agent_stalled"), environment={"LASTWORD_IDLE_TIMEOUT": "0.3"})
    client.open()
    client.prompt("go")
    client.expect(lambda frame: "error" in frame, fuse=1.9)


QUIET = {"stderr": subprocess.DEVNULL}


class SdkClient:
    """What user code of the official SDK sees."""

    def __init__(self) -> None:
        self.kinds: list[str] = []
        self.came = asyncio.Event()

    def on_connect(self, _: Any) -> None:
        """Nothing to do."""

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        """Note what came."""
        assert session_id
        self.kinds.append(update.session_update)
        self.came.set()


@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=lambda s: s.name)
def test_the_official_sdks_client_sees_how_every_turn_ends(scenario: Scenario) -> None:
    seen = asyncio.run(_sdk_turn(scenario))
    if scenario.error_type is None:
        assert seen == "end_turn"
    elif scenario.name == CONFIRMED_BY_USER:
        assert seen == "cancelled"
    else:
        assert isinstance(seen, acp.RequestError)
        assert isinstance(seen.data, dict)
        assert seen.data["agent_error"]["type"] == scenario.error_type


async def _sdk_turn(scenario: Scenario) -> Any:
    client: Any = SdkClient()
    name, *arguments = command(scenario.name)
    async with (
        asyncio.timeout(20),
        acp.spawn_agent_process(
            client, name, *arguments, env=clean_environment(), transport_kwargs=QUIET
        ) as (agent, _),
    ):
        await agent.initialize(protocol_version=1)
        session = await agent.new_session(cwd="/", mcp_servers=[])
        taking = asyncio.create_task(
            agent.prompt(session_id=session.session_id, prompt=[acp.text_block("go")])
        )
        if scenario.name == CONFIRMED_BY_USER:
            await client.came.wait()
            await agent.cancel(session_id=session.session_id)
        try:
            return (await taking).stop_reason
        except acp.RequestError as error:
            return error
