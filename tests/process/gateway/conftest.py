"""What the tests of a gateway in processes of its own start it with."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from tests.kit.gateway import serving
from tests.kit.gateway.serving import LATE_GATEWAY, Gateway, agent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path


PLAYED_TWICE = {
    "test_again",
    "test_ends",
    "test_events",
    "test_lost_holders",
    "test_viewers",
}
"""The files whose tests are also played over a store that commits late; with
`LASTWORD_TEST_LOG=late`, all files are played over it."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Play some tests over both stores."""
    name = metafunc.module.__name__.rpartition(".")[2]
    if "log_kind" in metafunc.fixturenames and name in PLAYED_TWICE:
        metafunc.parametrize("log_kind", ["disk", "late"])


@pytest.fixture
def log_kind() -> str:
    """The store of the gateways of a test: `disk`, or `late`."""
    return os.environ.get("LASTWORD_TEST_LOG", "disk")


@pytest.fixture
def _store(log_kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if log_kind == "late":
        monkeypatch.setattr(serving, "GATEWAY", LATE_GATEWAY)


@pytest.fixture
def serve(tmp_path: Path, _store: None) -> Iterator[Callable[..., Gateway]]:
    """Start a gateway before an agent that plays a scenario: its name, or its turns."""
    started: list[Gateway] = []

    def start(
        scenario: str | dict[str, Any],
        *options: str,
        command: Sequence[str] = (),
        variables: Mapping[str, str] | None = None,
    ) -> Gateway:
        name = scenario
        if isinstance(scenario, dict):
            name = str(tmp_path / "scenario.json")
            (tmp_path / "scenario.json").write_text(json.dumps(scenario), encoding="utf-8")
        gateway = Gateway(tmp_path, command or agent(str(name)), *options, variables=variables)
        started.append(gateway)
        return gateway

    yield start
    for gateway in started:
        gateway.close()
