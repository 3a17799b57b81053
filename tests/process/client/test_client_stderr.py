"""What an agent writes to stderr, under the official SDK's client with failures typed."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Any

import acp
import pytest

from lastword import errors
from lastword.client import acp as typed
from lastword.core.link.evidence import TAIL_BYTES
from tests.kit.patience import FUSE_SECONDS
from tests.kit.rows import every
from tests.process.client.sdk_clients import Client

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

AGENT = """
import json, os, signal, sys

def send(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

for line in sys.stdin:
    message = json.loads(line)
    method, params = message["method"], message.get("params", {})
    if method == "initialize":
        result = {"protocolVersion": 1}
    elif method == "session/new":
        result = {"sessionId": "1"}
    else:
        exec(params["prompt"][0]["text"])
        result = {"stopReason": "end_turn"}
    send(id=message["id"], result=result)
"""
FLOOD = "sys.stderr.write('first\\n' + ('x' * 63 + '\\n') * 16384 + 'last\\n')\n"
CRASH = FLOOD + "raise RuntimeError('disk on fire')"


async def prompt(connection: Any, code: str) -> Any:
    return await connection.prompt(session_id="1", prompt=[acp.text_block(code)])


def with_agent(talk: Callable[[Any, asyncio.subprocess.Process], Awaitable[None]]) -> None:
    """A conversation with an agent that does what its prompt says."""

    async def run() -> None:
        async with (
            asyncio.timeout(FUSE_SECONDS),
            typed.spawn_agent_process(Client(), sys.executable, "-c", AGENT) as (agent, process),
        ):
            await agent.initialize(protocol_version=1)
            await agent.new_session(cwd="/", mcp_servers=[])
            await talk(agent, process)

    asyncio.run(run())


def test_a_dying_agents_last_words_are_in_the_exception() -> None:
    async def talk(agent: Any, _: object) -> None:
        with pytest.raises(errors.AgentLostError, match="disk on fire") as raised:
            await prompt(agent, CRASH)
        error = raised.value.error
        assert (error.exit_code, error.reason) == (1, "uncaught_exception")
        assert error.detail is not None
        assert error.detail["text"].rstrip().endswith("RuntimeError: disk on fire")
        assert isinstance(raised.value.__cause__, ConnectionError)

    with_agent(talk)


@every(
    ("code", "evidence", "ends"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", {"exit_signal": "SIGKILL"}, True),
        ("import time; os.close(1); time.sleep(0.5); os._exit(3)", {"exit_code": 3}, True),
        ("os.close(1); sys.stdin.read(); os._exit(0)", {"reason": "connection_lost"}, False),
    ],
)
def test_a_lost_agent_is_reported_by_its_end_which_is_waited_for_or_by_its_lost_stdout(
    code: str, evidence: dict[str, Any], *, ends: bool
) -> None:
    async def talk(agent: Any, process: asyncio.subprocess.Process) -> None:
        with pytest.raises(errors.AgentLostError) as raised:
            await prompt(agent, code)
        assert {name: getattr(raised.value.error, name) for name in evidence} == evidence
        assert (process.returncode is not None) is ends

    with_agent(talk)


def test_stderr_goes_to_its_reader_and_is_shortened_for_a_late_one() -> None:
    async def talk(agent: Any, process: asyncio.subprocess.Process) -> None:
        assert process.stderr is not None
        await prompt(agent, "print('one', file=sys.stderr)\nprint('two', file=sys.stderr)")
        assert await process.stderr.readline() == b"one\n"
        assert await process.stderr.readline() == b"two\n"
        # A mebibyte keeps it from nothing.
        assert (await prompt(agent, FLOOD)).stop_reason == "end_turn"
        await prompt(agent, "print('after it', file=sys.stderr)")
        with pytest.raises(errors.AgentLostError):
            await prompt(agent, "os._exit(3)")
        text = (await process.stderr.read()).decode()
        assert text.startswith("first\nxxx")
        assert "bytes of stderr left out ...]" in text
        assert text.endswith("x\nlast\nafter it\n")
        assert len(text) < 8 * TAIL_BYTES

    with_agent(talk)


def test_redirected_stderr_is_left_alone() -> None:
    async def run() -> None:
        quiet = {"stderr": asyncio.subprocess.DEVNULL}
        command = (sys.executable, "-c", AGENT)
        async with (
            asyncio.timeout(FUSE_SECONDS),
            typed.spawn_agent_process(Client(), *command, transport_kwargs=quiet) as spawned,
        ):
            agent, process = spawned
            assert process.stderr is None
            await agent.initialize(protocol_version=1)
            with pytest.raises(errors.AgentLostError) as raised:
                await prompt(agent, "os._exit(3)")
            assert raised.value.error.exit_code == 3

    asyncio.run(run())
