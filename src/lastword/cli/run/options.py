"""The options of `lastword run`, read from the command line and from the environment.

Owns the command line, the sentences for what is wrong with it, and the help. argparse would take 5
to 10 ms of every start of an agent, and `typing` 5: this is read before the agent is spawned, so it
uses neither. What options there are is `core.link.option_table`'s.
"""

from __future__ import annotations

import os

from lastword.core.link.option_table import MIB, OPTIONS, Option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class UsageError(Exception):
    """The command line cannot be used; the text says why and what to do."""


_BY_FLAG = {f"--{option.name}": option for option in OPTIONS}


class RunOptions:
    """What was asked for: values by option key, and the agent's command."""

    __slots__ = ("command", "values")

    def __init__(self, values: dict[str, float | str], command: list[str]) -> None:
        self.values: dict[str, float | str] = values
        self.command: list[str] = command


def parse(arguments: Sequence[str], environment: Mapping[str, str] | None = None) -> RunOptions:
    """Read `[options] -- CMD ARGS…`.

    Raises:
        UsageError: an unknown option, a bad value, no `--`, or no command.
    """
    environment = os.environ if environment is None else environment
    if _wants_passthrough(arguments, environment):
        # The way out must be open however wrong everything else is.
        return RunOptions({"passthrough": True}, _command(arguments))
    values = {option.key: option.default for option in OPTIONS}
    for option in OPTIONS:
        text = environment.get(option.variable)
        if text:
            values[option.key] = _value(option, text, option.variable)
    rest = list(arguments)
    while rest and rest[0] != "--":
        _take(rest, values)
    secret = str(values["report_secret_file"])
    if secret and not os.access(os.path.expanduser(secret), os.R_OK):
        raise UsageError(f"--report-secret-file cannot be {secret!r}: it cannot be read")
    return RunOptions(values, _command(rest))


def _wants_passthrough(arguments: Sequence[str], environment: Mapping[str, str]) -> bool:
    option = _BY_FLAG["--passthrough"]
    own = arguments[: arguments.index("--")] if "--" in arguments else ()
    wanted = option.read(environment.get(option.variable, ""))
    for word in own:
        flag, has_value, text = word.partition("=")
        if flag == "--passthrough":
            wanted = option.read(text) if has_value else True
    return wanted is True


def _command(arguments: Sequence[str]) -> list[str]:
    """Return what stands after `--`."""
    if "--" not in arguments:
        raise UsageError("the agent's command is missing: lastword run [options] -- CMD ARGS")
    command = list(arguments[arguments.index("--") + 1 :])
    if not command or not command[0]:
        raise UsageError("there is no command after --: lastword run [options] -- CMD ARGS")
    return command


def _take(rest: list[str], values: dict[str, float | str]) -> None:
    """Read one option off the front."""
    word = rest.pop(0)
    flag, has_value, text = word.partition("=")
    option = _BY_FLAG.get(flag)
    if option is None:
        if not word.startswith("-"):
            command = " ".join([word, *(arg for arg in rest if arg != "--")])
            raise UsageError(f"put -- before the agent's command: lastword run -- {command}")
        raise UsageError(f"there is no option {flag}; lastword run --help lists them")
    if option.kind == "flag":
        values[option.key] = _value(option, text, flag) if has_value else True
        return
    if not has_value:
        if not rest or rest[0] == "--":
            raise UsageError(f"{flag} needs a value ({option.expects})")
        text = rest.pop(0)
    values[option.key] = _value(option, text, flag)


def _value(option: Option, text: str, where: str) -> float | str:
    value = option.read(text)
    if value is None and option.kind == "url":
        # What was meant for one may hold a password.
        raise UsageError(f"{where} is no address that can be used: it takes {option.expects}")
    if value is None:
        raise UsageError(f"{where} cannot be {text!r}: it takes {option.expects}")
    return value


def help_text() -> str:
    """Return what `lastword run --help` prints."""
    lines = [
        "usage: lastword run [options] -- CMD ARGS...",
        "",
        "Runs an ACP agent with lastword between it and the client on stdin and stdout. A turn",
        "that fails, for whatever reason, ends with an error that says what happened and what to",
        "do.",
        "Exit status, signals, environment and working directory are the agent's own.",
        "With a terminal on stdin or stdout lastword becomes the agent.",
        "",
        "options (each also as an environment variable, LASTWORD_IDLE_TIMEOUT=300 and so on):",
    ]
    for option in OPTIONS:
        name = f"--{option.name}"
        if option.kind in {"seconds", "bytes", "count", "folder", "file", "url"}:
            name += " " + option.kind.upper()
        elif option.kind != "flag":
            name += " " + ("WORD" if len(option.kind) > 20 else option.kind)  # noqa: PLR2004
        lines.append(f"  {name:30} {option.about}{_default(option)}")
        if "WORD" in name:
            lines.append(f"  {'':30} {option.kind}")
    return "\n".join(lines) + "\n"


def _default(option: Option) -> str:
    if option.kind == "flag":
        return ""
    if option.kind == "folder":
        return " (~/.local/state/lastword)"
    if option.kind in {"file", "url"}:
        return ""
    if option.kind == "bytes":
        return f" ({int(option.default) // MIB}MiB)"
    if option.kind in {"seconds", "count"}:
        return f" ({option.default:g})"
    return f" ({option.default})"
