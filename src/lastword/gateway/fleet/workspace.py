"""The workspace of a node, which shows whether two nodes have the same files.

Owns a file in the root with a random text. Nodes that are configured to share their files
(`--workspace-id`) share them if they read the same text there.
"""

from __future__ import annotations

import os
import secrets

from lastword.gateway.fleet.errors import FleetError
from lastword.platform.files import write_whole

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
            text = secrets.token_hex(NONCE_BYTES).encode()
            write_whole(path, text, mode=0o644, create=True)
        with open(path, encoding="ascii") as file:
            nonce = file.read(2 * NONCE_BYTES)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not a text of lastword's"
        raise FleetError(f"--workspace-id needs {path}, which fails: {reason.lower()}") from error
    return f"{workspace_id}/{nonce}"
