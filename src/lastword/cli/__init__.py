"""The command line. Each command is a module that is loaded only when it is run.

Private: its names may change in any version.
"""

from __future__ import annotations

import os
import sys

from lastword._version import __version__
from lastword.cli.config.discovery import ConfigError
from lastword.cli.config.user_file import use

INTERRUPTED_STATUS = 130
"""After Ctrl-C, as in a shell."""


def main(arguments: list[str] | None = None) -> int:
    """Run a command.

    Returns:
        0 on success, 1 if the command found a problem, 2 for invalid arguments.
        `run` returns the agent's own exit status.
    """
    if arguments is None:
        _look_at_users_modules_last()
        arguments = sys.argv[1:]
    command, rest = (arguments[0], arguments[1:]) if arguments else ("", [])
    try:
        if command == "run":
            # First, and with as little as can be loaded: an editor waits for the agent behind it.
            from lastword.cli.run.command import main as run  # noqa: PLC0415

            return run(rest)
        return _answered(command, rest)
    except KeyboardInterrupt:
        # Also while modules are loaded; commands with more to report catch it themselves.
        sys.stderr.write(f"lastword {command}: stopped\n")
        return INTERRUPTED_STATUS


def _answered(command: str, rest: list[str]) -> int:
    """Run any command but `run`; return its exit status."""
    # Not needed by `run`, which loads as little as it can before it starts the agent.
    from lastword.cli.page import prepare_streams  # noqa: PLC0415

    stdout, stderr = prepare_streams()
    is_help = not {"-h", "--help"}.isdisjoint(rest)
    try:
        try:
            if command in _READ_FILE and not is_help:
                use((), rows=command == "explain")
        except ConfigError as error:
            sys.stderr.write(f"lastword: {error}\n")
            status = 2
        else:
            status = _dispatch(command, rest)
    except SystemExit as error:  # from argparse, after the help or an error
        if not isinstance(error.code, int):
            raise
        status = error.code
    except OSError as error:
        return _cannot_write(error)
    own = rest[: rest.index("--")] if "--" in rest else rest
    if command == "connect" and status == 2:  # noqa: PLR2004
        # Only needed for an error that an editor's user should see.
        from lastword.cli.words import answer_client  # noqa: PLC0415

        answer_client(stderr.beginning)
    try:
        if status and "--json" in own and not stdout.beginning:
            # Only needed for an error that a program reads.
            from lastword.cli.envelope import write_error  # noqa: PLC0415

            write_error(stderr.beginning, status)
        sys.stdout.flush()
    except OSError as error:
        return _cannot_write(error)
    return status


_READ_FILE = ("explain", "export", "log", "outbox", "stats")
"""Commands that use the user's configuration file but have no table in it."""


def _cannot_write(error: OSError) -> int:
    """Return the status after output to a closed pipe or a full disk."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    # Not needed by `run`.
    from lastword.platform.terminal import has_no_reader  # noqa: PLC0415

    if has_no_reader(error):
        return 0  # the reader has closed our output (`| head`)
    sys.stderr.write(f"lastword: cannot write: {(error.strerror or 'failed').lower()}\n")
    return 2


def _look_at_users_modules_last() -> None:
    """Move folders that the user put on `sys.path` behind all others.

    An editor starts us in a project's folder, which is on the path if PYTHONPATH has an empty part
    (`$PYTHONPATH:/more` without a PYTHONPATH); its `queue.py` would then replace Python's own.
    """
    try:
        parts = (os.getcwd(), *os.environ.get("PYTHONPATH", "").split(os.pathsep))
        users = {os.path.abspath(part) for part in parts}
    except FileNotFoundError:  # the working directory is gone
        return
    # The folder of this package stays where it is.
    users.discard(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    last = [folder for folder in sys.path if os.path.abspath(folder) in users]
    sys.path[:] = [folder for folder in sys.path if folder not in last] + last


MODULES = {
    **{name: name for name in ("agent", "check", "completion", "connect", "demo", "doctor")},
    **{name: name for name in ("explain", "export", "log", "outbox", "stats")},
    **{name: f"{name}.command" for name in ("config", "gateway", "setup")},
}
"""The module of each command but `run`."""


def _dispatch(command: str, rest: list[str]) -> int:
    if command == "gateway" and sys.platform == "win32":
        sys.stderr.write(
            "lastword: the gateway needs Linux or macOS; `lastword connect` works here\n"
        )
        return 2
    if command in MODULES:
        from importlib import import_module  # noqa: PLC0415 - not needed by `run`

        status: int = import_module(f"lastword.cli.{MODULES[command]}").main(rest)
        return status
    if command in {"-V", "--version", "version"}:
        sys.stdout.write(f"lastword {__version__}\n")
        return 0
    # Not needed by a known command.
    from lastword.cli.commands import help_parser, unknown, usage  # noqa: PLC0415

    if command == "help" and rest and not rest[0].startswith("-"):
        return main([*rest[:2], "--help"])
    if command == "help" and rest:
        help_parser().read(rest)
    if command in {"-h", "--help", "help"}:
        sys.stdout.write(usage())
        return 0
    if command:
        sys.stderr.write(f"lastword: {unknown(command, rest)}\n")
        return 2
    # Only needed without a command.
    from lastword.cli.setup.here import plan  # noqa: PLC0415

    if text := plan(os.environ, os.curdir):
        sys.stdout.write(text)
        return 0
    sys.stderr.write(f"lastword: a command is missing\n\n{usage()}")
    return 2
