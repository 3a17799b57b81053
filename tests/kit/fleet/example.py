"""The servers of `examples/fleet` as processes: its configuration, at ports of loopback.

Owns what is replaced in `nats.conf` for that: addresses, and the paths of containers.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import TYPE_CHECKING

from tests.kit.fleet.servers import Cluster, Server
from tests.kit.places import ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

EXAMPLE = ROOT / "examples" / "fleet"
NAMES = ("nats-0", "nats-1", "nats-2")


def prepared(folder: Path) -> Path:
    """Return the folder of secrets that the example's own script makes in a folder."""
    shutil.copy(EXAMPLE / "prepare", folder)
    subprocess.run(["sh", folder / "prepare", "localhost", "a key"], check=True)
    return folder / "secrets"


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
