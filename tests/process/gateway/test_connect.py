"""`lastword connect` as a process: what refusals, failing links and gateways make of a turn."""

from __future__ import annotations

import asyncio
import os
import random
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.kit.command import at_a_terminal, command
from tests.kit.gateway.agents import noting
from tests.kit.gateway.api import ApiClient
from tests.kit.gateway.editor import Editor, connected, counting
from tests.kit.gateway.fault_proxy import Fault, FaultProxy, Plan
from tests.kit.gateway.serving import until
from tests.kit.gateway.viewing import TYPED, failure_of
from tests.kit.patience import FUSE_SECONDS, fused
from tests.kit.sidecar import hurried

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.kit.gateway.serving import Gateway, Serve

CUTS = int(os.environ.get("LASTWORD_CUTS", "30"))
"""How often the link is cut in the long test."""

QUICK = ("--ping", "1", "--pong-timeout", "2")
"""A socket whose other end is gone is found by the front in 3 s instead of 40."""


HELLO = {"protocolVersion": 1, "clientCapabilities": {}}


@pytest.fixture(scope="module")
def gateway(serve_all: Serve, tmp_path_factory: pytest.TempPathFactory) -> Gateway:
    """A gateway before an agent that counts."""
    prompts = tmp_path_factory.mktemp("agent") / "prompts"
    return serve_all("", *QUICK, command=counting(str(prompts)))


def prompts(gateway: Gateway) -> int:
    """How many have reached its agents."""
    path = Path(gateway.command[-1])
    return len(path.read_text(encoding="utf-8").splitlines()) if path.exists() else 0


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
    gateway: Gateway,
) -> None:
    async with connected(gateway.url, "wrong") as editor:
        payload = failure_of(await editor.call("initialize", HELLO))
        assert (payload["reason"], payload["retryable"]) == ("unauthorized", False)
        assert "Make a new one with `lastword gateway token`" in payload["message"]
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
            payload = failure_of(await editor.call("initialize", HELLO))
            assert (payload["type"], payload["retryable"]) == ("auth", False)
            assert payload["message"].startswith("No connection through ssh: box does not let you")
            assert runs.read_text().count("run") == 2 * number
        _, on_stderr = await editor.close()
    assert "box does not let you in without a password" in on_stderr


@pytest.mark.processes
@fused
async def test_a_lost_gateway_is_sought_then_given_up_and_found_again_by_the_next_prompt(
    serve: Serve,
) -> None:
    gateway = serve("", command=counting(os.devnull))
    async with connected(gateway.url, gateway.token(), hurried=True) as editor:
        session_id = await editor.begin(gateway.root, TYPED)
        prompt = editor.prompt(session_id, "4000 50")
        await editor.wait_for(lambda _: len(editor.words()) > 3)
        await asyncio.to_thread(gateway.kill)
        payload = failure_of(await editor.answer(prompt))
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
async def test_another_editor_resumes_a_session_with_its_past(gateway: Gateway) -> None:
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


# --- over links and gateways that fail ------------------------------------------------------------


