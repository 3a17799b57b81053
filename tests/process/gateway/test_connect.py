"""`lastword connect` as a process: what refusals, silence and official clients get of it."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from acp import spawn_agent_process, text_block
from acp.schema import AllowedOutcome, RequestPermissionResponse

from tests.kit.gateway.api import ApiClient
from tests.kit.gateway.editor import connected, counting
from tests.kit.gateway.serving import until
from tests.kit.patience import FUSE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.kit.gateway.serving import Gateway

TYPED = {"_meta": {"agent_error": {"version": 1, "retry": True}}}


def _hello(capabilities: dict[str, Any]) -> dict[str, Any]:
    return {"protocolVersion": 1, "clientCapabilities": capabilities}


def test_a_person_at_a_terminal_learns_what_it_waits_for() -> None:
    ours, theirs = os.openpty()
    url = "http://127.0.0.1:9"
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "lastword", "connect", url, "--token", "x"],
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        os.write(ours, b"\x04")
        _, said = process.communicate(timeout=FUSE_SECONDS)
    finally:
        process.kill()
        os.close(ours)
        os.close(theirs)
    assert process.returncode == 0
    assert b"An editor normally starts this command" in said
    assert url.encode() in said


def test_a_token_file_that_is_missing_is_named_with_the_command_that_makes_it(
    tmp_path: Path,
) -> None:
    words = ["connect", "http://127.0.0.1:9", "--token-file", str(tmp_path / "token")]
    done = subprocess.run(
        [sys.executable, "-P", "-m", "lastword", *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=FUSE_SECONDS,
    )
    assert done.returncode == 2
    assert f"{tmp_path / 'token'}: no such file" in done.stderr
    assert "lastword gateway token" in done.stderr


def test_a_wrong_token_answers_the_editor_typed_and_is_said_on_stderr(
    serve: Callable[..., Gateway],
) -> None:
    gateway = serve("healthy")
    asyncio.run(_is_refused(gateway.url, "unauthorized", "HTTP 401"))


@pytest.mark.parametrize(("status", "reason"), [(403, "forbidden"), (404, "gateway_not_found")])
def test_a_refused_upgrade_answers_the_editor_typed_and_is_said_on_stderr(
    status: int, reason: str
) -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 %d No\r\nContent-Length: 0\r\n\r\n" % status)
        await writer.drain()
        writer.close()

    async def play() -> None:
        async with await asyncio.start_server(refuse, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            await _is_refused(f"http://127.0.0.1:{port}/acp", reason, f"HTTP {status}")

    asyncio.run(play())


async def _is_refused(url: str, reason: str, said: str) -> None:
    async with connected(url, "wrong") as editor:
        answer = await editor.call("initialize", _hello({}))
        payload = answer["error"]["data"]["agent_error"]
        assert (payload["reason"], payload["retryable"]) == (reason, False)
        status, on_stderr = await editor.close()
        assert status == 0
        assert said in on_stderr


@pytest.mark.processes
def test_a_gateway_that_is_gone_is_sought_then_given_up_and_the_next_prompt_finds_it_again(
    serve: Callable[..., Gateway],
) -> None:
    gateway = serve("", command=counting(os.devnull))

    async def play() -> None:
        async with connected(gateway.url, gateway.token(), hurried=True) as editor:
            session_id = await editor.begin(gateway.root, TYPED)
            prompt = editor.prompt(session_id, "40 100")
            await editor.wait_for(lambda _: len(editor.words()) > 3)
            gateway.kill_front()
            payload = (await editor.answer(prompt))["error"]["data"]["agent_error"]
            assert (payload["type"], payload["reason"]) == ("network", "gateway_unreachable")
            assert payload["retry_safety"] == "ask"
            gateway.start()
            again = await editor.answer(editor.prompt(session_id, "3 1"))
            assert again["result"] == {"stopReason": "end_turn"}
            await editor.wait_for(lambda _: "1.39" in editor.words())
            await editor.wait_for(lambda _: editor.updates("session_info_update"))
            first = [word for word in editor.words() if word.startswith("1.")]
            assert first == [f"1.{number}" for number in range(40)]
            assert len(editor.answers(prompt)) == 1

    asyncio.run(play())


@pytest.mark.processes
def test_what_became_of_the_link_is_in_the_sessions_log_once_the_gateway_is_back(
    serve: Callable[..., Gateway],
) -> None:
    gateway = serve("", command=counting(os.devnull))

    async def play() -> None:
        async with connected(gateway.url, gateway.token(), hurried=True) as editor:
            session_id = await editor.begin(gateway.root, TYPED)
            prompt = editor.prompt(session_id, "40 100")
            await editor.wait_for(lambda _: len(editor.words()) > 3)
            gateway.kill_front()
            await editor.answer(prompt)
            gateway.start()
            await editor.answer(editor.prompt(session_id, "3 1"))

            def reported() -> dict[str, Any] | None:
                events = ApiClient(gateway).events(session_id, kinds="client_error")
                found = {event["facts"]["word"]: event["facts"] for event in events}
                return found if len(found) > 1 else None

            found = await asyncio.to_thread(until, "both are reported", reported)
            assert found.keys() == {"closed_1006", "gave_up"}
            assert {facts["source"] for facts in found.values()} == {"connect"}
            assert found["closed_1006"]["code"] == 1006
            assert found["gave_up"]["tries"] == 2

    asyncio.run(play())


def test_a_session_is_taken_up_by_another_editor_with_its_past(
    serve: Callable[..., Gateway],
) -> None:
    gateway = serve("", command=counting(os.devnull))

    async def play() -> None:
        token = gateway.token()
        async with connected(gateway.url, token) as first:
            session_id = await first.begin(gateway.root)
            await first.answer(first.prompt(session_id, "5 1"))
            _, said = await first.close()
            assert f"--session {session_id}" in said
        async with connected(gateway.url, token, "--session", session_id) as second:
            assert await second.begin(gateway.root) == session_id
            await second.wait_for(lambda _: len(second.words()) == 5)
            await second.answer(second.prompt(session_id, "5 1"))
            assert second.words()[:5] == [f"1.{number}" for number in range(5)]
            assert len(second.words()) == 10

    asyncio.run(play())


class _SdkClient:
    """User code on the official SDK."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.asked = 0

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        content = getattr(update, "content", None)
        if session_id and hasattr(content, "text"):
            self.texts.append(content.text)

    async def request_permission(self, options: Any, **_: Any) -> RequestPermissionResponse:
        self.asked += 1
        chosen = AllowedOutcome(outcome="selected", option_id=options[0].option_id)
        return RequestPermissionResponse(outcome=chosen)

    def on_connect(self, conn: Any) -> None:
        """Nothing is needed of it."""


