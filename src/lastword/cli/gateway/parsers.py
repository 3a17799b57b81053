"""The parsers of `lastword gateway` and its subcommands, which load without the extra."""

from __future__ import annotations

import os

from lastword.cli.durations import positive_seconds, seconds
from lastword.cli.gateway.values import address, networks, number, size, url, url_path
from lastword.cli.parser import CommandParser
from lastword.cli.record_access import add_record_option, port
from lastword.gateway.front.tokens import TOKEN_SECONDS
from lastword.gateway.viewing.attachment import Role

HOUR_SECONDS = 3600

URL_VARIABLE = "LASTWORD_GATEWAY_URL"
"""Where browsers reach a gateway: for its own links, and those of `lastword gateway token`."""

ABOUT = """\
Serves an ACP agent at a URL. A session outlives the connections to it, several
viewers see it at once, and whoever comes back goes on where they were. A page
to look at it with is at the same address.

Needs the extra `gateway`; without it, the command says how to install it.
"""

ENDS = """\
Every option of `lastword run` is taken too, and goes for each agent.
A TIME is a number of seconds, or has a unit: 90, 15m, 12h, 7d. A SIZE is a
number of bytes, or has one: 64KiB, 16MiB.

examples:
  lastword gateway -- opencode acp
  lastword gateway --listen 127.0.0.1:8000 --root ~/projects -- opencode acp
  lastword gateway --idle-timeout 300 --sessions 4 -- opencode acp
  lastword gateway token --link         a link to the page
  lastword gateway status               what it runs
  lastword gateway stop --agents        end it, and its agents

exit status: 0 once it has been stopped, 2 when it cannot be started.
"""


def parser() -> CommandParser:
    """Return the parser of the options before `--`."""
    made = CommandParser(
        "gateway",
        usage="[options] -- CMD [ARGUMENT...]\ntoken|status|reload|stop [options]",
        about=ABOUT,
        ends=ENDS,
    )
    _where(made)
    _sessions(made)
    _unattended(made)
    _connections(made)
    return made


def _where(made: CommandParser) -> None:
    add = made.add_argument_group("where it is, and who may come").add_argument
    add(
        "--listen",
        type=address,
        default="127.0.0.1:7780",
        metavar="HOST:PORT",
        help="the address to serve at; one that others can reach needs --behind-proxy (default: "
        "%(default)s)",
    )
    add(
        "--path",
        type=url_path,
        default="/acp",
        metavar="PATH",
        help="the path of ACP's WebSocket and HTTP transport (default: %(default)s)",
    )
    add(
        "--allow-origin",
        action="append",
        default=[],
        metavar="ORIGIN",
        help="let web pages of this origin connect, such as https://app.example; can be repeated "
        "(default: the gateway's own)",
    )
    add(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="a name that the gateway is reached by, as behind a proxy; can be repeated (default: "
        "this machine's loopback names)",
    )
    add(
        "--public-url",
        type=url,
        default="",
        metavar="URL",
        help="where browsers reach it, as behind a proxy or from outside a container; links to the "
        f"page lead there (default: {URL_VARIABLE}, else where it listens)",
    )
    add(
        "--behind-proxy",
        action="store_true",
        help="a proxy in front does TLS, and its X-Forwarded headers are believed",
    )
    add(
        "--proxy-address",
        type=networks,
        action="append",
        default=[],
        metavar="ADDRESS",
        help="with --behind-proxy: the proxy's IP address or network, such as 10.0.0.0/24; can be "
        "repeated (default: loopback)",
    )


def _sessions(made: CommandParser) -> None:
    add = made.add_argument_group("sessions").add_argument
    add(
        "--root",
        default=".",
        metavar="DIR",
        help="the folder in or below which sessions work (default: this one)",
    )
    add(
        "--sessions",
        type=number,
        default=32,
        metavar="N",
        help="agents that run at once, at most (default: %(default)s)",
    )
    add(
        "--viewers",
        type=number,
        default=64,
        metavar="N",
        help="viewers of one session at once, at most (default: %(default)s)",
    )
    add(
        "--client-fs",
        action="store_true",
        help="let the agent use the files and terminals of the client that opened the session",
    )
    add(
        "--idle-close",
        type=positive_seconds,
        default="7d",
        metavar="TIME",
        help="end a session after this long without a viewer or a turn (default: %(default)s)",
    )
    add(
        "--detach-grace",
        type=seconds,
        default="0",
        metavar="TIME",
        help="end a session this long after its last viewer leaves (default: 0, which is never)",
    )
    add(
        "--log-age",
        type=seconds,
        default="7d",
        metavar="TIME",
        help="keep the log of a session for this long after it ends (default: %(default)s)",
    )
    add(
        "--log-limit",
        type=size,
        default="64MiB",
        metavar="SIZE",
        help="keep at most this much of a session's log, the latest part (default: %(default)s)",
    )


