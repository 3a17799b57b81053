"""Scenario files: JSON, or YAML if its package is installed.

Owns reading and checking a file, and the error messages: where, what is wrong, and what to do.
The parts of a script are defined in `kit.agent.script`.
"""

from __future__ import annotations

import difflib
import importlib
import json
import re
import signal
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET

from lastword.core.classify.process import SIGNALS
from lastword.core.failure.taxonomy import ErrorType
from lastword.kit.agent.script import STEPS, Fail, Repeat, Script, Steps

MAX_FILE_BYTES = 1024 * 1024
MAX_SECONDS = 86_400
MAX_FILL_BYTES = 1024 * 1024 * 1024
ENDS_TURN = frozenset({"fail", "result"})
YAML_SUFFIXES = frozenset({".yaml", ".yml"})


class ScriptError(Exception):
    """The script cannot be used; the text says where, why and what to do."""


def load(path: str) -> Script:
    """Read a scenario file.

    Raises:
        ScriptError: It cannot be read, or is not a scenario.
    """
    file = Path(path)
    try:
        data = file.read_bytes()[: MAX_FILE_BYTES + 1]
    except OSError as error:
        raise ScriptError(f"{path}: {(error.strerror or 'cannot be read').lower()}") from error
    if len(data) > MAX_FILE_BYTES:
        raise ScriptError(f"{path}: a scenario file is at most {MAX_FILE_BYTES // 1024} KiB long")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise ScriptError(f"{path}: the file is not UTF-8 (byte {error.start})") from error
    read = _yaml if file.suffix.lower() in YAML_SUFFIXES else _json
    try:
        return script_of(read(text))
    except ScriptError as error:
        raise ScriptError(f"{path}: {error}") from error


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError as error:
        raise ScriptError(
            f"invalid JSON: {error}. The name of a YAML file ends in .yaml"
        ) from error
    except RecursionError as error:
        raise ScriptError("nested too deeply") from error


def _yaml(text: str) -> object:
    try:
        # An optional package, and types of its own would be one more.
        yaml: Any = importlib.import_module("yaml")
    except ImportError as error:
        # As above.
        from lastword._installation import command_for  # noqa: PLC0415

        raise ScriptError(
            f"YAML needs the package PyYAML: {command_for('yaml')}; or use JSON"
        ) from error
    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        message = " ".join(str(error).split())
        raise ScriptError(f"invalid YAML: {message}") from error


def script_of(value: object) -> Script:
    """Read a script from plain values.

    Raises:
        ScriptError: It is not a script.
    """
    try:
        script = msgspec.convert(value, Script)
    except (msgspec.ValidationError, RecursionError) as error:
        raise ScriptError(_explained(str(error))) from error
    if not script.turns:
        raise ScriptError("turns is empty: a scenario needs at least one turn")
    for place, steps in _lists(script):
        _check(steps, place)
    return script


def _lists(script: Script) -> list[tuple[str, Steps]]:
    lists = [(f"turn {n}", steps) for n, steps in enumerate(script.turns, 1)]
    lists += [(f"start {n}", steps) for n, steps in enumerate(script.starts, 1)]
    return lists if isinstance(script.on_cancel, str) else [*lists, ("on_cancel", script.on_cancel)]


def _check(steps: Steps, place: str) -> None:
    """Raise ScriptError for problems that the types do not cover."""
    for number, step in enumerate(steps, 1):
        where = f"{place}, step {number}"
        named = [name for name in STEPS if getattr(step, name) is not UNSET]
        if len(named) != 1:
            what = f"these are {len(named)}: {', '.join(named)}" if named else "this one is empty"
            raise ScriptError(f"{where}: a step is one of {', '.join(STEPS)}; {what}")
        name, value = step.action
        problem = _PROBLEMS[name](value) if name in _PROBLEMS else ""
        if problem:
            raise ScriptError(f"{where}, {name}: {problem}")
        if place.startswith("start ") and name in ENDS_TURN:
            raise ScriptError(f"{where}, {name}: a start has no turn to end")
        if isinstance(value, Repeat):
            _check(value.steps, f"{where}, repeat")


