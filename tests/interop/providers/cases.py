"""What most of the guard's tests need at once: a model of their own, and a client to ask for it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.interop.providers.model_provider import ModelProvider, Step
    from tests.kit.client import Client, Frame, Turn


class Case:
    """One test's model, asked through one package. The model is its own, so is its script.

    Attributes:
        plan: What the agent does by default: short waits of its own, none of its package's.
    """

    def __init__(
        self, client_for: Callable[..., Client], provider: ModelProvider, package: str, model: str
    ) -> None:
        self.client_for = client_for
        self.provider = provider
        self.model = model
        self.plan: dict[str, Any] = {
            "package": package,
            "models": [model],
            "retry": {"first_wait_seconds": 0.01},
            "max_retries": 0,
        }

    @property
    def made(self) -> int:
        return len(self.provider.requests(self.model))

    def script(self, *steps: Step) -> None:
        self.provider.script(self.model, *steps)

    def turn(self, capabilities: Frame, **plan: Any) -> Turn:
        return self.client_for(capabilities).turn(json.dumps(self.plan | plan))
