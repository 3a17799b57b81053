"""Entries of agents in editors' settings, as JSON or as code.

Owns their forms. `quirks.setup` says which editor uses which, with the evidence.
"""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lastword.cli.setup.settings_text import render

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lastword.quirks.setup import AgentCommand, Editor


@dataclass(frozen=True, slots=True)
class Snippet:
    """Text for an editor's configuration, and its language."""

    text: str
    language: str


def entry(form: str, words: Sequence[str], env: Mapping[str, str]) -> dict[str, Any]:
    """Return an agent's entry in a form that is JSON."""
    if form == "argv":
        return {"argv": list(words)}
    kind = {"type": "custom"} if form == "custom" else {}
    command = {"command": words[0], "args": list(words[1:])}
    return kind | command | ({"env": dict(env)} if env else {})


def words_of(value: Any) -> list[str]:
    """Return the command that an entry runs; nothing if its form is unknown."""
    if not isinstance(value, dict):
        return []
    if "argv" not in value and "args" not in value and isinstance(value.get("command"), str):
        return _split(value["command"])
    words = value.get("argv") or [value.get("command"), *(value.get("args") or [])]
    return words if all(isinstance(word, str) for word in words) else []


def changed_words(value: Mapping[str, Any], words: Sequence[str]) -> dict[str, Any]:
    """Return the changes to an entry that is to run another command."""
    if "argv" in value:
        return {"argv": list(words)}
    if "args" not in value and len(_split(value["command"])) > 1:
        return {"command": shlex.join(words)}
    return {"command": words[0], "args": list(words[1:])}


def _split(command: str) -> list[str]:
    """Return a command's words: acpx puts several in one string, others a path with spaces."""
    if os.path.exists(command):
        return [command]
    try:
        return shlex.split(command)
    except ValueError:
        return [command]


def snippet(
    editor: Editor,
    name: str,
    words: Sequence[str],
    agent: AgentCommand | None,
    env: Mapping[str, str],
) -> Snippet:
    """Return what a user adds to the editor's configuration by hand."""
    if editor.is_json:
        whole = {editor.section: {name: entry(editor.form, words, env)}}
        return Snippet(render(whole, "", "  ", "\n"), "json")
    if editor.form == "codecompanion":
        return Snippet(_codecompanion(name, words, agent), "lua")
    if editor.form == "avante":
        return Snippet(_avante(name, words, agent), "lua")
    if editor.form == "agent-shell":
        return Snippet(_agent_shell(name, words, agent), "elisp")
    return Snippet(shlex.join(["toad", "acp", shlex.join(words), "--title", name]), "sh")


def _codecompanion(name: str, words: Sequence[str], agent: AgentCommand | None) -> str:
    # opencode's preset asks for no key and no login, so it suits any agent.
    preset = (agent.codecompanion if agent else "") or "opencode"
    return f"""\
require("codecompanion").setup({{
  adapters = {{
    acp = {{
      [{_lua(name)}] = function()
        return require("codecompanion.adapters").extend({_lua(preset)}, {{
          name = {_lua(name)},
          formatted_name = {_lua(name)},
          commands = {{
            default = {{ {", ".join(map(_lua, words))} }},
          }},
        }})
      end,
    }},
  }},
}})"""


def _avante(name: str, words: Sequence[str], agent: AgentCommand | None) -> str:
    keys = ("HOME", *(agent.keys if agent else ()))
    env = ", ".join(f'{key} = os.getenv("{key}")' for key in keys)
    return f"""\
require("avante").setup({{
  provider = {_lua(name)},
  acp_providers = {{
    [{_lua(name)}] = {{
      command = {_lua(words[0])},
      args = {{ {", ".join(map(_lua, words[1:]))} }},
      env = {{ {env} }},
    }},
  }},
}})"""


def _agent_shell(name: str, words: Sequence[str], agent: AgentCommand | None) -> str:
    if agent and agent.agent_shell:
        command = " ".join(map(_elisp, words))
        return f"""\
(with-eval-after-load 'agent-shell
  (setq {agent.agent_shell}
        '({command})))"""
    return f"""\
(with-eval-after-load 'agent-shell
  (add-to-list
   'agent-shell-agent-configs
   (lambda ()
     (agent-shell-make-agent-config
      :identifier (intern {_elisp(name)})
      :mode-line-name {_elisp(name)}
      :buffer-name {_elisp(name)}
      :shell-prompt {_elisp(name + "> ")}
      :shell-prompt-regexp (regexp-quote {_elisp(name + "> ")})
      :client-maker
      (lambda (buffer)
        (agent-shell--make-acp-client
         :command {_elisp(words[0])}
         :command-params '({" ".join(map(_elisp, words[1:]))})
         :context-buffer buffer))))
   t))"""


def _lua(text: str) -> str:
    """Return a Lua string."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'.replace("\r", "\\r").replace("\0", "\\0")


def _elisp(text: str) -> str:
    """Return an Emacs Lisp string, which may continue on the next line."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
