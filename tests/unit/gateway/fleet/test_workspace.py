"""The name of a node's files: equal for the nodes that have the same."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from lastword.gateway.fleet.errors import FleetError
from lastword.gateway.fleet.workspace import FILE, workspace_of

if TYPE_CHECKING:
    from pathlib import Path


def test_a_workspace_without_an_id_is_not_written_or_shared(tmp_path: Path) -> None:
    assert workspace_of("", str(tmp_path)) == ""
    assert not [*tmp_path.iterdir()]


def test_nodes_that_share_a_folder_agree_on_its_name_whoever_is_first(
    tmp_path: Path,
) -> None:
    with ThreadPoolExecutor(16) as threads:
        names = {*threads.map(lambda _: workspace_of("team", str(tmp_path)), range(64))}
    (name,) = names
    assert name == f"team/{(tmp_path / FILE).read_text()}"
    assert [each.name for each in tmp_path.iterdir()] == [FILE]


def test_folders_of_two_machines_differ_although_their_ids_do_not(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    first, second = (workspace_of("team", str(tmp_path / name)) for name in ("one", "two"))
    assert first != second
    assert workspace_of("other", str(tmp_path / "one")) != first


def test_a_root_that_is_a_file_is_named(tmp_path: Path) -> None:
    root = tmp_path / "file"
    root.touch()
    with pytest.raises(FleetError, match=rf"{FILE}, which fails: not a directory"):
        workspace_of("team", str(root))


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FleetError, match=rf"--workspace-id needs .*{FILE}, which fails: no such"):
        workspace_of("team", str(tmp_path / "gone"))
