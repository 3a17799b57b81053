"""Listeners on loopback: a free port for an agent, and whether the agent listens on it."""

from __future__ import annotations

import os
import socket
import sys

if sys.platform == "win32":
    from lastword.platform.windows.listeners import DYNAMIC_FROM, listens
else:
    from lastword.platform.posix.listeners import DYNAMIC_FROM, listens

__all__ = ["LOOPBACK", "free_port", "listens"]

LOOPBACK = "127.0.0.1"
TRIES = 3
LOWEST_PORT = 16_384


def free_port() -> int | None:
    """Return a free port on loopback outside the range of outgoing connections."""
    room = DYNAMIC_FROM - LOWEST_PORT
    for _ in range(TRIES if room > 0 else 0):
        port = LOWEST_PORT + int.from_bytes(os.urandom(4), "big") % room
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as trial:
            try:
                trial.bind((LOOPBACK, port))
            except OSError:
                continue
        return port
    return None
