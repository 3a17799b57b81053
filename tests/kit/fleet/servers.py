"""NATS servers on loopback, as a fleet needs them: three with JetStream, and what befalls them.

Owns the server's program, built once from its Go module by version and checksum (`nats_server`),
the servers' configuration, and their processes, each of which is ended by its id.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import platform
import random
import signal
import socket
import subprocess
import time
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from tests.interop.toolchain_native import tool
from tests.kit.installs import fingerprint_of, installed, or_skip, run
from tests.kit.patience import FUSE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

MODULE = Path(__file__).resolve().parent / "nats_server"
PROGRAM = "github.com/nats-io/nats-server/v2"
GO_MINIMUM = (1, 26)
LOOK_SECONDS = 0.05
PORTS = range(20_000, 32_000)
"""Below the ports that systems give to outgoing connections: a server finds its own again."""
MOST_WORKERS = 16
"""Of a run of tests; each has ports of its own."""

USER, PASSWORD = "fleet", "of-the-fleet"
ACCOUNTS = f"""
accounts {{
  FLEET {{ jetstream: enabled, users: [ {{ user: {USER}, password: {PASSWORD} }} ] }}
  SYSTEM {{ users: [ {{ user: system, password: system }} ] }}
}}
system_account: SYSTEM
"""


def require_server() -> Path:
    """Return the program of the server, built first where needed, or skip (fail in CI)."""

    def fingerprint() -> str:
        locks = ((MODULE / name).read_bytes() for name in ("go.mod", "go.sum"))
        return fingerprint_of(f"{platform.system()} {platform.machine()}".encode(), *locks)

    def build() -> None:
        command = [tool("go", "version", GO_MINIMUM), "build", "-mod=readonly", "-trimpath"]
        run([*command, "-o", ".built/nats-server", PROGRAM], "Building nats-server", MODULE)

    return or_skip(lambda: installed(MODULE / ".built", fingerprint, build)) / "nats-server"


def _ports_in_turn() -> Iterator[int]:
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    own = PORTS[worker % MOST_WORKERS :: MOST_WORKERS]
    begin = random.SystemRandom().randrange(len(own))  # another run may use its own
    return itertools.cycle((*own[begin:], *own[:begin]))


_ports = _ports_in_turn()


def free_port() -> int:
    """Return a loopback port that nobody listens on; no other call returns the same one soon."""
    while True:
        port = next(_ports)
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


class Server:
    """A server, whose process may be killed, stopped and started again."""

    def __init__(self, name: str, folder: Path, settings: str) -> None:
        self.name = name
        self.port = free_port()
        self.cluster_port = free_port()
        self._monitoring_port = free_port()
        self._folder = folder
        self._settings = settings
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"nats://{USER}:{PASSWORD}@{self.address}"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self, routes: Sequence[str] = ()) -> None:
        """Start it, as one of the servers with these routes, or alone."""
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / "server.conf"
        path.write_text(self.configuration(routes) + "\n")
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [require_server(), "-c", path],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=os.environ | {"NATS_NAME": self.name},
            )

    def configuration(self, routes: Sequence[str]) -> str:
        cluster = (
            f"cluster {{ name: lastword, listen: 127.0.0.1:{self.cluster_port}, "
            f"routes: [ {', '.join(routes)} ] }}"
            if routes
            else ""
        )
        return (
            f"server_name: {self.name}\nlisten: {self.address}\n"
            f"http: 127.0.0.1:{self._monitoring_port}\nlogtime: true\n{cluster}\n"
            f'jetstream {{ store_dir: "{self.store}" }}\n{self._settings}'
        )

    @property
    def store(self) -> Path:
        return self._folder / "store"

    def kill(self) -> None:
        """End it, as a machine ends."""
        assert self._process is not None
        self._process.kill()
        self._process.wait(FUSE_SECONDS)

    def terminate(self) -> None:
        """End it in order, as an upgrade does."""
        assert self._process is not None
        self._process.terminate()
        self._process.wait(FUSE_SECONDS)

    def stop(self) -> None:
        """Let it do nothing any more, with its connections open."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self._process.pid, os.WSTOPPED)  # its threads stop one by one

    def resume(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def report(self, path: str) -> dict[str, Any]:
        """Return what it says of itself at a path of its monitoring port; empty if nothing."""
        url = f"http://127.0.0.1:{self._monitoring_port}/{path}"
        with contextlib.suppress(OSError, ValueError), urllib.request.urlopen(url, timeout=1) as at:
            return json.load(at)  # type: ignore[no-any-return]
        return {}


class Cluster:
    """Some servers that are one: three by default.

    Entered, it waits until JetStream works. `settings` take the place of the accounts.
    """

    def __init__(self, folder: Path, size: int = 3, settings: str = ACCOUNTS) -> None:
        self.servers = [
            Server(f"server-{number}", folder / f"server-{number}", settings)
            for number in range(1, size + 1)
        ]
        self._is_one = size > 1

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as stack:
            stack.callback(self.__exit__)
            for server in self.servers:
                self.start(server)
            self.wait_until_ready()
            stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        for server in self.servers:
            if server.is_running:
                server.kill()

    @property
    def ports(self) -> list[int]:
        return [server.port for server in self.servers]

    @property
    def urls(self) -> list[str]:
        return [server.url for server in self.servers]

    @property
    def option(self) -> str:
        return ",".join(self.urls)

    def start(self, server: Server) -> None:
        """Start a server, or start it again with what its folder holds."""
        routes = [f"nats://127.0.0.1:{each.cluster_port}" for each in self.servers]
        server.start(routes if self._is_one else ())

    def restore(self) -> None:
        """Let all servers run again, and wait until they are ready."""
        for server in self.servers:
            if server.is_running:
                server.resume()
            else:
                self.start(server)
        self.wait_until_ready()

    def wait_until_ready(self) -> None:
        """Wait until each running server is ready for clients, and they have elected a leader."""
        for server in self.servers:
            if server.is_running:
                _until(f"{server.name} ready", lambda server=server: self._is_ready(server))

    def leader_of(self, stream: str) -> Server:
        """Return the server that leads a stream, or JetStream itself for an empty name."""
        by_name = {server.name: server for server in self.servers}

        def led() -> Server | None:
            for server in self.servers:
                if server.is_running:
                    name = _leader_in(server.report("jsz?streams=1&accounts=1"), stream)
                    if name in by_name and by_name[name].is_running:
                        return by_name[name]
            return None

        return _until(f"a leader of {stream or 'JetStream'}", led)

    def _is_ready(self, server: Server) -> bool:
        if server.report("healthz").get("status") != "ok":
            return False
        return not self._is_one or bool(_leader_in(server.report("jsz"), ""))


def _leader_in(report: dict[str, Any], stream: str) -> str:
    if not stream:
        return str(report.get("meta_cluster", {}).get("leader", ""))
    for account in report.get("account_details", []):
        for each in account.get("stream_detail", []):
            if each.get("name") == stream:
                return str(each.get("cluster", {}).get("leader", ""))
    return ""


def _until(what: str, holds: Callable[[], Any]) -> Any:
    burns_at = time.monotonic() + FUSE_SECONDS
    while time.monotonic() < burns_at:
        if found := holds():
            return found
        time.sleep(LOOK_SECONDS)
    raise AssertionError(f"the fuse burned: {what}")
