"""With a healthy agent the sidecar is not there: bytes, exit status, signals, environment."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.kit.client import update_of
from tests.kit.left_behind import CAN_LOOK

if TYPE_CHECKING:
    from pathlib import Path

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


def _lines(*frames: bytes) -> bytes:
    return b"".join(frame + b"\n" for frame in frames)


PROMPT = (
    b'{"id": 2, "method":"session/prompt","params":{"prompt":[{"text":"hello","type":"text"}],'
    b'"sessionId":"s1","_meta":{"traceparent":"%s"}},"jsonrpc":"2.0"}' % TRACEPARENT
)
RESULT = b'{"result": {"_meta": {"x": 1E2}, "stopReason": "end_turn"}, "id": 2,"jsonrpc":"2.0"}'


def test_a_healthy_session_passes_byte_for_byte_in_both_directions(
    start: Start, tmp_path: Path
) -> None:
    played, heard = tmp_path / "played", tmp_path / "heard"
    deep = _note(b"[" * 1000 + b"]" * 1000)  # the tape itself reads what comes, and none so deep
    from_agent = _lines(*UPDATES, *BOTH_WAYS, deep, *UPDATES, RESULT, CHUNK)
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


def test_a_users_signals_reach_the_agent_which_may_choose_its_exit_status(start: Start) -> None:
    client = start("tells-signals")
    answer = client.initialize()
    own = answer["result"].pop("agentCapabilities")
    assert answer["result"] == {
        "protocolVersion": 1,
        "agentInfo": {"name": "test-agent", "version": "1"},
    }
    assert set(own["_meta"]) == {"agent_error"}, "the answer gains this, and nothing else"
    client.call("session/new", cwd="/", mcpServers=[])
    for number in (signal.SIGUSR1, signal.SIGUSR2):
        os.kill(client.pid, number)
        client.expect_text(number.name)
    assert client.turn("hello").answer["result"] == {"stopReason": "end_turn"}
    os.kill(client.pid, signal.SIGINT)
    assert client.wait() == 5
    client.listen(0.1)
    assert update_of(client.frames[-1])["content"]["text"] == "SIGINT"


def test_the_exit_status_is_that_of_the_agent_which_dies_from_the_signal_sent_to_us(
    start: Start,
) -> None:
    client = start("dies-by-signal-at-end", int(signal.SIGABRT))
    client.open()
    assert client.end() == 128 + signal.SIGABRT
    client = start("healthy")
    client.open()
    os.kill(client.pid, signal.SIGQUIT)
    assert client.wait() == 128 + signal.SIGQUIT


def test_a_signal_ignored_at_our_start_stays_ignored(start: Start) -> None:
    # As under `nohup`; scripts start what runs in the background with SIGINT ignored.
    client = start("healthy", under=["sh", "-c", "trap '' HUP INT; exec \"$@\"", "sh"])
    client.open()
    for number in (signal.SIGHUP, signal.SIGINT):
        os.kill(client.pid, number)
    client.listen(0.5)
    assert client.turn("hello").answer["result"] == {"stopReason": "end_turn"}


def test_the_agent_gets_its_arguments_environment_and_directory_unchanged(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    environment = {"PLAIN": "é", "LASTWORD_IDLE_TIMEOUT": "77", "EMPTY": ""}
    # The last is as long as the kernel allows.
    arguments = ("--idle-timeout", "x y", "", "--", "$HOME", "\u2603", "x" * 130_000)
    client = start("tells", *arguments, environment=environment)
    client.open()
    facts = json.loads(client.turn().text)
    assert (facts["parent"], facts["group"]) == (client.pid, facts["pid"]), "a group of its own"
    # 0, 1, 2, and the one that lists them.
    assert facts["descriptors"] == [0, 1, 2, 3]
    assert facts["arguments"] == list(arguments)
    assert facts["directory"] == str(tmp_path)
    expected = {**os.environ, **environment}
    mark = facts["environment"].pop("SIDECAR_TEST_MARK")
    assert mark == client.mark
    facts["environment"].pop("LC_CTYPE", None)  # Python's own doing, at its start
    expected.pop("LC_CTYPE", None)
    assert facts["environment"] == expected


@pytest.mark.skipif(not CAN_LOOK, reason="looks into /proc")
@pytest.mark.parametrize(
    ("given", "options"),
    [("LANG=C", ()), ("LC_CTYPE=C", ("--passthrough",))],
)
def test_the_agent_gets_the_users_locale_and_not_the_one_that_python_sets(
    start: Start, given: str, options: tuple[str, ...]
) -> None:
    none = [word for name in ("LANG", "LC_ALL", "LC_CTYPE") for word in ("-u", name)]
    env = start.program(["env"], options=options, under=["env", *none, given])
    env.close_stdin()
    found = env.read_to_end().decode().splitlines()
    assert [line for line in found if line.startswith(("LC_", "LANG="))] == [given]


@pytest.mark.skipif(not CAN_LOOK, reason="looks into /proc")
@pytest.mark.parametrize("options", [(), ("--passthrough",)], ids=["relay", "passthrough"])
@pytest.mark.real_start
def test_the_agents_signal_masks_are_unchanged(start: Start, options: tuple[str, ...]) -> None:
    # Not asked of a Python agent, which changes some by itself.
    look = ["grep", "-E", "SigIgn|SigBlk", "/proc/self/status"]
    grep = start.program(look, options=options)
    grep.close_stdin()
    directly = subprocess.run(look, capture_output=True, check=True).stdout
    assert _masks(grep.read_to_end()) == _masks(directly)


def _masks(status: bytes) -> list[int]:
    """The masks, without 32 and 33: the C library's own, which its `posix_spawn` ignores."""
    return [int(mask, 16) & ~(3 << 31) for mask in status.split()[1::2]]
