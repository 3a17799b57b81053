"""The fleet's key: its file, and what is derived from it."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import pytest

from lastword.gateway.fleet.errors import FleetError
from lastword.gateway.fleet.key import LINKS, RECORDS, FleetKey

if TYPE_CHECKING:
    from pathlib import Path

SECRET = bytes(range(200, 232))


def written(folder: Path, content: bytes, mode: int = 0o600) -> str:
    path = folder / "fleet.key"
    path.write_bytes(content)
    path.chmod(mode)
    return str(path)


def test_a_key_is_the_same_as_bytes_and_as_base64(tmp_path: Path) -> None:
    raw = FleetKey.at(written(tmp_path, SECRET))
    text = FleetKey.at(written(tmp_path, base64.b64encode(SECRET) + b"\n"))
    assert raw.derived(LINKS) == text.derived(LINKS)
    assert len(raw.derived(LINKS)) == 32
    assert raw.derived(LINKS) != raw.derived(RECORDS)


@pytest.mark.parametrize("content", [b"", SECRET[:31], base64.b64encode(SECRET[:31]), b"x" * 5000])
def test_a_file_without_a_key_is_refused_with_the_line_that_makes_one(
    content: bytes, tmp_path: Path
) -> None:
    with pytest.raises(FleetError, match=r"fleet\.key does not contain .*openssl rand -base64 32"):
        FleetKey.at(written(tmp_path, content))


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
def test_a_key_that_others_can_read_is_refused(mode: int, tmp_path: Path) -> None:
    with pytest.raises(FleetError, match="chmod 600"):
        FleetKey.at(written(tmp_path, SECRET, mode))


def test_an_unreadable_key_is_refused_with_its_path(tmp_path: Path) -> None:
    with pytest.raises(FleetError, match=r"absent cannot be read \(no such file"):
        FleetKey.at(str(tmp_path / "absent"))
