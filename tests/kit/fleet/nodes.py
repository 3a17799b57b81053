"""The nodes of a fleet on loopback, as a test has them: gateways with their own folders.

Owns their key, their names and their end. Each node has its own state, run folder and root; a
machine's death is the kill of its gateway, with which its agents end.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Self

from lastword.gateway.fleet.key import TOKENS, FleetKey
from lastword.gateway.front.tokens import Keeper
from tests.kit.gateway.serving import Gateway

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.kit.fleet.servers import Cluster


KEY = b"the key of the fleet of the tests"
"""One for all tests, as the servers of a file are shared."""


class Node(Gateway):
    def __init__(  # noqa: PLR0913 - what a node is
        self,
        folder: Path,
        command: Sequence[str],
        *options: str,
        name: str,
        servers: str,
        key: Path,
        root: Path | None = None,
    ) -> None:
        """Start one; `servers` is the value of `--fleet`, `root` another folder for sessions."""
        self.name = name
        self.fleet_key = FleetKey.at(str(key))
        folder.mkdir(exist_ok=True)
        in_fleet = ["--fleet", servers, "--fleet-key-file", str(key), "--fleet-node", name]
        in_root = ["--root", str(root)] if root is not None else []
        super().__init__(folder, command, *in_fleet, *in_root, *options)
        self.root = root or self.root

    def leave(self) -> None:
        """Start again as a gateway of no fleet."""
        self._options = []
        self.start()

    def keeper(self) -> Keeper:
        return Keeper(self.fleet_key.derived(TOKENS))


class Fleet:
    """Some nodes with one key, at the servers of one cluster. Leaving it ends them all."""

    def __init__(self, folder: Path, cluster: Cluster, command: Sequence[str]) -> None:
        """Make a fleet without nodes."""
        self.folder = folder
        self.cluster = cluster
        self.command = list(command)
        self.nodes: list[Node] = []
        self.key = folder / "fleet.key"
        self.key.touch(0o600)
        self.key.write_bytes(KEY)
        self._suffix = secrets.token_hex(3)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for node in self.nodes:
            node.close()

    def start(
        self,
        name: str,
        *options: str,
        command: Sequence[str] = (),
        root: Path | None = None,
        servers: str = "",
    ) -> Node:
        """Start another node; its name is this, with an end that no other test's nodes have.

        `servers` is another way to the servers.
        """
        node = Node(
            self.folder / name,
            command or self.command,
            *options,
            name=f"{name}-{self._suffix}",
            servers=servers or self.cluster.option,
            key=self.key,
            root=root,
        )
        self.nodes.append(node)
        return node
