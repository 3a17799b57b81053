"""The options of `lastword gateway` and its subcommands; it also takes those of `lastword run`.

Owns their meaning, and their error messages. Loads without the extra.
"""

from __future__ import annotations

import argparse
import os
import socket
from functools import partial
from typing import TYPE_CHECKING

from lastword.cli.gateway.arguments import add_setting
from lastword.cli.parser import CommandParser, add_arguments, seconds
from lastword.cli.record_access import add_record_option, port
from lastword.cli.run.options import RunOptions, UsageError, parse, value_flags
from lastword.cli.words import nearest
from lastword.core.link.option_table import BY_KEY
from lastword.gateway.front.tokens import TOKEN_SECONDS
from lastword.gateway.settings.option import KINDS
from lastword.gateway.settings.values import OPTIONS, URL_VARIABLE, node_name, settings_of
from lastword.gateway.viewing.reader import Role
from lastword.outbox.report import TargetError, TargetOptions, target_of, target_options
from lastword.record.paths import named_folder, state_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lastword.cli.config.settings import FileSettings
    from lastword.gateway.settings.values import GatewaySettings


HOUR_SECONDS = 3600

ABOUT = """\
Serves an ACP agent at a URL. A session outlives the connections to it, several
viewers can watch it at once, and a viewer that reconnects continues where it
left off. A web page for sessions is at the same address.

The gateway is one process, and its agents end when it does. `reload` restarts
it without ending agents or turns; after an upgrade it does so by itself.

Needs the extra `gateway`; without it, the command says how to install it.
"""

ENDS = """\
Every option of `lastword run` is accepted too, and applies to each agent.
A TIME is a number of seconds, or has a unit: 90, 15m, 12h, 7d. A SIZE is a
number of bytes, or has a unit: 64KiB, 16MiB.

examples:
  lastword gateway -- opencode acp
  lastword gateway --listen 127.0.0.1:8000 --root ~/projects -- opencode acp
  lastword gateway --idle-timeout 300 --sessions 4 -- opencode acp
  lastword gateway token --link         a link to the page
  lastword gateway status               what it is running
  lastword gateway reload               restart it; turns continue
  lastword gateway stop                 stop it and its agents; keep sessions

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
        add_setting(groups[option.group], option)
    return made


_HERE = "http://127.0.0.1:7780"
_TOKEN_OPTIONS = f"""\
--role
    what its bearer may do: everything, or only watch ({", ".join(role.value for role in Role)};
    default: %(default)s)
