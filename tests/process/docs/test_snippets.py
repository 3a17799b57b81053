"""What README and `docs/` show of Python and of what is printed."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

from tests.kit.doc_blocks import GIVEN, Block, blocks, given
from tests.kit.patience import FUSE_SECONDS
from tests.kit.places import ROOT
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
