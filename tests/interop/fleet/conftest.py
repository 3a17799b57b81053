"""The servers of the fleet's tests."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.interop.fleet.playing import ASKS
from tests.kit.fleet.nodes import Fleet
from tests.kit.fleet.servers import Cluster
from tests.kit.gateway.serving import agent

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def _servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("cluster")) as servers:
        yield servers


@pytest.fixture
def cluster(_servers: Cluster) -> Iterator[Cluster]:
    """Three servers, which the tests of a file share; what befalls them ends with the test."""
    yield _servers
    _servers.restore()


@pytest.fixture
def fleet(tmp_path: Path, cluster: Cluster) -> Iterator[Fleet]:
    """A fleet without nodes, whose agents ask something in their first turn."""
    scenario = tmp_path / "scenario.json"
    scenario.write_text(json.dumps(ASKS), encoding="utf-8")
    with Fleet(tmp_path, cluster, agent(str(scenario))) as fleet:
        yield fleet
