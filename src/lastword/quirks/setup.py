"""Setups: how editors are configured with agents, and agents with a provider; the SDKs' mistakes.

Owns the place of an editor's settings and the form of an agent's entry there, which `cli.setup`
reads and writes; the command with which each agent speaks ACP, which follows `lastword run --` in
the entry; the files and variables that point an agent to a given provider, which
`kit.provider.server` writes into a home; and the mistakes of every agent built on an SDK, so that
its author is not blamed.
"""

from __future__ import annotations

from lastword.quirks import Quirk, rows

READ_ON = "2026-11-23"
"""When the registries and the editors' documentation were read."""


class AgentCommand(Quirk, frozen=True, kw_only=True):
    """The command of one agent; `name` is its name in `lastword setup`.

    Attributes:
        title: its usual name.
        command: its command line.
        install: the command that installs its program.
        keys: the environment variables that usually hold its API keys.
        codecompanion: CodeCompanion.nvim's preset for it, if there is one.
        agent_shell: the variable of Emacs agent-shell that holds its command, if one is known.
    """

    title: str
    command: tuple[str, ...]
    install: str
    keys: tuple[str, ...] = ()
    codecompanion: str = ""
    agent_shell: str = ""


class Editor(Quirk, frozen=True, kw_only=True):
    """One editor's configuration of an agent; `name` is its name in `lastword setup`.

    A place may begin with `~`, or with a variable in braces. If `{XDG_CONFIG_HOME}` is not set, it
    stands for `~/.config`; a place with any other unset variable is ignored. On Windows `~` is the
    user's profile.

    Attributes:
        title: its usual name.
        aliases: its other names in `lastword setup`.
        form: the form of an agent's entry: `custom`, `plain` and `argv` are JSON; any other is a
            program that the user has, and names its template.
        section: the key of the object that holds agents, in a JSON settings file.
        places: the paths of that file, the likeliest first; for a program, the place in words.
        places_on_macos: the same on macOS, if they differ.
        places_on_windows: the same on Windows, if they differ.
        whole_paths: it accepts programs only by their full paths.
        project_folder: the folder in which it keeps a project's own settings.
        next_step: what the user does next, with `NAME` for the agent's name.
    """

    title: str
    aliases: tuple[str, ...] = ()
    form: str
    section: str = ""
    places: tuple[str, ...]
    places_on_macos: tuple[str, ...] = ()
    places_on_windows: tuple[str, ...] = ()
    whole_paths: bool = False
    project_folder: str = ""
    next_step: str

    @property
    def is_json(self) -> bool:
        """Return whether its configuration is a file that can be edited."""
        return bool(self.section)


class SdkFault(Quirk, frozen=True, kw_only=True):
    """A mistake of an SDK that affects every agent.

    Attributes:
        sdk: Its package's name.
        checks: The checks that find it.
        does: What it does, worded to follow "the SDK" in a sentence.
    """

    sdk: str
    checks: tuple[str, ...]
    does: str


class Recipe(Quirk, frozen=True, kw_only=True):
    """A way to point one agent at a provider; `name` is its key (`quirks.agents`).

    It also keeps the agent from sending telemetry and updating itself, and makes it retry as little
    as its documented settings allow. Its command is up to its user.

    In texts, `{root}` stands for the provider's root, `{openai}` for its URL for OpenAI-compatible
    clients, `{key}` for the key, `{model}` for the model, `{home}` for the agent's home.

    Attributes:
        files: texts by their paths within the home.
        environment: variables.
    """

    files: dict[str, str]
    environment: dict[str, str]


COMMANDS = rows("commands", AgentCommand)
AGENTS = {row.name: row for row in COMMANDS}
"""By what `lastword setup` calls them."""

EDITORS = {row.name: row for row in rows("editors", Editor)}
"""By what `lastword setup` calls them."""

BY_ALIAS = EDITORS | {alias: row for row in EDITORS.values() for alias in row.aliases}
"""By every name that means one of them."""

_PLUGINS = ("codecompanion AGENT", "avante AGENT")
INSTEAD: dict[str, tuple[str, tuple[str, ...]]] = {
    "neovim": ("Neovim takes agents through a plugin", _PLUGINS),
    "nvim": ("Neovim takes agents through a plugin", _PLUGINS),
    "vim": ("no plugin of Vim takes agents, as far as is known; two of Neovim do", _PLUGINS),
    "cursor": (
        "Cursor takes VS Code's extensions, but has its own settings file",
        ("vscode AGENT --file {CONFIG}/Cursor/User/settings.json",),
    ),
    "windsurf": (
        "Windsurf takes VS Code's extensions, but has its own settings file",
        ("vscode AGENT --file {CONFIG}/Windsurf/User/settings.json",),
    ),
}
"""Editors that have no entry of their own: the reason, and what to give `lastword setup`.
`{CONFIG}` stands for the folder in which such editors keep their settings."""

PYTHON = "agent-client-protocol (Python)"
TYPESCRIPT = "@agentclientprotocol/sdk"
GO = "github.com/coder/acp-go-sdk"
RUST = "agent-client-protocol (Rust)"
KOTLIN = "com.agentclientprotocol:acp"

SDK_FAULTS = rows("sdk_faults", SdkFault)

RECIPES = (
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
        version="claude-agent-acp 0.101.0",
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

PRESETS = {row.name: row for row in RECIPES}

ROWS: tuple[Quirk, ...] = (*COMMANDS, *EDITORS.values(), *SDK_FAULTS, *RECIPES)
