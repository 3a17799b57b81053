"""Why a gateway cannot be a node of a fleet: at real servers, each a sentence without a secret."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import re
import socket
import subprocess
import threading
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from lastword.gateway import wire
from lastword.gateway.fleet import start
from lastword.gateway.fleet.broker import Broker
from lastword.gateway.fleet.buckets import Bucket
from lastword.gateway.fleet.errors import FleetError, NotStoredError
from lastword.gateway.fleet.key import FleetKey
from lastword.gateway.fleet.records import FLEET, NODES, FormatRecord, Records
from lastword.gateway.fleet.start import prepare
from lastword.gateway.settings.values import FleetSettings
from tests.kit.fleet.connected import KEY, KEY_BYTES, connected, node, until
from tests.kit.fleet.servers import PASSWORD, Cluster, Server, free_port
from tests.kit.gateway.serving import GATEWAY, Place, agent
from tests.kit.patience import FUSE_SECONDS, fused, patient

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

START_SECONDS = 10.0
SECRET = "s3cr3t-of-this-test"


async def started(*urls: str, replicas: int = 3, key: FleetKey = KEY, **files: str) -> None:
    """Connect and make what a fleet needs, as a node does that starts."""
    broker = Broker(FleetSettings(urls=list(urls), **files), "test")
    try:
        await broker.open()
        await prepare(broker, Records(key), replicas)
    finally:
        await broker.close()


async def refusal(*urls: str, **how: Any) -> str:
    """Return the sentence with which a start is refused."""
    with pytest.raises(FleetError) as refused:
        await started(*urls, **how)
    assert PASSWORD not in str(refused.value)
    assert SECRET not in str(refused.value)
    return str(refused.value)


@contextlib.contextmanager
def listening(serve: Callable[[socket.socket], None]) -> Iterator[str]:
    """Serve connections one after the other, as something that is no server of a fleet."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def accept() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    with connection:
                        serve(connection)

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)
    thread.join(FUSE_SECONDS)


@fused
async def test_a_fleet_without_a_server_is_refused_after_ten_seconds_with_each_ones_reason() -> (
    None
):
    closed = f"127.0.0.1:{free_port()}"
    began = time.monotonic()
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        listening(lambda each: each.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")) as web,
        listening(lambda each: each.sendall(b"INFO null\r\n")) as strange,
    ):
        mute = f"127.0.0.1:{silent.getsockname()[1]}"
        named = (f"nats://u:{SECRET}@{each}" for each in (closed, web, strange))
        said = await refusal(f"nats://{SECRET}@{mute}", *named)
    assert "no NATS server of the fleet answers" in said
    assert f"{closed} (connection refused)" in said
    assert f"{mute} (no answer)" in said
    assert f"{web} (not a NATS server)" in said
    assert f"{strange} (not a NATS server)" in said
    assert said.endswith("start one, or correct --fleet")
    assert START_SECONDS / 2 < time.monotonic() - began < patient(2 * START_SECONDS)


UNFIT = {
    "2.9.10, 1048576": "is version 2.9.10, and a fleet needs 2.12 or newer",
    "2.15.2, 65536": "accepts messages of 65536 bytes only: set its max_payload to 1MB",
}


@pytest.mark.parametrize("server", UNFIT)
@fused
async def test_a_server_that_cannot_serve_a_fleet_is_named_with_what_it_lacks(server: str) -> None:
    version, payload = server.split(", ")
    info = f'{{"server_id":"x","version":"{version}","headers":true,"max_payload":{payload}}}'

    def unfit(connection: socket.socket) -> None:
        connection.sendall(f"INFO {info}\r\n".encode())
        while data := connection.recv(4096):
            if b"PING" in data:
                connection.sendall(b"PONG\r\n")

    with listening(unfit) as address:
        said = await refusal(f"nats://{address}")
    assert f"the NATS server {address} {UNFIT[server]}" in said


@fused
async def test_missing_tls_is_noticed_before_a_password_is_sent() -> None:
    received: list[bytes] = []

    def plain(connection: socket.socket) -> None:
        connection.sendall(b'INFO {"server_id":"x","version":"2.15.2","auth_required":true}\r\n')
        while data := connection.recv(4096):
            received.append(data)

    with listening(plain) as address:
        said = await refusal(f"tls://u:{SECRET}@{address}")
    assert "it offers no TLS, which tls:// in --fleet requires" in said
    assert received == []


