"""Reports of a connector's own errors, for the gateway's operator.

Owns the content of a report (words and numbers) and the time: when the gateway answers again,
from its own thread. A report that the gateway does not accept waits for the next time;
reports still waiting when the editor ends are lost.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

import msgspec

from lastword.client.link_words import word_of_close
from lastword.gateway.connecting.dial import AddressError, is_loopback
from lastword.outbox.post import PostError, post

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lastword.gateway.connecting.dial import TokenSource

MAX_WAITING = 20
PER_MINUTE = 20
"""A third of what the gateway takes of one address (`EVT-9`)."""

MAX_SESSIONS = 8
"""One error is reported for at most this many sessions."""

POST_SECONDS = 5.0
MIN_CODE, MAX_CODE = 1000, 4999
OK, REDIRECT, NOT_FOUND, TOO_MANY, SERVER_ERROR = 200, 300, 404, 429, 500


def places_of(url: str) -> list[str]:
    """Return the URLs where this WebSocket's gateway may take reports, likeliest first.

    A proxy may serve it below a path that the gateway does not know: `/team/acp` is beside
    `/team/v1`. If the path is the gateway's own `--path`, `/v1` is at the root.
    """
    parts = urlsplit(url)
    scheme = "https" if parts.scheme == "wss" else "http"
    folders = parts.path.split("/")[1:-1]
    paths = (
        "/".join(["", *folders[:depth], "v1", "client-events"])
        for depth in range(len(folders), -1, -1)
    )
    return [urlunsplit((scheme, parts.netloc, path, parts.query, "")) for path in paths]


class ConnectReports:
    """Errors that have not been reported yet."""

    def __init__(self, url: str, tokens: TokenSource) -> None:
        """Report to the gateway of this WebSocket address."""
        self._positions = places_of(url)
        """Where they may be taken; the one place, once one has been."""
        self._is_near = is_loopback(urlsplit(url).hostname or "")
        self._tokens = tokens
        self._waiting: deque[bytes] = deque()
        self._sent_at: deque[float] = deque(maxlen=PER_MINUTE)
        self._sending: threading.Thread | None = None

    def lost(self, sessions: Iterable[str], code: int, reason: str, lasted_seconds: float) -> None:
        """A link that served these sessions has ended."""
        known = word_of_close(code, reason)
        facts: dict[str, Any] = {"lasted_ms": max(0, round(lasted_seconds * 1000))}
        if MIN_CODE <= code <= MAX_CODE:
            facts["code"] = code
        self.note(known.word if known is not None else f"closed_{code}", sessions, **facts)

    def note(self, word: str, sessions: Iterable[str] = (), **facts: int) -> None:
        """Note an error that affected these sessions; errors over the limit are dropped."""
        for session_id in list(sessions)[:MAX_SESSIONS] or [""]:
            if len(self._waiting) < MAX_WAITING:
                about = {"session_id": session_id} if session_id else {}
                report = {"source": "connect", "word": word} | about | facts
                self._waiting.append(msgspec.json.encode(report))

    def send(self) -> None:
        """Send what is waiting, in the background: the gateway answers."""
        if self._waiting and (self._sending is None or not self._sending.is_alive()):
            self._sending = threading.Thread(target=self._send, name="reports", daemon=True)
            self._sending.start()

    def _send(self) -> None:
        while self._waiting and self._may_send():
            one = self._waiting.popleft()
            if not self._is_over(one):
                self._waiting.appendleft(one)
                return

    def _may_send(self) -> bool:
        now = time.monotonic()
        if len(self._sent_at) == PER_MINUTE and now - self._sent_at[0] < 60.0:  # noqa: PLR2004
            return False
        self._sent_at.append(now)
        return True

    def _is_over(self, body: bytes) -> bool:
        """Return whether it has been accepted, or refused for good."""
        try:
            headers = {
                "authorization": f"Bearer {self._tokens.take()}",
                "content-type": "application/json",
            }
            status = self._post(body, headers)
        except (AddressError, PostError):
            return False
        return status != TOO_MANY and status < SERVER_ERROR

    def _post(self, body: bytes, headers: dict[str, str]) -> int:
        """Post to the first URL that exists; return the status.

        Raises:
            PostError: There was no answer.
        """
        for position in self._positions:
            status = post(position, body, headers, POST_SECONDS, proxied=not self._is_near).status
            if OK <= status < REDIRECT:
                self._positions = [position]
            if status != NOT_FOUND:
                return status
        return NOT_FOUND
