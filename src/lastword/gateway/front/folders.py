"""The folders of a gateway: where its keys and logs are, and where its sockets.

Owns the choice of the run folder, by which a gateway on a port of this machine is found.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import tempfile

from lastword.errors import StoreError
from lastword.gateway.run_folder import pid_of
from lastword.platform.files import write_whole

MAX_RUN_FOLDER_BYTES = 64
"""A Unix socket's path has 107 bytes at most on Linux, 103 on macOS; a name in it has 37."""


FLEET_KEY_NAME = "fleet-key-file"
"""The name of the file, in the gateway's folder, that says where its fleet's key is."""


def folder_of(state_folder: str) -> str:
    """Return the folder of a gateway's keys, links and logs."""
    return os.path.join(state_folder, "gateway")


def note_fleet_key(folder: str, key_file: str) -> None:
    """Write down where the key of the gateway's fleet is, for `lastword gateway token`.

    Args:
        folder: The gateway's folder.
        key_file: The key's file; empty for a gateway without a fleet.

    Raises:
        StoreError: It cannot be written.
    """
    path = os.path.join(folder, FLEET_KEY_NAME)
    try:
        if not key_file:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
            return
        write_whole(path, os.path.abspath(key_file).encode())
    except OSError as error:
        reason = (error.strerror or "failed").lower()
        raise StoreError(f"{path} cannot be written ({reason})") from error


def noted_fleet_key(folder: str) -> str:
    """Return where the key of the gateway's fleet is; empty if it last had none."""
    path = os.path.join(folder, FLEET_KEY_NAME)
    with contextlib.suppress(OSError), open(path, encoding="utf-8") as file:
        return file.read()
    return ""


def push_folder_of(state_folder: str, *, in_fleet: bool) -> str:
    """Return the folder of browsers' subscriptions, and of the key that push services know."""
    return os.path.join(folder_of(state_folder), "fleet") if in_fleet else folder_of(state_folder)


def run_folder_of(state_folder: str, port: int) -> str:
    """Return the socket folder of the gateway on a port; a socket's path has to be short.

    Raises:
        StoreError: No folder has a path that is short enough.
    """
    folders = [
        os.path.join(parent, f"{before}{port}{after}")
        for parent, before, after in _run_folders(state_folder)
    ]
    for folder in folders:
        if len(os.fsencode(folder)) <= MAX_RUN_FOLDER_BYTES:
            return folder
    raise StoreError(
        f"{folders[0]} is too long for the path of a socket; set XDG_RUNTIME_DIR to a shorter "
        "folder that belongs to you"
    )


def served_ports(state_folder: str) -> list[int]:
    """Return the ports on which gateways of this folder are running."""
    ports: set[int] = set()
    for parent, before, after in _run_folders(state_folder):
        with contextlib.suppress(OSError):
            for name in os.listdir(parent):
                port = name.removeprefix(before).removesuffix(after)
                if f"{before}{port}{after}" != name or not (port.isascii() and port.isdigit()):
                    continue
                if pid_of(os.path.join(parent, name)) is not None:
                    ports.add(int(port))
    return sorted(ports)


def _run_folders(state_folder: str) -> list[tuple[str, str, str]]:
    """Return where run folders may be: the folder, and what precedes and follows the port."""
    state = os.path.realpath(folder_of(state_folder))
    after = f"-{hashlib.sha256(state.encode()).hexdigest()[:6]}"
    runtime = os.environ.get("XDG_RUNTIME_DIR") or ""
    folders = [(os.path.join(runtime, "lastword"), "", after)] if os.path.isdir(runtime) else []
    name = f"lastword-{os.getuid()}"
    shared = [(os.path.join(tempfile.gettempdir(), name), "", after)]
    if sys.platform == "darwin":
        # TMPDIR is a folder of 49 bytes below /var/folders there, in which no socket's path fits.
        shared.append((os.path.join("/tmp", name), "", after))  # noqa: S108 - made private
    return [*folders, (state, "run-", ""), *shared]
