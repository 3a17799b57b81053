"""`nats.conf` of `examples/fleet` in three servers: who may do what, and what is on disk."""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import nats
import pytest
from nats.errors import NoRespondersError, NoServersError
from nats.errors import TimeoutError as NoAnswerError

from tests.kit.fleet.example import ExampleCluster, prepared
from tests.kit.patience import FUSE_SECONDS, fused

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from nats.aio.client import Client

STREAM = {"name": "LW0", "subjects": ["lw.0.>"], "num_replicas": 3, "storage": "file"}
CANARY = "the quick brown fox of this conversation"
SHORT_SECONDS = 0.5
"""How long a request waits that nobody may answer."""


@pytest.fixture(scope="module")
def secrets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepared(tmp_path_factory.mktemp("example"))


@pytest.fixture(scope="module")
def example(secrets: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ExampleCluster]:
    """The three servers, with a stream in which there is a message."""
    with ExampleCluster(tmp_path_factory.mktemp("servers"), secrets) as cluster:
        asyncio.run(_fill(cluster, secrets))
        yield cluster


async def _fill(cluster: ExampleCluster, secrets: Path) -> None:
    async with user(cluster, secrets, "gateway") as client:
        assert "error" not in await ask(client, "STREAM.CREATE.LW0", STREAM)
        assert json.loads(await _stored(client, "lw.0.s.a.0"))["seq"] == 1


async def _stored(client: Client, subject: str) -> bytes:
    """Store the message, once the client's server knows that another one takes it."""
    while True:
        with contextlib.suppress(NoRespondersError):
            return (await client.request(subject, CANARY.encode(), FUSE_SECONDS)).data


@asynccontextmanager
async def user(cluster: ExampleCluster, secrets: Path, name: str) -> AsyncIterator[Client]:
    """A connection of a user, with the refusals that it was sent in `refused`."""

    async def refused(error: Exception) -> None:
        client.refused.append(str(error))  # type: ignore[attr-defined]

    client: Client = await nats.connect(
        cluster.members[0].url_of(name),
        tls=ssl.create_default_context(cafile=str(secrets / "ca.crt")),
        inbox_prefix="_INBOX" if name == "gateway" else f"_INBOX_{name}",
        allow_reconnect=False,
        error_cb=refused,
    )
    client.refused = []  # type: ignore[attr-defined]
    try:
        yield client
    finally:
        await client.close()


async def ask(
    client: Client,
    subject: str,
    facts: dict[str, Any] | None = None,
    seconds: float = FUSE_SECONDS,
) -> dict[str, Any]:
    reply = await client.request(f"$JS.API.{subject}", json.dumps(facts or {}).encode(), seconds)
    found: dict[str, Any] = json.loads(reply.data)
    return found


async def unanswered(client: Client, *requests: tuple[str, dict[str, Any]]) -> None:
    for subject, facts in requests:
        with pytest.raises(NoAnswerError):
            await ask(client, subject, facts, SHORT_SECONDS)


async def refusals(client: Client, count: int) -> bool:
    """Wait under a fuse until the server has refused so many, and return whether it was no more."""
    refused: list[str] = client.refused  # type: ignore[attr-defined]
    async with asyncio.timeout(FUSE_SECONDS):
        while len(refused) < count:
            await client.flush()
    await client.flush()
    return len(refused) == count


@fused
async def test_a_client_without_tls_or_with_a_wrong_password_is_refused(
    example: ExampleCluster, secrets: Path
) -> None:
    right = example.members[0].url_of("gateway")
    trust = ssl.create_default_context(cafile=str(secrets / "ca.crt"))
    for url, options in (
        (right.replace("tls://", "nats://"), {}),
        (right, {}),  # an authority that this machine does not know
        (right.replace("gateway:", "gateway:not-"), {"tls": trust}),
        (right.replace("gateway:", "monitor:"), {"tls": trust}),
    ):
        with pytest.raises((NoServersError, ssl.SSLError, nats.errors.Error)):
            await nats.connect(url, allow_reconnect=False, max_reconnect_attempts=1, **options)


@fused
async def test_each_user_may_do_its_work_and_nothing_else(
    example: ExampleCluster, secrets: Path
) -> None:
    async with user(example, secrets, "monitor") as client:
        found = await ask(client, "STREAM.INFO.LW0")
        assert found["state"]["messages"] == 1
        assert found["cluster"]["leader"] in {server.name for server in example.servers}
        await unanswered(
            client,
            ("STREAM.MSG.GET.LW0", {"seq": 1}),
            ("DIRECT.GET.LW0", {"seq": 1}),
            ("STREAM.PURGE.LW0", {}),
            ("STREAM.DELETE.LW0", {}),
            ("CONSUMER.CREATE.LW0", {"stream_name": "LW0", "config": {}}),
            ("STREAM.SNAPSHOT.LW0", {"deliver_subject": "_INBOX_monitor.x"}),
        )
        await client.publish("lw.0.s.a.0", b"not mine")
        for subject in ("lw.>", "_INBOX.>", ">", "$KV.>"):
            await client.subscribe(subject)
        assert await refusals(client, 11)
        assert (await ask(client, "STREAM.INFO.LW0"))["state"]["messages"] == 1
    async with user(example, secrets, "gateway") as client:
        subjects = ("STREAM.DELETE.LW0", "STREAM.SNAPSHOT.LW0", "STREAM.UPDATE.LW0")
        await unanswered(client, *((subject, STREAM) for subject in subjects))
        await client.publish("else.where", b"")
        await client.subscribe("lw.>")
        assert await refusals(client, 5)
        found = await ask(client, "STREAM.MSG.GET.LW0", {"seq": 1})
        assert found["message"]["subject"] == "lw.0.s.a.0"
    async with user(example, secrets, "backup") as client:
        parts = await client.subscribe("_INBOX_backup.archive")
        request = {"deliver_subject": "_INBOX_backup.archive", "no_consumers": True}
        found = await ask(client, "STREAM.SNAPSHOT.LW0", request)
        assert found["state"]["messages"] == 1
        part = await parts.next_msg(FUSE_SECONDS)
        assert len(part.data) > 0
        others = ("STREAM.DELETE.LW0", "STREAM.PURGE.LW0", "STREAM.MSG.GET.LW0")
        await unanswered(client, *((subject, {"seq": 1}) for subject in others))


def test_the_servers_disks_hold_no_readable_conversation(
    example: ExampleCluster,
) -> None:
    files = [
        file for server in example.members for file in server.store.rglob("*") if file.is_file()
    ]
    assert any(file.name.endswith(".blk") and file.stat().st_size for file in files)
    for file in files:
        content = file.read_bytes()
        assert CANARY.encode() not in content, file
        assert b"lw.0.s.a.0" not in content, file
