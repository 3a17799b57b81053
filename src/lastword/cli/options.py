"""The options of `lastword run`: one table, read from the command line and from the environment.

Owns names, defaults, units and the sentences for what is wrong with them. argparse would take 5 to
10 ms of every start of an agent, and `typing` 5: this is read before the agent is spawned, so it
uses neither.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MIB = 1024 * 1024

_UNITS = {"": 1, "b": 1, "kib": 1024, "mib": MIB, "gib": 1024 * MIB, "k": 1024, "m": MIB}


class UsageError(Exception):
    """The command line cannot be used; the text says why and what to do."""


class Option:
    """One option. `kind` is `seconds`, `bytes`, `flag`, or the words it may have, by `|`."""

    __slots__ = ("about", "default", "kind", "name")

    def __init__(self, name: str, default: float | str, kind: str, about: str) -> None:
        self.name = name
        self.default = default
        self.kind = kind
        self.about = about

    @property
    def key(self) -> str:
        """Its name in code: `--idle-timeout` is `idle_timeout`."""
        return self.name.replace("-", "_")

    @property
    def variable(self) -> str:
        """Its name in the environment."""
        return f"LASTWORD_{self.key.upper()}"


OPTIONS = (
    Option(
        "first-update-timeout", 900.0, "seconds", "silence allowed before a turn's first update"
    ),
    Option("idle-timeout", 900.0, "seconds", "silence allowed within a turn"),
    Option("tool-timeout", 7200.0, "seconds", "silence allowed while a tool call is in progress"),
    Option("turn-timeout", 0.0, "seconds", "how long a turn may take in all; 0 is for ever"),
    Option("warn-after", 45.0, "seconds", "silence after which the client is told, if it can be"),
    Option("cancel-grace", 10.0, "seconds", "how long the agent may take to confirm a cancel"),
    Option("stderr-limit", 16 * MIB, "bytes", "what the agent may write to stderr without a frame"),
    Option("line-limit", 64 * MIB, "bytes", "the longest line that is taken as a frame"),
    Option(
        "fallback",
        "auto",
        "auto|typed|v2|air|stop_reason|stop_reason_result|rpc_error|text",
        "how a failure reaches the client; auto goes by what the client says it can take",
    ),
    Option("silent-success", "error", "error|pass", "what to make of a success with nothing shown"),
    Option("restart", "on-crash", "on-crash|never", "what to do about an agent that died"),
    Option("record", "", "folder", "where to keep the record of what happened; its own folder"),
    Option("no-record", 0, "flag", "keep none"),
    Option("record-text", 0, "flag", "keep errors' words in it too, secrets removed"),
    Option("passthrough", 0, "flag", "become the agent: lastword takes no part"),
    Option("verbose", 0, "flag", "say on stderr what is seen and done"),
)

_BY_FLAG = {f"--{option.name}": option for option in OPTIONS}


class RunOptions:
    """What was asked for: values by option key, and the agent's command."""

    __slots__ = ("command", "values")

    def __init__(self, values: dict[str, float | str], command: list[str]) -> None:
        self.values = values
        self.command = command


def parse(arguments: Sequence[str], environment: Mapping[str, str] | None = None) -> RunOptions:
    """Read `[options] -- CMD ARGS…`.

    Raises:
        UsageError: an unknown option, a bad value, no `--`, or no command.
    """
    environment = os.environ if environment is None else environment
    if _wants_passthrough(arguments, environment):
        # The way out must be open however wrong everything else is.
        return RunOptions({"passthrough": 1}, _command(arguments))
    values = {option.key: option.default for option in OPTIONS}
    for option in OPTIONS:
        text = environment.get(option.variable)
        if text:
            values[option.key] = _value(option, text, option.variable)
    rest = list(arguments)
    while rest and rest[0] != "--":
        _take(rest, values)
    return RunOptions(values, _command(rest))


def _wants_passthrough(arguments: Sequence[str], environment: Mapping[str, str]) -> bool:
    option = _BY_FLAG["--passthrough"]
    own = arguments[: arguments.index("--")] if "--" in arguments else ()
    wanted = _flag(environment.get(option.variable, ""))
    for word in own:
        flag, has_value, text = word.partition("=")
        if flag == "--passthrough":
            wanted = _flag(text) if has_value else 1
    return wanted == 1


def _command(arguments: Sequence[str]) -> list[str]:
    """What stands after `--`."""
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
        values[option.key] = _value(option, text, flag) if has_value else 1
        return
    if not has_value:
        if not rest or rest[0] == "--":
            raise UsageError(f"{flag} needs a value ({_expects(option)})")
        text = rest.pop(0)
    values[option.key] = _value(option, text, flag)


def _value(option: Option, text: str, where: str) -> float | str:
    value: float | str | None = None
    if option.kind == "seconds":
        value = _seconds(text)
    elif option.kind == "bytes":
        value = _bytes(text)
    elif option.kind == "flag":
        value = _flag(text)
    elif option.kind == "folder":
        value = text or None
    elif text in option.kind.split("|"):
        value = text
    if value is None:
        raise UsageError(f"{where} cannot be {text!r}: it takes {_expects(option)}")
    return value


def _flag(text: str) -> int | None:
    return {"1": 1, "true": 1, "yes": 1, "0": 0, "false": 0, "no": 0}.get(text.lower())


def _seconds(text: str) -> float | None:
    try:
        value = float(text.removesuffix("s"))
    except ValueError:
        return None
    return value if 0 <= value < float("inf") else None


def _bytes(text: str) -> int | None:
    digits = text.rstrip("abgikmABGIKM")
    factor = _UNITS.get(text[len(digits) :].lower())
    if factor is None or not digits.isascii() or not digits.isdigit():
        return None
    return int(digits) * factor


def _expects(option: Option) -> str:
    if option.kind == "seconds":
        return "a number of seconds, such as 30; 0 switches it off"
    if option.kind == "bytes":
        return "a size, such as 16MiB"
    if option.kind == "flag":
        return "1 or 0"
    if option.kind == "folder":
        return "a folder"
    return "one of " + ", ".join(option.kind.split("|"))


def help_text() -> str:
    """What `lastword run --help` prints."""
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
        if option.kind in {"seconds", "bytes", "folder"}:
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
    if option.kind == "bytes":
        return f" ({int(option.default) // MIB}MiB)"
    if option.kind == "seconds":
        return f" ({option.default:g})"
    return f" ({option.default})"
