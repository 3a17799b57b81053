"""What is shown for an editor, by what this machine has."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any

import pytest

from lastword.cli.setup import actions
from lastword.cli.setup.actions import SetupRequest
from lastword.cli.setup.settings_text import SettingsError
from lastword.quirks.setup import EDITORS

if TYPE_CHECKING:
    from pathlib import Path

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


def test_a_second_settings_file_is_said_unless_one_was_chosen(tmp_path: Path) -> None:
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


OURS: dict[str, Any] = {"command": "/old/lastword", "args": ["run", "--", "nowhere"]}


def test_variables_that_the_user_gave_an_entry_stay_in_it(tmp_path: Path) -> None:
    request = settings(tmp_path, OURS | {"env": {"A_KEY": "sk-secret", "PATH": "/old"}})
    outcome = actions.write(request)
    assert mine(request)["env"] == {"A_KEY": "sk-secret", "PATH": "/bin"}
    assert "Its own variables stay: A_KEY." in outcome.notes
    assert outcome.action == "replaced"
    assert "sk-secret" not in repr(outcome)
    assert actions.write(request).action == "unchanged"


def test_force_replaces_an_entry_with_its_variables(tmp_path: Path) -> None:
    request = settings(tmp_path, OURS | {"env": {"A_KEY": "sk-secret"}})
    actions.write(dataclasses.replace(request, force=True))
    assert mine(request)["env"] == {"PATH": "/bin"}


@pytest.mark.parametrize("env", [None, ["A_KEY"], {}])
def test_an_entry_without_variables_of_its_own_gets_lastwords(tmp_path: Path, env: Any) -> None:
    request = settings(tmp_path, OURS | {"env": env})
    outcome = actions.write(request)
    assert mine(request)["env"] == {"PATH": "/bin"}
    assert not any("variables" in note for note in outcome.notes)


def test_an_entry_that_is_no_object_is_left_as_it_is(tmp_path: Path) -> None:
    request = settings(tmp_path, "something else")
    with pytest.raises(SettingsError, match="does not run lastword"):
        actions.write(request)
    assert mine(request) == "something else"
