"""With a healthy agent the sidecar is not there: bytes, exit status, signals, environment."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from tests.kit.client import update_of
from tests.kit.left_behind import CAN_LOOK
from tests.kit.sidecar import agent_command

if TYPE_CHECKING:
    from pathlib import Path

    from tests.kit.sidecar import SidecarClient
    from tests.process.sidecar.conftest import Start

TRACEPARENT = b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def _update(update: bytes, session: bytes = b"s1") -> bytes:
    params = b'"params":{"sessionId":"%s","update":%s}' % (session, update)
    return b'{"jsonrpc":"2.0","method":"session/update",%s}' % params


def _note(params: bytes) -> bytes:
    return b'{"jsonrpc":"2.0","method":"_vendor/thing","params":%s}' % params


BOTH_WAYS = (
    _note(b'{"deep":{"er":[1,2,{"x":null}]}}'),
    b'{"params":{"_meta":{"traceparent":"%s"}},"method":"_key/order","jsonrpc":"2.0"}'
    % TRACEPARENT,
    b' { "jsonrpc" : "2.0" ,\t"method":"_white/space", "params" : { "a" : [ ] } }  ',
    _note(b'{"line end":"of Windows"}') + b"\r",
    _note(b"[12345678901234567890123456789,1e5,1E+5,-0.0,1.10,0.1e-400]"),
    _note(rb'["\u00e9 \/ \\ \" \b\f\n\r\t \u0000 \ud83d\ude00"]'),
    _note(rb'{"half of a pair":"\ud83d and \uDE00"}'),
    _note('{"raw":"é ☃ 😀 \u2028 \ufeff"}'.encode()),
    _note(b'{"a":1,"a":2},"params":{"b":3}'),
    b'{"jsonrpc":"2.0","method":"_no/params"}',
    b'{"method":"_no/version","extra":true}',
    _note(b'"%s"' % (b"0123456789abcdef" * 196_608)),
    b'{"jsonrpc":"2.0","id":"text id","method":"_request","params":{}}',
    b'{"jsonrpc":"2.0","id":-7,"method":"_request","params":{}}',
)
"""Frames, without their line ends, that pass in either direction as they are."""

CHUNK = (
    b'{"jsonrpc":"2.0","method":"session/update","params":{"update":{"content":{"text":"Hi",'
    b'"type":"text","_meta":{"k":1e5}},"sessionUpdate":"agent_message_chunk"},"sessionId":"s1",'
    b'"_meta":{"traceparent":"%s"}}}' % TRACEPARENT
)
UPDATES = (
    CHUNK,
    CHUNK + b"\r",
    _update(rb'{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"\ud83d"}}'),
    _update(b'{"sessionUpdate":"_unknown_kind","anything":[1]}'),
    _update(b'{ "sessionUpdate":"plan" , "entries":[ ] }'),
    _update(b'{"sessionUpdate":"agent_thought_chunk","content":7}', session=b"never opened"),
)
PROMPT = (
    b'{"id": 2, "method":"session/prompt","params":{"prompt":[{"text":"hello","type":"text"}],'
    b'"sessionId":"s1","_meta":{"traceparent":"%s"}},"jsonrpc":"2.0"}' % TRACEPARENT
)
RESULT = b'{"result": {"_meta": {"x": 1E2}, "stopReason": "end_turn"}, "id": 2,"jsonrpc":"2.0"}'


def test_a_healthy_session_is_the_same_byte_for_byte_in_both_directions(
    start: Start, tmp_path: Path
) -> None:
    played, heard = tmp_path / "played", tmp_path / "heard"
    from_agent = _lines(*UPDATES, *BOTH_WAYS, *UPDATES, RESULT, CHUNK)
    from_client = _lines(*BOTH_WAYS, PROMPT, *BOTH_WAYS)
    played.write_bytes(from_agent)
    client = start("tape", played, heard)
    client.initialize()
    before = len(client.stdout.data)
    assert client.send_bytes(from_client) == len(from_client)
    client.answer(2)
    assert client.end() == 0
    assert heard.read_bytes().split(b"\n", 1)[1] == from_client
    assert bytes(client.stdout.data[before:][: len(from_agent)]) == from_agent


def _lines(*frames: bytes) -> bytes:
    return b"".join(frame + b"\n" for frame in frames)


def test_the_answer_to_initialize_gains_one_key_and_nothing_else(start: Start) -> None:
    client = start("healthy")
    answer = client.initialize()
    own = answer["result"].pop("agentCapabilities")
    assert set(own) == {"_meta"}
    assert set(own["_meta"]) == {"agent_error"}
    assert own["_meta"]["agent_error"]["version"] == 1
    assert answer == {
        "jsonrpc": "2.0",
        "id": 0,
        "result": {"protocolVersion": 1, "agentInfo": {"name": "test-agent", "version": "1"}},
    }


def test_a_text_with_a_byte_that_is_no_utf8_arrives_mended(start: Start) -> None:
    client = start("invalid-utf8")
    client.open()
    turn = client.turn()
    assert turn.text == "broken \ufffd here"
    assert turn.answer["result"] == {"stopReason": "end_turn"}


@pytest.mark.parametrize(
    ("sent", "meant"), [(rb'"a\/b"', "a/b"), ('"é"'.encode(), "é"), (b"1e2", 100)]
)
def test_an_id_that_the_other_side_writes_in_other_bytes_is_the_same_id(
    start: Start, sent: bytes, meant: object
) -> None:
    client = start("healthy")
    client.open()
    client.send_bytes(b'{"jsonrpc":"2.0","id":%s,"method":"_vendor/thing"}\n' % sent)
    assert client.answer(meant)["error"]["code"] == -32601


def test_a_frame_of_3_mb_arrives_whole(start: Start) -> None:
    client = start("long-line", 3_000_000)
    client.open()
    turn = client.turn()
    assert len(turn.text) == 3_000_000
    assert turn.answer["result"] == {"stopReason": "end_turn"}


@pytest.mark.parametrize("status", [0, 3, 127])
def test_the_exit_status_is_the_agents(start: Start, status: int) -> None:
    client = start("exits-at-end", status)
    client.open()
    assert client.end() == status


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGABRT])
def test_the_exit_status_tells_the_signal_that_the_agent_died_of(start: Start, number: int) -> None:
    client = start("dies-by-signal-at-end", int(number))
    client.open()
    assert client.end() == 128 + number


@pytest.mark.parametrize("number", [signal.SIGUSR1, signal.SIGUSR2])
def test_a_users_signal_reaches_the_agent_and_the_session_goes_on(
    start: Start, number: int
) -> None:
    client = start("tells-signals")
    client.open()
    os.kill(client.pid, number)
    client.expect_text(signal.Signals(number).name)
    assert client.turn("hello").answer["result"] == {"stopReason": "end_turn"}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_that_ends_reaches_the_agent_which_may_say_how_it_leaves(
    start: Start, number: int
) -> None:
    client = start("tells-signals")
    client.open()
    os.kill(client.pid, number)
    assert client.wait() == 5
    client.listen(0.1)
    texts = [update_of(frame)["content"]["text"] for frame in client.frames[2:]]
    assert texts == [signal.Signals(number).name]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_an_agent_without_a_handler_dies_of_the_signal_we_were_sent(
    start: Start, number: int
) -> None:
    client = start("healthy")
    client.open()
    os.kill(client.pid, number)
    assert client.wait() == 128 + number


def test_a_signal_that_we_were_started_to_ignore_is_ignored(start: Start) -> None:
    # As under `nohup`; scripts start what runs in the background with SIGINT ignored.
    client = start("healthy", under=["sh", "-c", "trap '' HUP INT; exec \"$@\"", "sh"])
    client.open()
    for number in (signal.SIGHUP, signal.SIGINT):
        os.kill(client.pid, number)
    client.listen(1.2)
    assert client.turn("hello").answer["result"] == {"stopReason": "end_turn"}


def _facts(client: SidecarClient) -> dict[str, Any]:
    client.open()
    facts: dict[str, Any] = json.loads(client.turn().text)
    return facts


def test_arguments_environment_and_directory_are_the_agents_own(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    environment = {"PLAIN": "é", "LASTWORD_IDLE_TIMEOUT": "77", "EMPTY": ""}
    arguments = ("--idle-timeout", "x y", "", "--", "$HOME", "\u2603")
    client = start("tells", *arguments, environment=environment)
    facts = _facts(client)
    assert facts["arguments"] == list(arguments)
    assert facts["directory"] == str(tmp_path)
    expected = {**os.environ, **environment}
    mark = facts["environment"].pop("SIDECAR_TEST_MARK")
    assert mark == client.mark
    facts["environment"].pop("LC_CTYPE", None)  # Python's own doing, at its start
    expected.pop("LC_CTYPE", None)
    assert facts["environment"] == expected


@pytest.mark.skipif(not CAN_LOOK, reason="looks into /proc")
@pytest.mark.parametrize("options", [(), ("--passthrough",)], ids=["relay", "passthrough"])
@pytest.mark.parametrize(
    "given", [("LANG=C",), ("LC_CTYPE=C.UTF-8",), ("LC_CTYPE=C",), ("LC_ALL=C",)], ids=repr
)
def test_the_agent_has_the_users_locale_and_not_the_one_that_python_sets_for_itself(
    start: Start, given: tuple[str, ...], options: tuple[str, ...]
) -> None:
    none = [word for name in ("LANG", "LC_ALL", "LC_CTYPE") for word in ("-u", name)]
    env = start.program(["env"], options=options, under=["env", *none, *given])
    env.close_stdin()
    found = env.read_to_end().decode().splitlines()
    assert tuple(line for line in found if line.startswith(("LC_", "LANG="))) == given


def test_the_agent_has_a_group_of_its_own_and_inherits_nothing_else(start: Start) -> None:
    client = start("tells")
    facts = _facts(client)
    assert facts["parent"] == client.pid
    assert facts["group"] == facts["pid"]
    # 0, 1, 2, and the one that lists them.
    assert facts["descriptors"] == [0, 1, 2, 3]


@pytest.mark.skipif(not CAN_LOOK, reason="looks into /proc")
@pytest.mark.parametrize("options", [(), ("--passthrough",)], ids=["relay", "passthrough"])
@pytest.mark.real_start
def test_the_agent_finds_every_signal_as_if_we_were_not_there(
    start: Start, options: tuple[str, ...]
) -> None:
    # Not asked of a Python agent, which changes some by itself.
    look = ["grep", "-E", "SigIgn|SigBlk", "/proc/self/status"]
    grep = start.program(look, options=options)
    grep.close_stdin()
    directly = subprocess.run(look, capture_output=True, check=True).stdout
    assert _masks(grep.read_to_end()) == _masks(directly)


def _masks(status: bytes) -> list[int]:
    """The masks, without 32 and 33: the C library's own, which its `posix_spawn` ignores."""
    return [int(mask, 16) & ~(3 << 31) for mask in status.split()[1::2]]


def test_the_agents_command_is_found_on_the_path(start: Start, tmp_path: Path) -> None:
    script = tmp_path / "my-agent"
    words = " ".join(f"'{word}'" for word in agent_command("healthy"))
    script.write_text(f"#!/bin/sh\nexec {words}\n", encoding="utf-8")
    script.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    client = start.command(["my-agent"], environment={"PATH": path})
    client.open()
    assert client.turn("hello").text == "Here is the answer."
