"""The real agents, unmodified, pointed at the fake provider.

Owns: for each agent its command, its environment and a private home, made so that it reaches
nothing but loopback, sends no telemetry, updates nothing, and retries as little as its own
documented settings allow. Does not own: installing them (`toolchain`), or running them (`runs`).
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import toolchain
from dialects import MODEL
from provider import Provider

API_KEY = "sk-lastword-interop-4f9c1e7ab2d84c60-DoNotLeak"
"""The secret that every agent is given, and that no frame may contain."""

MARK = "LASTWORD_INTEROP_RUN"
"""The environment variable by which a run's processes are found."""

DEAD_PROXY = "http://127.0.0.1:9"


@dataclass(frozen=True, slots=True)
class Agent:
    """A command ready to run, with everything it needs.

    Attributes:
        name: A key of `AGENTS`.
        argv: The agent's own command.
        env: The whole environment, nothing inherited but search paths.
        home: Its private home directory.
        cwd: An empty folder for the session.
    """

    name: str
    argv: tuple[str, ...]
    env: dict[str, str]
    home: Path
    cwd: Path


def prepare(name: str, provider: Provider, folder: Path, mark: str) -> Agent:
    """Return one agent with a fresh home under `folder`.

    Args:
        name: A key of `AGENTS`.
        provider: The running provider it shall call.
        folder: Where its home and its working directory are made.
        mark: The value of `MARK` in its environment.
    """
    home, cwd = folder / "home", folder / "work"
    home.mkdir(parents=True)
    cwd.mkdir()
    argv, extra = AGENTS[name](provider, home, cwd)
    return Agent(name, tuple(argv), _offline(home, mark) | extra, home, cwd)


Recipe = Callable[[Provider, Path, Path], tuple[list[str], dict[str, str]]]


def _opencode(provider: Provider, home: Path, cwd: Path) -> tuple[list[str], dict[str, str]]:
    binary = toolchain.require_opencode()
    config = home / ".config" / "opencode"
    config.mkdir(parents=True)
    (home / "models.json").write_text("{}")
    (config / "opencode.json").write_text(json.dumps(_opencode_config(provider)))
    env = {
        "OPENCODE_MODELS_PATH": str(home / "models.json"),
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
    }
    return [str(binary), "acp", "--cwd", str(cwd)], env


def _opencode_config(provider: Provider) -> dict[str, object]:
    model = {"limit": {"context": 128_000, "output": 4_096}, "tool_call": True}
    return {
        "model": f"fake/{MODEL}",
        "small_model": f"fake/{MODEL}",
        "enabled_providers": ["fake"],
        "provider": {
            "fake": {
                "npm": "@ai-sdk/openai-compatible",
                "name": "Fake",
                "options": {"baseURL": provider.openai_url, "apiKey": API_KEY},
                "models": {MODEL: model},
            }
        },
        "permission": {"bash": "ask"},
        "autoupdate": False,
        "share": "disabled",
        "snapshot": False,
    }


def _claude(provider: Provider, home: Path, _cwd: Path) -> tuple[list[str], dict[str, str]]:
    modules = toolchain.require_node()
    config = home / ".claude"
    config.mkdir()
    (config / "settings.json").write_text(json.dumps({"permissions": {"ask": ["Bash"]}}))
    env = {
        "ANTHROPIC_BASE_URL": provider.url,
        "ANTHROPIC_API_KEY": API_KEY,
        "CLAUDE_CONFIG_DIR": str(config),
        "CLAUDE_CODE_MAX_RETRIES": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "IS_SANDBOX": "1",
    }
    return [str(modules / ".bin" / "claude-agent-acp")], env


def _kimi(provider: Provider, home: Path, _cwd: Path) -> tuple[list[str], dict[str, str]]:
    venv = toolchain.require_kimi()
    share = home / ".kimi"
    share.mkdir()
    (share / "config.toml").write_text(
        'default_model = "fake"\n'
        "[loop_control]\nmax_retries_per_step = 1\n"
        f'[providers.fake]\ntype = "openai_legacy"\nbase_url = "{provider.openai_url}"\n'
        f'api_key = "{API_KEY}"\n'
        f'[models.fake]\nprovider = "fake"\nmodel = "{MODEL}"\nmax_context_size = 128000\n'
    )
    env = {"KIMI_SHARE_DIR": str(share), "KIMI_CLI_NO_AUTO_UPDATE": "1"}
    return [str(venv / "bin" / "kimi"), "acp"], env


AGENTS: dict[str, Recipe] = {"opencode": _opencode, "claude": _claude, "kimi": _kimi}


def _offline(home: Path, mark: str) -> dict[str, str]:
    """An environment in which only loopback answers."""
    node = shutil.which("node")
    paths = [str(Path(node).parent)] if node else []
    env = {
        "PATH": os.pathsep.join([*paths, os.defpath]),
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "CI": "1",
        "NO_COLOR": "1",
        "TMPDIR": str(home),
        MARK: mark,
    }
    for name in ("CONFIG", "DATA", "CACHE", "STATE"):
        env[f"XDG_{name}_HOME"] = str(home / _XDG[name])
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        env[name] = env[name.upper()] = DEAD_PROXY
    env["no_proxy"] = env["NO_PROXY"] = "127.0.0.1,localhost"
    if "PYTHONPATH" in os.environ:  # the sidecar may be found by it
        env["PYTHONPATH"] = os.environ["PYTHONPATH"]
    return env


_XDG = {
    "CONFIG": ".config",
    "DATA": ".local/share",
    "CACHE": ".cache",
    "STATE": ".local/state",
}
