"""What README and `docs/` show of Python and of what is printed."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from docs import editor_pictures
from docs.editor_pictures import EDITORS, FAILURES, FOLDER, Editor
from tests.kit.doc_blocks import GIVEN, Block, blocks, given
from tests.kit.patience import FUSE_SECONDS
from tests.kit.places import AGENTS, ROOT
from tests.kit.rows import every

if TYPE_CHECKING:
    from pathlib import Path


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


def test_each_test_that_is_shown_passes(tmp_path: Path) -> None:
    shown = [block for block in blocks("python") if "\ndef test_" in block.text]
    for block in shown:
        (tmp_path / f"test_{re.sub(r'[^a-z0-9]', '_', block.name)}.py").write_text(given(block))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-n0", "-p", "no:cacheprovider"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=5 * FUSE_SECONDS,
    )
    assert done.returncode == 0, done.stdout
    assert len(re.findall(r"(?m)^test_\w+\.py \.", done.stdout)) == len(shown)


@every("block", blocks("console"))
def test_a_page_shows_the_output_that_its_command_prints(block: Block, tmp_path: Path) -> None:
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


# --- the action for workflows: its script, run as a runner runs it


ACTION = ROOT / ".github" / "actions" / "check"
INSTALL_TIMEOUT_SECONDS = 300.0
AGENT = AGENTS / "obliging.py"


@pytest.mark.matrix
def test_the_actions_step_checks_an_agent_and_leaves_the_results_where_configured(
    tmp_path: Path,
) -> None:
    yaml = pytest.importorskip("yaml")
    action: dict[str, Any] = yaml.safe_load((ACTION / "action.yml").read_text())
    given = {
        "command": f"'{sys.executable}' 'my agent.py'",
        "options": "--only initialize,unknown-method",
        "baseline": "known.toml",
    }
    inputs = {
        name: given.get(name, row.get("default", "")) for name, row in action["inputs"].items()
    }
    (step,) = action["runs"]["steps"]
    filled = {f"${{{{ inputs.{name} }}}}": value for name, value in inputs.items()}
    filled["${{ github.action_path }}/../../.."] = str(ROOT)
    shutil.copy(AGENT, tmp_path / "my agent.py")
    (tmp_path / "known.toml").write_text('[known]\nunknown-method = "a stub"\n')
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", step["run"]],
        cwd=tmp_path,
        env={
            **os.environ,
            "RUNNER_TEMP": str(tmp_path / "runner"),
            **{name: filled[value] for name, value in step["env"].items()},
        },
        capture_output=True,
        text=True,
        timeout=INSTALL_TIMEOUT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed, 1 known to fail" in done.stdout
    for name, output in action["outputs"].items():
        path = tmp_path / output["value"].replace("${{ inputs.folder }}", inputs["folder"])
        assert path.stat().st_size, name
    (run,) = json.loads((tmp_path / inputs["folder"] / "check.sarif").read_text())["runs"]
    assert [result["ruleId"] for result in run["results"]] == ["AGT-5"]


# --- the pictures of what editors show: each is what an agent that is run gives today


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
