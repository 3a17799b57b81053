"""`examples/fleet` as processes: three servers, two gateways, and nginx in front of them with TLS.

The servers have the folder's own configuration, with its users and permissions; the gateways the
words of the compose file and the configuration file that `prepare` makes; nginx the folder's own
file. Ports and paths alone are others.
"""

from __future__ import annotations

import json
from contextlib import ExitStack, closing
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from websockets.exceptions import InvalidStatus

from lastword.gateway.fleet.key import TOKENS, FleetKey
from lastword.gateway.front.tokens import Grant, Keeper
from lastword.gateway.viewing.reader import Role
from tests.interop.fleet.playing import says
from tests.kit.fleet.example import (
    EXAMPLE,
    ExampleCluster,
    nginx,
    options_in,
    prepared,
    replaced,
    trust,
)
from tests.kit.gateway.serving import Gateway, agent, until
from tests.kit.gateway.viewing import TYPED, ViewerClient

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

COMPOSE = yaml.safe_load((EXAMPLE / "compose.yaml").read_text(encoding="utf-8"))
GATEWAYS = ("gateway-1", "gateway-2")
ADDRESSES = [COMPOSE["services"][name]["networks"]["front"]["ipv4_address"] for name in GATEWAYS]
TALKS: dict[str, Any] = {
    "turns": [[{"say": "The first."}, {"result": "end_turn"}]],
    "sessions": "resume",
}


class ExampleGateway(Gateway):
    def __init__(self, folder: Path, name: str, secrets: Path) -> None:
        """Start it with the words of the compose file, and a scripted agent in opencode's place."""
        options = options_in(COMPOSE["services"][name])
        options[options.index("--proxy-address") + 1] = "127.0.0.1"
        self._keeper = Keeper(FleetKey.at(str(secrets / "fleet.key")).derived(TOKENS))
        work = folder / "work"
        work.mkdir(exist_ok=True)
        file = {"LASTWORD_CONFIG": str(secrets / "here.toml"), "LASTWORD_NO_CONFIG": ""}
        (folder / name).mkdir()
        command = agent(str(folder / "scenario.json"))
        super().__init__(folder / name, command, *options, "--root", str(work), variables=file)
        self.root = work

    def token(self, *, role: Role = Role.CONTROLLER, session: str = "", expires: int = 0) -> str:
        """A token, which every gateway of the fleet accepts."""
        return self._keeper.token(Grant(role, session, expires))


@pytest.fixture
def gateways(tmp_path: Path) -> Iterator[list[ExampleGateway]]:
    secrets = prepared(tmp_path)
    (tmp_path / "scenario.json").write_text(json.dumps(TALKS), encoding="utf-8")
    with ExampleCluster(tmp_path / "servers", secrets) as cluster, ExitStack() as stack:
        here = [
            *((f"@{s.name}.nats:4222", f"@localhost:{s.port}") for s in cluster.servers),
            ("/run/secrets/", f"{secrets}/"),
        ]
        text = replaced((secrets / "lastword.toml").read_text(), here)
        (secrets / "here.toml").write_text(text)
        started = (ExampleGateway(tmp_path, name, secrets) for name in GATEWAYS)
        yield [stack.enter_context(closing(gateway)) for gateway in started]


def through(port: int, token: str, **how: Any) -> ViewerClient:
    """A viewer through nginx, once that has a gateway for it."""
    proxy = SimpleNamespace(url=f"wss://localhost:{port}/acp")

    def connected() -> ViewerClient | None:
        try:
            return ViewerClient(proxy, capabilities=TYPED, replay=True, token=token, **how)  # type: ignore[arg-type]
        except (InvalidStatus, OSError):
            return None

    found: ViewerClient = until("nginx has a gateway", connected)
    return found


def test_a_viewer_comes_back_through_nginx_at_the_other_gateway_and_misses_nothing(
    gateways: list[ExampleGateway], tmp_path: Path
) -> None:
    trusted = trust(tmp_path / "secrets" / "tls.crt")
    one, two = gateways
    with ViewerClient(one, capabilities=TYPED) as opener:
        session = opener.new(one.root)
    upstreams = zip(ADDRESSES, gateways, strict=True)
    here = ((f"{address}:7780 ", f"127.0.0.1:{each.port} ") for address, each in upstreams)
    with nginx(tmp_path, EXAMPLE, *here) as port:
        two.kill()
        viewer = through(port, one.token(), trust=trusted)  # nginx has nobody else to send it to
        place = viewer.load(session, one.root)["_meta"]["lastword"]
        assert viewer.answer(viewer.prompt(session))["result"]["stopReason"] == "end_turn"
        viewer.find(says("The first."))
        two.start()
        one.kill()
        assert viewer.closed()[0] == 1006
        after = {"epoch": place["epoch"], "seq": max(viewer.seqs())}
        with through(port, two.token(), known=viewer.known, trust=trusted) as back:
            one.start()
            back.load(session, one.root, _meta={"lastword": {"after": after}})
            go = {"sessionId": session, "prompt": [{"type": "text", "text": "go"}]}
            # A number that the viewer has not used: the same one would be the same prompt.
            prompt = back.request("session/prompt", go, id_=100)
            assert back.answer(prompt)["result"]["stopReason"] == "end_turn"
            back.find(says("The first."))  # the agent has begun anew
            assert min(back.seqs()) == after["seq"] + 1
