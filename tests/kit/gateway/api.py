"""The events API of a gateway, as a test asks it: answers as JSON, and streams of events."""

from __future__ import annotations

import contextlib
import http.client
import time
from typing import TYPE_CHECKING, Any, Self

import msgspec

from tests.kit.patience import FUSE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.kit.gateway.serving import Gateway


class ApiAnswer(msgspec.Struct):
    """An answer: its status, its headers with names in lower case, and its body."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.body)


def ask(
    port: int, method: str, path: str, headers: dict[str, str], body: bytes | None = None
) -> ApiAnswer:
    """Send a request, whose headers' names may have low lines; follow nothing."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=FUSE_SECONDS)
    with contextlib.closing(connection):
        said = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, body, said)
        answer = connection.getresponse()
        known = {name.lower(): value for name, value in answer.getheaders()}
        return ApiAnswer(answer.status, known, answer.read())


class ApiClient:
    def __init__(self, gateway: Gateway, token: str | None = None) -> None:
        """With a token; by default a controller's."""
        self._gateway = gateway
        self._token = gateway.token() if token is None else token

    def ask(
        self, path: str, *, method: str = "GET", body: bytes | None = None, **headers: str
    ) -> ApiAnswer:
        return ask(self._gateway.port, method, path, self._known() | headers, body)

    def json(self, path: str) -> Any:
        answer = self.ask(path)
        assert answer.status == 200, answer
        return answer.json

    def refusal(self, path: str, **how: Any) -> tuple[int, str]:
        """The status and the word of a refusal, whose shape is looked at."""
        answer = self.ask(path, **how)
        assert answer.headers["content-type"] == "application/json", answer
        told = answer.json
        assert told.keys() == {"error", "reason"}, told
        assert told["error"].endswith(".")
        return answer.status, told["reason"]

    def report(self, **members: Any) -> ApiAnswer:
        body = msgspec.json.encode(members)
        return self.ask(
            "/v1/client-events", method="POST", body=body, Content_Type="application/json"
        )

    def events(self, session: str, **query: Any) -> list[dict[str, Any]]:
        """All events of a session, part by part, each held to follow the one before."""
        found: list[dict[str, Any]] = []
        after = ""
        while True:
            asked = query | ({"after": after} if after else {})
            told = "&".join(f"{name}={value}" for name, value in asked.items())
            page = self.json(f"/v1/sessions/{session}/events?{told}")
            found += page["events"]
            after = page["next"]
            if not page["more"]:
                return found

    def stream(self, session: str, query: str = "", **headers: str) -> EventStream:
        return EventStream(self._gateway.port, session, query, self._known() | headers)

    def _known(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._token}"} if self._token else {}


class EventStream:
    def __init__(self, port: int, session: str, query: str, headers: dict[str, str]) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=FUSE_SECONDS)
        path = f"/v1/sessions/{session}/events?{query}"
        self._connection.request("GET", path, headers=headers | {"Accept": "text/event-stream"})
        self.answer = self._connection.getresponse()
        self.ids: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.answer.close()
        self._connection.close()

    def parts(self) -> Iterator[tuple[str, Any]]:
        """The name and the data of each event; a comment is named `:`."""
        part: dict[str, str] = {}
        while line := self.answer.readline().decode():
            name, _, value = line.rstrip("\n").partition(": ")
            if line.startswith(":"):
                yield ":", {}
            elif name:
                part[name] = value
            elif part:
                self.ids.append(part["id"])
                yield part.get("event", "message"), msgspec.json.decode(part["data"])
                part = {}

    def until(self, holds: Callable[[str, Any], Any]) -> list[tuple[str, Any]]:
        found = []
        burns_at = time.monotonic() + FUSE_SECONDS
        for name, data in self.parts():
            found.append((name, data))
            if holds(name, data):
                return found
            assert time.monotonic() < burns_at, found
        raise AssertionError(f"the stream ended: {found}")
