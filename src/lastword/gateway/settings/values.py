"""The settings of a gateway, its holders and its fleet, and the option that sets each.

Each is one field, declared once (`option`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

import msgspec

from lastword._version import __version__
from lastword.core.protocol import acp
from lastword.core.protocol.acp import object_of
from lastword.gateway.settings.option import Setting
from lastword.outbox.report import TargetOptions

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


FLEET = "a fleet of gateways on several machines"
"""A heading in the help."""

DEFAULT_PORT = 4222

VARIABLE = "LASTWORD_FLEET"
"""The environment variable for the servers' URLs: everybody can read a command line."""


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
        """Return it without the secrets in its URLs."""
        return f"FleetSettings(node={self.node!r}, servers={servers_of(self.urls)!r})"


def servers_of(urls: list[str]) -> str:
    """Return servers as they may be shown: `HOST:PORT`, without user, password or token."""
    servers = []
    for url in urls:
        parts = urlsplit(url)
        host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
        servers.append(f"{host}:{parts.port or DEFAULT_PORT}")
    return ", ".join(servers)


def node_name(host_name: str) -> str:
    """Return a node's default name: its host's, with other characters replaced."""
    return re.sub(r"[^A-Za-z0-9-]+", "-", host_name).strip("-")[:63] or "node"


SESSIONS = "sessions"
QUESTIONS = "the agent's questions while nobody is connected"
NOTIFICATIONS = "links in notifications (see --notify)"
"""Headings in the help."""

AGENT_ERROR: dict[str, Any] = {"version": 1, "retry": True}


class HolderSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a holder.

    Attributes:
        name: its name.
        run_folder: the folder of the gateway's socket; for its user alone.
        log_folder: the folder of the logs; for its user alone.
        address: the URL of the gateway that starts it.
        links_to: where browsers reach that gateway, if that is set.
        record_folder: the folder of the record; empty for none.
        state_folder: the folder of the outbox.
        command: the agent's command.
        options: the options of `lastword run`.
        run: the run that it is recorded in.
        client: the `initialize` params of the client that it is started for.
        session: the session whose log it takes over; empty for a new agent without one.
        report: where failures are reported.
        question_timeout: the value of `lastword run --ask-timeout`; empty for none.
        fleet: the settings of the fleet that its gateway belongs to.
    """

    name: str = ""
    run_folder: str = ""
    log_folder: str = ""
    address: str = ""
    links_to: str = ""
    record_folder: str = ""
    state_folder: str = ""
    command: list[str] = []
    options: list[str] = []
    run: str = ""
    client: dict[str, Any] = {}
    session: str = ""
    report: TargetOptions = TargetOptions()
    question_timeout: str = ""
    fleet: FleetSettings | None = None
    root: Annotated[
        str,
        Setting(
            "root",
            "folder",
            "the folder in or below which sessions work",
            group=SESSIONS,
            note="the current folder",
        ),
    ] = ""
    viewers: Annotated[
        int,
        Setting(
            "viewers",
            "number",
            "the maximum number of viewers of one session at once",
            group=SESSIONS,
        ),
    ] = 64
    client_fs: Annotated[
        bool,
        Setting(
            "client-fs",
            "flag",
            "let the agent use the files and terminals of the client that opened the session",
            group=SESSIONS,
        ),
    ] = False
    idle_close_seconds: Annotated[
        float,
        Setting(
            "idle-close",
            "positive-duration",
            "end a session after this long without a viewer or a turn",
            group=SESSIONS,
        ),
    ] = 7 * 24 * 3600.0
    detach_grace_seconds: Annotated[
        float,
        Setting(
            "detach-grace",
            "duration",
            "end a session this long after its last viewer leaves",
            group=SESSIONS,
            note="0, which is never",
        ),
    ] = 0.0
    notify_link: Annotated[
        str,
        Setting(
            "notify-link",
            "off|observer|controller",
            "with --notify and --public-url: notifications have a link that works once and opens "
            "their session in this role, and questions have buttons; off for neither",
            group=NOTIFICATIONS,
        ),
    ] = "observer"
    log_limit_bytes: Annotated[
        int,
        Setting(
            "log-limit",
            "size",
            "keep at most this much of a session's log, the latest part",
            group=SESSIONS,
        ),
    ] = 64 * 1024 * 1024
    unattended_seconds: Annotated[
        float | None,
        Setting(
            "unattended-timeout",
            "positive-duration",
            "with hold: answer no after this time",
            group=QUESTIONS,
        ),
    ] = 24 * 3600.0

    def initialize_params(self, client: Mapping[str, Any]) -> dict[str, Any]:
        """Return an agent's `initialize` params: those of a client, and what lastword reads.

        The agent works with files on the gateway's machine, so the client's file system and
        terminals are left out without `client_fs`.
        """
        dialect = acp.dialect(client.get("protocolVersion"))
        capabilities = dict(object_of(client.get(dialect.client_capabilities)))
        if not self.client_fs:
            capabilities.pop("fs", None)
            capabilities.pop("terminal", None)
        meta = object_of(capabilities.get("_meta"))
        capabilities["_meta"] = {
            **{key: value for key, value in meta.items() if key != "agent_error"},
            "agent_error": AGENT_ERROR,
        }
        # A later viewer may be able to show notices, whatever the first one can.
        capabilities["session"] = object_of(capabilities.get("session")) | {"notices": {}}
        return {
            "protocolVersion": dialect.version,
            dialect.client_capabilities: capabilities,
            dialect.client_info: {
                "name": "lastword-gateway",
                "title": "lastword gateway",
                "version": __version__,
            },
        }


URL_VARIABLE = "LASTWORD_GATEWAY_URL"
"""Where browsers reach a gateway: for its own links, and those of `lastword gateway token`."""

WHERE = "address and access"
CONNECTIONS = "connections"


class GatewaySettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a gateway; the fields of `holder` are those of each of its holders."""

    listen: Annotated[
        tuple[str, int],
        Setting(
            "listen",
            "address",
            "the address to listen on; one that others can reach needs --behind-proxy",
            group=WHERE,
        ),
    ] = ("127.0.0.1", 7780)
    path: Annotated[
        str,
        Setting("path", "url-path", "the path of ACP's WebSocket and HTTP transport", group=WHERE),
    ] = "/acp"
    origins: Annotated[
        list[str],
        Setting(
            "allow-origin",
            "origins",
            "allow web pages from this origin, such as https://app.example; can be repeated",
            group=WHERE,
            note="the gateway's own",
        ),
    ] = []
    hosts: Annotated[
        list[str],
        Setting(
            "allow-host",
            "hosts",
            "a host name of the gateway, for example behind a proxy; can be repeated",
            group=WHERE,
            note="this machine's loopback names",
        ),
    ] = []
    public_url: Annotated[
        str,
        Setting(
            "public-url",
            "web-address",
            "the URL by which browsers reach it, behind a proxy or outside a container; links to "
            "the page lead there",
            group=WHERE,
            note=f"{URL_VARIABLE}, else where it listens",
            variable=URL_VARIABLE,
        ),
    ] = ""
    behind_proxy: Annotated[
        bool,
        Setting(
            "behind-proxy",
            "flag",
            "a proxy in front terminates TLS, and its X-Forwarded headers are trusted",
            group=WHERE,
        ),
    ] = False
    proxies: Annotated[
        list[str],
        Setting(
            "proxy-address",
            "networks",
            "with --behind-proxy: the proxy's IP address or network, such as 10.0.0.0/24; can "
            "be repeated",
            group=WHERE,
            note="loopback",
        ),
    ] = []
    sessions: Annotated[
        int,
        Setting(
            "sessions", "number", "the maximum number of agents that run at once", group=SESSIONS
        ),
    ] = 32
    unattended: Annotated[
        str,
        Setting(
            "unattended",
            "hold|reject",
            "keep such a question until a viewer comes, or answer no at once",
            group=QUESTIONS,
        ),
    ] = "hold"
    holder: HolderSettings = HolderSettings()
    log_age_seconds: Annotated[
        float,
        Setting(
            "log-age",
            "duration",
            "keep a session's log for this long after the session ends",
            group=SESSIONS,
        ),
    ] = 7 * 24 * 3600.0
    ping_seconds: Annotated[
        float,
        Setting(
            "ping",
            "positive-duration",
            "ping each viewer at this interval; lower it where a proxy cuts idle connections "
            "sooner",
            group=CONNECTIONS,
        ),
    ] = 20.0
    pong_seconds: Annotated[
        float,
        Setting(
            "pong-timeout",
            "positive-duration",
            "close a connection whose pong takes longer than this",
            group=CONNECTIONS,
        ),
    ] = 20.0
    frame_limit_bytes: Annotated[
        int,
        Setting(
            "frame-limit",
            "size",
            "the largest message that a viewer may send",
            group=CONNECTIONS,
        ),
    ] = 16 * 1024 * 1024
    compress: Annotated[
        bool,
        Setting(
            "compress",
            "off|on",
            "offer compression to viewers with slow links; each takes more memory",
            group=CONNECTIONS,
        ),
    ] = False


def _declared(settings: type[msgspec.Struct]) -> Iterator[tuple[str, Setting]]:
    """Return the options of a settings class, by the fields that they set."""
    for field in msgspec.structs.fields(settings):
        if field.name == "holder":
            yield from _declared(HolderSettings)
        for each in getattr(field.type, "__metadata__", ()):
            default = [] if field.default is msgspec.NODEFAULT else field.default
            yield field.name, each.with_default(default)


_OF_FLEET = "fleet."
OPTIONS: dict[str, Setting] = {
    **dict(_declared(GatewaySettings)),
    **{f"{_OF_FLEET}{name}": option for name, option in _declared(FleetSettings)},
}
"""The options of `lastword gateway`, by the fields that they set, in the order of the help."""


def settings_of(values: Mapping[str, Any]) -> GatewaySettings:
    """Return the settings with these values, by their fields' names."""
    for_holder = HolderSettings.__struct_fields__
    of_fleet = {
        name.removeprefix(_OF_FLEET): value
        for name, value in values.items()
        if name.startswith(_OF_FLEET)
    }
    theirs = {name: value for name, value in values.items() if name in for_holder}
    own = {
        name: value
        for name, value in values.items()
        if name not in for_holder and not name.startswith(_OF_FLEET)
    }
    fleet = FleetSettings(**of_fleet) if of_fleet.get("urls") else None
    return GatewaySettings(**own, holder=HolderSettings(**theirs, fleet=fleet))
