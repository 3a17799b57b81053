"""The target of an agent's model calls, and an agent that is made to call it.

Owns the key that is sent, and the home and environment in which nothing else can be called. What
each agent needs for that is in `quirks.setup`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lastword.kit.provider.dialects import MODEL

if TYPE_CHECKING:
    from pathlib import Path

    from lastword.quirks.setup import Recipe

API_KEY = "sk-lastword-interop-4f9c1e7ab2d84c60-DoNotLeak"
"""The secret that every agent is given, and that no frame may contain."""

DEAD_END = "http://127.0.0.1:9"
"""Where an agent's way to the outside ends: nothing listens there."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where the model calls shall go.

    Attributes:
        root_url: The provider's root, which the Anthropic dialect lives under.
        openai_url: What an OpenAI-compatible client takes as its base URL.
        key: The key that it shall send.
    """

    root_url: str
    openai_url: str
    key: str = API_KEY

    def filled(self, template: str) -> str:
        """Return a text with this target in the places that are named in it."""
        places = {
            "openai": self.openai_url,
            "anthropic": self.root_url,
            "root": self.root_url,
            "key": self.key,
            "model": MODEL,
        }
        for name, value in places.items():
            template = template.replace(f"{{{name}}}", value)
        return template


def point(recipe: Recipe, target: Target, home: Path) -> dict[str, str]:
    """Write an agent's files into its home; gives the variables that it needs beside them."""
    for path, text in recipe.files.items():
        file = home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(target.filled(text))
    return {
        name: target.filled(text).replace("{home}", str(home))
        for name, text in recipe.environment.items()
    }


def isolated(home: Path) -> dict[str, str]:
    """Return the variables that keep an agent within a home and away from the network."""
    env = {"HOME": str(home), "TMPDIR": str(home), "LANG": "C.UTF-8", "TZ": "UTC"}
    env |= {"CI": "1", "NO_COLOR": "1"}
    env |= {f"XDG_{name}_HOME": str(home / folder) for name, folder in _XDG.items()}
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        env[name] = env[name.upper()] = DEAD_END
    env["no_proxy"] = env["NO_PROXY"] = "127.0.0.1,localhost"
    return env


_XDG = {
    "CONFIG": ".config",
    "DATA": ".local/share",
    "CACHE": ".cache",
    "STATE": ".local/state",
}
