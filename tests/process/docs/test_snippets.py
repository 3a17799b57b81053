"""What README and `docs/` show besides commands: Python, JSON, YAML and what is printed."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from lastword.kit.agent.script import load
from tests.kit.doc_blocks import GIVEN, Block, blocks, given, scenarios
from tests.kit.patience import FUSE_SECONDS
from tests.kit.places import PROTOCOL, ROOT
from tests.kit.rows import every

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA: dict[str, Any] = json.loads((PROTOCOL / "schema.json").read_text())
LANGUAGES = {"", "console", "json", "python", "sh", "text", "yaml", "toml", "lua", "elisp", "html"}
LANGUAGES |= {"rust"}


def test_every_block_is_in_a_language_that_is_looked_at_here() -> None:
    every = blocks(*LANGUAGES, "bash", "shell", "js", "typescript", "ini", "xml", "diff")
    assert {block.language for block in every} <= LANGUAGES
    assert all(block.language for block in every), [b.name for b in every if not b.language]


def test_the_python_examples_pass_a_type_checker(tmp_path: Path) -> None:
    found = blocks("python")
    assert len(found) >= 12
    files = {}
    for number, block in enumerate(found):
        file = tmp_path / f"example_{number}.py"
        file.write_text(given(block))
        files[str(file)] = block
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file=", "--check-untyped-defs", *files],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=10 * FUSE_SECONDS,
    )
    told = done.stdout + done.stderr
    for name, block in files.items():
        told = told.replace(name, f"{block.name} after {GIVEN.count(chr(10))} lines")
    assert "Success" in told, told


@pytest.mark.parametrize(
    "block",
    [block for block in blocks("python") if "\ndef test_" in block.text],
    ids=lambda block: block.name,
)
def test_a_test_that_is_shown_passes(block: Block, tmp_path: Path) -> None:
    (tmp_path / "test_shown.py").write_text(given(block))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", "test_shown.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=FUSE_SECONDS,
    )
    assert done.returncode == 0, f"{block.name}\n{done.stdout}"


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
def test_a_scenario_file_is_one(block: Block, tmp_path: Path) -> None:
    pytest.importorskip("yaml")
    file = tmp_path / "mine.yaml"
    file.write_text(block.text)
    assert load(str(file)).turns


@every("block", blocks("yaml"))
def test_yaml_is_valid(block: Block) -> None:
    yaml = pytest.importorskip("yaml")
    assert isinstance(yaml.safe_load(block.text), dict)


@every("block", blocks("console"))
def test_what_is_shown_of_a_command_is_what_it_prints(block: Block, tmp_path: Path) -> None:
    runs = re.split(r"^\$ (.+)\n", block.text, flags=re.MULTILINE)[1:]
    for line, shown in zip(runs[::2], runs[1::2], strict=True):
        if not re.search(r"\blastword\b", line):
            continue
        done = subprocess.run(
            ["bash", "-c", line.replace("lastword", f"{sys.executable} -m lastword")],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=FUSE_SECONDS,
            env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "COLUMNS": "80"},
        )
        assert done.stdout.rstrip() == shown.rstrip(), block.name
