"""The workspace of a node, which shows whether two nodes have the same files.

Owns a file in the root with a random text. Nodes that are configured to share their files
(`--workspace-id`) share them if they read the same text there.
"""

from __future__ import annotations

import contextlib
import os
import secrets

from lastword.gateway.fleet.errors import FleetError

FILE = ".lastword-workspace"
NONCE_BYTES = 16


def workspace_of(workspace_id: str, root: str) -> str:
    """Return the name of a node's files, which is the same on all nodes that share them.

    Args:
        workspace_id: The value of `--workspace-id`; empty for files of the node's own.
        root: The folder in or below which its sessions work.

    Returns:
        The name; empty for files of the node's own.

    Raises:
        FleetError: The file in the root cannot be read or written.
    """
    if not workspace_id:
        return ""
    path = os.path.join(root, FILE)
    try:
        if not os.path.exists(path):
            # Linked once it is complete, so that other nodes never read a part of it.
            nonce = secrets.token_hex(NONCE_BYTES)
            made = f"{path}.{nonce}"
            try:
                with open(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644), "w") as file:
                    file.write(nonce)
                with contextlib.suppress(FileExistsError):
                    os.link(made, path)
            finally:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(made)
        with open(path, encoding="ascii") as file:
            nonce = file.read(2 * NONCE_BYTES)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not a text of lastword's"
        raise FleetError(f"--workspace-id needs {path}, which fails: {reason.lower()}") from error
    return f"{workspace_id}/{nonce}"
