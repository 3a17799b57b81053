"""The pages of `docs/editors`: each snippet is what the command above it prints."""

from __future__ import annotations

import itertools
import json
import re
import shlex
from typing import TYPE_CHECKING, Any

import pytest

from lastword.quirks.editors import EDITORS
from tests.kit.command import command
from tests.kit.places import ROOT

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

PAGES = ROOT / "docs" / "editors"
BLOCK = re.compile(r"^```(\w+)\n(.*?)\n```$", re.MULTILINE | re.DOTALL)
COMMAND = "lastword setup "
CHANGES = {"--write", "--remove", "--list", "--wrap"}
WHERE = "/usr/local/bin"
"""Where the pages say that the programs are."""


def blocks(page: str) -> list[tuple[str, str]]:
    return BLOCK.findall((PAGES / f"{page}.md").read_text(encoding="utf-8"))


def lines(page: str) -> list[list[str]]:
    found = [
        line for language, text in blocks(page) if language == "sh" for line in text.split("\n")
    ]
    return [shlex.split(line)[2:] for line in found if line.startswith(COMMAND)]


def shown(page: str) -> list[tuple[list[str], str, str]]:
    """Each command that prints settings, with the block below it."""
    found = blocks(page)
    return [
        (shlex.split(text)[2:], *below)
        for (language, text), below in itertools.pairwise(found)
        if language == "sh"
        and text.startswith(COMMAND)
        and "\n" not in text
        and not CHANGES & set(shlex.split(text))
        and (below[0] != "sh" or below[1].startswith("toad "))
    ]


def run(folder: Path, words: list[str]) -> subprocess.CompletedProcess[str]:
    programs = folder / "bin"
    programs.mkdir(exist_ok=True)
    for place in (".config/zed", ".config/Code/User", ".jetbrains", ".acpx"):
        (folder / place).mkdir(parents=True, exist_ok=True)  # the editors are installed
    for name in ("lastword", "npx", "opencode"):
        (programs / name).write_text("#!/bin/sh\n")
        (programs / name).chmod(0o755)
    environment = {"HOME": str(folder), "PATH": str(programs)}
    return command("setup", *words, cwd=folder, environment=environment)


def test_a_page_shows_what_the_command_prints(tmp_path: Path) -> None:
    for page in sorted(PAGES.glob("*.md")):
        for words, language, text in shown(page.stem):
            done = run(tmp_path, ["--json", *words])
            assert done.returncode == 0, (page.name, words, done.stderr)
            told: dict[str, Any] = json.loads(done.stdout)
            assert told["language"] == language
            assert told["snippet"].replace(str(tmp_path / "bin"), WHERE) == text, page.name


@pytest.mark.parametrize("page", sorted(path.stem for path in PAGES.glob("*.md")))
def test_every_setup_line_of_a_page_can_be_run(page: str, tmp_path: Path) -> None:
    found = lines(page)
    assert found
    for words in found:
        done = run(tmp_path, words)
        # There is nothing in this home that could be wrapped, and no `ssh` on this PATH.
        cannot = {"--wrap", "--host"} & {*words}
        assert done.returncode == (1 if cannot else 0), (words, done.stderr)
        if "--host" in words:
            assert "no `ssh` on PATH here" in done.stderr


def test_every_editor_is_shown_on_a_page_that_the_index_links() -> None:
    pages = {path.stem for path in PAGES.glob("*.md")} - {"index"}
    told = {words[0] for page in pages for words, _, _ in shown(page)}
    assert told == set(EDITORS)
    index = (PAGES / "index.md").read_text(encoding="utf-8")
    assert set(re.findall(r"\]\(([\w-]+)\.md\)", index)) == pages
