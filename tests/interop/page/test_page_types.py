"""The page's scripts: every type in their comments holds, and their words are the package's."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

from lastword.web.files import ANSWER, GATEWAY, LIBRARY, RECORD, SHARED
from tests.interop.page.library import library
from tests.kit.installs import require_node_packages
from tests.kit.places import PROTOCOL, ROOT

if TYPE_CHECKING:
    from pathlib import Path

FUSE_SECONDS = 120
OPTIONS = (
    *("--allowJs", "--checkJs", "--noEmit", "--strict", "--noUnusedLocals", "--noImplicitReturns"),
    *("--noUncheckedIndexedAccess", "--exactOptionalPropertyTypes", "--target", "es2022"),
    *("--module", "esnext", "--moduleResolution", "bundler", "--lib", "es2022,dom,dom.iterable"),
)


def test_the_compiler_agrees_with_every_type(tmp_path: Path) -> None:
    packages = require_node_packages(ROOT / "tests" / "interop" / "typescript")
    for folder in (ANSWER, GATEWAY, RECORD, SHARED):
        for path in folder.glob("*.js"):
            shutil.copy(path, tmp_path)
    (tmp_path / "agent_error.js").unlink()  # its types are in what it was compiled from
    shutil.copy(PROTOCOL / "typescript" / "agent_error.ts", tmp_path)
    compiler = packages / "typescript" / "bin" / "tsc"
    scripts = [str(path) for path in tmp_path.glob("*.js")]
    done = subprocess.run(
        ["node", str(compiler), *OPTIONS, *scripts],
        capture_output=True,
        text=True,
        timeout=FUSE_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_the_library_is_the_one_that_npm_locks_by_hash() -> None:
    assert {path.name: path.read_bytes() for path in LIBRARY.iterdir()} == library()
