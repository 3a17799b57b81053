"""The settings that make an agent play a scenario: a provider, or words in its prompts.

Owns the user's settings for that (`--preset`, `--provider-env`, `--scenario-prompts`,
`--prompt`), checked once. It does not own the agent's process, or the provider itself.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from lastword.kit.peer import MARK
from lastword.kit.provider.server import API_KEY, ProviderScenario, Target, isolated, point
from lastword.quirks.setup import PRESETS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

PROMPT = "What is the answer?"

WORDS = {
    ProviderScenario.HEALTHY: "healthy",
    ProviderScenario.HEALTHY_TOOL: "healthy_tool",
    ProviderScenario.UNAUTHORIZED: "auth",
    ProviderScenario.RATE_LIMITED: "rate_limit",
    ProviderScenario.BAD_GATEWAY: "provider_unavailable",
    ProviderScenario.CONTEXT_OVERFLOW: "context_overflow",
    ProviderScenario.CUT: "after_text",
    ProviderScenario.EMPTY: "silent_success",
    ProviderScenario.HANG: "agent_stalled",
    ProviderScenario.HANG_AFTER_TEXT: "cancelled",
}
"""The scenarios' names in prompts, as in `lastword agent`."""

TEMPLATES = {
    "OPENAI_BASE_URL": "{openai}",
    "OPENAI_API_BASE": "{openai}",
    "OPENAI_API_KEY": "{key}",
    "OPENAI_MODEL": "{model}",
    "ANTHROPIC_BASE_URL": "{root}",
    "ANTHROPIC_API_KEY": "{key}",
    "ANTHROPIC_MODEL": "{model}",
}
"""The default template of each variable."""


class HookError(Exception):
    """The options cannot be used; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """The user's settings for driving the agent.

    Attributes:
        preset: The recipe that writes the agent's files, or empty.
        provider_env: `NAME=TEMPLATE` for each variable, or a `NAME` from `TEMPLATES`.
        scenario_prompts: The prompt that makes the agent play the scenario `{name}`.
        prompt: The text of every other prompt.
        keep_home: Whether the agent runs in the user's own home directory.
        protocol: The protocol version to speak.
        variables: The templates of `provider_env`, by variable.
    """

    preset: str = ""
    provider_env: tuple[str, ...] = ()
    scenario_prompts: str = ""
    prompt: str = PROMPT
    keep_home: bool = False
    protocol: int = 1
    variables: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        """Read the variables.

        Raises:
            HookError: One of them, or the preset, is invalid.
        """
        variables: dict[str, str] = {}
        for word in self.provider_env:
            name, equals, template = word.partition("=")
            if not equals or not name:
                if name not in TEMPLATES:
                    raise HookError(
                        f"--provider-env needs a value for {name or 'the variable'}, such as "
                        f"--provider-env {name or 'NAME'}={{openai}}; not needed for "
                        + ", ".join(TEMPLATES)
                    )
                template = TEMPLATES[name]
                if name.endswith("_BASE_URL"):
                    # Clients do not call a provider without a key.
                    variables.setdefault(f"{name.partition('_')[0]}_API_KEY", "{key}")
            variables[name] = template
        object.__setattr__(self, "variables", variables)
        if self.preset and self.preset not in PRESETS:
            raise HookError(f"there is no preset {self.preset!r}; there are {', '.join(PRESETS)}")
        if self.scenario_prompts and "{name}" not in self.scenario_prompts:
            raise HookError("--scenario-prompts needs {name} where a scenario's name goes")
        if self.protocol not in {1, 2}:
            raise HookError("--protocol is 1 or 2")
        if self.keep_home and self.preset:
            raise HookError(
                "--preset needs its own home folder, so --keep-home cannot be used with it"
            )

    @property
    def has_provider(self) -> bool:
        """Whether the agent is pointed to the kit's provider."""
        return bool(self.preset or self.variables)

    @property
    def calls_provider(self) -> bool:
        """Whether the provider decides how a turn ends, rather than the prompt."""
        return self.has_provider and not self.scenario_prompts

    def can_play(self, scenario: ProviderScenario) -> bool:
        """Return whether the agent can be made to play a scenario."""
        if self.calls_provider:
            return True
        # A turn whose prompt is a command may correctly show nothing (SIL-2).
        command = self.scenario_prompts.lstrip().startswith("/")
        return bool(self.scenario_prompts and scenario in WORDS) and not (
            command and scenario is ProviderScenario.EMPTY
        )

    @property
    def permission_prompt(self) -> str:
        """The text of a prompt at which the agent may ask for a permission."""
        return (
            self.scenario_prompts.replace("{name}", "permission")
            if self.scenario_prompts
            else self.prompt
        )

    def prompt_for(self, scenario: ProviderScenario) -> str:
        """Return the text of the prompt that plays a scenario."""
        if self.scenario_prompts and scenario in WORDS:
            return self.scenario_prompts.replace("{name}", WORDS[scenario])
        return self.prompt

    def environment(self, target: Target, home: Path, mark: str) -> dict[str, str]:
        """Return the agent's whole environment, and write the preset's files."""
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "COV_"))}
        env = {**inherited, MARK: mark}
        own = isolated(home)
        if self.keep_home:
            offline = {k: v for k, v in own.items() if "proxy" in k.lower()}
            env |= offline if self.has_provider else {}
        else:
            # Without the user's credentials, checks cannot spend money.
            env = {k: v for k, v in env.items() if not k.endswith(("_API_KEY", "_AUTH_TOKEN"))}
            homes = {k: v for k, v in own.items() if k == "HOME" or k.startswith("XDG_")}
            env |= own if self.has_provider else homes
        # In the user's own record these would look like real failures.
        env["LASTWORD_STATE_DIR"] = str(home / "lastword")
        env.pop("LASTWORD_RECORD", None)
        env["OTEL_SDK_DISABLED"] = "true"
        if self.preset:
            env |= point(PRESETS[self.preset], target, home)
        for name, template in self.variables.items():
            env[name] = target.filled(template)
        return env


def is_in_front(command: Sequence[str]) -> bool:
    """Return whether the command starts `lastword run`."""
    names = [word.rpartition("/")[2] for word in command]
    return any(
        name in {"lastword", "lastword.cli"} and following == "run"
        for name, following in pairwise(names)
    )


def find(command: Sequence[str]) -> None:
    """Check that a command can be started.

    Raises:
        HookError: It is not found, or not executable.
    """
    if not command:
        raise HookError("an agent is missing: lastword check -- CMD")
    name = command[0]
    if shutil.which(name) is not None:
        return
    if os.path.dirname(name) and os.path.exists(name):
        raise HookError(f"{name}: not an executable file")
    raise HookError(
        f"{name or 'an empty name'}: not found; is the agent installed, and on the PATH?"
    )


__all__ = ["API_KEY", "PROMPT", "WORDS", "HookError", "Hooks", "find", "is_in_front"]
