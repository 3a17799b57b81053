"""The pieces of the examples as processes: their configurations, at ports of loopback.

Owns what is replaced in the files for that: addresses, and the paths of containers.
"""

from __future__ import annotations

import contextlib
import re
import shutil
import socket
import ssl
import subprocess
from typing import TYPE_CHECKING, Any

from tests.kit.fleet.servers import Cluster, Server, free_port
from tests.kit.gateway.serving import until
from tests.kit.installs import give_up
from tests.kit.places import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

EXAMPLE = ROOT / "examples" / "fleet"
NAMES = ("nats-0", "nats-1", "nats-2")


def prepared(folder: Path, example: Path = EXAMPLE) -> Path:
    """Return the folder of secrets that an example's own script makes in a folder."""
    shutil.copy(example / "prepare", folder)
    subprocess.run(["sh", folder / "prepare", "localhost", "a key"], check=True)
    return folder / "secrets"


def options_in(service: dict[str, Any]) -> list[str]:
    """A gateway's options in a compose file, but for those that name a place there."""
    words = [re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", word) for word in service["command"]]
    options = words[: words.index("--")]
    for placed in ("--listen", "--root"):
        del options[options.index(placed) : options.index(placed) + 2]
    return options


@contextlib.contextmanager
def nginx(folder: Path, example: Path, *upstreams: tuple[str, str]) -> Iterator[int]:
    """Nginx with an example's file, before what takes the place of its upstreams; gives its port.

    The folder is the one of `prepared`.
    """
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if program is None:
        give_up("nginx is not on PATH.")
    port = free_port()
    here = [
        ("listen 8443 ", f"listen 127.0.0.1:{port} "),
        ("/run/secrets/", f"{folder}/secrets/"),
        (" /tmp/nginx", f" {folder}/nginx"),
        *upstreams,
    ]
    path = folder / "nginx.conf"
    path.write_text(replaced((example / "nginx.conf").read_text(encoding="utf-8"), here))
    command = [program, "-p", str(folder), "-c", str(path), "-g", "daemon off;"]
    tested = subprocess.run([*command, "-t"], capture_output=True, text=True, check=False)
    assert tested.returncode == 0, tested.stderr

    def serves() -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            until("nginx serves", serves)
            yield port
        finally:
            process.terminate()


def trust(certificate: Path) -> ssl.SSLContext:
    """Return how a client that reads and writes in two threads trusts a certificate of `prepared`.

    With TLS 1.3 a request that one writes while the other reads the first tickets is lost at times.
    """
    context = ssl.create_default_context(cafile=str(certificate))
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    return context


def replaced(text: str, pairs: Sequence[tuple[str, str]]) -> str:
    for named, here in pairs:
        assert named in text, named
        text = text.replace(named, here)
    return text


class ExampleServer(Server):
    def __init__(self, name: str, folder: Path, secrets: Path) -> None:
        """Prepare it; `secrets` is the folder that `prepared` made."""
        super().__init__(name, folder, "")
        self._secrets = secrets

    @property
    def url(self) -> str:
        """Where a gateway connects: with TLS, by a name in the certificate."""
        return self.url_of("gateway")

    def url_of(self, user: str) -> str:
        passwords = (self._secrets / "passwords.conf").read_text()
        (password,) = re.findall(rf'^{user}_password: "(\w+)"$', passwords, re.MULTILINE)
        return f"tls://{user}:{password}@localhost:{self.port}"

    def configuration(self, routes: Sequence[str]) -> str:
        beside = self._folder / "secrets"
        if not beside.exists():
            beside.symlink_to(self._secrets)
        others = [route.replace("nats://127.0.0.1", "nats-route://localhost") for route in routes]
        here = [
            ("listen: 0.0.0.0:4222", f"listen: {self.address}"),
            ("http: 127.0.0.1:8222", f"http: 127.0.0.1:{self._monitoring_port}"),
            ("listen: 0.0.0.0:6222", f"listen: 127.0.0.1:{self.cluster_port}"),
            ("/etc/nats/secrets/", f"{self._secrets}/"),
            ("store_dir: /data", f'store_dir: "{self.store}"'),
            *((f"nats-route://{n}.nats:6222", r) for n, r in zip(NAMES, others, strict=True)),
        ]
        return replaced((EXAMPLE / "nats.conf").read_text(encoding="utf-8"), here)


class ExampleCluster(Cluster):
    def __init__(self, folder: Path, secrets: Path) -> None:
        """Prepare them; `secrets` is the folder that `prepared` made."""
        super().__init__(folder)
        self.members = [ExampleServer(name, folder / name, secrets) for name in NAMES]
        self.servers = [*self.members]
