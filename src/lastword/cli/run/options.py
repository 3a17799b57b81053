"""The options of `lastword run`, read from the command line, the environment and the files.

Owns the command line and its error messages, and which of the three comes first. It is read before
the agent is spawned, so it uses neither argparse, which would add 5 to 10 ms to every start, nor
`typing`, which would add 5. The table of options is in `core.link.option_table`, the help in
`cli.run.parser`.
"""

from __future__ import annotations

import os

from lastword.cli.config.discovery import NOWHERE, ConfigError, find
from lastword.core.link.option_table import BY_KEY, OPTIONS, Option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import ModuleType

    from lastword.cli.config.discovery import Places
    from lastword.cli.config.settings import FileSettings


class UsageError(Exception):
    """The command line cannot be used; the text is a sentence for the user."""


PROG = "lastword run"
MISSING = "the agent's command is missing; for example: lastword run -- opencode acp"

_BY_FLAG = {f"--{option.name}": option for option in OPTIONS}


class RunOptions:
    """The values of the options by key, the agent's command, and the configuration files."""

    __slots__ = ("command", "files", "values")

    def __init__(
        self,
        values: dict[str, float | str],
        command: list[str],
        files: FileSettings | None = None,
    ) -> None:
        self.values: dict[str, float | str] = values
        self.command: list[str] = command
        self.files: FileSettings | None = files

    def environment(self) -> Mapping[str, str]:
        """Return the environment, with what `[record]` of a configuration file adds to it."""
        if self.files is None:
            return os.environ
        completed = dict(os.environ)
        self.files.complete(completed)
        return completed


def parse(arguments: Sequence[str], environment: Mapping[str, str] | None = None) -> RunOptions:
    """Read `[options] -- CMD ARGS…`.

    Args:
        arguments: The command line.
        environment: The environment; by default this process's, and only then are configuration
            files read, too.

    Raises:
        UsageError: There is an unknown option, a bad value, a configuration file that cannot be
            used, no `--`, or no command.
    """
    reads_files = environment is None
    environment = os.environ if environment is None else environment
    if _is_passthrough(arguments, environment):
        # --passthrough must work however wrong everything else is.
        return RunOptions({"passthrough": True}, _command(arguments))
    values = {option.key: option.default for option in OPTIONS}
    places = find(arguments, environment) if reads_files else NOWHERE
    files = _files(places) if places.present else None
    if files is not None:
        for key, value in files.texts("run").items():
            values[key] = _value(BY_KEY[key], value, key)
    for option in OPTIONS:
        text = environment.get(option.variable)
        if text:
            values[option.key] = _value(option, text, option.variable)
    rest = list(arguments)
    while rest and rest[0] != "--":
        if not rest[0].startswith("-"):
            raise UsageError(_sentences().without_dashes(PROG, arguments, value_flags()))
        _read_option(rest, values)
    secret = str(values["report_secret_file"])
    if secret and not os.access(os.path.expanduser(secret), os.R_OK):
        raise UsageError(f"--report-secret-file cannot be {secret!r}: it cannot be read")
    if values["notify"]:
        _check_notifications(values)
    if str(values["spend_limit"]).endswith("/day") and values["no_record"]:
        raise UsageError(
            "--spend-limit cannot be for a day with --no-record: what other processes have spent "
            "is in the record's folder"
        )
    command = _command(rest)
    if command[0].partition("=")[0] in _BY_FLAG:
        own = arguments[: list(arguments).index("--")]
        raise UsageError(_sentences().behind_dashes(PROG, own, command, value_flags()))
    return RunOptions(values, command, files)


def _is_passthrough(arguments: Sequence[str], environment: Mapping[str, str]) -> bool:
    option = _BY_FLAG["--passthrough"]
    own = arguments[: arguments.index("--")] if "--" in arguments else ()
    enabled = option.read(environment.get(option.variable, ""))
    for word in own:
        flag, has_value, text = word.partition("=")
        if flag == "--passthrough":
            enabled = option.read(text) if has_value else True
    return enabled is True


def _command(arguments: Sequence[str]) -> list[str]:
    if "--" not in arguments:
        raise UsageError(MISSING)
    command = list(arguments[arguments.index("--") + 1 :])
    if not command or not command[0]:
        raise UsageError("there is no command after --; for example: lastword run -- opencode acp")
    if len(command) == 1 and " " in command[0]:
        return [*_sentences().meant_words(command)]
    return command


JOINED = "write {flag}={value}: the option may also stand without a value"


def can_be_value(flag: str, word: str) -> bool:
    """Return whether a word can be the value of an option."""
    return _BY_FLAG[flag].read(word) is not None


def _read_option(rest: list[str], values: dict[str, float | str]) -> None:
    word = rest.pop(0)
    flag, has_value, text = word.partition("=")
    option = _BY_FLAG.get(flag)
    if option is None:
        flags = [*_BY_FLAG, "--help"]
        raise UsageError(_sentences().no_such("option", flag, flags, f"{PROG} --help"))
    if option.kind == "flag":
        values[option.key] = _value(option, text, flag) if has_value else True
        return
    if not has_value and option.implied is not None:
        text = option.implied
        if rest and can_be_value(flag, rest[0]):
            raise UsageError(JOINED.format(flag=flag, value=rest[0]))
    elif not has_value:
        if not rest or rest[0] == "--":
            raise UsageError(f"{flag} needs a value ({option.expects})")
        text = rest.pop(0)
    values[option.key] = _value(option, text, flag)


def _value(option: Option, text: str, where: str) -> float | str:
    value = option.read(text)
    if value is None and option.kind in {"url", "url-or-topic"}:
        # The text may contain a password.
        raise UsageError(f"{where} is not an address that can be used: it takes {option.expects}")
    if value is None and option.words:
        raise UsageError(_sentences().wrong_choice(where, text, option.words))
    if value is None:
        raise UsageError(f"{where} cannot be {text!r}: it takes {option.expects}")
    return value


def _check_notifications(values: Mapping[str, float | str]) -> None:
    # Loaded only for notifications.
    from lastword.notify.http import target_of  # noqa: PLC0415
    from lastword.notify.notification import NotifyError, settings_of  # noqa: PLC0415

    try:
        target_of(settings_of(values))
    except NotifyError as error:
        raise UsageError(str(error)) from error


def _files(places: Places) -> FileSettings:
    # Loaded only for a file; TOML's reader alone takes 4 ms.
    from lastword.cli.config.settings import load  # noqa: PLC0415

    try:
        return load(places, ("run", "record"))
    except ConfigError as error:
        raise UsageError(str(error)) from error


def _sentences() -> ModuleType:
    # Loaded only for an error: nothing is started then, so nobody waits.
    from lastword.cli import words  # noqa: PLC0415

    return words


def value_flags() -> dict[str, bool]:
    """Return each option, and whether its value is the next word."""
    return {
        flag: option.kind != "flag" and option.implied is None for flag, option in _BY_FLAG.items()
    }
