"""The observer's runtimes: the machine's Node and a Bun in CI, other versions in the matrix."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import NamedTuple

from tests.interop.toolchain import require_plain_node
from tests.kit.installs import give_up, require_node_packages

HERE = Path(__file__).resolve().parent
VERSIONS = HERE / "versions"
UNDICI = {
    "node": "undici-5 undici-6 undici-7",
    "node-18": "undici-5 undici-6",
    "node-22": "undici-5 undici-6 undici-7 undici-8",
    "node-24": "undici-5 undici-6 undici-7 undici-8",
    "node-26": "undici-5 undici-6 undici-7 undici-8",
}
"""The packages' versions that a version of Node can load."""

LEFT_OUT = {
    "bun-1.2": "http-aborted http-left fetch-broken fetch-left",
    "bun-1.3": "http-aborted http-left fetch-broken",
}
"""The cases of requests.cjs that end by chance in a version of Bun, or never, also by itself."""


class Runtime(NamedTuple):
    """A Node or a Bun, by its name in `versions`, or the one that CI has."""

    name: str

    @property
    def is_bun(self) -> bool:
        return self.name.startswith("bun")

    @property
    def reports_http(self) -> bool:
        """Whether it publishes what `node:http` does; Bun does so from 1.4 on."""
        return self.name not in {"bun-1.2", "bun-1.3"}

    @property
    def undici(self) -> str:
        return UNDICI.get(self.name, "")

    @property
    def left_out(self) -> list[str]:
        return LEFT_OUT.get(self.name, "").split()

    def program(self) -> Path:
        if self.name == "node":
            require_plain_node()
            require_node_packages(HERE)
            node = shutil.which("node")
            assert node is not None
            return Path(node)
        if self.name == "bun":
            package = require_node_packages(HERE) / "@oven" / "bun-linux-x64-baseline"
        else:
            require_node_packages(HERE)
            package = require_node_packages(VERSIONS) / self.name
        program = package / "bin" / ("bun" if self.is_bun else "node")
        if not program.exists():
            give_up(
                f"{self.name} is locked for Linux on x86-64 only, and this is another platform."
            )
        return program


IN_CI = ("node", "bun")
RUNTIMES = (*IN_CI, "node-18", "node-22", "node-24", "node-26", "bun-1.2", "bun-1.3")