def _counted(turn: int, count: int, *, asks: bool = False) -> list[str]:
    words = [f"{turn}.{number}" for number in range(count)]
    if asks:
        words.insert(count // 2 + 1, f"{turn}.answer=True")
    return words


def _is_sound(editor: Editor) -> None:
    """Each request has one answer, no question was shown twice, and stdout had frames alone."""
    answers = Counter(each["id"] for each in editor.frames if "id" in each and "method" not in each)
    questions = Counter(each["id"] for each in editor.frames if "id" in each and "method" in each)
    assert set(answers.values()) <= {1}
    assert set(questions.values()) <= {1}
    assert not editor.noise
    assert not any(
        "lastword" in (each.get("params") or {}).get("_meta", {}) for each in editor.frames
    )


@fused
async def test_a_link_cut_at_random_bytes_loses_and_duplicates_nothing(gateway: Gateway) -> None:
    dice = random.Random(4409)
    plans = [
        Plan(dice.choice([Fault.CUT, Fault.RESET]), 800 + dice.randrange(6000)) for _ in range(CUTS)
    ]
    before = prompts(gateway)

    def plan(number: int) -> Plan:
        return plans[number % CUTS] if proxy.struck < CUTS else Plan()

    async with (
        FaultProxy(gateway.port, plan) as proxy,
        connected(f"http://127.0.0.1:{proxy.port}", gateway.token(), hasty=True) as editor,
    ):
        session_id = await editor.begin(gateway.root)
        turns = 0
        expected: list[str] = []
        while proxy.struck < CUTS:  # a report's connection is too short to be
            turns += 1
            asks = turns % 2 == 0
            request = editor.prompt(session_id, "60 10 ask" if asks else "60 10")
            expected += _counted(turns, 60, asks=asks)
            answer = await editor.answer(request)
            assert answer.get("result") == {"stopReason": "end_turn"}, answer
            assert editor.words() == expected
        _is_sound(editor)
        assert prompts(gateway) == before + turns
        status, said = await editor.close()
        assert status == 0
        assert session_id in said


@fused
async def test_a_frame_that_takes_longer_than_pings_and_probes_may_arrives_over_one_link(
    tmp_path: Path, serve: Serve
) -> None:
    quick = ("--ping", "1", "--pong-timeout", "5")
    gateway = serve("", *quick, command=noting(tmp_path / "noted"))
    limits = {"client.reconnect.PROBE_EVERY": 1_000, "client.reconnect.PROBE_FUSE": 5_000}
    async with (
        FaultProxy(gateway.port, lambda _: Plan(delay_seconds=0.004)) as proxy,
        connected(
            f"http://127.0.0.1:{proxy.port}", gateway.token(), under=hurried(limits)
        ) as editor,
    ):
        session_id = await editor.begin(gateway.root)
        answer = await editor.answer(editor.prompt(session_id, "x" * 7_500_000))
        assert answer["result"] == {"stopReason": "end_turn"}
        assert proxy.connections == 1


@fused
async def test_what_an_editor_sends_just_before_it_leaves_arrives_once_over_a_slow_link(
    tmp_path: Path, serve: Serve
) -> None:
    notes = tmp_path / "noted"
    gateway = serve("", command=noting(notes))
    ends = dict.fromkeys(("shell.LEAVE_SECONDS", "dial.CLOSE_SECONDS"), FUSE_SECONDS)
    patient = hurried({f"gateway.connecting.{name}": value for name, value in ends.items()})
    async with (
        FaultProxy(gateway.port, lambda _: Plan(delay_seconds=0.0005)) as proxy,
        connected(f"http://127.0.0.1:{proxy.port}", gateway.token(), under=patient) as editor,
    ):
        session_id = await editor.begin(gateway.root)
        pad = "x" * 8_000_000  # more than the sockets on the way hold
        editor.send({"method": "_x/note", "params": {"sessionId": session_id, "pad": pad}})
        await editor.close()

    def has_come() -> bool:
        text = notes.read_text()
        return "_x/note" in text and text.endswith("\n")

    await asyncio.to_thread(until, "it has come", has_come)
    await asyncio.to_thread(gateway.close)
    assert notes.read_text().count("_x/note") == 1


@pytest.mark.processes
@fused
async def test_a_question_that_is_open_when_the_link_fails_is_answered_once(
    tmp_path: Path, serve: Serve
) -> None:
    gateway = serve("", *QUICK, command=counting(str(tmp_path / "prompts")))

    async def play(fails: Callable[[FaultProxy], object]) -> tuple[list[str], dict[str, Any]]:
        async with (
            FaultProxy(gateway.port, lambda _: Plan()) as proxy,
            connected(f"http://127.0.0.1:{proxy.port}", gateway.token(), hasty=True) as editor,
        ):
            editor.answer_questions = False
            prompt = editor.prompt(await editor.begin(gateway.root), "40 10 ask")
            (asked,) = await editor.wait_for(questions)
            await asyncio.to_thread(fails, proxy)
            chosen = {"outcome": {"outcome": "selected", "optionId": "yes"}}
            editor.send({"id": asked["id"], "result": chosen})
            answer = await editor.answer(prompt)
            assert proxy.connections > 1
            assert questions(editor) == [asked]
            _is_sound(editor)
            return editor.words(), answer

    def questions(editor: Editor) -> list[dict[str, Any]]:
        return [f for f in editor.frames if f.get("method") == "session/request_permission"]

    for fails in (FaultProxy.swallow, lambda _: gateway.reload()):
        words, answer = await play(fails)
        assert answer["result"] == {"stopReason": "end_turn"}
        assert words == _counted(1, 40, asks=True)
    assert prompts(gateway) == 2
    # With the gateway's own process, the turn is over, and it is told so.
    words, answer = await play(lambda _: gateway.crash())
    assert answer["error"]["data"]["agent_error"]["type"] == "agent_crash"
    assert words == _counted(1, 40)[: len(words)]