def _of_fail(fail: Fail) -> str:
    ways = [
        *(name for name in ("http", "exception", "agent_error") if getattr(fail, name) is not None),
        *(["error"] if fail.error is not UNSET else []),
    ]
    if len(ways) != 1:
        return "it needs exactly one of http, exception, error and agent_error"
    if fail.agent_error is None:
        return ""
    lacks = [key for key in ("type", "message", "retryable") if key not in fail.agent_error]
    if lacks:
        return f"the payload lacks {', '.join(lacks)}"
    words = [word.value for word in ErrorType]
    return "" if fail.agent_error["type"] in words else f"type is one of {', '.join(words)}"


def _of_bytes(text: str) -> str:
    try:
        bytes.fromhex(text)
    except ValueError:
        return 'write bytes in hexadecimal, such as "ff fe 0a"'
    return ""


def _of_repeat(repeat: Repeat) -> str:
    if not repeat.steps:
        return "there are no steps to repeat"
    return "times is at least 1, or 0 for ever" if repeat.times < 0 else ""


def _of_seconds(seconds: float) -> str:
    return "" if 0 <= seconds <= MAX_SECONDS else f"seconds are from 0 to {MAX_SECONDS}, a day"


def _of_flag(value: bool) -> str:  # noqa: FBT001  (a step's value)
    return "" if value else "it can only be true"


def _of_fill(count: int) -> str:
    return "" if 0 <= count <= MAX_FILL_BYTES else f"it takes at most {MAX_FILL_BYTES} bytes"


_SIGNALS = {*signal.Signals.__members__, *SIGNALS.values()}  # Windows has few of its own
_PROBLEMS: dict[str, Any] = {
    "fail": _of_fail,
    "bytes": _of_bytes,
    "repeat": _of_repeat,
    "wait": _of_seconds,
    "child": _of_seconds,
    "retry": lambda retry: _of_seconds(retry.wait),
    "silence": _of_flag,
    "hang": _of_flag,
    "fill": _of_fill,
    "exit": lambda code: "" if 0 <= code <= 255 else "a status is from 0 to 255",  # noqa: PLR2004
    "kill": lambda name: "" if name in _SIGNALS else "such as SIGKILL or SIGTERM",
    "update": lambda update: "" if update.get("sessionUpdate") else "sessionUpdate is missing",
}

_PLACE = re.compile(r" - at `\$(?P<path>[^`]*)`$")
_INDEXED = re.compile(r"^\.(?P<list>turns|starts|on_cancel)(?P<indices>(?:\[\d+\])*)(?P<rest>.*)$")
_UNKNOWN = re.compile(r"^Object contains unknown field `(?P<name>[^`]*)`")


def _explained(message: str) -> str:
    """Return what msgspec found, in words that name the turn and the step."""
    match = _PLACE.search(message)
    path = match["path"] if match else ""
    what = message[: match.start()] if match else message
    place = _INDEXED.match(path)
    where = path.lstrip(".")
    names: tuple[str, ...] = () if place and place["rest"] else _members_at(place)
    if place:
        numbers = [int(number) + 1 for number in re.findall(r"\d+", place["indices"])]
        words = {"turns": ["turn", "step"], "starts": ["start", "step"]}.get(
            place["list"], ["on_cancel, step"]
        )
        parts = [f"{word} {number}" for word, number in zip(words, numbers, strict=False)]
        rest = place["rest"].replace("[", ".").split(".")[1:]
        where = ", ".join([*(parts or [place["list"]]), *rest])
    unknown = _UNKNOWN.match(what)
    if unknown:
        like = difflib.get_close_matches(unknown["name"], names, n=2)
        hint = f"; did you mean {' or '.join(like)}?" if like else ""
        listed = f". There are: {', '.join(names)}" if names and not like else ""
        what = f'there is no "{unknown["name"]}" here{hint}{listed}'
    return f"{where}: {what}" if where else what


def _members_at(place: re.Match[str] | None) -> tuple[str, ...]:
    return STEPS if place else Script.__struct_fields__
