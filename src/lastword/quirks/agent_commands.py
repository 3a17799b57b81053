"""Agents: the command with which each speaks ACP, and how to get it.

Owns what `lastword setup EDITOR AGENT` puts after `lastword run --`. The other tables describe what
these agents do with failures.
"""

from __future__ import annotations

from lastword.quirks import Quirk

READ_ON = "2026-11-23"
"""When the registries were read."""


class AgentCommand(Quirk, frozen=True, kw_only=True):
    """The command of one agent; `name` is its name in `lastword setup`.

    Attributes:
        title: what people call it.
        command: its command line.
        install: what to type if its program is missing.
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


_NODE = "install Node.js from https://nodejs.org"
_NPM = "npm's entry of the package, its version and `bin`"

ROWS = (
    AgentCommand(
        name="claude",
        title="Claude Code",
        command=("npx", "-y", "@agentclientprotocol/claude-agent-acp"),
        install=_NODE,
        keys=("ANTHROPIC_API_KEY",),
        codecompanion="claude_code",
        agent_shell="agent-shell-anthropic-claude-acp-command",
        evidence=f"{_NPM}; tests/interop/agents_registry.py runs it",
        version="@agentclientprotocol/claude-agent-acp 0.101.0",
    ),
    AgentCommand(
        name="codex",
        title="Codex",
        command=("npx", "-y", "@agentclientprotocol/codex-acp"),
        install=_NODE,
        keys=("OPENAI_API_KEY", "CODEX_API_KEY"),
        codecompanion="codex",
        agent_shell="agent-shell-openai-codex-acp-command",
        evidence=f"{_NPM}; tests/interop/agents_registry.py runs it",
        version="@agentclientprotocol/codex-acp 2.6.0",
    ),
    AgentCommand(
        name="zed-codex",
        title="Codex, by Zed's adapter",
        command=("npx", "-y", "@zed-industries/codex-acp"),
        install=_NODE,
        keys=("OPENAI_API_KEY", "CODEX_API_KEY"),
        codecompanion="codex",
        agent_shell="agent-shell-openai-codex-acp-command",
        evidence=f"{_NPM}; tests/interop/agents_registry.py runs it",
        version="@zed-industries/codex-acp 0.16.0",
    ),
    AgentCommand(
        name="gemini",
        title="Gemini CLI",
        command=("gemini", "--acp"),
        install="npm install -g @google/gemini-cli",
        keys=("GEMINI_API_KEY",),
        codecompanion="gemini_cli",
        agent_shell="agent-shell-google-gemini-acp-command",
        evidence=f"{_NPM}; older ones want --experimental-acp; tests/interop runs it",
        version="@google/gemini-cli 0.61.0",
    ),
    AgentCommand(
        name="opencode",
        title="OpenCode",
        command=("opencode", "acp"),
        install="npm install -g opencode-ai",
        codecompanion="opencode",
        agent_shell="agent-shell-opencode-acp-command",
        evidence=f"{_NPM}; tests/interop/agents_registry.py runs it",
        version="opencode-ai 1.18.33",
    ),
    AgentCommand(
        name="qwen",
        title="Qwen Code",
        command=("qwen", "--acp"),
        install="npm install -g @qwen-code/qwen-code",
        keys=("OPENAI_API_KEY",),
        evidence=f"{_NPM}; tests/interop/agents_registry.py runs it",
        version="@qwen-code/qwen-code 0.24.4",
    ),
    AgentCommand(
        name="kimi",
        title="Kimi CLI",
        command=("kimi", "acp"),
        install="uv tool install kimi-cli",
        codecompanion="kimi_cli",
        evidence="PyPI's kimi-cli as tests/interop/kimi-requirements.txt locks it and runs it",
        version="kimi-cli 1.15.0",
    ),
    AgentCommand(
        name="kimi-code",
        title="Kimi Code",
        command=("kimi", "acp"),
        install="npm install -g @moonshot-ai/kimi-code",
        codecompanion="kimi_cli",
        evidence=f"{_NPM}, whose command has kimi-cli's name; tests/interop runs it",
        version="@moonshot-ai/kimi-code 2.1.0",
    ),
    AgentCommand(
        name="vibe",
        title="Mistral Vibe",
        command=("vibe-acp",),
        install="uv tool install mistral-vibe",
        keys=("MISTRAL_API_KEY",),
        codecompanion="mistral_vibe",
        evidence="PyPI's mistral-vibe as tests/interop/vibe-requirements.txt locks it and runs it",
        version="mistral-vibe 3.0.2",
    ),
    AgentCommand(
        name="cline",
        title="Cline",
        command=("cline", "--acp"),
        install="npm install -g cline",
        codecompanion="cline_cli",
        evidence=f"{_NPM}; tests/interop/agents_registry.py runs it",
        version="cline 3.0.65",
    ),
    AgentCommand(
        name="pi",
        title="Pi",
        command=("npx", "-y", "pi-acp"),
        install=_NODE,
        evidence=f"{_NPM}; tests/interop/agents_registry.py runs it",
        version="pi-acp 0.0.34",
    ),
    AgentCommand(
        name="goose",
        title="Goose",
        command=("goose", "acp"),
        install="see https://block.github.io/goose for how to install it",
        codecompanion="goose",
        evidence="the presets of CodeCompanion.nvim and avante.nvim; it was not run here",
        version="CodeCompanion.nvim 19.22.0",
    ),
    AgentCommand(
        name="copilot",
        title="GitHub Copilot CLI",
        command=("copilot", "--acp", "--stdio"),
        install="npm install -g @github/copilot",
        codecompanion="copilot_acp",
        evidence="CodeCompanion.nvim's preset, and npm's entry; it was not run here",
        version="CodeCompanion.nvim 19.22.0, @github/copilot 1.0.102",
    ),
    AgentCommand(
        name="auggie",
        title="Auggie",
        command=("auggie", "--acp"),
        install="npm install -g @augmentcode/auggie",
        codecompanion="auggie_cli",
        evidence="CodeCompanion.nvim's preset, and npm's entry; it was not run here",
        version="CodeCompanion.nvim 19.22.0, @augmentcode/auggie 0.36.0",
    ),
    AgentCommand(
        name="kilo",
        title="Kilo Code",
        command=("kilo", "acp"),
        install="npm install -g @kilocode/cli",
        codecompanion="kilocode",
        evidence="CodeCompanion.nvim's preset, and npm's entry; it was not run here",
        version="CodeCompanion.nvim 19.22.0, @kilocode/cli 7.8.1",
    ),
    AgentCommand(
        name="kiro",
        title="Kiro CLI",
        command=("kiro-cli", "acp"),
        install="see https://kiro.dev/docs/cli for how to install it",
        codecompanion="kiro",
        evidence="the presets of CodeCompanion.nvim and of VS Code's ACP Client; not run here",
        version="CodeCompanion.nvim 19.22.0",
    ),
    AgentCommand(
        name="cursor",
        title="Cursor CLI",
        command=("agent", "acp"),
        install="see https://cursor.com/cli for how to install it",
        codecompanion="cursor_cli",
        evidence="CodeCompanion.nvim's preset of it; it was not run here",
        version="CodeCompanion.nvim 19.22.0",
    ),
)

AGENTS = {row.name: row for row in ROWS}
"""By what `lastword setup` calls them."""
