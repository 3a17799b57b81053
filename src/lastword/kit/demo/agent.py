"""The demo's agent: `python -m lastword.kit.demo.agent rate-limit|crash [PROVIDER_URL]`.

The kit's plain agent, which knows nothing of lastword, failing as real ones do: its provider's
error becomes an internal error after its retries, or its process is killed in mid-turn.
"""

from __future__ import annotations

import http.client
import json
import signal
import sys
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from lastword.kit.agent.plain import STDERR, Output, PlainAgent, die, write_all

if TYPE_CHECKING:
    from collections.abc import Iterable

ATTEMPTS = 3
FIRST_WAIT_SECONDS = 0.1


def ask_provider(url: str) -> tuple[int, str]:
    """Call the model, retrying as agents do; gives the last status and body."""
    parts = urlsplit(url)
    status, body = 0, ""
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(FIRST_WAIT_SECONDS * 2 ** (attempt - 1))
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=5)
        connection.request("POST", f"{parts.path}/chat/completions", body="{}")
        response = connection.getresponse()
        status, body = response.status, response.read().decode()
        connection.close()
        if status < 400:  # noqa: PLR2004  (HTTP's own border)
            break
    return status, body


class DemoAgent(PlainAgent):
    """An agent all of whose turns fail."""

    def __init__(self, failure: str, url: str, lines: Iterable[bytes]) -> None:
        super().__init__(lines, Output())
        self.capabilities: dict[str, Any] | None = {}
        self._failure = failure
        self._url = url

    def name_session(self, number: int) -> str:  # noqa: ARG002  (there is one)
        """Return what the demo's clients call it."""
        return "demo"

    def serve(self, request_id: object) -> None:
        """Take a turn, and fail."""
        if self._failure == "crash":
            self.say("Let me look at the parser first.")
            write_all(STDERR, b"fatal: allocation of 3221225472 bytes failed\n")
            die(signal.SIGKILL)
        status, body = ask_provider(self._url)
        details = f"{status} {json.loads(body)['error']['message']}"
        error = {"code": -32603, "message": "Internal error", "data": {"details": details}}
        self.answer(request_id, error=error)


if __name__ == "__main__":
    DemoAgent(sys.argv[1], "".join(sys.argv[2:3]), sys.stdin.buffer).run()
