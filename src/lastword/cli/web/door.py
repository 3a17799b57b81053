"""Access to the record from a browser: only by following the printed link.

Owns the link, which works once, the cookie that it sets, and the host names that are accepted: a
foreign name that resolves to this machine (DNS rebinding) is not.
"""

from __future__ import annotations

import secrets
import threading

_SECRET_BYTES = 24


class Door:
    """Admits those who followed a link."""

    def __init__(self, port: int) -> None:
        """Begin with a new link, for a port of this machine."""
        self._cookie = f"lastword_log_{port}"  # cookies are shared by all ports of a host
        self._port = port
        self._code = secrets.token_urlsafe(_SECRET_BYTES)
        self._token = secrets.token_urlsafe(_SECRET_BYTES)
        self._is_used = False
        self._lock = threading.Lock()

    def link(self, place: str = "") -> str:
        """Return the link to a place in the page."""
        return f"http://127.0.0.1:{self._port}/?code={self._code}{place}"

    def knows(self, host: str | None) -> bool:
        """Return whether a host name is one of this server's."""
        return host in {f"127.0.0.1:{self._port}", f"localhost:{self._port}"}

    def follow(self, code: str) -> str | None:
        """Follow the link; return the cookie to set, or nothing if the link is not valid."""
        with self._lock:
            if self._is_used or not _same(code, self._code):
                return None
            self._is_used = True
        return f"{self._cookie}={self._token}; HttpOnly; SameSite=Strict; Path=/"

    def admits(self, cookies: str | None) -> bool:
        """Return whether the sender of these cookies was admitted."""
        for each in (cookies or "").split(";"):
            name, _, value = each.strip().partition("=")
            if name == self._cookie and _same(value, self._token):
                return True
        return False


def _same(given: str, expected: str) -> bool:
    return secrets.compare_digest(given.encode(errors="replace"), expected.encode())
