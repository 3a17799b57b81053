"""The manual page, written with the macros of man(7) from the parsers and their texts."""

from __future__ import annotations

import re
import textwrap

from docs.completion.command_line import PARSERS, commands
from lastword._version import __version__
from lastword.cli.commands import GROUPS

DATE = "2026-11-27"
"""The date of the page."""

_COLUMNS = 66
"""Of a line before it is escaped for troff."""

_HEAD = """\
.\\" Made by `lastword completion man`.
.TH LASTWORD 1 {date} "lastword {version}" "User Commands"
.SH NAME
lastword \\- typed errors between coding agents and their editors
.SH SYNOPSIS
.B lastword
.I COMMAND
.RI [ ARGUMENTS ]
.SH DESCRIPTION
No turn of the Agent Client Protocol (ACP) ends in silence:
lastword runs between a coding agent and its editor, and ends every failed turn
with an error that says what happened and what to do.
Each command prints its section below with
.BR \\-\\-help .
"""

_FOOT = """\
.SH ENVIRONMENT
.TP
.BI LASTWORD_ OPTION
Every option of
.BR "lastword run" ,
in capitals and with underscores: LASTWORD_IDLE_TIMEOUT=300.
The command line overrides these variables, and they override configuration
files.
.TP
.B LASTWORD_CONFIG
The path of the user's configuration file.
.TP
.B LASTWORD_NO_CONFIG
If 1, no configuration file is read.
.TP
.B LASTWORD_STATE_DIR
The folder of the record and of the gateway's files.
.TP
.B NO_COLOR
If set, the output has no colours.
.SH FILES
.TP
.I ~/.config/lastword/config.toml
The user's defaults, in the folder that XDG_CONFIG_HOME names.
.TP
.I .lastword.toml
A project's defaults, for options that are safe in a stranger's file.
.TP
.I ~/.local/state/lastword
The record, readable by its user only.
It contains no prompt, no answer and no content of tools.
"""


def page() -> str:
    """Return the page."""
    parts = [_HEAD.format(date=DATE, version=__version__)]
    for title, group in GROUPS.items():
        parts.append(f".SS {_text(title[:1].upper() + title[1:])}\n")
        parts += [f".TP\n.B lastword {_text(n)}\n{_filled(about)}" for n, about in group.items()]
    parts += [_section(command.name) for command in commands()]
    return "".join([*parts, _FOOT])


def _section(name: str) -> str:
    parser = PARSERS[name]()
    usage = (parser.usage or "").splitlines()
    lines = [f".SH LASTWORD {_text(name.upper())}\n"]
    lines += [f".nf\n{''.join(f'{_text(line.strip())}{chr(10)}' for line in usage)}.fi\n"]
    lines += _prose(parser.description or "")
    for title, actions in parser.sections:
        if [action.dest for action in actions] == ["help"]:
            continue
        lines.append(f".SS {_text(title[:1].upper() + title[1:])}\n")
        for action in (each for each in actions if each.dest != "help"):
            lines.append(f".TP\n.B {_text(parser.written(action))}\n")
            lines.append(_filled(parser.help_of(action)))
    if parser.epilog:
        lines.append(".SS More\n")
        lines += _prose(parser.epilog)[1:]
    return "".join(lines)


def _prose(text: str) -> list[str]:
    """Return paragraphs filled, and indented lines unchanged."""
    lines = []
    block = r"(?:^ .*\n|^ *\n(?= ))+"
    for part in re.split(f"({block})", f"{text.strip()}\n", flags=re.MULTILINE):
        if part.startswith(" "):
            literal = "".join(f"{_text(line)}\n" for line in part.rstrip("\n").splitlines())
            lines += [".PP\n", f".nf\n{literal}.fi\n"]
            continue
        for paragraph in re.split(r"\n\s*\n", part.strip()):
            if paragraph.strip():
                lines += [".PP\n", _filled(" ".join(paragraph.split()))]
    return lines


def _filled(text: str) -> str:
    """Return a paragraph in lines short enough for readers of the source."""
    lines = textwrap.wrap(text, _COLUMNS, break_on_hyphens=False, break_long_words=False)
    return "".join(f"{_text(line)}\n" for line in lines)


def _text(text: str) -> str:
    """Return text escaped for troff. Hyphens stay hyphens, so that they can be copied."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    escaped = escaped.replace("`", "\\(ga").replace("~", "\\(ti").replace("^", "\\(ha")
    return f"\\&{escaped}" if escaped.startswith((".", "\\(aq")) else escaped
