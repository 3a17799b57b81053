"""What others get: the wheel and the source archive as they are built, and its types."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import venv
import zipfile
from typing import TYPE_CHECKING

import pytest

from lastword import __version__
from lastword.web.files import GATEWAY, LIBRARY, RECORD, SHARED
from tests.kit.places import ROOT, TESTS

if TYPE_CHECKING:
    from pathlib import Path


FUSE_SECONDS = 600


def run(*command: str, folder: Path = ROOT, environment: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=FUSE_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source archive, unpacked."""
    folder = tmp_path_factory.mktemp("sources")
    run(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(folder))
    [path] = folder.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)  # from 3.11.4 on
        archive.extractall(folder)
    return folder / f"lastword-{__version__}"


@pytest.fixture(scope="module")
def wheel(sources: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from nothing but the source archive."""
    folder = tmp_path_factory.mktemp("wheel")
    build = (sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder))
    run(*build, folder=sources)
    [path] = folder.glob("*.whl")
    return path


def test_the_pages_are_in_the_wheel(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        for folder in (GATEWAY, RECORD, SHARED, LIBRARY):
            place = f"lastword/{folder.relative_to(ROOT / 'src' / 'lastword').as_posix()}/"
            kept = {
                name.removeprefix(place): archive.read(name)
                for name in archive.namelist()
                if name.startswith(place)
            }
            assert kept == {each.name: each.read_bytes() for each in folder.iterdir()}


def test_the_wheel_works_where_only_python_is_installed(wheel: Path, tmp_path: Path) -> None:
    """The README's first line, with the dependencies at the versions that are tested."""
    locked = (TESTS / "requirements.txt").read_text(encoding="utf-8").splitlines()
    # A constraint names no extras, as a lock does.
    pins = [re.sub(r"\[.*\]|[ \\]+$", "", line) for line in locked if "==" in line]
    (tmp_path / "constraints.txt").write_text("\n".join(pins))
    venv.create(tmp_path / "bare", with_pip=True)
    bin_folder = tmp_path / "bare" / "bin"
    pip = (str(bin_folder / "python"), "-m", "pip", "install", "--disable-pip-version-check")
    run(*pip, "-q", "-c", str(tmp_path / "constraints.txt"), str(wheel))
    alone = {"PATH": str(bin_folder), "HOME": str(tmp_path), "LANG": "C.UTF-8"}
    said = run("lastword", "--version", folder=tmp_path, environment=alone)
    assert said == f"lastword {__version__}\n"
    assert "with lastword" in run("lastword", "demo", folder=tmp_path, environment=alone)


def test_the_source_archive_has_every_file(sources: Path, tmp_path: Path) -> None:
    kept = {each.relative_to(sources).as_posix() for each in sources.rglob("*") if each.is_file()}
    run("git", "init", "-q", str(tmp_path))  # its own, for an unpacked archive has none
    git = ("git", f"--git-dir={tmp_path / '.git'}", f"--work-tree={ROOT}")
    known = run(*git, "ls-files", "--others", "--exclude-standard", "-z").split("\0")
    assert kept == {name for name in known if name} | {"PKG-INFO"}


def test_a_release_has_the_changelogs_section_as_its_notes() -> None:
    notes = run(sys.executable, str(ROOT / ".ci" / "release-notes"), __version__)
    section = (ROOT / "CHANGELOG.md").read_text().split(f"\n## {__version__}")[1]
    assert len(notes) > 100
    assert notes.strip() in section.split("\n## ")[0]
    wrong = subprocess.run(
        [sys.executable, str(ROOT / ".ci" / "release-notes"), "9.9.9"],
        capture_output=True,
        text=True,
        timeout=FUSE_SECONDS,
        check=False,
    )
    assert (wrong.returncode, wrong.stdout) == (1, "")
    assert "has another version than 9.9.9" in wrong.stderr


# --- the public surface under a type checker, as its authors meet it


def mypy(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=FUSE_SECONDS,
    )
    return done.stdout + done.stderr


def test_the_public_surface_has_the_types_that_its_authors_expect() -> None:
    assert "Success" in (told := mypy("tests/kit/typed_surface.py")), told


def test_every_change_is_checked_for_unknown_types() -> None:
    # pyright is no package of the tests'; CI has it, and ends where it finds one type unknown.
    asked = (ROOT / ".ci" / "run").read_text().splitlines()
    (line,) = [line for line in asked if "--verifytypes" in line]
    assert line.endswith("pyright --verifytypes lastword --ignoreexternal")
    assert (ROOT / "src" / "lastword" / "py.typed").exists()


def test_the_example_programs_pass_a_type_checker() -> None:
    files = [str(file) for file in sorted((ROOT / "examples").glob("*.py"))]
    assert len(files) >= 8
    # The packages of model providers are not installed here.
    told = mypy("--config-file=", "--check-untyped-defs", "--ignore-missing-imports", *files)
    assert "Success" in told, told
