"""A node's start on servers where another node makes the same streams."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

from lastword.gateway.fleet import start
from lastword.gateway.fleet.errors import FencedError, RefusedError
from lastword.gateway.fleet.records import FormatRecord
from tests.kit.patience import fused

if TYPE_CHECKING:
    import pytest

    from lastword.gateway.fleet.broker import Broker
    from lastword.gateway.fleet.records import Records

NAME = "LW0"


class LateServer:
    """A server that another node has asked for a stream, and that does not know it yet."""

    server, is_connected, server_version = "nats://one", True, start.SERVER_MINIMUM
    max_payload = start.PAYLOAD_MINIMUM

    def __init__(self) -> None:
        self.looks = 0

    async def call(self, api: str, _config: Any = None, **_: Any) -> dict[str, Any]:
        if api == f"STREAM.CREATE.{NAME}":
            raise RefusedError(start.NAME_IN_USE, "stream name already in use")
        if api == f"STREAM.INFO.{NAME}":
            self.looks += 1
            if self.looks < 4:
                raise RefusedError(start.NO_STREAM, "stream not found")
        return {"config": start._configs(1)[0], "ts": datetime.now(UTC).isoformat()}

    async def publish(self, _subject: str) -> None: ...

    async def store(self, *_: object) -> int:
        raise FencedError

    def violation_of(self, _subject: str) -> None: ...


@fused
async def test_a_stream_that_another_node_is_making_is_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def written(*_: object) -> FormatRecord:
        return FormatRecord(format=1, fleet="one", version="1")

    only = start._configs(1)[:1]
    monkeypatch.setattr(start, "_configs", lambda _: only)
    monkeypatch.setattr(start, "_format", written)
    monkeypatch.setattr(start, "AGAIN_SECONDS", 0)
    server = LateServer()
    found = await start.prepare(cast("Broker", server), cast("Records", None), 1)
    assert (found.fleet, server.looks) == ("one", 4)