--session ID  limit it to this session (default: all)
--expires TIME
    how long it is valid; connections opened with it end with it; 0 means forever (default:
    {TOKEN_SECONDS // HOUR_SECONDS}h)
--link URL
    print a link to the page of the gateway at URL, which works once, and on a terminal a QR code of
    it, unless URL is this machine's own (without a URL: {URL_VARIABLE}, else {_HERE})
--fleet-key-file FILE
    for all gateways of the fleet with this secret (default: that of the gateway's fleet, if it is
    in one)
"""


def _page(text: str) -> str:
    """Return the URL of a gateway's page.

    Raises:
        argparse.ArgumentTypeError: It is not one.
    """
    kind = KINDS["web-address"]
    url: str | None = kind.read(text)
    if not url:
        raise argparse.ArgumentTypeError(f"cannot be {text!r}: it takes {kind.expects}")
    return url


def _session(text: str) -> str:
    if not text.isprintable():
        raise argparse.ArgumentTypeError(f"cannot be {text!r}: it takes the id of a session")
    return text


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
    add_arguments(
        made,
        _TOKEN_OPTIONS,
        role={"choices": [role.value for role in Role], "default": Role.CONTROLLER.value},
        session={"type": _session, "default": ""},
        expires={"type": seconds},
        link={"nargs": "?", "type": _page, "const": os.environ.get(URL_VARIABLE) or _HERE},
        fleet_key_file={"default": ""},
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
    add_arguments(
        made,
        "--fleet  show the nodes and the sessions of the gateway's fleet too\n"
        "--json  print the same as JSON, for programs",
    )
    return _at_port(made)


def reload_parser(word: str = "reload") -> CommandParser:
    """Return the parser of `lastword gateway reload`, or `restart`, which is the same."""
    made = CommandParser(
        f"gateway {word}",
        usage="[options]",
        about="Restarts a gateway in place, for example after an upgrade of lastword. Its agents "
        "run on with their turns and questions, and viewers reconnect at once.",
        ends="exit status: 0 if a gateway is running on the port, 1 if not.",
    )
    return _at_port(made)


def stop_parser() -> CommandParser:
    """Return the parser of `lastword gateway stop`."""
    made = CommandParser(
        "gateway stop",
        usage="[options]",
        about="Stops a gateway and its agents. Open turns end with an error. Sessions are kept, "
        "and a gateway that is started later brings them back; --agents ends them too.",
        ends="exit status: 0 if there was a gateway to stop, 1 if not.",
    )
    add_arguments(made, "--agents  end the sessions too")
    return _at_port(made)


def _at_port(made: CommandParser) -> CommandParser:
    about = "--port PORT  the port that the gateway listens on (default: %(default)s)"
    add_arguments(made, about, port={"type": port, "default": 7780})
    add_record_option(made, "gateway")
    return made


WORDS: dict[str, Callable[[], CommandParser]] = {
    "token": token_parser,
    "status": status_parser,
    "reload": reload_parser,
    "restart": partial(reload_parser, "restart"),
    "stop": stop_parser,
}
"""The parser of each word."""

MISSING = "the agent's command is missing; for example: lastword gateway -- opencode acp"


def read(arguments: Sequence[str], files: FileSettings | None = None) -> GatewaySettings:
    """Read `[options] -- CMD ARGS…`.

    Args:
        arguments: The command line.
        files: The user's configuration file.

    Raises:
        UsageError: An option is unknown, a value is invalid, or the command is missing.
        SystemExit: argparse has printed an error or the help.
    """
    made = parser()
    word = arguments[0] if arguments and "--" not in arguments else "-"
    if not word.startswith("-") and (meant := nearest(word, WORDS)):
        raise UsageError(f"did you mean `lastword gateway {meant}`? Only options come before --")
    before_dashes = arguments[: [*arguments, "--"].index("--")]
    if any(each.partition("=")[0] == "--port" for each in before_dashes):
        raise UsageError("the port is part of --listen; for example: --listen 127.0.0.1:7780")
    own, agent = made.split(arguments, value_flags())
    configured = files.words("gateway", own) if files is not None else []
    from_environment = [
        f"--{option.name}={value}"
        for option in OPTIONS.values()
        if (value := os.environ.get(option.variable))
    ]
    chosen, rest = made.parse_known_args([*configured, *from_environment, *own])
    if not agent:
        raise UsageError(MISSING)
    # Each agent's `lastword run` reads the files itself, with the project's in its own folder.
    run = parse([*rest, "--", *agent], os.environ)
    if run.values.get("frames"):
        raise UsageError("--frames is an option of `lastword run`; leave it out")
    if run.values.get("passthrough"):
        raise UsageError(
            "a gateway's agents are always behind lastword: leave out --passthrough, and unset "
            "LASTWORD_PASSTHROUGH; `lastword run --passthrough` runs an agent without it"
        )
    if not os.path.isdir(chosen.root):
        raise UsageError(f"--root cannot be {chosen.root!r}: that is not a folder")
    # Paths are relative to this folder, not to the sessions' folders.
    program = run.command[0]
    program = os.path.abspath(program) if os.sep in program else program
    values = {
        name: option.read(getattr(chosen, option.key))
        if option.words
        else getattr(chosen, option.key)
        for name, option in OPTIONS.items()
    }
    if chosen.unattended == "reject":
        values["unattended_seconds"] = None
    return settings_of(
        values
        | _fleet(chosen)
        | _folders(run, rest)
        | {
            "root": os.path.realpath(chosen.root),
            "command": [program, *run.command[1:]],
            "report": _report(run, rest),
        }
    )


def _fleet(chosen: argparse.Namespace) -> dict[str, str]:
    """Return the paths of a fleet's files, relative to this folder, and the node's name."""
    if chosen.fleet and not chosen.fleet_key_file:
        raise UsageError(
            "--fleet needs --fleet-key-file, a file with the same secret on every node; "
            "`(umask 077; openssl rand -base64 32 > fleet.key)` makes one"
        )
    files = {
        "fleet.key_file": chosen.fleet_key_file,
        "fleet.credentials_file": chosen.fleet_credentials,
        "fleet.ca_file": chosen.fleet_ca,
    }
    paths = {name: os.path.expanduser(path) for name, path in files.items()}
    return {
        **{name: os.path.abspath(path) if path else "" for name, path in paths.items()},
        "fleet.node": chosen.fleet_node or node_name(socket.gethostname()),
    }


def _folders(run: RunOptions, options: Sequence[str]) -> dict[str, str | list[str]]:
    """Return the folders, and the options with paths resolved against this folder.

    The folder of logs and keys is beside the record; without a record, its folder is empty.
    """
    record = str(run.values.get("record") or "")
    state = named_folder(record) if record else state_folder(os.environ)
    is_recorded = not run.values.get("no_record")
    words = [*options]
    named = record or os.environ.get("LASTWORD_STATE_DIR") or ""
    if is_recorded and state and named and not os.path.isabs(os.path.expanduser(named)):
        words.append(f"--record={state}")
    for key in ("report_secret_file", "notify_secret_file", "notify_template", "config"):
        file = os.path.expanduser(str(run.values.get(key) or ""))
        if file and not os.path.isabs(file):
            words.append(f"--{BY_KEY[key].name}={os.path.abspath(file)}")
    return {
        "state_folder": state,
        "record_folder": state if is_recorded else "",
        "options": words,
    }


def _report(run: RunOptions, options: Sequence[str]) -> TargetOptions:
    """Return the target of failure reports, if the command line has one.

    Values from the environment stay there for an agent's link: an address may contain a password,
    and every user can read a command line.
    """
    report = target_options(run.values)
    if not report.url:
        os.environ.pop(BY_KEY["report_to"].variable, None)  # `--report-to=` switches reports off
        return report
    try:
        target_of(report, os.environ)
    except TargetError as error:
        raise UsageError(str(error)) from error
    is_open = bool(parse([*options, "--", "none"], {}).values.get("report_to"))
    return report if is_open else TargetOptions("", report.form, report.secret_file)
