"""A strict client without an SDK at a gateway: each byte and each header is what it should be."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.interop.remote.strict import StrictHttp, StrictSocket, written_updates
from tests.interop.remote.test_remote_clients import SECOND_QUESTION, TURNS
from tests.kit.gateway.serving import Gateway, agent

if TYPE_CHECKING:
    from collections.abc import Iterator

TEE = Path(__file__).resolve().parents[1] / "tee.py"
HELLO: dict[str, Any] = {
    "protocolVersion": 1,
    "clientCapabilities": {},
    "clientInfo": {"name": "strict", "version": "1"},
}
IDS = ("0", 0, 'a "ü"\u2028', -7, (1 << 53) - 1)
"""What a gateway that counts, or that reads an id as a number, would change."""
JSON = {"Content-Type": "application/json"}
EVENTS = {"Accept": "text/event-stream"}


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[Gateway]:
    """A gateway whose agent has a tee on its own side."""
    turns = tmp_path / "turns.json"
    turns.write_text(json.dumps(TURNS))
    scripted = agent("--file", str(turns))
    # An agent is kept ready for the next session: each process has files of its own.
    teed = f'exec "$@" {tmp_path / "tee"}.$$ -- {shlex.join(scripted)}'
    command = ["sh", "-c", teed, "sh", sys.executable, str(TEE)]
    gateway = Gateway(tmp_path, command)
    yield gateway
    gateway.close()


def prompt(session: str, n: int) -> dict[str, Any]:
    return {"sessionId": session, "prompt": [{"type": "text", "text": f"Prompt {n}"}]}


def chosen(asked: dict[str, Any]) -> dict[str, Any]:
    option = asked["params"]["options"][0]["optionId"]
    outcome = {"outcome": "selected", "optionId": option}
    return {"id": asked["id"], "result": {"outcome": outcome}}


def test_over_a_websocket_every_byte_is_the_agents_and_every_id_the_clients(
    gateway: Gateway, tmp_path: Path
) -> None:
    place = {"cwd": str(gateway.root), "mcpServers": []}
    first = StrictSocket(gateway.port, gateway.token())
    first.call(IDS[0], "initialize", HELLO)
    session = first.call(IDS[1], "session/new", place)["sessionId"]
    first.ask(IDS[2], "session/prompt", prompt(session, 1))
    while (asked := first.next()).get("method") != "session/request_permission":
        pass
    first.say(chosen(asked))
    while not first.ledger.is_answered(IDS[2]):
        first.next()
    assert first.ledger.result(IDS[2]) == {"stopReason": "end_turn"}
    assert first.ledger.updates() == written_updates(tmp_path)
    first.ask(IDS[3], "session/prompt", prompt(session, 2))
    while first.next().get("method") != "session/request_permission":
        pass
    first.cut()

    second = StrictSocket(gateway.port, gateway.token(), first.cookie)
    second.call(IDS[1], "initialize", HELLO)
    second.call(IDS[0], "session/load", place | {"sessionId": session})
    open_ones = [each for each in second.ledger.messages if "method" in each and "id" in each]
    while not open_ones:
        message = second.next()
        open_ones += [message] if "id" in message else []
    assert open_ones[0]["params"]["toolCall"]["title"] == SECOND_QUESTION
    second.say(chosen(open_ones[0]))
    while b" The other half." not in second.next_line():
        pass
    second.call(IDS[4], "session/prompt", prompt(session, 3))
    second.close()
    # Beside what the agent wrote there are only the prompts, which nobody else tells.
    prompts = [line for line in second.ledger.updates() if b'"user_message_chunk"' in line]
    assert [json.loads(each)["params"]["update"]["content"]["text"] for each in prompts] == [
        "Prompt 1",
        "Prompt 2",
    ]
    agents = [line for line in second.ledger.updates() if line not in prompts]
    assert agents == written_updates(tmp_path)


def test_over_http_every_byte_is_the_agents_and_every_answer_on_its_stream(
    gateway: Gateway, tmp_path: Path
) -> None:
    client = StrictHttp(gateway.port, gateway.token())
    client.initialize(IDS[0], HELLO)
    own = client.stream()
    place = {"cwd": str(gateway.root), "mcpServers": []}
    client.post(client.ledger.request(IDS[1], "session/new", place))
    session = client.until(own, IDS[1])["sessionId"]
    stream = client.stream(session)
    client.post(client.ledger.request(IDS[2], "session/prompt", prompt(session, 1)), session)
    while (asked := client.next(stream)).get("method") != "session/request_permission":
        pass
    client.post(json.dumps({"jsonrpc": "2.0"} | chosen(asked)).encode(), session)
    client.until(stream, IDS[2])
    assert client.ledger.updates() == written_updates(tmp_path)
    client.delete()

    second = StrictHttp(gateway.port, gateway.token())
    second.initialize(IDS[2], HELLO)
    own, stream = second.stream(), second.stream(session)
    loading = second.ledger.request(IDS[3], "session/load", place | {"sessionId": session})
    second.post(loading, session)
    second.until(own, IDS[3])
    while len(second.ledger.updates()) < len(client.ledger.updates()) + 1:
        second.next(stream)
    told = second.ledger.updates()
    assert [line for line in told if b'"user_message_chunk"' not in line] == client.ledger.updates()
    second.delete()


def test_what_the_transport_refuses_has_its_status(gateway: Gateway) -> None:
    client = StrictHttp(gateway.port, gateway.token())
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "session/list", "params": {}}).encode()
    assert client.ask("POST", body, JSON).status == 400  # no connection is named
    assert client.ask("GET", b"", EVENTS).status == 400
    nobody = {"Acp-Connection-Id": "nobody"}
    assert client.ask("POST", body, JSON | nobody).status == 404
    assert client.ask("GET", b"", EVENTS | nobody).status == 404
    assert client.ask("DELETE", b"", nobody).status == 404
    assert client.ask("POST", body, {"Content-Type": "text/plain"}).status == 415
    client.initialize(1, HELLO)
    assert client.ask("GET", b"", {"Accept": "application/json"}).status == 406
    batch = client.ask("POST", b"[" + body + b"]", JSON)
    assert batch.status == 400
    assert json.loads(batch.read()) == {
        "jsonrpc": "2.0",
        "id": None,
        "error": {"code": -32600, "message": "Batches are not supported. Send one message."},
    }
    client.delete()
    assert client.ask("POST", body, JSON).status == 404  # its connection is over
    client.close()
