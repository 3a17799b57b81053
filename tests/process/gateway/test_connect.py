"""`lastword connect` as a process: what refusals, silence and official clients get of it."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.kit.command import at_a_terminal, command
from tests.kit.gateway.api import ApiClient
from tests.kit.gateway.editor import connected, counting
from tests.kit.gateway.serving import until
from tests.kit.patience import fused

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.kit.gateway.serving import Gateway

TYPED = {"_meta": {"agent_error": {"version": 1, "retry": True}}}


def _hello(capabilities: dict[str, Any]) -> dict[str, Any]:
    return {"protocolVersion": 1, "clientCapabilities": capabilities}


def test_a_person_at_a_terminal_sees_what_connect_waits_for() -> None:
    url = "http://127.0.0.1:9"
    command = [sys.executable, "-P", "-m", "lastword", "connect", url, "--token", "x"]
    done = at_a_terminal(command, b"\x04")
    assert done.returncode == 0
    assert b"An editor normally starts this command" in done.stderr
    assert url.encode() in done.stderr


def test_a_token_file_that_is_missing_is_named_with_the_command_that_makes_it(
    tmp_path: Path,
) -> None:
    token = str(tmp_path / "token")
    done = command("connect", "http://127.0.0.1:9", "--token-file", token)
    assert done.returncode == 2
    assert f"{tmp_path / 'token'}: no such file" in done.stderr
    assert "lastword gateway token" in done.stderr


@fused
async def test_a_wrong_token_gets_the_editor_a_typed_answer_and_a_line_on_stderr(
    serve: Callable[..., Gateway],
) -> None:
    gateway = serve("healthy")
    async with connected(gateway.url, "wrong") as editor:
        answer = await editor.call("initialize", _hello({}))
        payload = answer["error"]["data"]["agent_error"]
        assert (payload["reason"], payload["retryable"]) == ("unauthorized", False)
        status, on_stderr = await editor.close()
        assert status == 0
        assert "HTTP 401" in on_stderr


@fused
async def test_a_refused_ssh_login_is_reported_at_once_and_tried_in_two_ways(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, runs = tmp_path / "ssh", tmp_path / "runs"
    denied = "me@box: Permission denied (publickey)."
    program.write_text(f"#!/bin/sh\necho run >> {runs}\necho '{denied}' >&2\nexit 255\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    async with connected("http://127.0.0.1:9", "token", "--ssh", "box") as editor:
        for number in (1, 2):
            error = (await editor.call("initialize", _hello({})))["error"]
            payload = error["data"]["agent_error"]
            assert (payload["type"], payload["retryable"]) == ("auth", False)
            assert payload["message"].startswith("No connection through ssh: box does not let you")
            assert runs.read_text().count("run") == 2 * number
        _, on_stderr = await editor.close()
    assert "box does not let you in without a password" in on_stderr


@pytest.mark.processes
@fused
async def test_a_lost_gateway_is_sought_then_given_up_and_found_again_by_the_next_prompt(
    serve: Callable[..., Gateway],
) -> None:
    gateway = serve("", command=counting(os.devnull))
    async with connected(gateway.url, gateway.token(), hurried=True) as editor:
        session_id = await editor.begin(gateway.root, TYPED)
        prompt = editor.prompt(session_id, "4000 50")
        await editor.wait_for(lambda _: len(editor.words()) > 3)
        await asyncio.to_thread(gateway.kill)
        payload = (await editor.answer(prompt))["error"]["data"]["agent_error"]
        assert (payload["type"], payload["reason"]) == ("network", "gateway_unreachable")
        assert payload["retry_safety"] == "ask"
        first = editor.words()
        assert first == [f"1.{number}" for number in range(len(first))]
        gateway.start()
        again = await editor.answer(editor.prompt(session_id, "3 1"))
        assert again["result"] == {"stopReason": "end_turn"}
        assert editor.words()[: len(first)] == first
        assert len(editor.answers(prompt)) == 1

        def reported() -> dict[str, Any] | None:
            events = ApiClient(gateway).events(session_id, kinds="client_error")
            found = {event["facts"]["word"]: event["facts"] for event in events}
            return found if len(found) > 1 else None

        # What became of the link is in the session's log.
        found = await asyncio.to_thread(until, "both are reported", reported)
        assert found.keys() == {"closed_1006", "gave_up"}
        assert {facts["source"] for facts in found.values()} == {"connect"}
        assert (found["closed_1006"]["code"], found["gave_up"]["tries"]) == (1006, 2)


@fused
async def test_another_editor_resumes_a_session_with_its_past(
    serve: Callable[..., Gateway],
) -> None:
    gateway = serve("", command=counting(os.devnull))
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