def _unattended(made: CommandParser) -> None:
    add = made.add_argument_group("questions of the agent while nobody is there").add_argument
    add(
        "--unattended",
        choices=("hold", "reject"),
        default="hold",
        help="keep such a question for whoever comes, or answer no at once (hold, reject; "
        "default: %(default)s)",
    )
    add(
        "--unattended-timeout",
        type=positive_seconds,
        default="1d",
        metavar="TIME",
        help="with hold: answer no after this long (default: %(default)s)",
    )


def _connections(made: CommandParser) -> None:
    add = made.add_argument_group("connections").add_argument
    add(
        "--ping",
        type=positive_seconds,
        default="20s",
        metavar="TIME",
        help="ping each viewer at this interval; lower it where a proxy cuts idle connections "
        "sooner (default: %(default)s)",
    )
    add(
        "--pong-timeout",
        type=positive_seconds,
        default="20s",
        metavar="TIME",
        help="close a connection whose pong takes longer than this (default: %(default)s)",
    )
    add(
        "--frame-limit",
        type=size,
        default="16MiB",
        metavar="SIZE",
        help="the longest message that a viewer may send (default: %(default)s)",
    )
    add(
        "--compress",
        choices=("off", "on"),
        default="off",
        help="offer viewers compression, for slow links; costs memory for each (off, on; "
        "default: %(default)s)",
    )


def token_parser() -> CommandParser:
    """Return the parser of `lastword gateway token`."""
    made = CommandParser(
        "gateway token",
        usage="[options]",
        about="Prints a token for the gateways of this user: for `lastword connect`, for a client, "
        "or as a link to the page.",
        ends="examples:\n"
        "  lastword gateway token\n"
        "  lastword gateway token --role observer --expires 1d\n"
        "  lastword gateway token --link https://gateway.example",
    )
    made.add_argument(
        "--role",
        choices=[role.value for role in Role],
        default=Role.CONTROLLER.value,
        help=f"what its holder may do: everything, or look on "
        f"({', '.join(role.value for role in Role)}; default: %(default)s)",
    )
    made.add_argument(
        "--session",
        default="",
        metavar="ID",
        help="let it into this session alone (default: all)",
    )
    made.add_argument(
        "--expires",
        type=seconds,
        metavar="TIME",
        help="how long it is valid; connections opened with it end with it; 0 means for ever "
        f"(default: {TOKEN_SECONDS // HOUR_SECONDS}h)",
    )
    made.add_argument(
        "--link",
        nargs="?",
        const=os.environ.get(URL_VARIABLE) or "http://127.0.0.1:7780",
        metavar="URL",
        help="print a link to the page of the gateway there, which works once (where no URL is "
        f"given: {URL_VARIABLE}, else http://127.0.0.1:7780)",
    )
    add_record_option(made, "gateway")
    return made


def status_parser() -> CommandParser:
    """Return the parser of `lastword gateway status`."""
    made = CommandParser(
        "gateway status",
        usage="[options]",
        about="Shows the agents and sessions of a gateway that runs on this machine.",
        ends="exit status: 0 where a gateway serves at the port, 1 where none does.",
    )
    made.add_argument("--json", action="store_true", help="print the same as JSON, for programs")
    return _at_port(made)


def reload_parser() -> CommandParser:
    """Return the parser of `lastword gateway reload`."""
    made = CommandParser(
        "gateway reload",
        usage="[options]",
        about="Restarts what serves connections, as after an upgrade of lastword. No turn ends, "
        "and viewers are back at once.",
        ends="exit status: 0 where a gateway serves at the port, 1 where none does.",
    )
    return _at_port(made)


def stop_parser() -> CommandParser:
    """Return the parser of `lastword gateway stop`."""
    made = CommandParser(
        "gateway stop",
        usage="[options]",
        about="Stops a gateway. Its sessions go on without it, and a gateway that is started later "
        "finds them; --agents ends them, too.",
        ends="exit status: 0 where a gateway was there to stop, 1 where none was.",
    )
    made.add_argument("--agents", action="store_true", help="end the agents and their sessions too")
    return _at_port(made)


def _at_port(made: CommandParser) -> CommandParser:
    made.add_argument(
        "--port",
        type=port,
        default=7780,
        metavar="PORT",
        help="the port that the gateway listens on (default: %(default)s)",
    )
    add_record_option(made, "gateway")
    return made


WORDS = {
    "token": token_parser,
    "status": status_parser,
    "reload": reload_parser,
    "stop": stop_parser,
}
"""The parser of each word."""
