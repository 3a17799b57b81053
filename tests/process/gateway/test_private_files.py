"""What a gateway leaves in files and on command lines: nothing for anybody else."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.kit.gateway.viewing import ViewerClient

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.kit.gateway.serving import Gateway

    Serve = Callable[..., Gateway]

pytestmark = pytest.mark.processes

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


@pytest.mark.parametrize("umask", [0o000, 0o277])
def test_folders_and_files_are_private_whatever_the_umask(serve: Serve, umask: int) -> None:
    before = os.umask(umask)
    try:
        gateway = serve("healthy")
    finally:
        os.umask(before)
    with ViewerClient(gateway) as viewer:
        session = viewer.new(gateway.root)
        viewer.answer(viewer.prompt(session))
        assert gateway.link()
        assert not too_wide(gateway.state)
        assert not too_wide(gateway.runtime / "lastword")


def test_files_that_were_open_to_others_are_closed(serve: Serve) -> None:
    gateway = serve("healthy")
    with ViewerClient(gateway) as viewer:
        viewer.answer(viewer.prompt(viewer.new(gateway.root)))
    gateway.link()
    gateway.front.terminate()
    gateway.front.wait()
    for folder in (gateway.state / "gateway", gateway.runtime / "lastword"):
        for path in [folder, *folder.rglob("*")]:
            if not path.is_symlink():
                path.chmod(0o777)
    gateway.state.chmod(0o755)
    gateway.start()
    assert modes(gateway.state)["."] == "0o700"
    assert not too_wide(gateway.state / "gateway")
    assert not too_wide(gateway.runtime / "lastword")


def test_a_home_and_a_sticky_folder_keep_their_modes(tmp_path: Path, serve: Serve) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    gateway = serve("healthy", variables={"LASTWORD_STATE_DIR": str(shared)})
    assert modes(shared)["."] == "0o1777"
    gateway.state = shared  # its key is there
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


def test_a_mebibyte_of_initialize_works_and_is_on_no_command_line(
    serve: Serve, tmp_path: Path
) -> None:
    notes = tmp_path / "notes"
    gateway = serve(
        "",
        command=[
            sys.executable,
            "-m",
            "tests.kit.gateway.agents",
            "noting",
            str(notes),
            "fork",
            "resume",
            "additionalDirectories",
        ],
    )
    mark = f"{CANARY}-{os.getpid()}"
    capabilities = {"_meta": {"key": mark, "much": "x" * 1024 * 1024}}
    with ViewerClient(gateway, capabilities=capabilities) as viewer:
        session = viewer.new(gateway.root)
        viewer.answer(viewer.prompt(session))
        assert not processes_with(mark)
        assert mark in notes.read_text(encoding="utf-8")
    for holder in gateway.holders():
        line = Path(f"/proc/{holder['pid']}/cmdline").read_bytes()
        assert mark.encode() not in line
        environment = Path(f"/proc/{holder['pid']}/environ").read_bytes()
        assert mark.encode() not in environment
