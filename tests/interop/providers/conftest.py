"""Fixtures of the tests on providers' packages: a provider, and an agent before each client."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.interop.providers.cases import Case
from tests.interop.providers.model_provider import ModelProvider
from tests.kit.client import Client, Frame
from tests.kit.installs import require_packages
from tests.kit.places import SOURCE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HERE = Path(__file__).resolve().parent
PACKAGES = ("openai", "anthropic")


@pytest.fixture(scope="session")
def packages_python() -> Path:
    """The Python that has the providers' packages and the SDK."""
    return require_packages(HERE)


@pytest.fixture(scope="session")
def environment() -> dict[str, str]:
    """What a process of that Python needs to run lastword from its source."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("LASTWORD_", "OPENAI_"))}
    kept["LASTWORD_STATE_DIR"] = os.environ["LASTWORD_STATE_DIR"]
    return kept | {"PYTHONPATH": str(SOURCE), "NO_PROXY": "127.0.0.1"}


@pytest.fixture(scope="module")
def provider() -> Iterator[ModelProvider]:
    with ModelProvider() as provider:
        yield provider


@pytest.fixture(scope="module")
def client_for(
    packages_python: Path, environment: dict[str, str], provider: ModelProvider
) -> Iterator[Callable[..., Client]]:
    """A client with these capabilities; one agent's process for each, started when it is needed."""
    clients: dict[tuple[str, str], Client] = {}

    def client_for(capabilities: Frame, kind: str = "plain") -> Client:
        key = repr(capabilities), kind
        if key not in clients:
            command = [str(packages_python), str(HERE / "guarded_agent.py"), kind]
            more = {"PROVIDER_URL": provider.url}
            clients[key] = Client(command, environment=environment | more)
            clients[key].open(**capabilities)
        return clients[key]

    yield client_for
    for client in clients.values():
        client.end()
        client.kill()


@pytest.fixture(params=PACKAGES)
def case(
    request: pytest.FixtureRequest, client_for: Callable[..., Client], provider: ModelProvider
) -> Case:
    return Case(client_for, provider, str(request.param), str(request.node.name))
