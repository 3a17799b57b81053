"""Tokens and links of a fleet, as its commands print them on any of its machines."""

from __future__ import annotations

import asyncio
import base64
import json
import subprocess
from contextlib import closing
from http.client import HTTPConnection
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import pytest

from lastword.gateway import wire
from tests.kit.fleet.connected import connected as servers
from tests.kit.fleet.nodes import Fleet
from tests.kit.gateway.api import ApiClient
from tests.kit.gateway.serving import GATEWAY, agent, until
from tests.kit.patience import FUSE_SECONDS
from tests.kit.push_service import PushBrowser, PushService

if TYPE_CHECKING:
    from pathlib import Path

    from lastword.gateway.fleet.broker import Broker
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


@pytest.mark.matrix
def test_every_node_accepts_another_nodes_token_and_a_link_works_once(
    cluster: Cluster, tmp_path: Path
) -> None:
    with Fleet(tmp_path, cluster, agent("ok")) as fleet:
        first, second = fleet.start("one"), fleet.start("two")
        at_second = f"http://127.0.0.1:{second.port}"
        token = printed(first)
        assert status_of(f"{at_second}/v1/sessions", token) == 200
        link = printed(first, "--link", at_second)
        assert [status_of(link), status_of(link)] == [303, 401]


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


async def last_message(broker: Broker, subject: str) -> dict[str, Any]:
    """The last message of a subject, read with the servers' password alone."""
    bucket = subject.split(".")[1]
    answer = await broker.call(f"STREAM.MSG.GET.KV_{bucket}", {"last_by_subj": subject})
    message: dict[str, Any] = answer["message"]
    return message


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
            subject = f"$KV.lw_push.{ended}"
            record = base64.b64decode((await last_message(thief, subject))["data"])
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
        assert status_of(f"http://127.0.0.1:{node.port}/v1/sessions", printed(node)) == 200
        assert status_of(f"http://127.0.0.1:{node.port}/v1/sessions", of_fleet) == 401
