"""The command line. Each command is a module that is loaded only when it is run.

Private: its names may change in any version.
"""

from __future__ import annotations

import os
import sys

from lastword._version import __version__

INTERRUPTED_STATUS = 130
"""After Ctrl-C, as in a shell."""


def main(arguments: list[str] | None = None) -> int:
    """Run a command.

    Returns:
        0 on success, 1 if the command found something wrong, 2 if it cannot be run as it was asked.
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
        # Wherever it came, also while modules were loaded; commands that have more to say of it
        # catch it themselves.
        sys.stderr.write(f"lastword {command}: stopped\n")
        return INTERRUPTED_STATUS


def _answered(command: str, rest: list[str]) -> int:
    """Run a command that a person or a program waits for; return its exit status."""
    # Not needed by `run`, which loads as little as it can before it starts the agent.
    from lastword.cli.streams import prepare_streams  # noqa: PLC0415

    stdout, stderr = prepare_streams()
    is_help = not {"-h", "--help"}.isdisjoint(rest)
    try:
        if command in _READ_FILE and not is_help and not _has_used_file(command):
            status = 2
        else:
            status = _dispatch(command, rest)
    except SystemExit as error:  # argparse's end, after the help or an error
        if not isinstance(error.code, int):
            raise
        status = error.code
    except OSError as error:
        return _cannot_write(error)
    own = rest[: rest.index("--")] if "--" in rest else rest
    try:
        if status and "--json" in own and not stdout.beginning:
            # Only an error that a program is to read needs it.
            from lastword.cli.envelope import write_error  # noqa: PLC0415

            write_error(stderr.beginning, status)
        sys.stdout.flush()
    except OSError as error:
        return _cannot_write(error)
    return status


_READ_FILE = ("explain", "export", "log", "outbox", "stats")
"""Commands that take defaults from the user's configuration file, and have no table in it."""


def _has_used_file(command: str) -> bool:
    """Take what the user's configuration file says; print what is wrong with it."""
    # Not needed by `run`, which reads its files itself.
    from lastword.cli.config.errors import ConfigError  # noqa: PLC0415
    from lastword.cli.config.user_file import use  # noqa: PLC0415

    try:
        use((), rows=command == "explain")
    except ConfigError as error:
        sys.stderr.write(f"lastword: {error}\n")
        return False
    return True


def _cannot_write(error: OSError) -> int:
    """Return the status for output that nobody reads any more, or that has no room."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    if isinstance(error, BrokenPipeError):
        return 0  # whoever reads our output has seen enough (`| head`)
    sys.stderr.write(f"lastword: cannot write: {(error.strerror or 'failed').lower()}\n")
    return 2


def _look_at_users_modules_last() -> None:
    """Put what is on the path of modules by the user's doing behind all that is ours.

    An editor starts us in a project's folder. That is on the path where PYTHONPATH has an empty
    part (`$PYTHONPATH:/more`, where there was none); then a `queue.py` in it would be Python's own.
    """
    try:
        parts = (os.getcwd(), *os.environ.get("PYTHONPATH", "").split(os.pathsep))
        users = {os.path.abspath(part) for part in parts}
    except FileNotFoundError:  # the working directory is gone
        return
    # Where we are found ourselves, there is what we need.
    users.discard(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    last = [folder for folder in sys.path if os.path.abspath(folder) in users]
    sys.path[:] = [folder for folder in sys.path if folder not in last] + last


def _dispatch(command: str, rest: list[str]) -> int:
    if command == "demo":
        from lastword.cli.demo import main as demo  # noqa: PLC0415

        return demo(rest)
    if command == "explain":
        from lastword.cli.explain.command import main as explain  # noqa: PLC0415

        return explain(rest)
    if command in {"log", "export", "stats", "outbox"}:
        return _run_on_record(command, rest)
    if command == "agent":
        from lastword.cli.agent.command import main as agent  # noqa: PLC0415

        return agent(rest)
    if command == "doctor":
        from lastword.cli.doctor import main as doctor  # noqa: PLC0415

        return doctor(rest)
    if command == "setup":
        from lastword.cli.setup.command import main as setup  # noqa: PLC0415

        return setup(rest)
    if command in {"gateway", "connect"}:
        return _run_gateway_end(command, rest)
    if command == "config":
        from lastword.cli.config.command import main as config  # noqa: PLC0415

        return config(rest)
    if command == "check":
        from lastword.cli.check.command import main as check  # noqa: PLC0415

        return check(rest)
    return _other(command, rest)


def _other(command: str, rest: list[str]) -> int:
    """Run what `lastword run` never needs: help, version, completion, the reply to a mistake."""
    if command == "completion":
        from lastword.cli.completion.command import main as completion  # noqa: PLC0415

        return completion(rest)
    if command in {"-V", "--version", "version"}:
        sys.stdout.write(f"lastword {__version__}\n")
        return 0
    from lastword.cli.commands import help_parser, unknown, usage  # noqa: PLC0415

    if command == "help" and rest and not rest[0].startswith("-"):
        return main([*rest[:2], "--help"])
    if command == "help" and rest:
        help_parser().read(rest)
    if command in {"-h", "--help", "help"}:
        sys.stdout.write(usage())
        return 0
    text = (
        f"lastword: {unknown(command, rest)}\n"
        if command
        else f"lastword: a command is missing\n\n{usage()}"
    )
    sys.stderr.write(text)
    return 2


def _run_on_record(command: str, rest: list[str]) -> int:
    """Run a command that reads what is kept of earlier sessions."""
    if command == "log":
        from lastword.cli.log.command import main as log  # noqa: PLC0415

        return log(rest)
    if command == "export":
        from lastword.cli.export import main as export  # noqa: PLC0415

        return export(rest)
    if command == "stats":
        from lastword.cli.stats import main as stats  # noqa: PLC0415

        return stats(rest)
    from lastword.cli.outbox import main as outbox  # noqa: PLC0415

    return outbox(rest)


def _run_gateway_end(command: str, rest: list[str]) -> int:
    """Run either end of a gateway."""
    if command == "connect":
        from lastword.cli.connect import main as connect  # noqa: PLC0415

        return connect(rest)
    from lastword.cli.gateway.command import main as gateway  # noqa: PLC0415

    return gateway(rest)
