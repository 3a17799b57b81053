"""What the tests of a gateway in processes of its own start it with."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.kit.gateway.inside import InsideGateway
from tests.kit.gateway.serving import Gateway, agent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path


def pytest_configure(config: pytest.Config) -> None:
    """Name what the tests here are marked with."""
    config.addinivalue_line("markers", "processes: the gateway is in processes of its own")


@pytest.fixture
def serve(
    tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Callable[..., Gateway | InsideGateway]]:
    """Start a gateway before an agent that plays a scenario: its name, or its turns.

    It is in this process, but for tests that are marked `processes`.
    """
    is_inside = request.node.get_closest_marker("processes") is None
    yield from _starting(InsideGateway if is_inside else Gateway, tmp_path)


@pytest.fixture(scope="module")
def serve_all(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., InsideGateway]]:
    """Start a gateway in this process for all tests of a file; used as `serve` is."""
    yield from _starting(InsideGateway, tmp_path_factory.mktemp("all"))


@pytest.fixture(scope="module")
def healthy(serve_all: Callable[..., InsideGateway]) -> InsideGateway:
    """The gateway of a file, before the scripted agent: `/scenario NAME` in a prompt is played."""
    return serve_all("healthy")


def _starting(kind: Any, folder: Path) -> Iterator[Callable[..., Any]]:
    started: list[Any] = []

    def start(
        scenario: str | dict[str, Any] = "",
        *options: str,
        command: Sequence[str] = (),
        variables: Mapping[str, str] | None = None,
    ) -> Any:
        name = scenario
        if isinstance(scenario, dict):
            name = str(folder / "scenario.json")
            (folder / "scenario.json").write_text(json.dumps(scenario), encoding="utf-8")
        started.append(kind(folder, command or agent(str(name)), *options, variables=variables))
        return started[-1]

    yield start
    while started:
        started.pop().close()
