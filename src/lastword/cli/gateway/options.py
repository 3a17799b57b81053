"""The options of `lastword gateway`, which also takes all options of `lastword run`.

Owns their meaning, and the error messages about them.
"""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING

from lastword.cli.gateway.parsers import WORDS, parser
from lastword.cli.run.options import RunOptions, UsageError, parse
from lastword.cli.words import nearest
from lastword.core.link.option_table import BY_KEY, OPTIONS, Option
from lastword.gateway.settings.fleet import node_name
from lastword.gateway.settings.gateway import OPTIONS as SETTINGS
from lastword.gateway.settings.gateway import settings_of
from lastword.outbox.target import TargetError, TargetOptions, target_of, target_options
from lastword.record.paths import named_folder, state_folder

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from lastword.cli.config.settings import FileSettings
    from lastword.gateway.settings.gateway import GatewaySettings

MISSING = "the agent's command is missing; for example: lastword gateway -- opencode acp"


def read(arguments: Sequence[str], files: FileSettings | None = None) -> GatewaySettings:
    """Read `[options] -- CMD ARGS…`.

    Args:
        arguments: The command line.
        files: What the user's configuration file says.

    Raises:
        UsageError: An option is unknown, a value is invalid, or the command is missing.
        SystemExit: argparse has printed an error or the help.
    """
    made = parser()
    if arguments and "--" not in arguments and (meant := nearest(arguments[0], WORDS)):
        raise UsageError(f"did you mean `lastword gateway {meant}`? Only options come before --")
    own, agent = made.split(
        arguments, {f"--{option.name}": _has_value(option) for option in OPTIONS}
    )
    configured = files.words("gateway", own) if files is not None else []
    from_environment = [
        f"--{option.name}={value}"
        for option in SETTINGS.values()
        if (value := os.environ.get(option.variable))
    ]
    chosen, rest = made.parse_known_args([*configured, *from_environment, *own])
    if not agent:
        raise UsageError(MISSING)
    # Each agent's `lastword run` reads the files itself, with the project's of where it works.
    run = parse([*rest, "--", *agent], os.environ)
    if run.values.get("frames"):
        raise UsageError("--frames is an option of `lastword run`; leave it out")
    if not os.path.isdir(chosen.root):
        raise UsageError(f"--root cannot be {chosen.root!r}: that is not a folder")
    values = {
        name: option.read(getattr(chosen, option.key))
        if option.words
        else getattr(chosen, option.key)
        for name, option in SETTINGS.items()
    }
    if chosen.unattended == "reject":
        values["unattended_seconds"] = None
    return settings_of(
        values
        | _fleet(chosen)
        | {
            "root": os.path.realpath(chosen.root),
            "state_folder": _state_folder(run),
            "record_folder": _record_folder(run),
            "command": [_program_from_here(run.command[0]), *run.command[1:]],
            "options": [*rest, *_record_from_here(run), *_files_from_here(run)],
            "report": _report(run, rest),
        }
    )


def _fleet(chosen: argparse.Namespace) -> dict[str, str]:
    """Return what a fleet's files and its node are called, seen from here.

    Raises:
        UsageError: There is a fleet without its key.
    """
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


def _has_value(option: Option) -> bool:
    return option.kind != "flag" and option.implied is None


def _program_from_here(program: str) -> str:
    """Resolve a program's path against this folder, not the sessions' folder."""
    return os.path.abspath(program) if os.sep in program else program


def _record_folder(run: RunOptions) -> str:
    """Return the record's folder; empty if no record is kept."""
    if run.values.get("no_record") or run.values.get("passthrough"):
        return ""
    named = str(run.values.get("record") or "")
    return named_folder(named) if named else state_folder(os.environ)


def _record_from_here(run: RunOptions) -> list[str]:
    """Resolve the option of a folder against this folder, not the sessions' folder."""
    named = str(run.values.get("record") or os.environ.get("LASTWORD_STATE_DIR") or "")
    is_relative = bool(named) and not os.path.isabs(os.path.expanduser(named))
    folder = _record_folder(run)
    return [f"--record={folder}"] if folder and is_relative else []


def _files_from_here(run: RunOptions) -> list[str]:
    """Resolve the options of files against this folder: secrets, a template, the configuration."""
    words = []
    for key in ("report_secret_file", "notify_secret_file", "notify_template", "config"):
        named = os.path.expanduser(str(run.values.get(key) or ""))
        if named and not os.path.isabs(named):
            words.append(f"--{BY_KEY[key].name}={os.path.abspath(named)}")
    return words


def _report(run: RunOptions, options: Sequence[str]) -> TargetOptions:
    """Return where failures are reported, as far as the command line says.

    Values from the environment stay there, where a holder finds them: an address may hold a
    password, and every user can read a command line.
    """
    report = target_options(run.values)
    if not report.url:
        os.environ.pop(BY_KEY["report_to"].variable, None)  # `--report-to=` switches off
        return report
    try:
        target_of(report, os.environ)
    except TargetError as error:
        raise UsageError(str(error)) from error
    is_open = bool(parse([*options, "--", "none"], {}).values.get("report_to"))
    return report if is_open else TargetOptions("", report.form, report.secret_file)


def _state_folder(run: RunOptions) -> str:
    """Return the folder of logs and keys, which is beside the record."""
    for option in OPTIONS:
        if option.kind == "folder" and run.values.get(option.key):
            return named_folder(str(run.values[option.key]))
    return state_folder(os.environ)
