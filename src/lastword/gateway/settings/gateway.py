"""The settings of a gateway: each is one field, with the option of `lastword gateway` that sets it.

Owns the value, which includes its holders' settings, and the table of all options, from which the
parser, the help, the completion and the configuration file's table are made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from lastword.gateway.settings.fleet import FleetSettings
from lastword.gateway.settings.holder import QUESTIONS, SESSIONS, HolderSettings
from lastword.gateway.settings.option import Setting

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

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
            "names",
            "allow web pages of this origin, such as https://app.example; can be repeated",
            group=WHERE,
            metavar="ORIGIN",
            note="the gateway's own",
        ),
    ] = []
    hosts: Annotated[
        list[str],
        Setting(
            "allow-host",
            "names",
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
