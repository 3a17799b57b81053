"""What README and `docs/` show besides commands: JSON, YAML, Rust."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from lastword.kit.agent.scenarios import load
from tests.kit.doc_blocks import Block, blocks, scenarios
from tests.kit.places import PROTOCOL
from tests.kit.rows import every

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA: dict[str, Any] = json.loads((PROTOCOL / "schema.json").read_text())
LANGUAGES = {"", "console", "json", "python", "sh", "text", "yaml", "toml", "lua", "elisp", "html"}
LANGUAGES |= {"rust"}


def test_every_code_block_is_in_a_language_checked_here() -> None:
    every = blocks(*LANGUAGES, "bash", "shell", "js", "typescript", "ini", "xml", "diff")
    assert {block.language for block in every} <= LANGUAGES
    assert all(block.language for block in every), [b.name for b in every if not b.language]


def test_the_example_in_rust_is_the_one_that_the_crate_tests() -> None:
    [block] = blocks("rust")
    assert f"```rust\n{block.text}```\n" in (PROTOCOL / "rust" / "README.md").read_text()


def shape(name: str) -> dict[str, Any]:
    """One of the contract's shapes, as a schema."""
    return {"$defs": SCHEMA["$defs"], "$ref": f"#/$defs/{name}"}


def parsed(block: Block) -> Any:
    """A block of JSON; a member alone is shown without the object that it is in."""
    text = block.text.strip()
    return json.loads(f"{{{text}}}" if text.startswith('"') else text)


@every("block", blocks("json"))
def test_json_is_valid_and_keeps_the_contracts_schema(block: Block) -> None:
    value = parsed(block)
    kind = value.get("sessionUpdate")
    if kind in ("agent_error", "agent_retry"):
        of = "AgentErrorUpdate" if kind == "agent_error" else "AgentRetryUpdate"
        jsonschema.validate(value, shape(of))
    said = value.get("clientCapabilities", {}).get("_meta", {}).get("agent_error")
    if said is not None:
        jsonschema.validate(said, shape("Advertisement"))


@every("block", scenarios())
def test_a_scenario_file_can_be_loaded(block: Block, tmp_path: Path) -> None:
    pytest.importorskip("yaml")
    file = tmp_path / "mine.yaml"
    file.write_text(block.text)
    assert load(str(file)).turns


@every("block", blocks("yaml"))
def test_yaml_is_valid(block: Block) -> None:
    yaml = pytest.importorskip("yaml")
    assert isinstance(yaml.safe_load(block.text), dict)
