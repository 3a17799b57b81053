"""The fleet's key: the secret that the nodes of a fleet share.

Owns its file's checks, and the keys that are derived from it, one for each purpose. A process
that has the key is a node: it can sign tokens, write records and open links to the other nodes.
"""

from __future__ import annotations

import base64
import contextlib
import hmac
import os
import stat

from lastword.gateway.fleet.errors import FleetError

KEY_BYTES = 32
LIMIT_BYTES = 4096

TOKENS = "tokens"
LINKS = "links"
RECORDS = "records"
REPLICAS = "replicas"
"""The purposes: tokens and cookies of viewers, links between nodes, records in buckets,
messages in sessions' streams."""


class FleetKey:
    """A fleet's key."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    @classmethod
    def at(cls, path: str) -> FleetKey:
        """Read the key from its file: at least 32 random bytes, as they are or as base64.

        Raises:
            FleetError: The file cannot be read, is open to others, or has no such key.
        """
        try:
            with open(path, "rb") as file:
                mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
                content = file.read(LIMIT_BYTES + 1)
        except OSError as error:
            reason = (error.strerror or "failed").lower()
            raise FleetError(f"the fleet's key {path} cannot be read ({reason})") from None
        if mode & 0o077:
            raise FleetError(
                f"the fleet's key {path} can be read by other users: run `chmod 600 {path}`"
            )
        secret = content
        with contextlib.suppress(ValueError):
            secret = base64.b64decode(b"".join(content.split()), validate=True)
        if not KEY_BYTES <= len(secret) <= LIMIT_BYTES:
            raise FleetError(
                f"{path} does not contain a fleet's key, which has at least {KEY_BYTES} random "
                f"bytes; `openssl rand -base64 {KEY_BYTES}` makes one, and every node needs the "
                "same"
            )
        return cls(secret)

    def derived(self, purpose: str) -> bytes:
        """Return the key for a purpose, of 32 bytes."""
        return hmac.digest(self._secret, purpose.encode(), "sha256")
