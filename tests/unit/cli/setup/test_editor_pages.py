"""The pages of `docs/editors`: each snippet is what the command above it prints."""

from __future__ import annotations

import itertools
import json
import re
import shlex
from typing import TYPE_CHECKING, Any

from lastword.quirks.setup import EDITORS
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


def test_every_editor_is_shown_on_a_page_that_the_index_links() -> None:
    pages = {path.stem for path in PAGES.glob("*.md")} - {"index"}
    told = {words[0] for page in pages for words, _, _ in shown(page)}
    assert told == set(EDITORS)
    index = (PAGES / "index.md").read_text(encoding="utf-8")
    assert set(re.findall(r"\]\(([\w-]+)\.md\)", index)) == pages
