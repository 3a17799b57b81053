"""Agents that read nothing, answer nothing, or leave where they were started.

What each end means, `tests/unit` and the vectors decide; here they are on pipes.
"""

from __future__ import annotations

import json
import resource
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.kit.client import unread_bytes
from tests.process.sidecar.failing_turn import payload_of

if TYPE_CHECKING:
    from tests.kit.sidecar import SidecarClient
    from tests.process.sidecar.conftest import Start

MB = 1_000_000
GRACE = "--cancel-grace=0.5"

AGENT = """
import json, os, signal, sys, time

life = json.loads(sys.argv[1])
if "ignores_sigterm" in life:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
is_first = not os.path.exists(life.get("once", ""))
if "once" in life:
    open(life["once"], "a").close()
said = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "Here."}}
results = {
    "initialize": {
        "protocolVersion": 1,
        "agentCapabilities": {"loadSession": True},
        "_meta": {"pid": os.getpid()},
    },
    "session/new": {"sessionId": "s1"},
    "session/prompt": {"stopReason": "end_turn"},
}
for line in sys.stdin:
    asked = json.loads(line)
    method = asked["method"]
    if "id" not in asked or method == life.get("silent"):
        continue
    if method == "session/prompt":
        shown = {"method": "session/update", "params": {"sessionId": "s1", "update": said}}
        print(json.dumps({"jsonrpc": "2.0", **shown}), flush=True)
    answer = {"id": asked["id"], "result": results.get(method, {})}
    print(json.dumps({"jsonrpc": "2.0", **answer}), flush=True)
    while is_first and method == life.get("deaf_after"):
        time.sleep(600)
while "stays" in life:
    time.sleep(600)
sys.exit(life.get("status", 0))
"""
"""What it does is in its `life`; `once` is a file, and then its next process hears well."""


def lives(start: Start, *options: str, **life: object) -> SidecarClient:
    return start.command([sys.executable, "-c", AGENT, json.dumps(life)], options=options)


# G1, G6, CAN-4: a cancel is heard while a prompt is unanswered, however little the agent reads; how
# much is read of a client behind a pipe that is full has a bound.


def test_a_cancel_works_behind_a_pipe_that_the_agent_does_not_read(
    start: Start, tmp_path: Path
) -> None:
    # The watchdog ends what nobody heard the cancel of: as a failure.
    once, watched = str(tmp_path / "once"), "--first-update-timeout=50"
    client = lives(start, watched, GRACE, deaf_after="session/new", once=once)
    client.open()
    prompt = client.prompt("x" * 2 * MB)
    client.cancel()
    assert client.answer(prompt)["result"] == {"stopReason": "cancelled"}
    # The next prompt is answered by a new agent.
    assert client.turn("Hello.").answer["result"] == {"stopReason": "end_turn"}


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_a_client_that_floods_an_agent_which_does_not_read_is_paused(start: Start) -> None:
    def resident() -> int:
        pages = Path(f"/proc/{client.pid}/statm").read_text().split()[1]
        return int(pages) * resource.getpagesize()

    client = lives(start, "--first-update-timeout=3", GRACE, deaf_after="session/new")
    client.open()
    prompt = client.prompt("x" * 2 * MB)
    before = resident()
    more = b'{"jsonrpc":"2.0","method":"_test/more","params":{"x":"%s"}}\n' % (b"x" * MB)
    assert client.send_bytes(more * 100, fuse=2.0) < 40 * MB
    assert payload_of(client.answer(prompt))["type"] == "agent_stalled"
    assert resident() - before < 48 * MB


# A client that leaves with a request open is told why it has no answer: nobody was to blame.

ENDS: dict[str, tuple[dict[str, Any], int | None, dict[str, Any], str]] = {
    "the client leaves an agent that is told to go": (
        {"stays": True},
        None,
        {"reason": "client_left", "origin": "client", "retryable": False},
        "The client closed its side before the agent had answered",
    ),
    "lastword is told to stop": (
        {"stays": True, "ignores_sigterm": True},
        signal.SIGTERM,
        {"reason": "told_to_stop"},
        "The agent was stopped, as lastword was told to stop.",
    ),
    "the agent crashes as its client leaves": (
        {"status": 3},
        None,
        {"reason": "exit_status", "exit_code": 3},
        "",
    ),
}


@pytest.mark.parametrize(("life", "number", "members", "words"), ENDS.values(), ids=ENDS)
def test_a_request_that_is_open_at_the_end_is_answered_with_the_reason(
    start: Start, life: dict[str, Any], number: int | None, members: dict[str, Any], words: str
) -> None:
    client = lives(start, silent="session/new", **life)
    client.initialize()
    request = client.request("session/new", cwd="/", mcpServers=[])
    client.read_until_true(lambda: not unread_bytes(client.peer.agent.stdin), "a peer that reads")
    if number is None:
        client.close_stdin()
    else:
        client.signal(number)
    payload = payload_of(client.answer(request))
    assert members.items() <= payload.items()
    assert payload["message"].startswith(words)
    assert "outside" not in payload["message"]
