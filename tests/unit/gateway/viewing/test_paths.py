"""Which paths of a viewer's frames are below the gateway's root."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

import pytest

from lastword.gateway.viewing.access import OutsideRootError, resolved_params

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("code", [errno.ENOENT, errno.EINVAL, errno.EACCES, errno.ELOOP])
def test_a_folder_renamed_during_the_check_is_not_below_the_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def renamed(path: str) -> str:
        raise OSError(code, "gone", path)

    monkeypatch.setattr("os.path.realpath", renamed)
    inside = str(tmp_path / "work")
    for params in (
        {"cwd": inside},
        {"additionalDirectories": [inside]},
        {"workspaceUri": f"file://{inside}"},
        {"mcpServers": [{"cwd": inside}]},
    ):
        with pytest.raises(OutsideRootError):
            resolved_params(params, str(tmp_path))


def test_a_null_folder_is_refused_except_where_folders_are_optional(tmp_path: Path) -> None:
    optional = {"additionalDirectories": None, "workspaceUri": None, "workspaceFolders": None}
    assert resolved_params(optional, str(tmp_path)) == optional
    for params in ({"cwd": None}, {"_meta": {"options": {"cwd": None}}}):
        with pytest.raises(OutsideRootError):
            resolved_params(params, str(tmp_path))
