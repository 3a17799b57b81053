"""What an editor shows of a turn that fails, without lastword and with it, as pictures.

Owns `docs/editors/*-light.svg` and `*-dark.svg`: `python -m docs.editor_pictures --write` makes
them anew. Each text comes from an agent that was run, by the editor's own rule of what it shows;
the rules are those of `lastword.quirks.clients` and of the editors' pages.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docs.terminal_svg import THEMES, terminal_svg
from lastword.cli.page import wrapped
from lastword.core.protocol.acp import AUTH_REQUIRED
from lastword.kit.peer import StrictClient
from lastword.quirks.clients import JETBRAINS

if TYPE_CHECKING:
    from collections.abc import Callable

    from lastword.cli.page import Cell

FOLDER = Path(__file__).resolve().parent / "editors"
COLUMNS = 96
MAX_TEXT = 200
"""Zed shows all of a long error; the picture shows how it begins."""

WAITS_SECONDS = 60.0
SILENCE_SECONDS = 1.0
"""How long an agent that never answers is waited for, before it counts as one."""

FAILURES = {
    "rate_limit": "The provider limits requests",
    "auth": "The provider refuses the key",
    "stream_cut": "The answer breaks off",
    "tool_open": "The provider is overloaded while a tool is open",
    "silent_success": "The agent ends the turn and says nothing",
    "never_answered": "The agent never answers",
    "agent_crash": "The agent is killed",
}
"""Scenarios of `lastword agent`, and what happens in them."""

NO_ANSWER, ENDED, NOTHING = "no answer", "the agent ended", "nothing"


@dataclass(frozen=True)
class Editor:
    """An editor: how it greets an agent, and what it shows of the prompt's answer.

    Attributes:
        name: the file's name, and that of its page.
        title: what people call it.
        client: its `clientInfo.name`; empty if lastword does not know it by that.
        capabilities: its `clientCapabilities`, as far as they matter here.
        shown: returns what it shows of an answer.
    """

    name: str
    title: str
    client: str
    capabilities: dict[str, Any]
    shown: Callable[[dict[str, Any]], str]


def of_zed(answer: dict[str, Any]) -> str:
    """Zed: `details` where it is alone in `data`, or else the message and `data` as JSON."""
    error = answer.get("error")
    if error is None:
        return ""
    if error["code"] == AUTH_REQUIRED:
        return "(Zed opens its login)"
    data = error.get("data")
    if isinstance(data, dict) and list(data) == ["details"]:
        return str(data["details"])
    return error["message"] + (f": {json.dumps(data)}" if data else "")


def of_jetbrains(answer: dict[str, Any]) -> str:
    """JetBrains: the failure in its own convention, with its actions, or else the message."""
    meta = (answer.get("result") or {}).get("_meta") or {}
    failure = meta.get("jetbrains", {}).get("air", {}).get("sessionFailure")
    if failure is None:
        return of_message(answer)
    actions = "".join(f" [{action}]" for action in failure["actions"])
    return f"{failure['title']}{actions}"


def of_message(answer: dict[str, Any]) -> str:
    """Any other: the error's message."""
    return str((answer.get("error") or {}).get("message") or "")


EDITORS = (
    Editor("zed", "Zed", "zed", {}, of_zed),
    Editor("jetbrains", "JetBrains IDEs", "", JETBRAINS.capabilities, of_jetbrains),
    Editor("vscode", "VS Code, ACP Client", "", {}, of_message),
)


def seen(editor: Editor, scenario: str, *, is_behind: bool) -> str:
    """Run a turn, and return what the editor shows of its end."""
    lastword = [sys.executable, "-P", "-m", "lastword"]
    agent = [*lastword, "agent", "--bare", scenario]
    limit = ["--first-update-timeout", "1"] if scenario == "never_answered" else []
    relay = [*lastword, "run", "--no-config", *limit, "--"]
    kept = {name: text for name, text in os.environ.items() if not name.startswith("LASTWORD_")}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as state:
        command = [*relay, *agent] if is_behind else agent
        client = StrictClient(command, kept | {"LASTWORD_STATE_DIR": state})
        try:
            info = {"name": editor.client, "version": "1"} if editor.client else None
            client.answer_to(client.initialize(editor.capabilities, info=info), WAITS_SECONDS)
            opened = client.answer_to(client.new_session(state), WAITS_SECONDS)
            assert opened is not None and opened.frame is not None  # noqa: PT018, S101
            since = len(client.events)
            prompt = client.prompt(opened.frame["result"]["sessionId"], "Go on")
            waits = WAITS_SECONDS
            if scenario == "never_answered" and not is_behind:
                waits = SILENCE_SECONDS
            answer = client.find(lambda event: event.answers(prompt), waits, since=since)
            if answer is None or answer.frame is None:
                return NO_ANSWER if client.stdout.open else ENDED
            return editor.shown(answer.frame) or NOTHING
        finally:
            client.close()


def without(editor: Editor, text: str) -> str:
    """Return what stands there without lastword where nothing was sent."""
    if text == ENDED and editor.name == "zed":
        return "Server exited with status signal: 9 (SIGKILL)"
    return {
        NO_ANSWER: "(it waits, and goes on waiting)",
        ENDED: "(the agent is gone)",
        NOTHING: "(nothing: the turn counts as done)",
    }.get(text, text)


def lines(editor: Editor) -> list[list[Cell]]:
    """Return the picture's lines."""
    rows: list[list[Cell]] = []
    for scenario, words in FAILURES.items():
        bare = without(editor, seen(editor, scenario, is_behind=False))
        behind = seen(editor, scenario, is_behind=True)
        rows.append([(words, "bold")])
        rows += _paragraph("  without  ", "red", bare)
        rows += _paragraph("  with     ", "green", behind)
        rows.append([])
    return rows[:-1]


def _paragraph(lead: str, style: str, text: str) -> list[list[Cell]]:
    cut = text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}…"
    first, *rest = wrapped(cut, COLUMNS - len(lead))
    return [
        [(lead, style), (first, "")],
        *([(" " * len(lead), ""), (line, "")] for line in rest),
    ]


def pictures() -> dict[Path, str]:
    """Return each picture's text, by its file."""
    made = {}
    for editor in EDITORS:
        text = lines(editor)
        for name, theme in THEMES.items():
            made[FOLDER / f"{editor.name}-{name}.svg"] = terminal_svg(
                text,
                columns=COLUMNS,
                theme=theme,
                title=f"{editor.title}, when a turn fails",
                description="; ".join(
                    "".join(cell for cell, _ in row).strip() for row in text if row
                ),
            )
    return made


if __name__ == "__main__":
    for path, picture in pictures().items():
        if "--write" in sys.argv:
            path.write_text(picture, encoding="utf-8")
        else:
            sys.stdout.write(picture)
