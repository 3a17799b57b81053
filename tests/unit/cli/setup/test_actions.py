"""Entries for an editor: each form as the editor's own source has it, by what this machine has."""

from __future__ import annotations

import dataclasses
import json
import re
import shlex
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from lastword.cli.setup import actions
from lastword.cli.setup.actions import SetupRequest
from lastword.cli.setup.settings import SettingsError
from lastword.quirks.setup import AGENTS, EDITORS
from tests.kit.rows import every

if TYPE_CHECKING:
    from pathlib import Path


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
def test_an_entry_matches_the_editors_schema(editor: Any) -> None:
    for env in ({}, {"PATH": "/bin"}):
        entry = actions.entry_of(editor.form, WORDS, env)
        jsonschema.validate(entry, {"type": "object"} | SCHEMAS[editor.name])
        assert actions.words_of(entry) == WORDS


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
    assert actions.words_of(entry) == words


@pytest.mark.parametrize(
    "entry", [{"command": "x y"}, {"command": "x"}, {"argv": ["x"]}, {"command": "x", "args": []}]
)
def test_an_entry_with_another_command_runs_that_and_keeps_its_form(entry: dict[str, Any]) -> None:
    changed = entry | actions.changed_words(entry, WORDS)
    assert actions.words_of(changed) == WORDS
    assert set(entry) <= set(changed)


@every("agent", [None, AGENTS["claude"], AGENTS["qwen"]])
@every("editor", [row for row in EDITORS.values() if not row.is_json])
def test_a_piece_of_a_program_has_every_word_of_the_command(editor: Any, agent: Any) -> None:
    snippet = actions.snippet_of(editor, "x-lastword", WORDS, agent, {})
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


def test_an_agent_that_an_editor_supports_keeps_the_editors_way_to_log_in() -> None:
    known, other = AGENTS["codex"], AGENTS["pi"]

    def text(editor: str, agent: Any) -> str:
        return actions.snippet_of(EDITORS[editor], "x", WORDS, agent, {}).text

    assert 'extend("codex"' in text("codecompanion", known)
    assert 'extend("opencode"' in text("codecompanion", other)
    assert "agent-shell-openai-codex-acp-command" in text("agent-shell", known)
    assert "agent-shell-make-agent-config" in text("agent-shell", other)
    assert 'OPENAI_API_KEY = os.getenv("OPENAI_API_KEY")' in text("avante", known)


def test_a_line_break_in_a_word_stays_within_its_string() -> None:
    words = ["lastword", "run", "--", "a\nb\rc"]
    assert '"a\\nb\\rc"' in actions.snippet_of(EDITORS["avante"], "x", words, None, {}).text


REQUEST = SetupRequest(
    editor=EDITORS["jetbrains"],
    agent=None,
    command=["nowhere", "acp"],
    run_words=[],
    name="",
    file="",
    create=False,
    force=False,
    environment={"HOME": "/nonexistent", "PATH": ""},
)


def test_a_path_with_nothing_lasting_in_it_is_not_written() -> None:
    entry = actions.show(REQUEST).entry
    assert entry is not None
    assert "env" not in entry


def test_a_second_settings_file_is_mentioned_unless_one_was_chosen(tmp_path: Path) -> None:
    for product in ("Code", "VSCodium"):
        file = tmp_path / f".config/{product}/User/settings.json"
        file.parent.mkdir(parents=True)
        file.write_text("{}")
    environment = {"HOME": str(tmp_path), "PATH": ""}
    request = dataclasses.replace(REQUEST, editor=EDITORS["vscode"], environment=environment)
    outcome = actions.show(request)
    assert outcome.path == f"{tmp_path}/.config/Code/User/settings.json"
    said = "There is also ~/.config/VSCodium/User/settings.json; --file PATH chooses."
    assert said in outcome.notes
    chosen = dataclasses.replace(request, file=str(tmp_path / "x.json"))
    assert said not in actions.show(chosen).notes


# --- an entry that is there already --------------------------------------------------------------


def settings(folder: Path, entry: Any) -> SetupRequest:
    """A request for the entry `mine` of a settings file that has it so."""
    file = folder / "acp.json"
    file.write_text(json.dumps({"agent_servers": {"mine": entry}}))
    environment = {"HOME": str(folder), "PATH": "/bin"}
    return dataclasses.replace(REQUEST, name="mine", file=str(file), environment=environment)


def mine(request: SetupRequest) -> Any:
    with open(request.path) as file:
        return json.load(file)["agent_servers"]["mine"]


def write(request: SetupRequest) -> actions.SetupPlan:
    """Put the entry in."""
    plan = actions.write(request)
    plan.carry_out()
    return plan


OURS: dict[str, Any] = {"command": "/old/lastword", "args": ["run", "--", "nowhere"]}


def test_variables_that_the_user_gave_an_entry_stay_in_it(tmp_path: Path) -> None:
    request = settings(tmp_path, OURS | {"env": {"A_KEY": "sk-secret", "PATH": "/old"}})
    outcome = write(request)
    assert mine(request)["env"] == {"A_KEY": "sk-secret", "PATH": "/bin"}
    assert "Its own variables stay: A_KEY." in outcome.notes
    assert outcome.action == "replaced"
    assert "sk-secret" not in repr(outcome)
    assert write(request).action == "unchanged"


def test_force_replaces_an_entry_with_its_variables(tmp_path: Path) -> None:
    request = settings(tmp_path, OURS | {"env": {"A_KEY": "sk-secret"}})
    write(dataclasses.replace(request, force=True))
    assert mine(request)["env"] == {"PATH": "/bin"}


@pytest.mark.parametrize("env", [None, ["A_KEY"], {}])
def test_an_entry_without_variables_gets_lastwords(tmp_path: Path, env: Any) -> None:
    request = settings(tmp_path, OURS | {"env": env})
    outcome = write(request)
    assert mine(request)["env"] == {"PATH": "/bin"}
    assert not any("variables" in note for note in outcome.notes)


def test_an_entry_that_is_not_an_object_is_left_as_it_is(tmp_path: Path) -> None:
    request = settings(tmp_path, "something else")
    with pytest.raises(SettingsError, match="does not run lastword"):
        write(request)
    assert mine(request) == "something else"