@fused
async def test_a_lone_server_is_refused_unless_one_copy_is_requested(tmp_path: Path) -> None:
    with Cluster(tmp_path, 1) as alone:
        said = await refusal(alone.option)
        assert "is not one of 3 servers that could keep 3 copies" in said
        assert "give --fleet-replicas 1, which survives no loss" in said
        await started(alone.option, replicas=1)
        said = await refusal(alone.option)
        assert "is kept on 1 NATS server, and --fleet-replicas asks for 3" in said


@fused
async def test_most_of_a_clusters_servers_have_to_run_and_a_start_waits_for_the_last(
    tmp_path: Path,
) -> None:
    first, second, third = Cluster(tmp_path).servers
    # With these routes, two elect a leader without the third.
    routes = [f"nats://127.0.0.1:{server.cluster_port}" for server in (first, second)]
    with contextlib.ExitStack() as stack:

        async def run(server: Server) -> None:
            server.start(routes)
            stack.callback(server.kill)
            await until("it serves", lambda: server.report("varz"))

        def clients() -> int:
            reports = [server.report("connz") for server in (first, second)]
            return sum(report.get("num_connections", 0) for report in reports)

        await run(first)
        assert "most servers of its cluster have to run" in await refusal(first.url)
        await run(second)
        starting = asyncio.create_task(started(first.url, second.url))
        await until("the node connects", clients)
        await run(third)
        await starting


@fused
async def test_a_start_waits_while_a_stream_elects_its_leader(cluster: Cluster) -> None:
    async with connected(cluster.urls) as broker:
        store, failures = broker.store, [NotStoredError("no NATS server has the stream now")]

        async def stored(*message: Any, **how: Any) -> int:
            if failures:
                raise failures.pop()
            return await store(*message, **how)

        broker.store = stored  # type: ignore[method-assign]
        await prepare(broker, Records(KEY), 3)
        assert not failures


