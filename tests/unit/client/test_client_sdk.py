"""The official SDK's client with failures typed, before an agent in the same process."""

from __future__ import annotations

import asyncio
import functools
import logging
from typing import Any

import acp
import pytest
from acp.client.connection import ClientSideConnection
from acp.schema import ClientCapabilities, FileSystemCapabilities, InitializeRequest

from lastword import errors
from lastword.client import acp as typed
from lastword.client.acp_transport import StreamTransport, TypedTransport
from lastword.core.failure.taxonomy import ErrorType
from tests.kit.patience import FUSE_SECONDS
from tests.kit.rows import every
from tests.process.client.sdk_clients import (
    Client,
    PlayedAgent,
    Turn,
    update,
    with_played,
)

PAYLOAD = {"type": "budget", "message": "No credit left. Top up.", "retryable": False, "by": "x"}
TYPED = update(sessionUpdate="agent_error", stopReason="error", error=PAYLOAD)


# --- what is on the wire ------------------------------------------------------------------------


def said(agent: PlayedAgent) -> dict[str, Any]:
    capabilities: dict[str, Any] = agent.heard[0]["params"]["clientCapabilities"]
    return capabilities


async def initialize_with(connection: Any, client: Any, **arguments: Any) -> Turn:
    await connection.initialize(protocol_version=1, **arguments)
    return Turn(client)


