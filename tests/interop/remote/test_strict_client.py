"""A client without an SDK at a gateway: each byte is the agent's, each id the client's own."""

from __future__ import annotations

import json
import shlex
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from websockets.sync.client import connect

from lastword.kit.check.schema import official
from tests.interop.remote.test_remote_clients import TURNS
from tests.kit.gateway.serving import Gateway, agent
from tests.kit.patience import FUSE_SECONDS

if TYPE_CHECKING:
    from websockets.sync.client import ClientConnection

TEE = Path(__file__).resolve().parents[1] / "tee.py"
SCHEMA = official(1)
IDS = ("0", 0, 'a "ü"\u2028')
"""What a gateway that counts, or that reads an id as a number, would change."""


def call(link: ClientConnection, id_: Any, method: str, params: dict[str, Any]) -> list[str]:
    """Ask, allow what is asked, and return the lines up to the answer, each of them official."""
    link.send(json.dumps({"jsonrpc": "2.0", "id": id_, "method": method, "params": params}))
    lines: list[str] = []
    while True:
        lines.append(str(link.recv(FUSE_SECONDS)))
        message = json.loads(lines[-1])
        if "method" not in message:
            assert (type(message["id"]), message["id"]) == (type(id_), id_)
            assert not SCHEMA.departures(SCHEMA.answers[method], message["result"])
            return lines
        assert not SCHEMA.departures(SCHEMA.calls[message["method"]], message["params"])
        if "id" in message:
            option = message["params"]["options"][0]["optionId"]
            chosen = {"outcome": {"outcome": "selected", "optionId": option}}
            link.send(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": chosen}))


def updates(lines: list[str]) -> list[str]:
    return [line for line in lines if json.loads(line).get("method") == "session/update"]


def test_over_a_websocket_every_byte_is_the_agents_and_every_id_the_clients(tmp_path: Path) -> None:
    turns = tmp_path / "turns.json"
    turns.write_text(json.dumps(TURNS))
    scripted = agent("--file", str(turns))
    # An agent is kept ready for the next session: each process has files of its own.
    teed = f'exec "$@" {tmp_path / "tee"}.$$ -- {shlex.join(scripted)}'
    gateway = Gateway(tmp_path, ["sh", "-c", teed, "sh", sys.executable, str(TEE)])
    token = {"Authorization": f"Bearer {gateway.token()}"}
    with (
        closing(gateway),
        connect(gateway.url, additional_headers=token, proxy=None, compression=None) as link,
    ):
        hello = {"protocolVersion": 1, "clientCapabilities": {}}
        place = {"cwd": str(gateway.root), "mcpServers": []}
        call(link, IDS[0], "initialize", hello)
        opened = call(link, IDS[1], "session/new", place)
        session = json.loads(opened[-1])["result"]["sessionId"]
        prompt = {"sessionId": session, "prompt": [{"type": "text", "text": "Prompt 1"}]}
        told = updates(call(link, IDS[2], "session/prompt", prompt))
        written = [
            line
            for path in tmp_path.glob("tee.*.out")
            for line in path.read_text(encoding="utf-8").split("\n")[:-1]
        ]
        assert told == updates(written) != []