@fused
async def test_a_wrong_clock_is_noticed_and_a_late_answer_is_not_taken_for_one(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seconds, says in ((600, "ahead of"), (-600, "behind")):
        with monkeypatch.context() as changed:
            other = SimpleNamespace(time=lambda seconds=seconds: time.time() + seconds)
            changed.setattr(start, "time", other)
            said = await refusal(*cluster.urls)
        found = re.search(rf"this machine's clock is (\d+) s {says} the NATS server's", said)
        assert found is not None, said
        assert 600 - FUSE_SECONDS < int(found[1]) <= 600  # an answer's way counts for the clock
    async with connected(cluster.urls) as broker:
        call = broker.call

        async def called(*request: Any, **how: Any) -> dict[str, Any]:
            answer = await call(*request, **how)
            await asyncio.sleep(0.5)
            return answer

        broker.call = called  # type: ignore[method-assign]
        monkeypatch.setattr(start, "CLOCK_SECONDS", 0.1)
        await prepare(broker, Records(KEY), 3)


@fused
async def test_a_login_or_a_file_that_cannot_be_used_is_named_at_once(
    cluster: Cluster, tmp_path: Path
) -> None:
    address = cluster.servers[0].address
    refused = f"the NATS server {address}: it does not accept the user and password"
    (tmp_path / "empty.pem").touch()
    (tmp_path / "bad.creds").write_text(_credentials(SECRET))
    (tmp_path / "strange.creds").write_text(_credentials(f"SU{'A' * 56}"))
    for url, option, name, says in (
        ("nats://fleet:wrong@", "", "", refused),
        (f"nats://{SECRET}@", "", "", refused),
        ("nats://", "", "", refused),
        ("nats://", "credentials", "absent", "cannot be used (no such file or directory)"),
        ("nats://", "credentials", "bad.creds", "has no credentials"),
        ("nats://", "credentials", "strange.creds", "does not accept the credentials of --fleet-"),
        ("nats://", "ca", "absent.pem", "absent.pem cannot be used (no such file or directory)"),
        ("nats://", "ca", "empty.pem", "empty.pem cannot be used"),
    ):
        files = {f"{option}_file": str(tmp_path / name)} if option else {}
        assert says in await refusal(f"{url}{address}", **files), (url, name)


def _credentials(seed: str) -> str:
    token = base64.urlsafe_b64encode(b"{}").decode()
    return (
        f"-----BEGIN NATS USER JWT-----\n{token}.{token}.{token}\n------END NATS USER JWT------\n\n"
        f"-----BEGIN USER NKEY SEED-----\n{seed}\n------END USER NKEY SEED------\n"
    )


def denied(permissions: str) -> tuple[str, str]:
    """An account with JetStream whose user lacks a right, and what is said of it."""
    user = f"user: USER, password: p, permissions: {{ {permissions} }}"
    return f"jetstream: enabled, users: [ {{ {user} }} ]", "lacks a permission"


LIMITED = {
    "no JetStream": (
        "users: [ { user: USER, password: p } ]",
        "has no JetStream for this user's account",
    ),
    "few streams": (
        "jetstream: { max_streams: 5 }, users: [ { user: USER, password: p } ]",
        "no room for the stream",
    ),
    "no right to make streams": denied('publish: { deny: "$JS.API.STREAM.CREATE.>" }'),
    "no right to publish logs": denied('publish: { deny: "lw.>" }'),
    "no right to wake readers": denied('publish: { deny: "lwh.>" }'),
    "no right to publish records": denied('publish: { deny: "$KV.>" }'),
    "no right to receive": denied('subscribe: { deny: ">" }'),
}
OCCUPIED = {
    ("LW3", "mine"): "has a stream LW3 that is not this fleet's (subjects",
    ("MINE", "lw.>"): "another stream of the NATS account has the subjects of LW",
}


@fused
async def test_an_account_with_too_low_limits_or_with_anothers_streams_is_refused(
    tmp_path: Path,
) -> None:
    whole = "jetstream: enabled, users: [ { user: USER, password: p } ]"
    accounts = [*(account for account, _ in LIMITED.values()), *([whole] * len(OCCUPIED))]
    settings = ", ".join(
        f"A{number} {{ {account.replace('USER', f'u{number}')} }}"
        for number, account in enumerate(accounts)
    )
    with Cluster(tmp_path, 1, f"accounts {{ {settings} }}") as alone:
        urls = [f"nats://u{n}:p@{alone.servers[0].address}" for n in range(len(accounts))]
        for url, (name, subject) in zip(urls[len(LIMITED) :], OCCUPIED, strict=True):
            async with connected([url]) as broker:
                await broker.call(f"STREAM.CREATE.{name}", {"name": name, "subjects": [subject]})
        said = await asyncio.gather(*(refusal(url, replicas=1) for url in urls))
    for what, sentence in zip(LIMITED, said, strict=False):
        assert LIMITED[what][1] in sentence, what
    for stream, sentence in zip(OCCUPIED, said[len(LIMITED) :], strict=True):
        assert OCCUPIED[stream] in sentence
        assert "its own account" in sentence


@fused
async def test_a_fleet_with_another_key_format_or_node_is_refused_by_the_command_in_a_line(
    tmp_path: Path, cluster: Cluster
) -> None:
    await started(*cluster.urls)
    said = await refusal(*cluster.urls, key=FleetKey(b"another key of another fleet, yes"))
    assert "belongs to a fleet with another key" in said
    assert "--fleet-key-file" in said
    async with connected(cluster.urls) as broker:
        older = msgspec.structs.replace(node("older"), version="0.3.0", wire=wire.OLDEST - 1)
        nodes = Bucket(broker, NODES, type(older), Records(KEY))
        await nodes.put("older", older)
        process = await asyncio.to_thread(_command, cluster, tmp_path)
        assert (process.returncode, process.stdout) == (2, ""), process.stderr
        assert re.fullmatch(
            r"lastword: the node older runs lastword 0\.3\.0, .*: stop every gateway of the fleet "
            r"before you upgrade the first\n",
            process.stderr,
        )
        await nodes.delete("older")
        other = FormatRecord(format=99, fleet="x", version="9.9.9")
        await Bucket(broker, FLEET, FormatRecord, Records(KEY)).put("format", other)
    assert "the fleet has format 99 of lastword 9.9.9" in await refusal(*cluster.urls)


def _command(cluster: Cluster, folder: Path) -> subprocess.CompletedProcess[str]:
    key = folder / "fleet.key"
    key.touch(0o600)
    key.write_bytes(KEY_BYTES)
    options = ["--listen", "127.0.0.1:0", "--fleet", cluster.option, "--fleet-key-file", str(key)]
    return subprocess.run(
        [*GATEWAY, *options, "--", *agent("ok")],
        cwd=folder,
        env=Place(folder).environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=FUSE_SECONDS,
    )
