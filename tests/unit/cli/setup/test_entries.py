"""Forms of an agent's entry: each as the editor's own source or schema has it."""

from __future__ import annotations

import re
import shlex
from typing import Any

import jsonschema
import pytest

from lastword.cli.setup import entries
from lastword.quirks.setup import AGENTS, EDITORS
from tests.kit.rows import every

WORDS = ["lastword", "run", "--retry", "2", "--", "my agent", "a\"b'c\\d", "ü"]
STRINGS = {"type": "array", "items": {"type": "string"}}
VARIABLES = {"type": "object", "additionalProperties": {"type": "string"}}
COMMAND = {"command": {"type": "string", "minLength": 1}, "args": STRINGS, "env": VARIABLES}
SCHEMAS: dict[str, dict[str, Any]] = {
    # From Zed's `CustomAgentServerSettings::Custom`, which serde finds by its tag.
    "zed": {
        "properties": COMMAND | {"type": {"const": "custom"}},
        "required": ["type", "command"],
        "additionalProperties": False,
    },
    # JetBrains publishes none: from the example in its help.
    "jetbrains": {"properties": COMMAND, "required": ["command"], "additionalProperties": False},
    # From `AgentConfigEntry` of the extension; its package.json says "object", and no more.
    "vscode": {"properties": COMMAND, "required": ["command"], "additionalProperties": False},
    # From `acp.agent_servers` in the extension's package.json.
    "vscode-acp-plugin": {
        "properties": COMMAND | {"type": {"type": "string"}, "name": {"type": "string"}},
        "required": ["command"],
    },
    # From `parseArgvAgentEntry`, which refuses `command` and `args` beside `argv`.
    "acpx": {
        "properties": {"argv": STRINGS | {"minItems": 1}},
        "required": ["argv"],
        "not": {"anyOf": [{"required": ["command"]}, {"required": ["args"]}]},
    },
}


@pytest.mark.parametrize(
    "editor", [row for row in EDITORS.values() if row.is_json], ids=lambda row: row.name
)
def test_an_entry_is_what_the_editor_says_that_it_takes(editor: Any) -> None:
    for env in ({}, {"PATH": "/bin"}):
        entry = entries.entry(editor.form, WORDS, env)
        jsonschema.validate(entry, {"type": "object"} | SCHEMAS[editor.name])
        assert entries.words_of(entry) == WORDS


def test_an_entry_for_zed_says_that_it_is_a_custom_one() -> None:
    assert entries.entry("custom", ["lastword", "run"], {})["type"] == "custom"


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"command": "x", "args": ["y z"]}, ["x", "y z"]),
        ({"command": "npx -y 'a b'"}, ["npx", "-y", "a b"]),
        ({"command": "it's"}, ["it's"]),
        ({"command": "/"}, ["/"]),
        ({"argv": ["x", "y"]}, ["x", "y"]),
        ({"type": "registry"}, []),
        ({"command": ("1",)}, []),
        ("text", []),
    ],
)
def test_an_entry_s_command_is_read_in_every_form(entry: Any, words: list[str]) -> None:
    assert entries.words_of(entry) == words


@pytest.mark.parametrize(
    "entry", [{"command": "x y"}, {"command": "x"}, {"argv": ["x"]}, {"command": "x", "args": []}]
)
def test_an_entry_with_another_command_runs_that_and_keeps_its_form(entry: dict[str, Any]) -> None:
    changed = entry | entries.changed_words(entry, WORDS)
    assert entries.words_of(changed) == WORDS
    assert set(entry) <= set(changed)


@every("agent", [None, AGENTS["claude"], AGENTS["qwen"]])
@every("editor", [row for row in EDITORS.values() if not row.is_json])
def test_a_piece_of_a_program_has_every_word_of_the_command(editor: Any, agent: Any) -> None:
    snippet = entries.snippet(editor, "x-lastword", WORDS, agent, {})
    quoted = [word.replace("\\", "\\\\").replace('"', '\\"') for word in WORDS]
    if editor.form == "toad":
        assert shlex.split(shlex.split(snippet.text)[2]) == WORDS
        return
    found = [m[1] for m in re.finditer(r'"((?:[^"\\]|\\.)*)"', snippet.text)]
    at = found.index(quoted[0])
    assert found[at : at + len(quoted)] == quoted
    bare = re.sub(r'"(?:[^"\\]|\\.)*"', "", snippet.text)
    for opening, closing in ("()", "{}", "[]"):
        assert bare.count(opening) == bare.count(closing)


def test_an_agent_that_an_editor_knows_keeps_the_editor_s_own_way_to_log_in() -> None:
    known, other = AGENTS["codex"], AGENTS["pi"]

    def text(editor: str, agent: Any) -> str:
        return entries.snippet(EDITORS[editor], "x", WORDS, agent, {}).text

    assert 'extend("codex"' in text("codecompanion", known)
    assert 'extend("opencode"' in text("codecompanion", other)
    assert "agent-shell-openai-codex-acp-command" in text("agent-shell", known)
    assert "agent-shell-make-agent-config" in text("agent-shell", other)
    assert 'OPENAI_API_KEY = os.getenv("OPENAI_API_KEY")' in text("avante", known)


def test_a_line_break_in_a_word_stays_within_its_string() -> None:
    words = ["lastword", "run", "--", "a\nb\rc"]
    lua = entries.snippet(EDITORS["avante"], "x", words, None, {}).text
    assert '"a\\nb\\rc"' in lua
