"""The options of `lastword run` as a parser: for its help, completion and the manual.

Owns the text around the options. The command line itself is read by `cli.run.options`, which loads
faster; both use `core.link.option_table`.
"""

from __future__ import annotations

from itertools import groupby

from lastword.cli.parser import CommandParser, add_option
from lastword.core.link.option_table import MIB, OPTIONS, Option

ABOUT = """\
Runs an ACP agent with lastword between it and the client, on stdin and stdout.
A turn that fails for any reason ends with an error that says what happened and
what to do. An editor starts this command in place of the agent.

Exit status, signals, environment and working directory are the agent's own.
On a terminal, lastword replaces itself with the agent, so that you can log in.
"""

ENDS = """\
A TIME is a number of seconds, or has a unit: 500ms, 90s, 15m, 2h.

Each option is also an environment variable: LASTWORD_IDLE_TIMEOUT=300 is
--idle-timeout 300, and LASTWORD_NO_RECORD=1 is --no-record. A file can set your
own defaults; `lastword config` shows which value is in effect, and why. The
command line overrides the environment, which overrides a project's
.lastword.toml, which overrides your own file.

examples:
  lastword run -- opencode acp
  lastword run --idle-timeout 5m -- npx -y @agentclientprotocol/claude-agent-acp
  lastword run --retry 2 --retry-wait-limit 60s -- gemini --acp
  lastword run --continue-at-reset=6h -- claude-agent-acp
  lastword run --spend-limit 5USD -- claude-agent-acp
  lastword run --ask-reminder 2m --ask-timeout 30m -- opencode acp
  LASTWORD_PASSTHROUGH=1 lastword run -- opencode acp   lastword stays out

exit status: the agent's own; 2 for invalid options, 126 or 127 if the agent
cannot be started or is not found.
"""


_AT_ONCE = {"cancel_grace", "notify_question_after"}
"""Waits, of which none is as short as 0."""


def parser() -> CommandParser:
    made = CommandParser("run", usage="[options] -- CMD [ARGUMENT...]", about=ABOUT, ends=ENDS)
    for title, options in groupby(OPTIONS, lambda option: option.group):
        group = made.add_argument_group(title)
        for option in options:
            add_option(group, option, f"{option.about} {_default(option)}".rstrip())
    return made


def _default(option: Option) -> str:
    if option.kind == "flag":
        return ""
    if option.words:
        return f"({', '.join(option.words)}; default: {option.default})"
    if option.kind == "bytes":
        return f"(default: {int(option.default) // MIB}MiB)"
    if option.kind == "folder":
        return "(default: ~/.local/state/lastword)"
    if option.key == "config":
        return "(default: ~/.config/lastword/config.toml)"
    if option.kind in {"file", "url", "url-or-topic", "ids"}:
        return "(default: none)"
    if option.kind == "spending":
        return "(default: off)"
    if option.timed_words:
        return f"(default: off; without a word: {option.timed_words[0]})"
    if option.kind == "text":
        return f"(default: {option.default})"
    if option.kind == "count":
        return f"(default: {option.default:g})"
    zero = "at once" if option.key in _AT_ONCE else "no limit" if "limit" in option.key else "off"
    return f"(default: {option.default:g} s; 0: {zero})" if option.default else "(default: off)"
