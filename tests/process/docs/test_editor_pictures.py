"""The pictures of what editors show: each is what an agent that is run gives today."""

from __future__ import annotations

import pytest

from docs import editor_pictures
from docs.editor_pictures import EDITORS, FAILURES, FOLDER, Editor


@pytest.mark.parametrize(
    "editor",
    [
        editor if editor.name == "zed" else pytest.param(editor, marks=pytest.mark.matrix)
        for editor in EDITORS
    ],
    ids=lambda editor: editor.name,
)
def test_each_picture_shows_what_its_editor_shows_today(
    editor: Editor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(editor_pictures, "EDITORS", (editor,))
    made = editor_pictures.pictures()
    assert len(made) == 2
    for path, picture in made.items():
        is_same = path.read_text(encoding="utf-8") == picture
        assert is_same, f"{path.name}: make it anew with `python -m docs.editor_pictures --write`"
        assert picture.count("without") >= len(FAILURES)


def test_each_picture_is_on_its_editor_s_page() -> None:
    for editor in EDITORS:
        page = (FOLDER / f"{editor.name}.md").read_text(encoding="utf-8")
        for theme in ("light", "dark"):
            assert f"{editor.name}-{theme}.svg#only-{theme}" in page
