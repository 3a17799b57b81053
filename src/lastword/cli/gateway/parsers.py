"""The parsers of `lastword gateway` and its subcommands, which load without the extra."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from lastword.cli.durations import seconds
from lastword.cli.gateway.arguments import add_option
from lastword.cli.parser import CommandParser
from lastword.cli.record_access import add_record_option, port
from lastword.gateway.front.tokens import TOKEN_SECONDS
from lastword.gateway.settings.gateway import OPTIONS, URL_VARIABLE
from lastword.gateway.viewing.attachment import Role

if TYPE_CHECKING:
    import argparse

HOUR_SECONDS = 3600

ABOUT = """\
Serves an ACP agent at a URL. A session outlives the connections to it, several
viewers can watch it at once, and a viewer that reconnects continues where it
left off. A web page for sessions is at the same address.

Needs the extra `gateway`; without it, the command says how to install it.
"""

ENDS = """\
Every option of `lastword run` is accepted too, and applies to each agent.
A TIME is a number of seconds, or has a unit: 90, 15m, 12h, 7d. A SIZE is a
number of bytes, or has one: 64KiB, 16MiB.

examples:
  lastword gateway -- opencode acp
  lastword gateway --listen 127.0.0.1:8000 --root ~/projects -- opencode acp
  lastword gateway --idle-timeout 300 --sessions 4 -- opencode acp
  lastword gateway token --link         a link to the page
  lastword gateway status               what it is running
  lastword gateway stop --agents        stop it, and its agents

exit status: 0 once it has been stopped, 2 if it cannot be started.
"""


def parser() -> CommandParser:
    """Return the parser of the options before `--`."""
    made = CommandParser(
        "gateway",
        usage="[options] -- CMD [ARGUMENT...]\ntoken|status|reload|stop [options]",
        about=ABOUT,
        ends=ENDS,
    )
    groups: dict[str, argparse._ArgumentGroup] = {}
    for option in OPTIONS.values():
        if option.group not in groups:
            groups[option.group] = made.add_argument_group(option.group)
        add_option(groups[option.group], option)
    return made


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
        help=f"what its bearer may do: everything, or only watch "
        f"({', '.join(role.value for role in Role)}; default: %(default)s)",
    )
    made.add_argument(
        "--session",
        default="",
        metavar="ID",
        help="limit it to this session (default: all)",
    )
    made.add_argument(
        "--expires",
        type=seconds,
        metavar="TIME",
        help="how long it is valid; connections opened with it end with it; 0 means forever "
        f"(default: {TOKEN_SECONDS // HOUR_SECONDS}h)",
    )
    made.add_argument(
        "--link",
        nargs="?",
        const=os.environ.get(URL_VARIABLE) or "http://127.0.0.1:7780",
        metavar="URL",
        help="print a link to the page of the gateway at URL, which works once (without a URL: "
        f"{URL_VARIABLE}, else http://127.0.0.1:7780)",
    )
    made.add_argument(
        "--fleet-key-file",
        default="",
        metavar="FILE",
        help="for all gateways of the fleet with this secret (default: that of the gateway's "
        "fleet, if it is in one)",
    )
    add_record_option(made, "gateway")
    return made


def status_parser() -> CommandParser:
    """Return the parser of `lastword gateway status`."""
    made = CommandParser(
        "gateway status",
        usage="[options]",
        about="Shows the agents and sessions of a gateway that runs on this machine.",
        ends="exit status: 0 if a gateway is running on the port, 1 if not, 2 if its fleet cannot "
        "be reached.",
    )
    made.add_argument(
        "--fleet",
        action="store_true",
        help="show the nodes and the sessions of the gateway's fleet too",
    )
    made.add_argument("--json", action="store_true", help="print the same as JSON, for programs")
    return _at_port(made)


def reload_parser() -> CommandParser:
    """Return the parser of `lastword gateway reload`."""
    made = CommandParser(
        "gateway reload",
        usage="[options]",
        about="Restarts the process that serves connections, for example after an upgrade of "
        "lastword. Turns go on, and viewers reconnect at once.",
        ends="exit status: 0 if a gateway is running on the port, 1 if not.",
    )
    return _at_port(made)


def stop_parser() -> CommandParser:
    """Return the parser of `lastword gateway stop`."""
    made = CommandParser(
        "gateway stop",
        usage="[options]",
        about="Stops a gateway. Its sessions go on without it, and a gateway that is started later "
        "serves them again; --agents ends them too.",
        ends="exit status: 0 if there was a gateway to stop, 1 if not.",
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
