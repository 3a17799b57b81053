"""The output of `lastword setup`: a page of text, or one JSON document.

Owns the sentences about what was done and what to do next.
"""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Any

from lastword.cli import envelope
from lastword.cli.page import Page
from lastword.cli.setup.locations import settings_paths, shown
from lastword.cli.setup.programs import typed_command
from lastword.platform.terminal import command_line
from lastword.quirks.setup import COMMANDS, EDITORS, READ_ON

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lastword.cli.setup.actions import SetupOutcome, SetupRequest

VERSION = 1
"""Of the JSON documents: a key may come, none goes or changes its meaning."""

_NAME_COLUMNS = 20


def write_list(environment: Mapping[str, str], *, as_json: bool) -> None:
    """List the known editors and agents."""
    if as_json:
        envelope.write(_list_document(environment))
        return
    page = Page(keeps_words=True)
    page.line("editors, and where each one's agents are set up:", "bold")
    for editor in EDITORS.values():
        lead = f"  {editor.name:{_NAME_COLUMNS}}"
        if editor.is_json:
            path = shown(settings_paths(editor, environment)[0], environment)
            page.row(lead, f"{editor.title}: {path}; --write edits it")
        else:
            page.row(lead, f"{editor.title}: {editor.places[0]}; by hand")
    page.line()
    page.line("agents:", "bold")
    for agent in COMMANDS:
        page.row(f"  {agent.name:{_NAME_COLUMNS}}", command_line(agent.command))
    page.line()
    page.line("For any other agent give its command: lastword setup zed -- CMD ARGS")
    sys.stdout.write(page.drain())


def write_outcome(request: SetupRequest, outcome: SetupOutcome, *, as_json: bool) -> None:
    """Print what was done, or what to do."""
    if as_json:
        envelope.write(_document(request, outcome))
        return
    page = Page(keeps_words=True)
    path = shown(outcome.path, request.environment)
    page.line(_headline(request, outcome, path))
    if outcome.snippet and outcome.action in {"print", "written", "replaced", "wrapped"}:
        page.line()
        for line in outcome.snippet.text.splitlines():
            page.verbatim((line, ""))
    page.line()
    for note in outcome.notes:
        page.row("Note:   ", note)
    if outcome.backup:
        page.verbatim(("Backup: ", "dim"), (shown(outcome.backup, request.environment), ""))
    page.row("Next:   ", next_step(request, outcome))
    if request.command and outcome.action not in {"removed", "absent"}:
        page.verbatim(("Check:  ", "dim"), (_check(request), ""))
    if outcome.action in {"written", "replaced", "wrapped"}:
        page.verbatim(("Undo:   ", "dim"), (_undo(request, outcome), ""))
    sys.stdout.write(page.drain())


def next_step(request: SetupRequest, outcome: SetupOutcome) -> str:
    """Return what the user does next, as a sentence."""
    if outcome.action == "removed":
        return f"{request.editor.title} no longer offers it. A session that is open goes on."
    if outcome.action == "absent":
        return "If the entry has another name, give it as --name NAME."
    return request.editor.next_step.replace("NAME", outcome.name)


def _check(request: SetupRequest) -> str:
    """Return the command that checks whether the agent can start here."""
    if request.remote:
        return shlex.join(["ssh", request.remote.host, request.remote.command("status")])
    return command_line([*typed_command(request.environment), "doctor", "--", *request.command])


def _undo(request: SetupRequest, outcome: SetupOutcome) -> str:
    """Return the command that undoes the change."""
    words = [*typed_command(request.environment), "setup", request.editor.name]
    if request.remote:
        words += ["--remove", "--name", outcome.name]
    elif request.agent and not request.name and outcome.action != "wrapped":
        words += [request.agent.name, "--remove"]
    else:
        words += ["--remove", "--wrap" if outcome.action == "wrapped" else "--name", outcome.name]
    return command_line(words + (["--file", outcome.path] if request.file else []))


def _headline(request: SetupRequest, outcome: SetupOutcome, path: str) -> str:
    editor, name = request.editor, outcome.name
    if outcome.action == "print" and not request.command:
        return f"With lastword in front, {name} would look like this in {path}; --write changes it:"
    if outcome.action == "print" and not editor.is_json:
        if editor.form == "toad":
            return f"{editor.title} takes an agent on its command line:"
        return f"For {editor.title}, add this to {editor.places[0]}:"
    if outcome.action == "print":
        return f"For {editor.title}, add this to {path}; --write does it for you:"
    return {
        "written": f"{path} now has {name}:",
        "replaced": f"{path} had {name} already; it is now:",
        "unchanged": f"{path} needs no change: {name} is already set up like this.",
        "wrapped": f"{path} now has lastword in front of {name}:",
        "unwrapped": f"{path} has {name} without lastword again.",
        "removed": f"{name} is no longer in {path}.",
        "absent": f"{path} has no {name or 'entry with lastword'}: there is nothing to remove.",
    }[outcome.action]


def _document(request: SetupRequest, outcome: SetupOutcome) -> dict[str, Any]:
    snippet = outcome.snippet
    return {
        "version": VERSION,
        "editor": request.editor.name,
        "agent": request.agent.name if request.agent else None,
        "action": outcome.action,
        "name": outcome.name,
        "file": outcome.path or None,
        "section": request.editor.section or None,
        "entry": outcome.entry,
        "snippet": snippet.text if snippet else None,
        "language": snippet.language if snippet else None,
        "backup": outcome.backup or None,
        "notes": outcome.notes,
        "next": next_step(request, outcome),
        "check": _check(request) if request.command else None,
    }


def _list_document(environment: Mapping[str, str]) -> dict[str, Any]:
    return {
        "version": VERSION,
        "editors": [
            {
                "name": row.name,
                "title": row.title,
                "file": settings_paths(row, environment)[0] if row.is_json else None,
                "can_write": row.is_json,
                "evidence": row.evidence,
                "evidence_version": row.version,
                "read_on": READ_ON,
            }
            for row in EDITORS.values()
        ],
        "agents": [
            {
                "name": row.name,
                "title": row.title,
                "command": list(row.command),
                "install": row.install,
                "evidence": row.evidence,
                "evidence_version": row.version,
                "read_on": READ_ON,
            }
            for row in COMMANDS
        ],
    }
