"""A test that walks rows fails if one of them does, and names each that does."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

import pytest

from tests.kit.rows import every

if TYPE_CHECKING:
    from pathlib import Path


@every("left", [1, 2])
@every("right, plus", [(1, 0), (2, 1)])
def _less(left: int, right: int, plus: int, tmp_path: Path) -> None:
    assert not [*tmp_path.iterdir()]
    (tmp_path / "seen").touch()
    assert left < right + plus, "not less"


def test_each_row_that_fails_is_named_and_no_other(tmp_path: Path) -> None:
    with pytest.raises(pytest.fail.Exception) as failed:
        _less(tmp_path=tmp_path)
    told = str(failed.value)
    assert told.startswith("2 of 4 rows fail")
    assert "left=1, right=1, plus=0" in told
    assert "left=2, right=1, plus=0" in told
    assert "right=2" not in told
    assert "not less" in told
    assert [*inspect.signature(_less).parameters] == ["tmp_path"], "what is no row is a fixture"


def test_an_empty_list_of_rows_is_a_mistake() -> None:
    with pytest.raises(AssertionError, match="no rows of left"):
        every("left", [])
