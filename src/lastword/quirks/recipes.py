"""Pointing recipes: the files and variables that make an agent call a given provider.

A recipe also keeps its agent from sending telemetry and updating itself, and makes it retry as
little as its documented settings allow. `kit.provider.target` writes it into a home. The agents'
commands are up to their users.
"""

from __future__ import annotations

from lastword.quirks import Quirk


class Recipe(Quirk, frozen=True, kw_only=True):
    """A way to point one agent at a provider; `name` is its key (`quirks.agents`).

    In texts, `{root}` stands for the provider's root, `{openai}` for its URL for OpenAI-compatible
    clients, `{key}` for the key, `{model}` for the model, `{home}` for the agent's home.

    Attributes:
        files: texts by their paths within the home.
        environment: variables.
    """

    files: dict[str, str]
    environment: dict[str, str]


ROWS = (
    Recipe(
        name="opencode",
        files={
            "models.json": "{}",
            ".config/opencode/opencode.json": """{
  "model": "fake/{model}",
  "small_model": "fake/{model}",
  "enabled_providers": ["fake"],
  "provider": {
    "fake": {
      "npm": "@ai-sdk/openai-compatible",
      "name": "Fake",
      "options": {"baseURL": "{openai}", "apiKey": "{key}"},
      "models": {"{model}": {"limit": {"context": 128000, "output": 4096}, "tool_call": true}}
    }
  },
  "permission": {"bash": "ask"},
  "autoupdate": false,
  "share": "disabled",
  "snapshot": false
}
""",
        },
        environment={
            "OPENCODE_MODELS_PATH": "{home}/models.json",
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
            "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
        },
        evidence="run in the interop tests, with no way to the network",
        version="opencode-ai 1.18.33",
    ),
    Recipe(
        name="claude",
        files={".claude/settings.json": '{"permissions": {"ask": ["Bash"]}}\n'},
        environment={
            "ANTHROPIC_BASE_URL": "{root}",
            "ANTHROPIC_API_KEY": "{key}",
            "CLAUDE_CONFIG_DIR": "{home}/.claude",
            "CLAUDE_CODE_MAX_RETRIES": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "IS_SANDBOX": "1",
        },
        evidence="run in the interop tests, with no way to the network",
        version="claude-agent-acp 0.100.0",
    ),
    Recipe(
        name="kimi",
        files={
            ".kimi/config.toml": """\
default_model = "fake"
[loop_control]
max_retries_per_step = 1
[providers.fake]
type = "openai_legacy"
base_url = "{openai}"
api_key = "{key}"
[models.fake]
provider = "fake"
model = "{model}"
max_context_size = 128000
""",
        },
        environment={"KIMI_SHARE_DIR": "{home}/.kimi", "KIMI_CLI_NO_AUTO_UPDATE": "1"},
        evidence="run in the interop tests, with no way to the network",
        version="kimi-cli 1.15.0",
    ),
    Recipe(
        name="codex",
        files={
            ".codex/config.toml": """\
model = "{model}"
model_provider = "fake"
check_for_update_on_startup = false
[model_providers.fake]
name = "Fake"
base_url = "{openai}"
wire_api = "responses"
env_key = "OPENAI_API_KEY"
request_max_retries = 1
stream_max_retries = 1
[analytics]
enabled = false
""",
        },
        environment={"CODEX_HOME": "{home}/.codex", "OPENAI_API_KEY": "{key}"},
        evidence="runs on a loopback provider, of both adapters",
        version="codex-acp 2.6.0, Zed's codex-acp 0.16.0",
    ),
    Recipe(
        name="qwen",
        files={
            ".qwen/settings.json": """{
  "security": {"auth": {"selectedType": "openai"}},
  "general": {"disableAutoUpdate": true},
  "privacy": {"usageStatisticsEnabled": false}
}
""",
        },
        environment={
            "OPENAI_BASE_URL": "{openai}",
            "OPENAI_API_KEY": "{key}",
            "OPENAI_MODEL": "{model}",
        },
        evidence="runs on a loopback provider",
        version="qwen-code 0.24.4",
    ),
)

PRESETS = {row.name: row for row in ROWS}
