"""Further agents of the table: those without a row, and known ones that are started otherwise.

Owns six agents about which `lastword.quirks` says nothing but the command, and five known ones as
`npx PACKAGE` and `node SCRIPT` start them, which is what editors' registries do. Does not own: how
cells are played (`agents_cells`).
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from tests.interop import toolchain
from tests.interop.agents_registry import (
    AGENTS,
    NODE,
    PROJECT,
    AgentProgram,
    npm_version,
    pypi_version,
    recipe,
    venv_command,
)

if TYPE_CHECKING:
    from collections.abc import Callable

_COPILOT, _DROID = "@github/copilot-linux-x64", "@factory/cli-linux-x64"
_GROK, _REASONIX = "@xai-official/grok-linux-x64", "@reasonix/cli-linux-x64"
_FAKE_MODEL = {
    "model": "{model}",
    "id": "custom:fake",
    "displayName": "Fake",
    "baseUrl": "{openai}",
    "apiKey": "{key}",
    "provider": "generic-chat-completion-api",
    "maxOutputTokens": 4096,
}


def _further(script: str, *arguments: str) -> Callable[[Path], list[str]]:
    """A program of the third folder of packages."""
    return lambda _cwd: [str(toolchain.require_further_agents() / script), *arguments]


def _grok(_cwd: Path) -> list[str]:
    return [str(toolchain.require_grok()), "--no-auto-update", "agent", "-m", "fake", "stdio"]


_FURTHER = toolchain.require_further_agents
FURTHER = {
    agent.key: agent
    for agent in (
        AgentProgram(
            "copilot",
            "@github/copilot",
            ("copilot",),
            recipe(
                "copilot",
                {},
                {
                    "COPILOT_PROVIDER_BASE_URL": "{openai}",
                    "COPILOT_PROVIDER_API_KEY": "{key}",
                    "COPILOT_MODEL": "{model}",
                    "COPILOT_OFFLINE": "true",
                },
            ),
            _further(f"{_COPILOT}/copilot", "--acp", "--stdio"),
            npm_version(_FURTHER, _COPILOT),
        ),
        AgentProgram(
            "droid",
            "droid",
            ("droid",),
            recipe(
                "droid",
                {
                    ".factory/settings.json": {
                        "customModels": [_FAKE_MODEL],
                        "model": "custom:fake",
                    }
                },
                {"FACTORY_API_KEY": "fk-loopback"},
            ),
            _further(f"{_DROID}/bin/droid", "exec", "--output-format", "acp", "-m", "custom:fake"),
            npm_version(_FURTHER, _DROID),
        ),
        AgentProgram(
            "grok",
            "@xai-official/grok",
            ("grok",),
            recipe(
                "grok",
                {
                    ".grok/config.toml": """\
[models]
default = "fake"
[model.fake]
model = "{model}"
name = "Fake"
base_url = "{openai}"
api_key = "{key}"
context_window = 128000
"""
                },
                {
                    "GROK_HOME": "{home}/.grok",
                    "XAI_API_KEY": "{key}",
                    "GROK_DISABLE_AUTOUPDATER": "1",
                    "GROK_TELEMETRY_ENABLED": "false",
                },
            ),
            _grok,
            npm_version(_FURTHER, _GROK),
        ),
        AgentProgram(
            "hermes",
            "hermes-agent",
            ("hermes",),
            recipe(
                "hermes",
                {
                    ".hermes/config.yaml": """\
model:
  provider: custom
  default: {model}
  base_url: {openai}
  api_key: {key}
