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

PERMISSION_SCENARIO = "permission"
"""The name of a scenario that asks for a permission."""

TEMPLATES = {
    "OPENAI_BASE_URL": "{openai}",
    "OPENAI_API_BASE": "{openai}",
    "OPENAI_API_KEY": "{key}",
    "OPENAI_MODEL": "{model}",
    "ANTHROPIC_BASE_URL": "{root}",
    "ANTHROPIC_API_KEY": "{key}",
    "ANTHROPIC_MODEL": "{model}",
}
"""The template of a variable that is given without one."""


class HookError(Exception):
    """The options cannot be used; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """The user's settings for driving the agent.

    Attributes:
        preset: The recipe that writes the agent's files, or empty.
        provider_env: `NAME=TEMPLATE` of each variable, or a `NAME` out of `TEMPLATES`.
        scenario_prompts: A prompt with `{name}` in it, by which the agent plays a scenario.
        prompt: The text of every other prompt.
        keep_home: Whether the agent runs in the user's own home.
        protocol: The protocol version to speak with it.
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
        object.__setattr__(self, "variables", _read_variables(self.provider_env))
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
        """Whether the provider decides what a turn meets."""
        return self.has_provider and not self.scenario_prompts

    def can_play(self, scenario: ProviderScenario) -> bool:
        """Return whether the agent can be made to play it."""
        if self.calls_provider:
            return True
        # A turn whose prompt begins with a command may rightly show nothing (SIL-2).
        command = self.scenario_prompts.lstrip().startswith("/")
        return bool(self.scenario_prompts and scenario in WORDS) and not (
            command and scenario is ProviderScenario.EMPTY
        )

    @property
    def permission_prompt(self) -> str:
        """The text of a prompt at which the agent may ask for a permission."""
        return (
            self.scenario_prompts.replace("{name}", PERMISSION_SCENARIO)
            if self.scenario_prompts
            else self.prompt
        )

    def prompt_for(self, scenario: ProviderScenario) -> str:
        """Return the text of the prompt that plays a scenario."""
        if self.scenario_prompts and scenario in WORDS:
            return self.scenario_prompts.replace("{name}", WORDS[scenario])
        return self.prompt

    def environment(self, target: Target, home: Path, mark: str) -> dict[str, str]:
        """Return the agent's whole environment; files are written where a preset has some."""
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "COV_"))}
        env = {**inherited, MARK: mark}
        if self.keep_home:
            offline = {k: v for k, v in isolated(home).items() if "proxy" in k.lower()}
            env |= offline if self.has_provider else {}
        else:
            env = {k: v for k, v in env.items() if not _is_credential(k)}
            env |= isolated(home) if self.has_provider else _home_only(home)
        # Kept apart from the user's record, where these would look like their own failures.
        env["LASTWORD_STATE_DIR"] = str(home / "lastword")
        env.pop("LASTWORD_RECORD", None)
        env["OTEL_SDK_DISABLED"] = "true"
        if self.preset:
            env |= point(PRESETS[self.preset], target, home)
        for name, template in self.variables.items():
            env[name] = target.filled(template)
        return env


def _home_only(home: Path) -> dict[str, str]:
    env = isolated(home)
    return {k: v for k, v in env.items() if k == "HOME" or k.startswith("XDG_")}


def _is_credential(name: str) -> bool:
    """Return whether it is a credential. A run of checks must not spend anybody's money."""
    return name.endswith(("_API_KEY", "_AUTH_TOKEN"))


def _read_variables(given: Sequence[str]) -> dict[str, str]:
    variables: dict[str, str] = {}
    for word in given:
        name, equals, template = word.partition("=")
        if not equals:
            if name not in TEMPLATES:
                raise HookError(
                    f"--provider-env needs a value for {name or 'the variable'}, such as "
                    f"--provider-env {name or 'NAME'}={{openai}}; not needed for "
                    + ", ".join(TEMPLATES)
                )
            template = TEMPLATES[name]
            if name.endswith("_BASE_URL"):
                # Nobody calls a provider without a key and a model.
                variables.setdefault(f"{name.partition('_')[0]}_API_KEY", "{key}")
        variables[name] = template
    return variables


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
    if shutil.which(command[0]) is None:
        raise HookError(
            f"{command[0]}: not found, or not executable; is the agent installed, and on the PATH?"
        )


__all__ = ["API_KEY", "PROMPT", "WORDS", "HookError", "Hooks", "find", "is_in_front"]
