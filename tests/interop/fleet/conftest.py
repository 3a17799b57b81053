"""The servers of the fleet's tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.kit.fleet.servers import Cluster

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def _servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("cluster")) as servers:
        yield servers


@pytest.fixture
def cluster(_servers: Cluster) -> Iterator[Cluster]:
    """Three servers, which the tests of a file share; what befalls them ends with the test."""
    yield _servers
    _servers.restore()
