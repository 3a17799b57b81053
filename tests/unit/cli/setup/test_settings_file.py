"""A settings file: replaced in one step, or left as it is."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from lastword.cli.setup.settings import SettingsError, SettingsFile, load, save


@pytest.fixture
def file(tmp_path: Path) -> SettingsFile:
    (tmp_path / "settings.json").write_text("old")
    return load(str(tmp_path / "settings.json"))


def is_as_it_was(file: SettingsFile) -> bool:
    path = Path(file.path)
    return [*path.parent.iterdir()] == [path] and path.read_text() == file.text


def denied(*_: object, **__: object) -> Any:
    raise PermissionError(13, "Permission denied")


def test_a_file_is_replaced_and_its_old_text_kept(file: SettingsFile) -> None:
    first = save(file, "new")
    second = save(load(file.path), "newer")
    assert Path(file.path).read_text() == "newer"
    assert (Path(first).read_text(), Path(second).read_text()) == ("old", "new")


def test_a_file_that_is_not_there_is_empty_and_its_folder_is_created_only_where_it_may_be(
    tmp_path: Path,
) -> None:
    file = load(str(tmp_path / "a/b/settings.json"))
    assert (file.text, file.status) == ("", None)
    with pytest.raises(SettingsError, match=r"there is no folder .*/a/b"):
        save(file, "new")
    assert list(tmp_path.iterdir()) == []
    assert save(file, "new", may_create=True) == ""
    assert Path(file.path).read_text() == "new"


def test_a_read_only_file_is_left_alone(
    file: SettingsFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(SettingsError, match="it is read-only"):
        save(file, "new")
    assert is_as_it_was(file)


@pytest.mark.parametrize("call", ["replace", "open", "fchmod", "fsync", "makedirs"])
def test_what_the_system_refuses_leaves_the_file_as_it_was(
    file: SettingsFile, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(os, call, denied)
        with pytest.raises(SettingsError, match="it cannot be written: permission denied"):
            save(file, "new", may_create=True)
    assert is_as_it_was(file)


def test_what_a_link_leads_to_is_named_where_it_cannot_be_written(
    file: SettingsFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "link").symlink_to(file.path)
    monkeypatch.setattr(os, "replace", denied)
    with pytest.raises(SettingsError, match=r"it leads to .*/settings\.json, which cannot be"):
        save(load(str(tmp_path / "link")), "new")


@pytest.mark.parametrize("change", ["written", "removed"])
def test_a_file_that_another_program_changed_meanwhile_is_left_to_it(
    file: SettingsFile, change: str
) -> None:
    Path(file.path).unlink()
    if change == "written":
        Path(file.path).write_text("theirs")
    with pytest.raises(SettingsError, match="changed by another program"):
        save(file, "new")
    assert not Path(file.path).exists() or Path(file.path).read_text() == "theirs"


def test_a_file_that_another_program_made_meanwhile_is_left_to_it(tmp_path: Path) -> None:
    file = load(str(tmp_path / "settings.json"))
    Path(file.path).write_text("theirs")
    with pytest.raises(SettingsError, match="changed by another program"):
        save(file, "new")
    assert Path(file.path).read_text() == "theirs"


def test_a_file_that_cannot_be_read_is_said(
    file: SettingsFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "stat", denied)
    with pytest.raises(SettingsError, match="it cannot be read: permission denied"):
        load(file.path)


def test_bytes_that_are_no_text_are_not_written(file: SettingsFile) -> None:
    with pytest.raises(SettingsError, match="JSON cannot represent"):
        save(file, "\udcff")
    assert is_as_it_was(file)


def test_backups_are_not_without_end(file: SettingsFile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.strftime", lambda _: "now")
    for _ in range(100):
        save(load(file.path), "new")
    with pytest.raises(SettingsError, match="too many backups"):
        save(load(file.path), "newer")
    assert Path(file.path).read_text() == "new"
