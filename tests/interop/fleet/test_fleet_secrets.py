"""Secrets of a fleet: what its key, its tokens and its servers' password are good for."""

from __future__ import annotations

import asyncio
import base64
import json
import subprocess
import sys
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest

from lastword.gateway import wire
from lastword.gateway.fleet.key import TOKENS, FleetKey
from lastword.gateway.front.tokens import Grant, Keeper
from lastword.gateway.viewing.reader import Role
from tests.kit.fleet.connected import connected as servers
from tests.kit.fleet.nodes import KEY, Fleet
from tests.kit.fleet.servers import PASSWORD
from tests.kit.gateway.api import ApiClient
from tests.kit.gateway.serving import GATEWAY, Gateway, agent, until
from tests.kit.gateway.viewing import ViewerClient
from tests.kit.patience import FUSE_SECONDS
from tests.kit.push_service import PushBrowser, PushService

if TYPE_CHECKING:
    from tests.kit.fleet.nodes import Node
    from tests.kit.fleet.servers import Cluster


def printed(node: Node, *options: str) -> str:
    """What `lastword gateway token` prints on a node's machine."""
    return subprocess.run(
        [*GATEWAY, "token", *options],
        capture_output=True,
        text=True,
        check=True,
        timeout=FUSE_SECONDS,
        env=node.environment,
    ).stdout.strip()


def status_of(url: str, token: str = "") -> int:
    """The status with which a gateway answers, without following it elsewhere."""
    place = urlsplit(url)
    connection = HTTPConnection(place.netloc, timeout=FUSE_SECONDS)
    with closing(connection):
        headers = {"authorization": f"Bearer {token}"} if token else {}
        connection.request("GET", f"{place.path}?{place.query}", headers=headers)
        return connection.getresponse().status


def subscribed(node: Node, browser: PushBrowser) -> str:
    """Subscribe a browser at a node; return the subscription's id."""
    body = json.dumps(browser.request).encode()
    made = ApiClient(node).ask(
        "/v1/push", method="POST", body=body, content_type="application/json"
    )
    assert made.status == 201
    return str(made.json["id"])


def subscriptions(node: Node) -> list[str]:
    return [each["id"] for each in ApiClient(node).json("/v1/push")["subscriptions"]]


def test_the_servers_password_cannot_restore_a_removed_subscription(
    fleet: Fleet, cluster: Cluster
) -> None:
    one, two = fleet.start("one"), fleet.start("two")

    async def play(service: PushService) -> None:
        async with servers(cluster.urls) as thief:

            def go_on(number: int) -> None:
                """Let both nodes see all that was written."""
                last = subscribed(one, PushBrowser(service, f"sentinel-{number}"))
                for node in (one, two):
                    until("it is seen", lambda node=node: last in subscriptions(node))
                    assert ended not in subscriptions(node)

            ended = subscribed(one, PushBrowser(service, "one"))
            until("the other has it", lambda: ended in subscriptions(two))
            keys = {ApiClient(node).json("/v1/push")["key"] for node in (one, two)}
            assert len(keys) == 1
            subject = f"$KV.lw_push.{ended}"
            asked = {"last_by_subj": subject}
            answer = await thief.call("STREAM.MSG.GET.KV_lw_push", asked)
            record = base64.b64decode(answer["message"]["data"])
            ApiClient(two).ask(f"/v1/push/{ended}", method="DELETE")
            until("it has ended there", lambda: ended not in subscriptions(one))
            await thief.store(subject, record, {})
            go_on(1)
            for headers in (
                {"KV-Operation": "DEL"},
                {"KV-Operation": "PURGE", "Nats-Rollup": "sub"},
            ):
                await thief.store(subject, b"", headers)
                await thief.store(subject, record, {})
            go_on(2)
            await thief.call("STREAM.PURGE.KV_lw_push", {"filter": subject})
            await thief.store(subject, record, {})
            go_on(3)
            two.reload()
            go_on(4)
            assert subscribed(two, PushBrowser(service, "one")) == ended
            until("it is back", lambda: ended in subscriptions(one))

    with PushService() as service:
        asyncio.run(play(service))


