"""Fixtures of the tests on providers' packages: a provider, and an agent before each client."""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from lastword.kit.provider.server import Provider, ProviderFailure, ProviderScenario
from tests.kit.client import RETRY, Client, Turn
from tests.kit.installs import require_packages
from tests.kit.places import SOURCE

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).resolve().parent
PACKAGES = ("openai", "anthropic")

Step = ProviderScenario | ProviderFailure


class ScriptedProvider(Provider):
    """A provider that follows a script, call by call; its last step is repeated without end."""

    def script(self, *steps: Step) -> None:
        self.steps = list(steps)
        self.retry_after_seconds = 1
        self.asked_at: list[float] = []

    def scenario_of(self, body: Any) -> ProviderScenario:
        del body
        self.asked_at.append(time.monotonic())
        step = self.steps.pop(0) if len(self.steps) > 1 else self.steps[0]
        self.failure = step if isinstance(step, ProviderFailure) else None
        return step if isinstance(step, ProviderScenario) else ProviderScenario.HEALTHY


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
def provider() -> Iterator[ScriptedProvider]:
    with ScriptedProvider() as provider:
        yield provider


@dataclass(frozen=True)
class Case:
    """An agent that asks the provider through one package, and its client."""

    client: Client
    provider: ScriptedProvider
    package: str

    def plan(self, *, max_retries: int | None = 0, **retry: Any) -> str:
        """Return a prompt for short waits of the agent's own, and none of its package's."""
        retry = {"first_wait_seconds": 0.01, **retry}
        return json.dumps({"package": self.package, "retry": retry, "max_retries": max_retries})

    def turn(self, *steps: Step, **plan: Any) -> Turn:
        self.provider.script(*steps)
        return self.client.turn(self.plan(**plan))


@pytest.fixture(scope="module", params=PACKAGES)
def case(
    request: pytest.FixtureRequest,
    packages_python: Path,
    environment: dict[str, str],
    provider: ScriptedProvider,
) -> Iterator[Case]:
    command = [str(packages_python), str(HERE / "guarded_agent.py")]
    client = Client(command, environment=environment | {"PROVIDER_URL": provider.url})
    client.open(**RETRY)
    yield Case(client, provider, request.param)
    client.end()
    client.kill()
