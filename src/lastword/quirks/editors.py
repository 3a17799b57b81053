"""Editors: how each is configured with an agent, according to its source, schema or help.

Owns where an editor keeps its settings and the form of an agent's entry there. `cli.setup` reads
and writes them.

A place may begin with `~`, or with a variable in braces. If `{XDG_CONFIG_HOME}` is not set, it
stands for `~/.config`; a place with any other unset variable is ignored. On Windows `~` is the
user's profile.
"""

from __future__ import annotations

from lastword.quirks import Quirk

READ_ON = "2026-11-23"
"""When the editors' documentation was read."""


class Editor(Quirk, frozen=True, kw_only=True):
    """One editor's configuration of an agent; `name` is its name in `lastword setup`.

    Attributes:
        title: what people call it.
        aliases: other names that mean it in `lastword setup`.
        form: the form of an agent's entry: `custom`, `plain` and `argv` are JSON; any other is a
            program that the user has, and names its template.
        section: the key of the object that holds agents, in a JSON settings file.
        places: where that file is, the likeliest first; for a program, where it goes, in words.
        places_on_macos: the same on macOS, if they differ.
        places_on_windows: the same on Windows, if they differ.
        whole_paths: it accepts programs only by their full paths.
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
    next_step: str

    @property
    def is_json(self) -> bool:
        """Return whether its configuration is a file that can be edited."""
        return bool(self.section)


_CODE = tuple(
    "{XDG_CONFIG_HOME}" + f"/{product}/User/settings.json"
    for product in ("Code", "Code - Insiders", "VSCodium")
)
_CODE_ON_MACOS = tuple(
    f"~/Library/Application Support/{product}/User/settings.json"
    for product in ("Code", "Code - Insiders", "VSCodium")
)
_CODE_ON_WINDOWS = tuple(
    "{APPDATA}" + f"/{product}/User/settings.json"
    for product in ("Code", "Code - Insiders", "VSCodium")
)

ROWS = (
    Editor(
        name="zed",
        title="Zed",
        aliases=("zeditor", "zed-editor", "zed-preview"),
        form="custom",
        section="agent_servers",
        places=(
            "{FLATPAK_XDG_CONFIG_HOME}/zed/settings.json",
            "{XDG_CONFIG_HOME}/zed/settings.json",
            "~/.var/app/dev.zed.Zed/config/zed/settings.json",
        ),
        places_on_macos=("~/.config/zed/settings.json",),
        places_on_windows=("{APPDATA}/Zed/settings.json",),
        next_step="In Zed's agent panel, press + and choose NAME.",
        evidence=(
            "zed-industries/zed: `CustomAgentServerSettings` in "
            "crates/settings_content/src/agent.rs is an enum tagged by `type`, so an entry "
            "without it is refused; `config_dir` in "
            "crates/paths/src/paths.rs at 010c9b6fa6d6 (the Flatpak's own folder, as seen from "
            "outside, is Flatpak's rule)"
        ),
        version="Zed at 01a301cb0d44",
    ),
    Editor(
        name="jetbrains",
        title="JetBrains IDEs",
        aliases=(
            *("intellij", "intellij-idea", "idea", "pycharm", "webstorm", "goland", "rider"),
            *("clion", "phpstorm", "rubymine", "rustrover", "datagrip", "dataspell"),
        ),
        form="plain",
        section="agent_servers",
        places=("~/.jetbrains/acp.json",),
        whole_paths=True,
        next_step="In the AI Chat tool window, choose NAME in the list of agents.",
        evidence=(
            "JetBrains' help, ai-assistant/acp.html (its source is closed): `agent_servers` with "
            "command, args and env in ~/.jetbrains/acp.json; `Not a valid absolute path` for a "
            "bare name: mistralai/mistral-vibe issue 392, with 2025.3.2"
        ),
        version="AI Assistant 2026.1",
    ),
    Editor(
        name="codecompanion",
        title="CodeCompanion.nvim",
        aliases=("codecompanion.nvim",),
        form="codecompanion",
        places=('your Neovim configuration, where require("codecompanion").setup stands',),
        next_step="Restart Neovim and run :CodeCompanionChat adapter=NAME.",
        evidence=(
            "olimorris/codecompanion.nvim at f1afd02537c6: doc/configuration/adapters-acp.md, "
            "`Adapter.extend` and the presets in lua/codecompanion/adapters/acp"
        ),
        version="19.22.0",
    ),
    Editor(
        name="avante",
        title="avante.nvim",
        aliases=("avante.nvim",),
        form="avante",
        places=('your Neovim configuration, where require("avante").setup stands',),
        next_step="Restart Neovim, run :AvanteSwitchProvider and choose NAME.",
        evidence=(
            "yetone/avante.nvim: `acp_providers` in lua/avante/config.lua; its ACP client "
            "(lua/avante/libs/acp_client.lua) gives the agent PATH and `env`, and nothing else"
        ),
        version="avante.nvim at a9334315e05a",
    ),
    Editor(
        name="agent-shell",
        title="agent-shell (Emacs)",
        aliases=("emacs", "spacemacs", "doom", "doom-emacs"),
        form="agent-shell",
        places=("your Emacs configuration, such as ~/.emacs.d/init.el",),
        next_step="Restart Emacs, run M-x agent-shell and choose NAME.",
        evidence=(
            "xenodium/agent-shell: `agent-shell-make-agent-config` and `agent-shell-agent-configs` "
            "in agent-shell.el at 538126a0461f, codex's command variable in agent-shell-openai.el; "
            "those of claude, gemini and opencode in its users' configurations alone, for the "
            "stored copies of their files were older"
        ),
        version="agent-shell at 3f2cda8a7720",
    ),
    Editor(
        name="toad",
        title="Toad",
        form="toad",
        places=("its command line",),
        next_step="Type it in your project's folder.",
        evidence=(
            "batrachianai/toad at f68ebee8c7fe: `toad acp` in src/toad/cli.py takes the agent's "
            "command as one word and runs it in a shell; no settings file lists agents"
        ),
        version="batrachian-toad 0.6.18",
    ),
    Editor(
        name="acpx",
        title="acpx",
        form="argv",
        section="agents",
        places=("~/.acpx/config.json",),
        next_step="Run `acpx NAME exec 'your prompt'` in your project's folder.",
        evidence=(
            "the npm package's dist/cli.js, `parseAgentEntry`: an object with `argv` alone, names "
            "in lower case; tests/interop/test_setup_acpx.py runs it with what is written here"
        ),
        version="acpx 0.19.1",
    ),
    Editor(
        name="vscode",
        title="VS Code, extension ACP Client",
        aliases=("code", "vs-code", "visual-studio-code", "vscodium", "codium"),
        form="plain",
        section="acp.agents",
        places=_CODE,
        places_on_macos=_CODE_ON_MACOS,
        places_on_windows=_CODE_ON_WINDOWS,
        next_step="Open the ACP Client view, connect to NAME and start a conversation.",
        evidence=(
            "formulahendry/vscode-acp at e7371659e3ac: `acp.agents` in package.json, and "
            "src/core/AgentManager.ts, which starts the command in a login shell"
        ),
        version="formulahendry.acp-client 0.2.0",
    ),
    Editor(
        name="vscode-acp-plugin",
        title="VS Code, extension ACP Plugin",
        form="custom",
        section="agent_servers",
        places=_CODE,
        places_on_macos=_CODE_ON_MACOS,
        places_on_windows=_CODE_ON_WINDOWS,
        next_step="Reload the window, open the ACP chat and choose NAME.",
        evidence=(
            "strato-space/acp-plugin: README.md at 15ba8851a06a reads `agent_servers` in Zed's "
            "form; its page in the marketplace says the same"
        ),
        version="strato-space.acp-plugin 0.1.22",
    ),
)

EDITORS = {row.name: row for row in ROWS}
"""By what `lastword setup` calls them."""

BY_ALIAS = EDITORS | {alias: row for row in ROWS for alias in row.aliases}
"""By every name that means one of them."""

_PLUGINS = ("codecompanion AGENT", "avante AGENT")
INSTEAD: dict[str, tuple[str, tuple[str, ...]]] = {
    "neovim": ("Neovim takes agents through a plugin", _PLUGINS),
    "nvim": ("Neovim takes agents through a plugin", _PLUGINS),
    "vim": ("no plugin of Vim takes agents, as far as is known; two of Neovim do", _PLUGINS),
    "cursor": (
        "Cursor takes VS Code's extensions, and has a settings file of its own",
        ("vscode AGENT --file {CONFIG}/Cursor/User/settings.json",),
    ),
    "windsurf": (
        "Windsurf takes VS Code's extensions, and has a settings file of its own",
        ("vscode AGENT --file {CONFIG}/Windsurf/User/settings.json",),
    ),
}
"""Editors that have no entry of their own: the reason, and what to give `lastword setup`.
`{CONFIG}` stands for the folder in which such editors keep their settings."""
