"""What is known of single agents, clients and providers: each row with what it rests on."""

from __future__ import annotations

import importlib
import json
import pkgutil
import re
import tomllib
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from lastword import quirks
from lastword.core.failure.ladder import Details, Rung
from lastword.kit.provider.server import Target, point
from lastword.quirks import Quirk, agents, clients, journals, setup, wire
from tests.kit.rows import every

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TABLES: dict[str, Any] = {
    info.name: importlib.import_module(f"lastword.quirks.{info.name}")
    for info in pkgutil.iter_modules(quirks.__path__)
}
ROWS = [row for module in TABLES.values() for row in module.ROWS]
VERSION = re.compile(r"\d+\.\d+|at [0-9a-f]{12}\b")
"""A release, or a commit of a source that was read."""


def quirks_in(value: object) -> Iterator[Quirk]:
    if isinstance(value, Quirk):
        yield value
    elif isinstance(value, tuple | list):
        for member in value:
            yield from quirks_in(member)
    elif isinstance(value, dict):
        yield from quirks_in(list(value.values()))


@every("row", ROWS)
def test_a_row_names_its_evidence_and_the_version_and_has_its_shapes_types(row: Quirk) -> None:
    assert len(row.evidence.split()) > 2, row.evidence
    assert VERSION.search(row.version), row.version
    members = {name: getattr(row, name) for name in row.__struct_fields__}
    assert msgspec.convert(members, type(row), builtin_types=(bytes,)) == row


@every("table", TABLES)
def test_every_row_of_a_table_is_listed_under_a_name_of_its_own(table: str) -> None:
    module = TABLES[table]
    assert len({(type(row), row.name) for row in module.ROWS}) == len(module.ROWS)
    found = [row for value in vars(module).values() for row in quirks_in(value)]
    assert {id(row) for row in found} == {id(row) for row in module.ROWS}


NODE = "node /usr/lib/node_modules/@{}/dist/index.js --acp"


@every(
    ("command", "key"),
    [
        ("gemini --acp", "gemini"),
        ("/opt/bin/gemini --acp", "gemini"),
        ("npx -y @google/gemini-cli@latest --acp", "gemini"),
        ("node /home/u/gemini.js --acp", "gemini"),
        (NODE.format("google/gemini-cli"), "gemini"),
        (NODE.format("agentclientprotocol/claude-agent-acp"), "claude"),
        ("npx --yes @zed-industries/codex-acp", "codex"),
        ("bunx opencode-ai acp", "opencode"),
        ("node /x/node_modules/opencode-ai/bin/opencode acp", "opencode"),
        ("npx pi-acp@0.0.34", "pi"),
        ("uvx --from mistral-vibe==3.0.2 vibe-acp", "vibe"),
        ("python3 -m kimi_cli.main acp", "kimi-code"),
        (r"C:\tools\qwen.cmd --acp", "qwen"),
        ("env A=b goose acp", "goose"),
        ("python agent.py", None),
        ("node /home/gemini/agent.js", None),
        ("somebody --gemini", None),
        ("node /x/node_modules/", None),
        ("", None),
    ],
)
def test_an_agent_is_recognised_by_any_word_of_its_command(command: str, key: str | None) -> None:
    assert agents.agent_of(command.split()) == key
    assert agents.agent_of(command.split(), "OpenCode") == "opencode", "its own name outweighs it"
    assert agents.agent_of(command.split(), "somebody") == key


def test_every_agent_that_setup_starts_is_recognised_by_its_command() -> None:
    known = {row.name for row in agents.ROWS}
    for row in setup.COMMANDS:
        if row.name in known:
            assert agents.agent_of(row.command) in {row.name, "kimi-code"}


def test_a_row_about_an_agent_uses_a_known_name() -> None:
    keys = {row.name for row in agents.ROWS}
    told = (*wire.RETRY_TEXTS, *wire.REMARKS, wire.AIR_RETRY, *journals.ROWS)
    texts = [row.agent for row in told]
    assert keys.issuperset([row.name for row in (*wire.ERROR_PROSE, *setup.RECIPES)] + texts)


def test_a_rows_values_are_from_our_own_vocabulary() -> None:
    for rule in clients.RULES.values():
        assert Rung(rule.rung)
        assert Details(rule.details)


@pytest.mark.parametrize("recipe", setup.RECIPES, ids=lambda recipe: recipe.name)
def test_a_recipe_leaves_no_place_open_and_writes_files_that_can_be_read(
    recipe: setup.Recipe, tmp_path: Path
) -> None:
    target = Target("http://127.0.0.1:1", "http://127.0.0.1:1/v1")
    told = list(point(recipe, target, tmp_path).values())
    for path in recipe.files:
        text = (tmp_path / path).read_text()
        assert (json if path.endswith(".json") else tomllib).loads(text) is not None
        told.append(text)
    assert not re.search(r"\{(root|openai|key|model|home)\}", "".join(told))
    assert target.key in "".join(told)
