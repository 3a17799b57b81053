"""The settings of a fleet: each is one field, with the option of `lastword gateway` that sets it.

Owns the value, which a holder gets with its own settings. A server's URL may hold a password: it is
shown nowhere but as `servers_of` has it.
"""

from __future__ import annotations

import re
from typing import Annotated
from urllib.parse import urlsplit

import msgspec

from lastword.gateway.settings.option import Setting

FLEET = "a fleet of gateways on several machines"
"""A heading in the help."""

DEFAULT_PORT = 4222

VARIABLE = "LASTWORD_FLEET"
"""The environment variable for the servers' URLs, which is not on a command line that all read."""


class FleetSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a fleet's node.

    Attributes:
        instance: a random id of the node's run folder.
    """

    urls: Annotated[
        list[str],
        Setting(
            "fleet",
            "nats-urls",
            "form a fleet with the other gateways that use these NATS servers",
            group=FLEET,
            note="none",
            variable=VARIABLE,
        ),
    ] = []
    key_file: Annotated[
        str,
        Setting(
            "fleet-key-file",
            "file",
            "the fleet's secret, the same on every node: at least 32 random bytes",
            group=FLEET,
            note="none",
        ),
    ] = ""
    credentials_file: Annotated[
        str,
        Setting(
            "fleet-credentials",
            "file",
            "the credentials for the NATS servers, as their tools write them (.creds)",
            group=FLEET,
            note="those of the URL",
        ),
    ] = ""
    ca_file: Annotated[
        str,
        Setting(
            "fleet-ca",
            "file",
            "the certificates that sign those of the NATS servers",
            group=FLEET,
            note="the system's",
        ),
    ] = ""
    node: Annotated[
        str,
        Setting(
            "fleet-node",
            "node-name",
            "this node's name in the fleet",
            group=FLEET,
            note="the host name",
        ),
    ] = ""
    on_loss: Annotated[
        str,
        Setting(
            "fleet-on-loss",
            "hold|local",
            "while no NATS server can be reached: keep output back, or continue with this "
            "machine's copy alone",
            group=FLEET,
        ),
    ] = "hold"
    replicas: Annotated[
        int,
        Setting(
            "fleet-replicas",
            "number",
            "on how many NATS servers each entry is kept; 1 survives no loss",
            group=FLEET,
        ),
    ] = 3
    workspace: Annotated[
        str,
        Setting(
            "workspace-id",
            "text",
            "a name for the files below --root, if other nodes with the same name have them too",
            group=FLEET,
            note="the files are this node's own",
        ),
    ] = ""
    instance: str = ""

    def __repr__(self) -> str:
        """Return it without what its URLs hold."""
        return f"FleetSettings(node={self.node!r}, servers={servers_of(self.urls)!r})"


def servers_of(urls: list[str]) -> str:
    """Return servers as they may be shown: `HOST:PORT`, without user, password or token."""
    return ", ".join(map(_server_of, urls))


def _server_of(url: str) -> str:
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{host}:{parts.port or DEFAULT_PORT}"


def node_name(host_name: str) -> str:
    """Return a node's default name: its host's, as far as a name may have such characters."""
    return re.sub(r"[^A-Za-z0-9-]+", "-", host_name).strip("-")[:63] or "node"