@every("as_request", [None, "positional", "keyword"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_client_negotiates_and_its_authors_capabilities_stay(as_request: str | None) -> None:
    own = ClientCapabilities(
        fs=FileSystemCapabilities(read_text_file=True), field_meta={"mine": {"a": 1}}
    )

    async def talk(connection: Any, client: Any) -> Turn:
        request = InitializeRequest(protocol_version=1, client_capabilities=own)
        if as_request == "positional":
            await connection.initialize(request)
        elif as_request == "keyword":
            await connection.initialize(params=request)
        else:
            await connection.initialize(1, own)
        return Turn(client)

    _, agent = with_played([], Client(), talk)
    assert said(agent)["_meta"] == {"mine": {"a": 1}, "agent_error": {"version": 1, "retry": True}}
    assert said(agent)["fs"] == {"readTextFile": True}
    assert own.field_meta == {"mine": {"a": 1}}


def test_capabilities_that_the_author_set_stay_unchanged() -> None:
    own = ClientCapabilities(field_meta={"agent_error": {"version": 1}})

    async def talk(connection: Any, client: Any) -> Turn:
        return await initialize_with(connection, client, client_capabilities=own)

    _, agent = with_played([], Client(), talk)
    assert said(agent)["_meta"] == {"agent_error": {"version": 1}}


def error_answer(**data: Any) -> dict[str, Any]:
    return {"error": {"code": -32603, "message": "No credit left. Top up.", "data": data}}


META = {"agent_error": PAYLOAD | {"stopReason": "error"}}
ENDINGS = {
    "typed": [TYPED, error_answer(**META)],
    "typed_result": [TYPED, {"result": {"stopReason": "error", "_meta": META}}],
    "error_with_meta": [
        update(sessionUpdate="session_info_update", _meta=META),
        error_answer(**META),
    ],
    "result": [
        update(sessionUpdate="session_info_update", _meta=META),
        {"result": {"stopReason": "error", "_meta": META}},
    ],
    "error": [error_answer(**META)],
    "text": [
        update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": "No"}),
        {"result": {"stopReason": "end_turn", "_meta": META}},
    ],
    "noise": [[1], 7, "x", {"id": None, "error": {}}, error_answer(**META)],
}


@every("rung", ENDINGS)
def test_the_prompt_raises_the_same_error_on_every_rung(rung: str) -> None:
    client = Client()
    turn, agent = with_played(ENDINGS[rung], client)
    assert isinstance(turn.failed, errors.BudgetError)
    assert turn.failed.error.message == "No credit left. Top up."
    assert turn.failed.error.extra == {"by": "x"}
    updated = rung.startswith(("typed", "error_with_meta", "result"))
    assert client.kinds.count("agent_error") == updated
    assert "session_info_update" not in client.kinds
    assert all(told == turn.failed.error for kind, told in client.told if kind == "agent_error")
    assert agent.closed


@every(
    "answer",
    [
        *({"result": result} for result in (None, {}, 7, {"stopReason": "weary"})),
        *({"error": error} for error in ("Too many requests", [429])),
    ],
)
def test_an_answer_that_the_sdk_cannot_read_is_a_failure_too(answer: dict[str, Any]) -> None:
    turn, _ = with_played([answer], Client())
    assert turn.failed is not None
    assert (turn.failed.error.type is ErrorType.PROTOCOL_ERROR) is ("result" in answer)


def test_an_invalid_call_and_an_error_on_another_request_are_the_sdks_own() -> None:
    async def run() -> None:
        agent = PlayedAgent({"session/load": [{"error": {"code": -32002, "message": "No"}}]})
        async with (
            typed.connect_to_agent(Client(), agent) as connection,
            asyncio.timeout(FUSE_SECONDS),
        ):
            with pytest.raises(acp.RequestError):
                await connection.load_session(cwd="/", session_id="s1", mcp_servers=[])
            with pytest.raises(ValueError, match="validation error"):
                await connection.prompt(session_id=3, prompt="no list")

    asyncio.run(run())
    with pytest.raises(TypeError):
        typed.connect_to_agent(Client(), None)


# --- the author's client ---------------------------------------------------------------------


class Silent:
    """A client that knows nothing of failures."""

    def __init__(self) -> None:
        self.kinds: list[str] = []

    async def session_update(self, update: Any, **_: Any) -> None:
        self.kinds.append(update.session_update)


class Older:
    """A client with the SDK's older names."""

    def __init__(self) -> None:
        self.kinds: list[str] = []

    async def sessionUpdate(self, params: Any) -> None:  # noqa: N802
        self.kinds.append(params.update.session_update)


TALK = update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": "Hm"})


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("kind", [Silent, Older])
def test_a_client_without_these_methods_still_gets_the_exception(
    kind: type[Any], caplog: pytest.LogCaptureFixture
) -> None:
    client = kind()
    with caplog.at_level(logging.WARNING):
        turn, _ = with_played([TALK, TYPED, error_answer(**META)], client)
    assert turn.failed is not None
    assert client.kinds == ["agent_message_chunk"]
    assert caplog.records == []


def test_a_client_can_be_created_from_its_connection() -> None:
    made: list[Any] = []

    def make(connection: Any) -> Client:
        made.append(connection)
        assert isinstance(connection.prompt, functools.partial)
        return Client()

    async def talk(connection: Any, client: Any) -> Turn:
        assert made == [connection]
        turn = await with_one_prompt(connection, client)
        assert isinstance(connection, ClientSideConnection)
        return turn

    with_played([error_answer(**META)], make, talk)


async def with_one_prompt(connection: Any, client: Any) -> Turn:
    with pytest.raises(errors.BudgetError):
        await connection.prompt(session_id="s1", prompt=[acp.text_block("x")])
    return Turn(client)


def test_the_rest_of_an_update_still_reaches_the_client() -> None:
    client = Client()
    titled = update(sessionUpdate="session_info_update", title="Parser", _meta=META)
    turn, _ = with_played([titled, error_answer(**META)], client)
    assert turn.failed is not None
    assert client.kinds == ["agent_error", "session_info_update"]


class Slow(Client):
    """A client that takes its time, and asks the agent something meanwhile."""

    async def agent_error(self, session_id: str, error: Any) -> None:
        await self.connected.new_session(cwd="/", mcp_servers=[])
        await super().agent_error(session_id, error)


def test_the_prompt_waits_until_the_client_has_dealt_with_the_failure() -> None:
    client = Slow()
    turn, _ = with_played([TYPED, error_answer(**META)], client)
    assert turn.failed is not None
    assert client.kinds == ["agent_error"]


def test_a_last_line_without_its_end_is_read_and_answered_prompts_are_forgotten() -> None:
    async def run() -> None:
        reader = asyncio.StreamReader()
        reader.feed_data(b'{"id": 2, "result": {"stopReason": "error"}}')
        reader.feed_eof()
        transport = TypedTransport(StreamTransport(None, reader))  # type: ignore[arg-type]
        transport._prompts.add(2)
        async with asyncio.timeout(FUSE_SECONDS):
            answer = await transport.receive()
            assert await transport.receive() is None
        assert answer is not None
        assert answer["error"]["data"]["agent_error"]["type"] == "unknown"
        assert not transport._prompts

    asyncio.run(run())


def test_a_line_longer_than_the_readers_limit_passes() -> None:
    async def run() -> None:
        ours, theirs = asyncio.StreamReader(limit=64), []

        class Writer(asyncio.StreamWriter):
            def __init__(self) -> None:
                pass

            def write(self, data: Any) -> None:
                theirs.append(data)
                if len(theirs) > 1:
                    return ours.feed_eof()
                ours.feed_data(b'\nno JSON\n{"id": 0, "result": {"protocolVersion": 1, "x": "')
                return ours.feed_data(b"y" * 500 + b'"}}\n')

            async def drain(self) -> None:
                pass

            def __del__(self, *_: Any) -> None:
                pass

        async with (
            asyncio.timeout(FUSE_SECONDS),
            typed.connect_to_agent(Client(), Writer(), ours) as made,
        ):
            hello = await made.initialize(protocol_version=1)
            assert hello.protocol_version == 1
            with pytest.raises(errors.AgentLostError):
                await made.prompt(session_id="s1", prompt=[acp.text_block("x")])
        assert theirs[0].endswith(b"\n")

    asyncio.run(run())
