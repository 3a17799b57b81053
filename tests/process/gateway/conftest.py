"""What the tests of a gateway in processes of its own start it with."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.kit.gateway.serving import Gateway, agent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Gateway]]:
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
