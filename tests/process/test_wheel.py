"""The wheel, as it is built: what the package reads at run time is in it."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from typing import TYPE_CHECKING

from lastword.cli.web import scripts as record_page
from lastword.gateway.page_files import FOLDER
from tests.kit.places import ROOT

if TYPE_CHECKING:
    from pathlib import Path

FUSE_SECONDS = 120


def test_the_pages_are_in_the_wheel(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    done = subprocess.run(
        build, cwd=ROOT, capture_output=True, text=True, timeout=FUSE_SECONDS, check=False
    )
    assert done.returncode == 0, done.stderr
    [path] = tmp_path.glob("*.whl")
    with zipfile.ZipFile(path) as wheel:
        for folder in (FOLDER, record_page.FOLDER):
            place = f"lastword/{folder.relative_to(ROOT / 'src' / 'lastword').as_posix()}/"
            kept = {
                name.removeprefix(place): wheel.read(name)
                for name in wheel.namelist()
                if name.startswith(place)
            }
            assert kept == {each.name: each.read_bytes() for each in folder.iterdir()}
