"""What a gateway leaves in files and on command lines: nothing for anybody else."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.kit.gateway.agents import noting
from tests.kit.gateway.viewing import ViewerClient

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.kit.gateway.serving import Serve

CANARY = "sk-canary-of-a-client"


def modes(folder: Path) -> dict[str, str]:
    """Return the modes of a folder and of all that is in it."""
    found = {}
    for path in [folder, *folder.rglob("*")]:
        with contextlib.suppress(FileNotFoundError):  # it has gone since
            if not stat.S_ISLNK(mode := path.lstat().st_mode):
                found[str(path.relative_to(folder))] = oct(stat.S_IMODE(mode))
    return found


def too_wide(folder: Path) -> dict[str, str]:
    """Return what others have access to, or has another mode than lastword's."""
    return {
        name: mode
        for name, mode in modes(folder).items()
        if mode != ("0o700" if (folder / name).is_dir() else "0o600")
    }


@contextlib.contextmanager
def under(umask: int) -> Iterator[None]:
    before = os.umask(umask)
    try:
        yield
    finally:
        os.umask(before)


@pytest.mark.processes
def test_folders_and_files_are_private_whatever_the_umask_and_their_modes_before(
    serve: Serve,
) -> None:
    with under(0o277):
        gateway = serve("healthy")
    for umask in (0o277, 0):
        with ViewerClient(gateway) as viewer:
            viewer.turn(viewer.new(gateway.root))
            assert gateway.link()
            assert not too_wide(gateway.state), umask
            assert not too_wide(gateway.runtime / "lastword"), umask
        if umask:
            gateway.front.terminate()
            gateway.front.wait()
            for folder in (gateway.state / "gateway", gateway.runtime / "lastword"):
                for path in [folder, *folder.rglob("*")]:
                    if not path.is_symlink():
                        path.chmod(0o777)
            gateway.state.chmod(0o755)
            with under(0):
                gateway.start()
            assert modes(gateway.state)["."] == "0o700"


def test_a_home_and_a_sticky_folder_keep_their_modes(tmp_path: Path, serve: Serve) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    serve("healthy", variables={"LASTWORD_STATE_DIR": str(shared)})
    assert modes(shared)["."] == "0o1777"
    assert not too_wide(shared / "gateway")


def processes_with(text: str) -> list[str]:
    """Return the command lines that have a text in them."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if text in line and str(os.getpid()) != path.parent.name:
            found.append(line)
    return found


@pytest.mark.processes
def test_a_mebibyte_of_initialize_works_and_is_on_no_command_line(
    serve: Serve, tmp_path: Path
) -> None:
    notes = tmp_path / "notes"
    gateway = serve("", command=noting(notes))
    mark = f"{CANARY}-{os.getpid()}"
    capabilities = {"_meta": {"key": mark, "much": "x" * 1024 * 1024}}
    with ViewerClient(gateway, capabilities=capabilities) as viewer:
        viewer.turn(viewer.new(gateway.root))
        assert not processes_with(mark)
        assert mark in notes.read_text(encoding="utf-8")
        for holder in gateway.holders():
            assert mark.encode() not in Path(f"/proc/{holder['pid']}/environ").read_bytes()