def test_the_servers_password_cannot_make_a_used_link_work_again(
    fleet: Fleet, cluster: Cluster
) -> None:
    one, two = fleet.start("one"), fleet.start("two")
    links = [printed(one, "--link", f"http://127.0.0.1:{each.port}") for each in (one, two)]
    at_one = links[1].replace(str(two.port), str(one.port))
    assert [status_of(each) for each in links] == [303, 303]
    remembered = one.state / "gateway" / "fleet" / "used-links"
    codes = [parse_qs(urlsplit(each).query)["code"][0] for each in links]
    both = [remembered / wire.name_of(each) for each in codes]
    until("one knows of both", lambda: all(each.exists() for each in both))

    async def forget() -> None:
        async with servers(cluster.urls) as thief:
            await thief.call("STREAM.PURGE.KV_lw_links", {})

    asyncio.run(forget())
    two.reload()
    assert [status_of(each) for each in (*links, at_one)] == [401, 401, 401]
    assert status_of(printed(one, "--link", f"http://127.0.0.1:{one.port}")) == 303


def test_a_gateway_that_left_its_fleet_prints_its_own_tokens(
    cluster: Cluster, tmp_path: Path
) -> None:
    with Fleet(tmp_path, cluster, agent("ok")) as fleet:
        node = fleet.start("one")
        of_fleet = printed(node)
        node.front.terminate()
        node.front.wait(FUSE_SECONDS)
        node.leave()
        sessions = f"http://127.0.0.1:{node.port}/v1/sessions"
        assert [status_of(sessions, each) for each in (printed(node), of_fleet)] == [200, 401]


@pytest.mark.skipif(sys.platform != "linux", reason="/proc shows what a process was given")
def test_the_servers_password_is_in_no_agents_environment_and_on_no_command_line(
    cluster: Cluster, tmp_path: Path
) -> None:
    key = tmp_path / "fleet.key"
    key.touch(0o600)
    key.write_bytes(KEY)
    options = ["--fleet-key-file", str(key), "--fleet-node", "secret"]
    environment = {"LASTWORD_FLEET": cluster.option}
    with closing(Gateway(tmp_path, agent("healthy"), *options, variables=environment)) as gateway:
        keeper = Keeper(FleetKey.at(str(key)).derived(TOKENS))
        with ViewerClient(gateway, token=keeper.token(Grant(Role.CONTROLLER, "", 0))):
            (holder,) = gateway.holders()
        of_agent = Path(f"/proc/{holder['agent_pid']}/environ").read_bytes()
        assert b"XDG_RUNTIME_DIR=" in of_agent
        assert PASSWORD.encode() not in of_agent
        for pid in (gateway.front.pid, holder["agent_pid"]):
            assert PASSWORD.encode() not in Path(f"/proc/{pid}/cmdline").read_bytes()
        written = [each for each in tmp_path.rglob("*") if each.is_file()]
        assert written
        for each in written:
            assert PASSWORD.encode() not in each.read_bytes(), each


async def empty_streams(cluster: Cluster) -> None:
    async with asyncio.timeout(FUSE_SECONDS), servers(cluster.urls) as broker:
        for name in (await broker.call("STREAM.NAMES"))["streams"]:
            await broker.call(f"STREAM.PURGE.{name}", {})


def test_a_new_key_voids_tokens_and_a_session_continues_at_its_node(
    cluster: Cluster, tmp_path: Path
) -> None:
    with Fleet(tmp_path, cluster, agent("healthy")) as fleet:
        node = fleet.start("one")
        old = node.token()
        with ViewerClient(node) as viewer:
            session = viewer.new(node.root)
            viewer.answer(viewer.prompt(session))
            said = text_of(viewer)
        assert said
        assert status_of(f"http://127.0.0.1:{node.port}/v1/sessions", old) == 200
        node.close()
        fleet.nodes.remove(node)
        asyncio.run(empty_streams(cluster))
        fleet.key.write_bytes(b"another key that is long enough for a fleet")
        again = fleet.start("one")
        assert status_of(f"http://127.0.0.1:{again.port}/v1/sessions", old) == 401
        with ViewerClient(again) as viewer:
            viewer.load(session, again.root)
            assert text_of(viewer).startswith(said)


def text_of(viewer: ViewerClient) -> str:
    return "".join(each["content"]["text"] for each in viewer.updates("agent_message_chunk"))
