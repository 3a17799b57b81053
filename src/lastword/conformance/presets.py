"""Agents that are pointed at a provider by files or by many variables: one recipe each.

Owns what is written into an agent's private home and put into its environment, so that it calls the
given provider, sends no telemetry, updates nothing, and retries as little as its own documented
settings allow. Does not own the agents' commands, which are their users' own.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lastword.conformance.provider.dialects import MODEL

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

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


def isolated(home: Path) -> dict[str, str]:
    """The variables that keep an agent within a home and away from the network."""
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


def _opencode(target: Target, home: Path) -> dict[str, str]:
    config = home / ".config" / "opencode"
    config.mkdir(parents=True)
    (home / "models.json").write_text("{}")
    (config / "opencode.json").write_text(json.dumps(_opencode_config(target)))
    return {
        "OPENCODE_MODELS_PATH": str(home / "models.json"),
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
    }


def _opencode_config(target: Target) -> dict[str, object]:
    model = {"limit": {"context": 128_000, "output": 4_096}, "tool_call": True}
    return {
        "model": f"fake/{MODEL}",
        "small_model": f"fake/{MODEL}",
        "enabled_providers": ["fake"],
        "provider": {
            "fake": {
                "npm": "@ai-sdk/openai-compatible",
                "name": "Fake",
                "options": {"baseURL": target.openai_url, "apiKey": target.key},
                "models": {MODEL: model},
            }
        },
        "permission": {"bash": "ask"},
        "autoupdate": False,
        "share": "disabled",
        "snapshot": False,
    }


def _claude(target: Target, home: Path) -> dict[str, str]:
    config = home / ".claude"
    config.mkdir()
    (config / "settings.json").write_text(json.dumps({"permissions": {"ask": ["Bash"]}}))
    return {
        "ANTHROPIC_BASE_URL": target.root_url,
        "ANTHROPIC_API_KEY": target.key,
        "CLAUDE_CONFIG_DIR": str(config),
        "CLAUDE_CODE_MAX_RETRIES": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "IS_SANDBOX": "1",
    }


def _kimi(target: Target, home: Path) -> dict[str, str]:
    share = home / ".kimi"
    share.mkdir()
    (share / "config.toml").write_text(
        'default_model = "fake"\n'
        "[loop_control]\nmax_retries_per_step = 1\n"
        f'[providers.fake]\ntype = "openai_legacy"\nbase_url = "{target.openai_url}"\n'
        f'api_key = "{target.key}"\n'
        f'[models.fake]\nprovider = "fake"\nmodel = "{MODEL}"\nmax_context_size = 128000\n'
    )
    return {"KIMI_SHARE_DIR": str(share), "KIMI_CLI_NO_AUTO_UPDATE": "1"}


def _codex(target: Target, home: Path) -> dict[str, str]:
    share = home / ".codex"
    share.mkdir()
    (share / "config.toml").write_text(
        f'model = "{MODEL}"\nmodel_provider = "fake"\ncheck_for_update_on_startup = false\n'
        f'[model_providers.fake]\nname = "Fake"\nbase_url = "{target.openai_url}"\n'
        'wire_api = "responses"\nenv_key = "OPENAI_API_KEY"\n'
        "request_max_retries = 1\nstream_max_retries = 1\n"
        "[analytics]\nenabled = false\n"
    )
    return {"CODEX_HOME": str(share), "OPENAI_API_KEY": target.key}


def _qwen(target: Target, home: Path) -> dict[str, str]:
    share = home / ".qwen"
    share.mkdir()
    settings = {
        "security": {"auth": {"selectedType": "openai"}},
        "general": {"disableAutoUpdate": True},
        "privacy": {"usageStatisticsEnabled": False},
    }
    (share / "settings.json").write_text(json.dumps(settings))
    return {
        "OPENAI_BASE_URL": target.openai_url,
        "OPENAI_API_KEY": target.key,
        "OPENAI_MODEL": MODEL,
    }


PRESETS: Mapping[str, Callable[[Target, Path], dict[str, str]]] = {
    "opencode": _opencode,
    "claude": _claude,
    "kimi": _kimi,
    "codex": _codex,
    "qwen": _qwen,
}
