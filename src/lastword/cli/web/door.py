"""Who may read the record from a browser: whoever followed the link that was printed.

Owns the link, which works once, the cookie that it gives, and by which names this machine may be
called: another site's name that leads here (DNS rebinding) is none of them.
"""

from __future__ import annotations

import secrets
import threading

_SECRET_BYTES = 24


class Door:
    """Lets in whom a link has led here."""

    def __init__(self, port: int) -> None:
        """A door on a port of this machine, with a new link."""
        self._cookie = f"lastword_log_{port}"  # cookies are shared by all ports of a host
        self._port = port
        self._code = secrets.token_urlsafe(_SECRET_BYTES)
        self._token = secrets.token_urlsafe(_SECRET_BYTES)
        self._is_used = False
        self._lock = threading.Lock()

    def link(self, place: str = "") -> str:
        """The link, to a place of the page."""
        return f"http://127.0.0.1:{self._port}/?code={self._code}{place}"

    def knows(self, host: str | None) -> bool:
        """Is this name of a host ours?"""
        return host in {f"127.0.0.1:{self._port}", f"localhost:{self._port}"}

    def follow(self, code: str) -> str | None:
        """Follow the link; gives the cookie to set, or nothing where it leads nowhere."""
        with self._lock:
            if self._is_used or not _same(code, self._code):
                return None
            self._is_used = True
        return f"{self._cookie}={self._token}; HttpOnly; SameSite=Strict; Path=/"

    def admits(self, cookies: str | None) -> bool:
        """Was the sender of these cookies let in?"""
        for each in (cookies or "").split(";"):
            name, _, value = each.strip().partition("=")
            if name == self._cookie and _same(value, self._token):
                return True
        return False


def _same(given: str, known: str) -> bool:
    return secrets.compare_digest(given.encode(errors="replace"), known.encode())