"""
                },
                {
                    "HERMES_HOME": "{home}/.hermes",
                    "OPENAI_API_KEY": "{key}",
                    "OPENAI_BASE_URL": "{openai}",
                },
            ),
            venv_command(toolchain.require_hermes, "hermes-acp"),
            pypi_version(toolchain.require_hermes, "hermes-agent"),
        ),
        AgentProgram(
            "fast-agent",
            "fast-agent-mcp",
            ("fast", "fast-agent"),
            recipe(
                "fast-agent",
                {},
                {
                    "FAST_AGENT_HOME": "{home}/.fast-agent",
                    "OPENAI_API_KEY": "{key}",
                    "OPENAI_BASE_URL": "{openai}",
                },
            ),
            venv_command(toolchain.require_fast, "fast-agent-acp", "--model", "openai.fake-model"),
            pypi_version(toolchain.require_fast, "fast-agent-mcp"),
        ),
        AgentProgram(
            "reasonix",
            "reasonix",
            ("reasonix",),
            recipe(
                "reasonix",
                {
                    ".reasonix/config.toml": """\
default_model = "fake"
[[providers]]
name = "fake"
kind = "openai"
base_url = "{openai}"
model = "{model}"
api_key_env = "FAKE_API_KEY"
context_window = 128000
"""
                },
                {"REASONIX_HOME": "{home}/.reasonix", "FAKE_API_KEY": "{key}"},
            ),
            _further(f"{_REASONIX}/bin/reasonix", "acp"),
            npm_version(_FURTHER, _REASONIX),
        ),
    )
}
"""Those without a row."""

_LAUNCHER = """\
#!/usr/bin/env node
const done = require("child_process").spawnSync(%s, process.argv.slice(2), { stdio: "inherit" });
process.exit(done.status ?? 1);
"""
"""How a package starts the program of another one that it is for one platform only."""


def _started(key: str, way: str) -> AgentProgram:
    known = AGENTS[key]

    def command(cwd: Path) -> list[str]:
        project, script = _project(key, cwd)
        arguments = known.command(cwd)[1:]
        if way == "node":
            return [_node(), str(script), *arguments]
        return ["npx", "--prefix", str(project), "-y", known.package, *arguments]

    return AgentProgram(
        f"{key}-{way}", known.package, known.words, known.recipe, command, known.version
    )


def _node() -> str:
    newer = toolchain.require_more_agents() / NODE / "bin" / "node"
    return str(newer) if newer.exists() else shutil.which("node") or "node"


def _project(key: str, cwd: Path) -> tuple[Path, Path]:
    """Make a project that has the agent's package installed; return it and the package's script."""
    known = AGENTS[key]
    project = cwd.parent / PROJECT
    script = Path(known.command(cwd)[0]).resolve()
    if not project.exists():
        project.mkdir(parents=True)
        (project / "package.json").write_text('{"name": "project", "private": true}')
        if key in _LAUNCHED:
            script = _launcher(known.package, key, script, project / "node_modules")
        else:
            modules = next(p for p in Path(known.command(cwd)[0]).parents if p.name == ".bin")
            (project / "node_modules").symlink_to(modules.parent)
    elif key in _LAUNCHED:
        script = project / "node_modules" / known.package / "bin" / key
    return project, script


_LAUNCHED = frozenset({"opencode", "cline"})
"""Agents whose package only starts the program of a package for one platform."""


def _launcher(package: str, name: str, program: Path, modules: Path) -> Path:
    """Make such a package, which is not locked because it is whole on all platforms at once."""
    script = modules / package / "bin" / name
    script.parent.mkdir(parents=True)
    script.write_text(_LAUNCHER % json.dumps(str(program)))
    script.chmod(0o755)
    manifest = {"name": package, "version": AGENTS[name].version(), "bin": {name: f"bin/{name}"}}
    (modules / package / "package.json").write_text(json.dumps(manifest))
    (modules / ".bin").mkdir()
    (modules / ".bin" / name).symlink_to(os.path.relpath(script, modules / ".bin"))
    return script


STARTED_OTHERWISE = {
    agent.key: agent
    for key in ("claude", "opencode", "gemini", "qwen", "cline")
    for way in ("npx", "node")
    for agent in (_started(key, way),)
}
"""Known agents by the other two ways of starting one, each beside the row of its own name."""

EVERY = AGENTS | FURTHER | STARTED_OTHERWISE
"""All that a cell can be about."""
