"""The scripts and the manual page that `lastword completion` prints: as the parsers make them."""

from __future__ import annotations

import pytest

from docs.completion.__main__ import MAKERS
from lastword.cli.completion import FILES, path_of


@pytest.mark.parametrize("form", FILES)
def test_each_committed_file_is_what_its_generator_writes(form: str) -> None:
    written = path_of(form).read_text(encoding="utf-8")
    assert written == MAKERS[form](), "run python -m docs.completion --write"
