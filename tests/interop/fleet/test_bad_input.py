"""What `lastword gateway --fleet` says where it cannot be a node: a sentence without a secret."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import re
import socket
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from lastword.gateway import wire
from lastword.gateway.fleet import start
from lastword.gateway.fleet.buckets import Bucket
from lastword.gateway.fleet.errors import NotStoredError
from lastword.gateway.fleet.records import FLEET, NODES, FormatRecord, Records
from lastword.gateway.fleet.start import prepare
from tests.kit.fleet.connected import KEY, KEY_BYTES, connected, node
from tests.kit.fleet.servers import PASSWORD, Cluster, Server, free_port
from tests.kit.gateway.serving import GATEWAY, Place, agent, until
from tests.kit.patience import FUSE_SECONDS, fused, patient

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

START_SECONDS = 10.0
SECRET = "s3cr3t-of-this-test"


class Starts:
    """Starts of a gateway with a fleet, each with a state and a run folder of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.key = folder / "fleet.key"
        self.key.touch(0o600)
        self.key.write_bytes(KEY_BYTES)
        self.started: list[subprocess.Popen[str]] = []

    def begin(
        self, fleet: str, *options: str, program: Sequence[str] = GATEWAY
    ) -> subprocess.Popen[str]:
        folder = self._folder / f"start-{len(self.started)}"
        folder.mkdir()
        key = [] if "--fleet-key-file" in options else ["--fleet-key-file", str(self.key)]
        where = ["--listen", "127.0.0.1:0"]
        process = subprocess.Popen(
            [*program, *where, "--fleet", fleet, *key, *options, "--", *agent("ok")],
            cwd=folder,
            env=Place(folder).environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.started.append(process)
        return process

    def refusal(self, fleet: str, *options: str, program: Sequence[str] = GATEWAY) -> str:
        """Return the one sentence with which a start is refused."""
        return sentence_of(self.begin(fleet, *options, program=program))


def sentence_of(process: subprocess.Popen[str]) -> str:
    stdout, stderr = process.communicate(timeout=FUSE_SECONDS)
    assert (process.returncode, stdout) == (2, ""), stderr
    assert stderr.startswith("lastword: ")
    assert len(stderr.splitlines()) == 1, stderr
    for secret in (PASSWORD, SECRET, "Traceback"):
        assert secret not in stderr
    return stderr.strip()


@pytest.fixture
def starts(tmp_path: Path) -> Iterator[Starts]:
    starts = Starts(tmp_path)
    yield starts
    for process in starts.started:
        if process.poll() is None:
            process.terminate()
        process.communicate(timeout=FUSE_SECONDS)


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


# --- servers that are none


def test_a_fleet_without_a_server_is_refused_after_ten_seconds_with_each_ones_reason(
    starts: Starts,
) -> None:
    closed = f"127.0.0.1:{free_port()}"
    began = time.monotonic()
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        listening(lambda each: each.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")) as web,
    ):
        mute = f"127.0.0.1:{silent.getsockname()[1]}"
        said = starts.refusal(
            f"nats://u:{SECRET}@{closed},nats://{SECRET}@{mute},nats://u:{SECRET}@{web}"
        )
    assert "no NATS server of the fleet answers" in said
    assert f"{closed} (connection refused)" in said
    assert f"{mute} (no answer)" in said
    assert f"{web} (not a NATS server)" in said
    assert said.endswith("start one, or correct --fleet")
    assert START_SECONDS / 2 < time.monotonic() - began < patient(2 * START_SECONDS)


def test_an_old_server_is_named_with_its_version(starts: Starts) -> None:
    def old(connection: socket.socket) -> None:
        connection.sendall(
            b'INFO {"server_id":"x","version":"2.9.10","headers":true,"max_payload":1048576}\r\n'
        )
        while data := connection.recv(4096):
            if b"PING" in data:
                connection.sendall(b"PONG\r\n")

    with listening(old) as address:
        said = starts.refusal(f"nats://{address}")
    assert f"the NATS server {address} is version 2.9.10, and a fleet needs 2.12 or newer" in said


def test_a_lone_server_is_refused_unless_one_copy_is_requested(
    starts: Starts, tmp_path: Path
) -> None:
    with Cluster(tmp_path / "alone", 1) as alone:
        said = starts.refusal(alone.option)
        assert "is not one of 3 servers that could keep 3 copies" in said
        assert "give --fleet-replicas 1, which survives no loss" in said
        running = starts.begin(alone.option, "--fleet-replicas", "1", "--fleet-node", "one")
        assert running.stderr is not None
        assert "serving at" in running.stderr.readline()
        assert "is kept on 1 NATS server, and --fleet-replicas asks for 3" in starts.refusal(
            alone.option, "--fleet-node", "two"
        )
        same = starts.refusal(alone.option, "--fleet-replicas", "1", "--fleet-node", "one")
        assert "the fleet has another node one" in same
        assert "--fleet-node" in same


def test_most_of_a_clusters_servers_have_to_run_and_a_start_waits_for_the_last(
    starts: Starts, tmp_path: Path
) -> None:
    first, second, third = Cluster(tmp_path / "late").servers
    # With these routes, two elect a leader without the third.
    routes = [f"nats://127.0.0.1:{server.cluster_port}" for server in (first, second)]
    with contextlib.ExitStack() as stack:

        def run(server: Server) -> None:
            server.start(routes)
            stack.callback(server.kill)
            until("it serves", lambda: server.report("varz"))

        run(first)
        assert "most servers of its cluster have to run" in starts.refusal(first.url)
        run(second)
        running = starts.begin(f"{first.url},{second.url}")
        until("the node connects", lambda: _clients(first) + _clients(second))
        run(third)
        assert running.stderr is not None
        assert "serving at" in running.stderr.readline()


def _clients(server: Server) -> int:
    return int(server.report("connz").get("num_connections", 0))


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


def test_a_late_answer_is_not_taken_for_a_clock_that_is_ahead(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def play() -> None:
        async with connected(cluster.urls) as broker:
            call = broker.call

            async def called(*request: Any, **how: Any) -> dict[str, Any]:
                answer = await call(*request, **how)
                await asyncio.sleep(0.5)
                return answer

            broker.call = called  # type: ignore[method-assign]
            await prepare(broker, Records(KEY), 3)

    monkeypatch.setattr(start, "CLOCK_SECONDS", 0.1)
    asyncio.run(play())


# --- what the options name


def test_a_login_or_a_file_that_cannot_be_used_is_named_at_once(
    starts: Starts, cluster: Cluster, tmp_path: Path
) -> None:
    address = cluster.servers[0].address
    refused = f"the NATS server {address}: it does not accept the user and password"
    (tmp_path / "empty.pem").touch()
    (tmp_path / "bad.creds").write_text(_credentials(SECRET))
    (tmp_path / "strange.creds").write_text(_credentials(f"SU{'A' * 56}"))
    (tmp_path / "open.key").touch(0o644)
    (tmp_path / "open.key").write_bytes(KEY_BYTES)
    cases = (
        ("nats://fleet:wrong@", "", "", refused),
        (f"nats://{SECRET}@", "", "", refused),
        ("nats://", "", "", refused),
        ("nats://", "credentials", "absent", "cannot be used (no such file or directory)"),
        ("nats://", "credentials", "bad.creds", "has no credentials"),
        ("nats://", "credentials", "strange.creds", "does not accept the credentials of --fleet-"),
        ("nats://", "ca", "absent.pem", "absent.pem cannot be used (no such file or directory)"),
        ("nats://", "ca", "empty.pem", "empty.pem cannot be used"),
        ("nats://", "key-file", "open.key", "chmod 600"),
    )
    begun = []
    for url, option, name, _ in cases:
        options = [f"--fleet-{option}", str(tmp_path / name)] if option else []
        begun.append(starts.begin(f"{url}{address}", *options))
    for process, (*case, says) in zip(begun, cases, strict=True):
        assert says in sentence_of(process), case


def _credentials(seed: str) -> str:
    token = base64.urlsafe_b64encode(b"{}").decode()
    return (
        f"-----BEGIN NATS USER JWT-----\n{token}.{token}.{token}\n------END NATS USER JWT------\n\n"
        f"-----BEGIN USER NKEY SEED-----\n{seed}\n------END USER NKEY SEED------\n"
    )


def test_missing_tls_is_noticed_before_a_password_is_sent(
    starts: Starts,
) -> None:
    received: list[bytes] = []

    def plain(connection: socket.socket) -> None:
        connection.sendall(b'INFO {"server_id":"x","version":"2.15.2","auth_required":true}\r\n')
        while data := connection.recv(4096):
            received.append(data)

    with listening(plain) as address:
        said = starts.refusal(f"tls://u:{SECRET}@{address}")
    assert "it offers no TLS, which tls:// in --fleet requires" in said
    assert received == []


# --- what the account may


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


def test_an_account_with_too_low_limits_or_with_anothers_streams_is_refused(
    starts: Starts, tmp_path: Path
) -> None:
    async def occupy(url: str, name: str, subject: str) -> None:
        async with connected([url]) as broker:
            await broker.call(f"STREAM.CREATE.{name}", {"name": name, "subjects": [subject]})

    whole = "jetstream: enabled, users: [ { user: USER, password: p } ]"
    accounts = [*(account for account, _ in LIMITED.values()), *([whole] * len(OCCUPIED))]
    settings = ", ".join(
        f"A{number} {{ {account.replace('USER', f'u{number}')} }}"
        for number, account in enumerate(accounts)
    )
    with Cluster(tmp_path / "limited", 1, f"accounts {{ {settings} }}") as alone:
        urls = [f"nats://u{n}:p@{alone.servers[0].address}" for n in range(len(accounts))]
        for url, (name, subject) in zip(urls[len(LIMITED) :], OCCUPIED, strict=True):
            asyncio.run(occupy(url, name, subject))
        begun = [starts.begin(url, "--fleet-replicas", "1") for url in urls]
        said = [sentence_of(process) for process in begun]
    for what, sentence in zip(LIMITED, said, strict=False):
        assert LIMITED[what][1] in sentence, what
    for stream, sentence in zip(OCCUPIED, said[len(LIMITED) :], strict=True):
        assert OCCUPIED[stream] in sentence
        assert "its own account" in sentence


# --- the fleet itself


def test_a_node_of_another_version_format_key_or_clock_is_refused(
    starts: Starts, tmp_path: Path, cluster: Cluster
) -> None:
    async def put(bucket: str, name: str, record: Any, *, delete: bool = False) -> None:
        async with connected(cluster.urls, replicas=3) as broker:
            held = Bucket(broker, bucket, type(record), Records(KEY))
            await (held.delete(name) if delete else held.put(name, record))

    older = msgspec.structs.replace(node("older"), version="0.3.0", wire=wire.OLDEST - 1)
    asyncio.run(put(NODES, "older", older))
    said = starts.refusal(cluster.option)
    assert "the node older runs lastword 0.3.0" in said
    assert "stop every gateway of the fleet before you upgrade the first" in said
    asyncio.run(put(NODES, "older", older, delete=True))
    begun = {seconds: starts.begin(cluster.option, program=at(seconds)) for seconds in (600, -600)}
    for seconds, says in ((600, "ahead of"), (-600, "behind")):
        said = sentence_of(begun[seconds])
        found = re.search(rf"this machine's clock is (\d+) s {says} the NATS server's", said)
        assert found is not None, said
        assert 600 - FUSE_SECONDS < int(found[1]) <= 600  # an answer's way counts for the clock
    other = tmp_path / "other.key"
    other.touch(0o600)
    other.write_bytes(b"another key of another fleet, yes")
    said = starts.refusal(cluster.option, "--fleet-key-file", str(other))
    assert "belongs to a fleet with another key" in said
    assert "--fleet-key-file" in said
    asyncio.run(put(FLEET, "format", FormatRecord(format=99, fleet="x", version="9.9.9")))
    assert "the fleet has format 99 of lastword 9.9.9" in starts.refusal(cluster.option)


def at(seconds: int) -> Sequence[str]:
    """The gateway's program on a machine whose clock is so far from ours."""
    program = (
        "import sys, time\n"
        "now = time.time\n"
        f"time.time = lambda: now() + {seconds}\n"
        "from lastword.cli import main\n"
        "sys.exit(main(['gateway', *sys.argv[1:]]))\n"
    )
    return (sys.executable, "-c", program)
