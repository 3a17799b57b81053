"""Files that are written in one step."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from lastword.gateway.front.tokens import Grant, Keeper
from lastword.gateway.viewing.reader import Role
from lastword.platform.files import write_whole

if TYPE_CHECKING:
    from pathlib import Path


def test_a_file_is_replaced_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    write_whole(str(path), b"old")
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "full")))
    with pytest.raises(OSError, match="full"):
        write_whole(str(path), b"new")
    monkeypatch.undo()
    assert (path.read_bytes(), list(tmp_path.iterdir())) == (b"old", [path])
    write_whole(str(path), b"new", mode=0o644)
    assert (path.read_bytes(), list(tmp_path.iterdir())) == (b"new", [path])


@pytest.mark.parametrize("links", [True, False], ids=["with links", "a disk without links"])
def test_a_file_that_is_created_never_replaces_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, links: bool
) -> None:
    if not links:
        monkeypatch.setattr(os, "link", lambda *_: (_ for _ in ()).throw(OSError(1, "no links")))
    path = tmp_path / "file"
    write_whole(str(path), b"first", create=True)
    write_whole(str(path), b"second", create=True)
    assert (path.read_bytes(), list(tmp_path.iterdir())) == (b"first", [path])


def test_processes_that_make_a_gateways_key_at_once_have_the_same(tmp_path: Path) -> None:
    def token(number: int) -> tuple[int, str]:
        folder = number // 8
        return folder, Keeper.at(str(tmp_path / str(folder))).token(Grant(Role.CONTROLLER))

    with ThreadPoolExecutor(8) as pool:
        made = set(pool.map(token, range(320)))
    assert len(made) == 40
