"""What the tests of a gateway in processes of its own start it with."""

from __future__ import annotations

import json
import os
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from lastword.gateway.log.session_log import session_log
from tests.kit.gateway import serving
from tests.kit.gateway.inside import InsideGateway
from tests.kit.gateway.late_log import late_log
from tests.kit.gateway.serving import LATE_GATEWAY, Gateway, agent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path


def pytest_configure(config: pytest.Config) -> None:
    """Name what the tests here are marked with."""
    config.addinivalue_line("markers", "processes: the gateway is in processes of its own")


@pytest.fixture
def log_kind() -> str:
    """The store of the gateways of a test: `disk`, or `late`, which commits later than is written.

    Tests have both as a parameter where the store matters; all have `LASTWORD_TEST_LOG`.
    """
    return os.environ.get("LASTWORD_TEST_LOG", "disk")


@pytest.fixture
def _store(log_kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if log_kind == "late":
        monkeypatch.setattr(serving, "GATEWAY", LATE_GATEWAY)


@pytest.fixture
def serve(
    tmp_path: Path, _store: None, log_kind: str, request: pytest.FixtureRequest
) -> Iterator[Callable[..., Gateway | InsideGateway]]:
    """Start a gateway before an agent that plays a scenario: its name, or its turns.

    It is in this process, but for tests that are marked `processes`.
    """
    kind: Any = Gateway
    if request.node.get_closest_marker("processes") is None:
        kind = partial(InsideGateway, open_log=late_log if log_kind == "late" else session_log)
    yield from _starting(kind, tmp_path)


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