@pytest.mark.processes
@pytest.mark.parametrize("scenario", ["slow", "permission"])
def test_the_official_client_has_a_turn_through_it_though_the_front_is_killed(
    scenario: str, serve: Callable[..., Gateway]
) -> None:
    gateway = serve(scenario)
    client = _SdkClient()

    async def play() -> None:
        environment = {**os.environ, "LASTWORD_GATEWAY_TOKEN": gateway.token()}
        arguments = ("-m", "lastword", "connect", gateway.url)
        async with (
            asyncio.timeout(120),
            spawn_agent_process(client, sys.executable, *arguments, env=environment) as (  # type: ignore[arg-type]
                connection,
                _,
            ),
        ):
            await connection.initialize(protocol_version=1)
            opened = await connection.new_session(cwd=str(gateway.root), mcp_servers=[])
            turn = asyncio.create_task(
                connection.prompt(session_id=opened.session_id, prompt=[text_block("go")])
            )
            while not client.texts and not client.asked:  # noqa: ASYNC110 - the SDK has no event
                await asyncio.sleep(0.01)
            gateway.kill_front()
            gateway.start()
            assert (await turn).stop_reason == "end_turn"

    asyncio.run(play())
    assert client.asked == (1 if scenario == "permission" else 0)
    assert client.texts
