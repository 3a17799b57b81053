"""What `lastword gateway --fleet` says where it cannot be a node: a sentence without a secret."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from lastword.gateway import wire
from lastword.gateway.fleet import start
from lastword.gateway.fleet.buckets import Bucket
from lastword.gateway.fleet.errors import NotStoredError
from lastword.gateway.fleet.records import FLEET, NODES, FormatRecord, NodeRecord, Records
from lastword.gateway.fleet.start import prepare
from tests.kit.fleet.connected import KEY, KEY_BYTES, connected, node
from tests.kit.fleet.servers import PASSWORD, Cluster, Server, free_port
from tests.kit.gateway.serving import GATEWAY, until
from tests.kit.patience import FUSE_SECONDS, patient

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

AGENT = [sys.executable, "-m", "lastword", "agent", "--bare", "ok"]
START_SECONDS = 10.0
SECRET = "s3cr3t-of-this-test"


class Starts:
    """Starts of a gateway with a fleet, each with a state and a run folder of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._count = 0
        self._runtime = Path(tempfile.mkdtemp(prefix="lw-", dir="/tmp"))
        self.key = folder / "fleet.key"
        self.key.touch(0o600)
        self.key.write_bytes(KEY_BYTES)
        self.started: list[subprocess.Popen[str]] = []

    def begin(
        self, fleet: str, *options: str, program: Sequence[str] = GATEWAY
    ) -> subprocess.Popen[str]:
        self._count += 1
        folder = self._folder / f"start-{self._count}"
        folder.mkdir()
        key = [] if "--fleet-key-file" in options else ["--fleet-key-file", str(self.key)]
        where = ["--listen", "127.0.0.1:0"]
        process = subprocess.Popen(
            [*program, *where, "--fleet", fleet, *key, *options, "--", *AGENT],
            cwd=folder,
            env={
                "PATH": "/usr/bin:/bin",
                "PYTHONPATH": ":".join(sys.path),
                "LASTWORD_STATE_DIR": str(folder / "state"),
                "LASTWORD_NO_CONFIG": "1",
                "XDG_RUNTIME_DIR": str(self._runtime),
            },
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


def test_most_of_a_clusters_servers_have_to_run(starts: Starts, tmp_path: Path) -> None:
    cluster = Cluster(tmp_path / "rest")
    with contextlib.ExitStack() as stack:
        cluster.start(cluster.servers[0])
        stack.callback(cluster.servers[0].kill)
        until("it serves", lambda: cluster.servers[0].report("varz"))
        said = starts.refusal(cluster.option)
    assert "most servers of its cluster have to run" in said


def test_a_start_waits_for_the_last_server_of_a_cluster(starts: Starts, tmp_path: Path) -> None:
    cluster = Cluster(tmp_path / "late")
    first, second, third = cluster.servers
    with contextlib.ExitStack() as stack:
        routes = [f"nats://127.0.0.1:{server.cluster_port}" for server in (first, second)]
        for server in (first, second):  # they elect a leader without the third
            server.start(routes)
            stack.callback(server.kill)
        cluster.leader_of("")
        running = starts.begin(cluster.option)
        until("the node connects", lambda: _clients(first) + _clients(second))
        third.start(routes)
        stack.callback(third.kill)
        assert running.stderr is not None
        assert "serving at" in running.stderr.readline()


def _clients(server: Server) -> int:
    return int(server.report("connz").get("num_connections", 0))


def test_a_start_waits_while_a_stream_elects_its_leader(cluster: Cluster) -> None:
    async def play() -> None:
        async with connected(cluster.urls) as broker:
            store, failures = broker.store, [NotStoredError("no NATS server has the stream now")]

            async def stored(*message: Any, **how: Any) -> int:
                if failures:
                    raise failures.pop()
                return await store(*message, **how)

            broker.store = stored  # type: ignore[method-assign]
            await prepare(broker, Records(KEY), 3)
            assert not failures

    asyncio.run(play())


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


# --- who comes


@pytest.mark.parametrize("login", ["fleet:wrong", f"{SECRET}:x", SECRET, ""])
def test_a_login_that_the_server_does_not_accept_is_refused_at_once(
    login: str, starts: Starts, cluster: Cluster
) -> None:
    address = cluster.servers[0].address
    said = starts.refusal(f"nats://{login}@{address}" if login else f"nats://{address}")
    assert f"the NATS server {address}: it does not accept the user and password" in said


def test_invalid_credentials_are_named(starts: Starts, cluster: Cluster, tmp_path: Path) -> None:
    address = cluster.servers[0].address
    cases = (
        (None, "cannot be used (no such file or directory)"),
        ("nothing", "has no credentials"),
        (_credentials(SECRET), "has no credentials"),
        (_credentials(f"SU{'A' * 56}"), "does not accept the credentials of --fleet-credentials"),
    )
    begun = []
    for number, (content, _) in enumerate(cases):
        path = tmp_path / f"{number}.creds"
        if content is not None:
            path.write_text(content)
        begun.append(starts.begin(f"nats://{address}", "--fleet-credentials", str(path)))
    for process, (_, says) in zip(begun, cases, strict=True):
        assert says in sentence_of(process)


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


def test_an_invalid_certificate_file_is_named(
    starts: Starts, cluster: Cluster, tmp_path: Path
) -> None:
    absent = starts.begin(cluster.option, "--fleet-ca", str(tmp_path / "absent.pem"))
    (tmp_path / "empty.pem").touch()
    empty = starts.begin(cluster.option, "--fleet-ca", str(tmp_path / "empty.pem"))
    assert "absent.pem cannot be used (no such file or directory)" in sentence_of(absent)
    assert "empty.pem cannot be used" in sentence_of(empty)


# --- what the account may


def denied(permissions: str) -> tuple[str, str]:
    """An account with JetStream whose user lacks a right, and what is said of it."""
    user = f"user: u, password: p, permissions: {{ {permissions} }}"
    return f"jetstream: enabled, users: [ {{ {user} }} ]", "lacks a permission"


LIMITED = {
    "no JetStream": (
        "users: [ { user: u, password: p } ]",
        "has no JetStream for this user's account",
    ),
    "few streams": (
        "jetstream: { max_streams: 5 }, users: [ { user: u, password: p } ]",
        "no room for the stream",
    ),
    "no right to make streams": denied('publish: { deny: "$JS.API.STREAM.CREATE.>" }'),
    "no right to publish logs": denied('publish: { deny: "lw.>" }'),
    "no right to wake readers": denied('publish: { deny: "lwh.>" }'),
    "no right to publish records": denied('publish: { deny: "$KV.>" }'),
    "no right to receive": denied('subscribe: { deny: ">" }'),
}


@pytest.mark.parametrize("what", LIMITED)
def test_an_account_with_too_low_limits_is_refused(
    what: str, starts: Starts, tmp_path: Path
) -> None:
    account, says = LIMITED[what]
    with Cluster(tmp_path / "limited", 1, f"accounts {{ X {{ {account} }} }}") as alone:
        server = f"nats://u:p@{alone.servers[0].address}"
        assert says in starts.refusal(server, "--fleet-replicas", "1")


def test_another_programs_stream_is_not_used(starts: Starts, tmp_path: Path) -> None:
    async def occupy(urls: list[str], name: str, subject: str) -> None:
        async with connected(urls) as broker:
            await broker.call(f"STREAM.CREATE.{name}", {"name": name, "subjects": [subject]})

    for number, (name, subject, says) in enumerate(
        (
            ("LW3", "mine", "has a stream LW3 that is not this fleet's (subjects"),
            ("MINE", "lw.>", "another stream of the NATS account has the subjects of LW"),
        )
    ):
        with Cluster(tmp_path / str(number), 1) as alone:
            asyncio.run(occupy(alone.urls, name, subject))
            said = starts.refusal(alone.option, "--fleet-replicas", "1")
            assert says in said
            assert "its own account" in said


# --- the fleet itself


def test_a_node_is_refused_beside_one_of_an_incompatible_version(
    starts: Starts, cluster: Cluster
) -> None:
    async def play() -> str:
        async with connected(cluster.urls, replicas=3) as broker:
            nodes = Bucket(broker, NODES, NodeRecord, Records(KEY))
            older = msgspec.structs.replace(node("older"), version="0.3.0", wire=wire.OLDEST - 1)
            await nodes.put("older", older)
            said = await asyncio.to_thread(starts.refusal, cluster.option)
            await nodes.delete("older")
            return said

    said = asyncio.run(play())
    assert "the node older runs lastword 0.3.0" in said
    assert "stop every gateway of the fleet before you upgrade the first" in said


def test_a_fleet_with_another_key_or_format_is_left_alone(
    starts: Starts, tmp_path: Path, cluster: Cluster
) -> None:
    async def begin(record: FormatRecord | None) -> None:
        async with connected(cluster.urls, replicas=3) as broker:
            bucket = Bucket(broker, FLEET, FormatRecord, Records(KEY))
            if record is not None:
                await bucket.put("format", record)
            else:
                await bucket.delete("format")

    asyncio.run(begin(FormatRecord(format=99, fleet="x", version="9.9.9")))
    assert "the fleet has format 99 of lastword 9.9.9" in starts.refusal(cluster.option)
    other = tmp_path / "other.key"
    other.touch(0o600)
    other.write_bytes(b"another key of another fleet, yes")
    said = starts.refusal(cluster.option, "--fleet-key-file", str(other))
    assert "belongs to a fleet with another key" in said
    assert "--fleet-key-file" in said


def test_an_invalid_key_is_refused_before_anything_is_connected(
    starts: Starts, tmp_path: Path
) -> None:
    keys = {"open": KEY_BYTES, "short": b"short"}
    for name, content in keys.items():
        (tmp_path / name).touch(0o644 if name == "open" else 0o600)
        (tmp_path / name).write_bytes(content)
    begun = {
        name: starts.begin("nats://127.0.0.1:1", "--fleet-key-file", str(tmp_path / name))
        for name in (*keys, "absent")
    }
    assert "chmod 600" in sentence_of(begun["open"])
    assert "openssl rand" in sentence_of(begun["short"])
    assert "cannot be read (no such file or directory)" in sentence_of(begun["absent"])


@pytest.mark.parametrize(("seconds", "says"), [(600, "ahead of"), (-600, "behind")])
def test_a_clock_that_is_far_from_the_servers_is_refused(
    seconds: int, says: str, starts: Starts, cluster: Cluster
) -> None:
    program = (
        "import sys, time\n"
        "now = time.time\n"
        f"time.time = lambda: now() + {seconds}\n"
        "from lastword.cli import main\n"
        "sys.exit(main(['gateway', *sys.argv[1:]]))\n"
    )
    said = starts.refusal(cluster.option, program=(sys.executable, "-c", program))
    found = re.search(rf"this machine's clock is (\d+) s {says} the NATS server's", said)
    assert found is not None, said
    assert 600 - FUSE_SECONDS < int(found[1]) <= 600  # an answer's way counts for the clock
