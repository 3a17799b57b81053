"""The official client before `lastword connect`, over links and processes that fail in mid-turn."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any

import pytest
from acp import RequestError, spawn_agent_process, text_block
from acp.schema import AllowedOutcome, RequestPermissionResponse

from tests.kit.gateway.editor import at_once, counting
from tests.kit.gateway.fault_proxy import Fault, FaultProxy, Plan
from tests.kit.places import ROOT

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from tests.kit.gateway.serving import Gateway

    Serve = Callable[..., Gateway]

FUSE_SECONDS = 120
QUICK = ("--ping", "1", "--pong-timeout", "2")
"""A socket whose other end is gone is found by the front in 3 s instead of 40."""


class SdkClient:
    """User code on the official SDK, which answers a question once it may."""

    def __init__(self, at_question: Callable[[], Awaitable[None]] | None = None) -> None:
        self.texts: list[str] = []
        self.thoughts: list[str] = []
        self.asked = 0
        self._at_question = at_question

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        text = getattr(getattr(update, "content", None), "text", None)
        if session_id and text is not None:
            is_thought = update.session_update == "agent_thought_chunk"
            (self.thoughts if is_thought else self.texts).append(text)

    async def request_permission(self, options: Any, **_: Any) -> RequestPermissionResponse:
        self.asked += 1
        if self._at_question is not None:
            await self._at_question()
        chosen = AllowedOutcome(outcome="selected", option_id=options[0].option_id)
        return RequestPermissionResponse(outcome=chosen)

    def on_connect(self, conn: Any) -> None:
        """Nothing is needed of it."""

    def words(self) -> list[str]:
        """What the agent said, word by word."""
        return "".join(self.texts).split()


async def turn(client: SdkClient, gateway: Gateway, url: str, text: str) -> Any:
    """One turn of the official client; gives its stop reason, or the error it got."""
    environment = {
        **os.environ,
        "LASTWORD_GATEWAY_TOKEN": gateway.token(),
        "PYTHONPATH": str(ROOT),
    }
    program, *arguments = [*at_once(100_000), "connect", url]
    async with (
        asyncio.timeout(FUSE_SECONDS),
        spawn_agent_process(client, program, *arguments, env=environment) as (  # type: ignore[arg-type]
            connection,
            _,
        ),
    ):
        await connection.initialize(protocol_version=1)
        opened = await connection.new_session(cwd=str(gateway.root), mcp_servers=[])
        prompt = [text_block(text)]
        try:
            answer = await connection.prompt(session_id=opened.session_id, prompt=prompt)
        except RequestError as error:
            return error
        return answer.stop_reason


def counted(count: int) -> list[str]:
    words = [f"1.{number}" for number in range(count)]
    words.insert(count // 2 + 1, "1.answer=True")
    return words


@pytest.mark.parametrize("plan", [Plan(Fault.CUT, 4000), Plan(Fault.BLACK_HOLE, 4000)])
def test_the_official_client_does_not_notice_a_failing_link(
    tmp_path: Path, serve: Serve, plan: Plan
) -> None:
    gateway = serve("", *QUICK, command=counting(str(tmp_path / "prompts")))
    client = SdkClient()

    async def play() -> None:
        def plans(number: int) -> Plan:
            return plan if number == 0 else Plan()

        async with FaultProxy(gateway.port, plans) as proxy:
            url = f"http://127.0.0.1:{proxy.port}"
            assert await turn(client, gateway, url, "80 10 ask") == "end_turn"
            assert proxy.struck

    asyncio.run(play())
    assert client.words() == counted(80)
    assert client.asked == 1
    assert len((tmp_path / "prompts").read_text(encoding="utf-8").splitlines()) == 1


@pytest.mark.processes
def test_a_question_that_is_open_when_the_link_fails_is_answered_once(
    tmp_path: Path, serve: Serve
) -> None:
    gateway = serve("", *QUICK, command=counting(str(tmp_path / "prompts")))

    async def play(word: str) -> tuple[SdkClient, Any]:
        async with FaultProxy(gateway.port, lambda _: Plan()) as proxy:

            async def at_question() -> None:
                if word == "swallowed":
                    proxy.swallow()
                elif word == "reload":
                    await asyncio.to_thread(gateway.reload)
                else:
                    await asyncio.to_thread(gateway.crash)

            client = SdkClient(at_question)
            ended = await turn(client, gateway, f"http://127.0.0.1:{proxy.port}", "40 10 ask")
            assert proxy.connections > 1
            return client, ended

    for word in ("swallowed", "reload"):
        client, ended = asyncio.run(play(word))
        assert ended == "end_turn", word
        assert client.words() == counted(40), word
        assert client.asked == 1, word
    assert len((tmp_path / "prompts").read_text(encoding="utf-8").splitlines()) == 2
    # With the gateway's own process, the turn is over, and it is told so.
    client, ended = asyncio.run(play("killed"))
    assert isinstance(ended, RequestError)
    assert ended.data["agent_error"]["type"] == "agent_crash"
    assert client.words() == counted(40)[: len(client.words())]
    assert client.asked == 1
