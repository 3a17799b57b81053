"""Tokens and links of a fleet, as its commands print them on any of its machines."""

from __future__ import annotations

import subprocess
from contextlib import closing
from http.client import HTTPConnection
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from tests.kit.fleet.nodes import Fleet
from tests.kit.gateway.serving import GATEWAY, agent
from tests.kit.patience import FUSE_SECONDS

if TYPE_CHECKING:
    from pathlib import Path

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
def test_what_one_node_prints_every_node_takes_and_a_link_works_once(
    cluster: Cluster, tmp_path: Path
) -> None:
    with Fleet(tmp_path, cluster, agent("ok")) as fleet:
        first, second = fleet.start("one"), fleet.start("two")
        at_second = f"http://127.0.0.1:{second.port}"
        token = printed(first)
        assert status_of(f"{at_second}/v1/sessions", token) == 200
        link = printed(first, "--link", at_second)
        assert [status_of(link), status_of(link)] == [303, 401]


def test_a_gateway_that_has_left_its_fleet_prints_tokens_of_its_own(
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
