"""What is shown for an editor, by what this machine has."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from lastword.cli.setup import actions
from lastword.cli.setup.actions import SetupRequest
from lastword.quirks.editors import EDITORS

if TYPE_CHECKING:
    from pathlib import Path

REQUEST = SetupRequest(
    editor=EDITORS["jetbrains"],
    agent=None,
    command=["nowhere", "acp"],
    run_words=[],
    name="",
    file="",
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
