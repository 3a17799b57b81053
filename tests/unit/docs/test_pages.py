"""README and `docs/` as a whole: links, the options' page, and what README promises to be."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from docs import help_page, options_page
from lastword.core.link.option_table import OPTIONS
from lastword.quirks import journals
from tests.kit.command import command
from tests.kit.doc_blocks import DOCS, PAGES, anchors, links
from tests.kit.places import PROTOCOL, ROOT

if TYPE_CHECKING:
    import pytest

README = ROOT / "README.md"


def test_readme_is_short_and_begins_with_what_a_newcomer_needs() -> None:
    lines = README.read_text(encoding="utf-8").splitlines()
    assert len(lines) < 150
    first_screen = "\n".join(lines[:40])
    for need in ("uv tool install", "pipx install", "pip install", "lastword demo", "pytest"):
        assert need in first_screen, need
    assert re.search(r"^python3 -m venv .*pytest", first_screen, re.MULTILINE)


def test_the_options_page_is_made_from_the_table() -> None:
    made = options_page.page()
    assert [
        one.name for one in OPTIONS if f"\n| `--{one.name}` | `{one.variable}` |" not in made
    ] == []


def test_the_help_page_has_every_commands_help(monkeypatch: pytest.MonkeyPatch) -> None:
    def printed(*words: str) -> str:
        return command(*words, environment={"COLUMNS": "80", "HOME": "/nonexistent"}).stdout

    monkeypatch.setattr(help_page, "printed", printed)
    made = help_page.page()
    assert ("gateway", "token") in help_page.commands()
    for named in map(" ".join, help_page.commands()):
        assert f"\n## `lastword {named}`\n\n```text\nusage: lastword {named} " in made, named


def test_every_link_to_a_file_leads_somewhere() -> None:
    failures = []
    for place in PAGES:
        for link in links(place):
            path, _, anchor = link.partition("#")
            file = (place.parent / path).resolve() if path else place
            is_read = file.suffix == ".md" and anchor and file.parent != DOCS / "reference"
            if re.match(r"[a-z]+:", link):
                continue
            if not file.exists() or (is_read and anchor not in anchors(file)):
                failures.append(f"{place.name}: {link}")
    assert not failures


def test_no_page_loads_from_another_host() -> None:
    for place in PAGES:
        for link in links(place):
            assert not link.startswith(("http:", "//")), f"{place.name}: {link}"


def test_every_page_is_in_the_navigation() -> None:
    config = (ROOT / ".mkdocs.yml").read_text(encoding="utf-8")
    for place in DOCS.rglob("*.md"):
        name = str(place.relative_to(DOCS))
        assert name in config or name.startswith("editors/"), name


MEASURED = {
    agent: facts["package"]
    for agent, facts in json.loads((PROTOCOL / "agents.json").read_text(encoding="utf-8")).items()
    if "package" in facts
}
"""The agents that were measured: how each is called there, and its package."""


def test_a_measured_agent_has_its_page_and_its_row() -> None:
    for agent, package in MEASURED.items():
        assert (DOCS / "agents" / f"{agent}.md").is_file()
        (row,) = re.findall(rf"^\| \[.+\]\({agent}\.md\) .*$", AGENTS, re.MULTILINE)
        assert f"`{package}`" in row


def test_a_table_that_a_page_includes_is_in_its_file() -> None:
    for page in (*PAGES, *PROTOCOL.glob("*.md")):
        for file, name in re.findall(r"<!-- table: (\S+) (\S+) -->", page.read_text("utf-8")):
            facts = json.loads((PROTOCOL / file).read_text(encoding="utf-8"))[name]
            assert {len(row) for row in facts["rows"]} == {len(facts["columns"])}, name


AGENTS = (DOCS / "agents" / "index.md").read_text(encoding="utf-8")


def test_eleven_agents_were_measured() -> None:
    assert len(MEASURED) == 11
    assert len(list((DOCS / "agents").glob("*.md"))) == len(MEASURED) + 1


def test_an_agents_page_says_where_its_journal_is() -> None:
    for row in journals.ROWS:
        agent = "kimi" if row.name.startswith("kimi-re") else row.name
        shown = (DOCS / "agents" / f"{agent}.md").read_text(encoding="utf-8")
        for variable, folder in row.variables:
            assert f"`${variable}" + (f"/{folder}`" if folder else "`") in shown, row.name
        assert row.default in shown, row.name
        assert row.path.replace("{session}", "SESSION") in shown, row.name
