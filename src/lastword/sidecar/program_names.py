"""Names of programs that may be shown: never a command line, whose words may be secrets.

Owns what is read of a command line: its program, and for a program that runs others the plain word
that says which.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_SHELLS = frozenset(
    {"sh", "bash", "dash", "zsh", "ksh", "fish", "ash", "busybox", "cmd", "powershell", "pwsh"}
)
_STARTERS = _SHELLS | {
    *("env", "nice", "nohup", "sudo", "timeout", "setsid", "stdbuf", "time"),
    *("bwrap", "firejail", "unshare"),
}
_INTERPRETERS = re.compile(r"(?:node|nodejs|bun|deno|python|pypy|ruby|perl|php)[\d.]*")
_HAVE_COMMANDS = frozenset({
    *("npm", "pnpm", "yarn", "bun", "cargo", "go", "git", "docker", "podman", "pip", "uv"),
    *("poetry", "gradle", "gradlew", "mvn", "bundle", "rake", "dotnet", "kubectl", "terraform"),
    *("apt", "apt-get", "brew", "make", "just", "mix", "composer", "helm", "deno"),
})  # fmt: skip
_SCRIPT = re.compile(r"(?:-cli)?\.(?:c?js|mjs|ts|py|rb|pl|php|sh)$")
_NAME = re.compile(r"[A-Za-z0-9][\w.+-]{0,31}")
_COMMAND = re.compile(r"[a-z][a-z-]{1,15}")
_MODULE = re.compile(r"[A-Za-z_][A-Za-z_.]{0,31}")
_SERVERS = re.compile(r"mcp|lsp|language-?server|tsserver|(?:^|/)gopls$|rust-analyzer|--stdio")
MAX_WORDS = 8


def program_of(words: Sequence[str]) -> str | None:
    """Return the name of the program that a command line runs, if it may be shown."""
    if not words:
        return None
    if len(words) == 1 and " " in words[0]:
        # Some programs replace their command line by a title, as npm does: "npm run test".
        words = words[0].split()
    program, rest = _base(words[0]), list(words[1:])
    if _INTERPRETERS.fullmatch(program) and rest:
        if rest[0] == "-m" and len(rest) > 1 and _MODULE.fullmatch(rest[1]):
            return f"{program} -m {rest[1]}"
        if not rest[0].startswith("-") and ("/" in rest[0] or _SCRIPT.search(rest[0])):
            program, rest = _SCRIPT.sub("", _base(rest[0])), rest[1:]
    if not _NAME.fullmatch(program):
        return None
    if program in _HAVE_COMMANDS and rest and _COMMAND.fullmatch(rest[0]):
        return f"{program} {rest[0]}"
    return program


def starts_others(words: Sequence[str]) -> bool:
    """Return whether a command line is one of a program that starts another.

    A shell does, and a sandbox, which many agents have of their own.
    """
    program = _base(words[0]) if words else ""
    return program in _STARTERS or "sandbox" in program


def is_server(words: Sequence[str]) -> bool:
    """Return whether a command line is that of a server, of tools or of a language."""
    if words and _base(words[0]) in _SHELLS:
        return False
    return any(_SERVERS.search(word.lower()) for word in words[:MAX_WORDS])


def _base(word: str) -> str:
    return os.path.basename(word.strip()).removeprefix("-")
