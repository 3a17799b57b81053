"""The demo's agent: `python -m lastword.kit.demo retries|empty|crash [PROVIDER_URL]`.

It is the kit's plain agent, which knows nothing of lastword, and fails as real ones do: it retries
its model call and mentions that only in its own log, it treats the provider's refusal as an empty
answer, or its process is killed in the middle of a turn.
"""

from __future__ import annotations

import http.client
import json
import sys
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from lastword.kit.agent.plain import STDERR, Output, PlainAgent, die, write_all

if TYPE_CHECKING:
    from collections.abc import Iterable

SIGKILL = 9
"""Its number on every system; Windows' `signal` lacks the name."""

FIRST_WAIT_SECONDS = 0.1
LAST_WAIT_SECONDS = 0.8


def call_provider(url: str) -> tuple[int, str]:
    """Call the model once; return the status and the provider's message."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=5)
    connection.request("POST", f"{parts.path}/chat/completions", body="{}")
    response = connection.getresponse()
    status, body = response.status, response.read().decode()
    connection.close()
    return status, json.loads(body)["error"]["message"]


class DemoAgent(PlainAgent):
    """An agent all of whose turns fail."""

    def __init__(self, failure: str, url: str, lines: Iterable[bytes]) -> None:
        super().__init__(lines, Output())
        self.capabilities: dict[str, Any] | None = {}
        self._url = url
        self._failure = failure

    def name_session(self, number: int) -> str:  # noqa: ARG002  (there is one)
        return "demo"

    def serve(self, request_id: object) -> None:
        """Run a turn, and fail."""
        if self._failure == "crash":
            self.say("Let me look at the parser first.")
            log("fatal: allocation of 3221225472 bytes failed")
            die(SIGKILL)
        if self._failure == "empty":
            # It treats the provider's refusal as an empty answer.
            status, message = call_provider(self._url)
            log(f"model call failed: {status} {message}")
            self.end_turn(request_id)
            return
        wait = FIRST_WAIT_SECONDS
        while True:
            status, message = call_provider(self._url)
            log(f"model call failed, trying again: {status} {message}")
            time.sleep(wait)
            wait = min(2 * wait, LAST_WAIT_SECONDS)


def log(line: str) -> None:
    """Write to the agent's own log, which no client shows in its conversation."""
    write_all(STDERR, f"{line}\n".encode())


if __name__ == "__main__":
    if sys.argv[1:2] not in (["retries"], ["empty"], ["crash"]):
        sys.exit("usage: python -m lastword.kit.demo retries|empty|crash [PROVIDER_URL]")
    DemoAgent(sys.argv[1], "".join(sys.argv[2:3]), sys.stdin.buffer).run()
