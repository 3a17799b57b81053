"""Scenarios: the language of scripts, and the scenarios that are written in it.

Owns the shape of a script, which is also the format of a scenario file (JSON, or YAML if its
package is installed), and the messages about a file: where, what is wrong, and what to do.
`kit.agent.scripted` carries out the steps. Our own scenarios are in `scenarios.json`, in the groups
in which they are shown. Their answers resemble those of model providers; every id and key is made
up. The advice is derived from `lastword.client.describe`.
"""

from __future__ import annotations

import difflib
import importlib
import json
import re
import signal
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

from lastword.core.classify.process import SIGNALS
from lastword.core.failure.taxonomy import (
    DEFAULTS,
    Action,
    AgentError,
    ErrorType,
    Phase,
    RetrySafety,
)
from lastword.core.protocol import acp


class _Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A part of a script, which refuses unknown members."""


class Tool(_Part, frozen=True, kw_only=True):
    """A tool call, or the end of one.

    Attributes:
        title: The text that the user reads; without it, this updates an earlier call.
        kind: `read`, `edit`, `execute` and so on. All but `read`, `search`, `think` and `fetch`
            count as having side effects.
        status: `pending`, `in_progress`, `completed` or `failed`.
        id: The call's id.
    """

    title: str = ""
    kind: str = "other"
    status: Literal["pending", "in_progress", "completed", "failed"] = "in_progress"
    id: str = "call_1"


class ClientRequest(_Part, frozen=True, kw_only=True):
    """A request to the client.

    Attributes:
        method: Such as `session/request_permission` or `terminal/create`.
        params: Its params; the session's id is added.
        wait: Whether the turn waits for the client's answer.
    """

    method: str
    params: dict[str, Any] = {}
    wait: bool = True


class Fail(_Part, frozen=True, kw_only=True):
    """The failure of a turn: exactly one of the first four members.

    Attributes:
        http: The model provider's status, reported as agents do.
        exception: The text of an exception, reported as agents do.
        error: The JSON-RPC error object itself.
        agent_error: A payload of the `agent_error` extension, from an agent that speaks it.
        message: With `http`: the provider's message.
        code: With `http`: the provider's code.
        headers: With `http`: the response's headers, such as `retry-after`.
        refused: In protocol version 2, the prompt is rejected. Must be the turn's first step.
    """

    http: int | None = None
    exception: str | None = None
    error: Any = UNSET
    agent_error: dict[str, Any] | None = None
    message: str = ""
    code: str = ""
    headers: dict[str, str] = {}
    refused: bool = False


class RetryStep(_Part, frozen=True, kw_only=True):
    """The agent reports that it retries its model call.

    Attributes:
        attempt: The number of the next attempt; the first was 1.
        http: The status of the last attempt.
        message: The provider's message.
        wait: Seconds that the agent then waits.
    """

    attempt: int
    http: int = 529
    message: str = "Overloaded"
    wait: float = 0


class Repeat(_Part, frozen=True, kw_only=True):
    """Repeated steps; `times` 0 is forever."""

    steps: tuple[Step, ...]
    times: int = 0


class Step(_Part, frozen=True, kw_only=True):
    """One step: exactly one of these.

    Attributes:
        say: A piece of the agent's text.
        think: A piece of its reasoning.
        tool: A tool call.
        update: Any `session/update`, sent unchanged.
        ask: A request to the client.
        ask_permission: A permission dialog with this title; the turn waits for its answer.
        ask_permissions: Several such dialogs at once. The turn waits for all answers, and writes
            them as text in the order of the titles.
        wait: Seconds of silence. A cancel ends it.
        silence: Silence until the user cancels.
        retry: The agent reports that it retries its model call.
        repeat: Repeated steps.
        fail: The turn ends with a failure.
        result: The turn ends: a stop reason, or a whole result.
        raw: A line on stdout: a text unchanged, anything else as JSON. `$id` and `$session` in it
            become the prompt's id and its session's.
        bytes: Bytes on stdout, in hexadecimal, without a line end.
        fill: This many bytes of text in one frame.
        stderr: A text on stderr, with a line end.
        exit: The process exits with this status.
        kill: The process gets this signal, such as `SIGKILL`.
        hang: The process reads and writes nothing more.
        child: A process that holds stdout and stderr open for this many seconds.
        close: `stdout` or `stdin` is closed.
    """

    say: str | UnsetType = UNSET
    think: str | UnsetType = UNSET
    tool: Tool | UnsetType = UNSET
    update: dict[str, Any] | UnsetType = UNSET
    ask: ClientRequest | UnsetType = UNSET
    ask_permission: str | UnsetType = UNSET
    ask_permissions: tuple[str, ...] | UnsetType = UNSET
    wait: float | UnsetType = UNSET
    silence: bool | UnsetType = UNSET
    retry: RetryStep | UnsetType = UNSET
    repeat: Repeat | UnsetType = UNSET
    fail: Fail | UnsetType = UNSET
    result: str | dict[str, Any] | UnsetType = UNSET
    raw: Any = UNSET
    bytes: str | UnsetType = UNSET
    fill: int | UnsetType = UNSET
    stderr: str | UnsetType = UNSET
    exit: int | UnsetType = UNSET
    kill: str | UnsetType = UNSET
    hang: bool | UnsetType = UNSET
    child: float | UnsetType = UNSET
    close: Literal["stdin", "stdout"] | UnsetType = UNSET

    @property
    def action(self) -> tuple[str, Any]:
        """The name and the value of the step's only member."""
        return next((name, value) for name in STEPS if (value := getattr(self, name)) is not UNSET)


STEPS = Step.__struct_fields__
"""The names of all steps."""

Steps: TypeAlias = tuple[Step, ...]


class Script(_Part, frozen=True, kw_only=True):
    """A whole scenario.

    Attributes:
        turns: The steps of the first prompt, the second and so on; the last one repeats.
        starts: The steps of each start of the process, before it reads; the last one repeats.
        on_cancel: `confirm` ends a cancelled turn as the protocol requires, `ignore` continues it,
            and steps replace the rest of it.
        sessions: What happens to a session when the process is restarted: `resume` and `load`
            bring it back by that method, `lost` does not.
        login: Whether the agent offers a login.
        models: The models that a session offers as a config option, beginning with the current
            one, and how the agent reacts to the choice: it switches, refuses, hangs or crashes.
        run: Options of `lastword run` in front, such as `{"idle-timeout": 5}`.
        sees: What the client sees, in a sentence.
    """

    turns: tuple[Steps, ...]
    starts: tuple[Steps, ...] = ()
    on_cancel: Literal["confirm", "ignore"] | Steps = "confirm"
    sessions: Literal["resume", "load", "lost"] = "resume"
    login: bool = False
    models: dict[str, Literal["switch", "refuse", "hang", "crash"]] = {}
    run: dict[str, float | str] = {}
    sees: str = ""

    def turn(self, number: int) -> Steps:
        """Return the steps of a turn; the first is 0."""
        return self.turns[min(number, len(self.turns) - 1)]

    def accepts_prompt(self, number: int) -> bool:
        """Return whether a turn accepts its prompt, rather than rejecting it."""
        fail = self.turn(number)[0].fail if self.turn(number) else UNSET
        return not (isinstance(fail, Fail) and fail.refused)

    def start(self, life: int) -> Steps:
        """Return the steps of a start of the process; the first is 1."""
        return self.starts[min(life, len(self.starts)) - 1] if self.starts else ()


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
    try:
        return script_of(_read(Path(path)))
    except ScriptError as error:
        raise ScriptError(f"{path}: {error}") from error


def _read(file: Path) -> object:
    """Return the values in a JSON or YAML file.

    Raises:
        ScriptError: The file cannot be read.
    """
    try:
        data = file.read_bytes()[: MAX_FILE_BYTES + 1]
    except OSError as error:
        raise ScriptError((error.strerror or "cannot be read").lower()) from error
    if len(data) > MAX_FILE_BYTES:
        raise ScriptError(f"a scenario file is at most {MAX_FILE_BYTES // 1024} KiB long")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise ScriptError(f"the file is not UTF-8 (byte {error.start})") from error
    if file.suffix.lower() not in YAML_SUFFIXES:
        try:
            return json.loads(text)
        except ValueError as error:
            hint = "The name of a YAML file ends in .yaml"
            raise ScriptError(f"invalid JSON: {error}. {hint}") from error
        except RecursionError as error:
            raise ScriptError("nested too deeply") from error
    try:
        # An optional package, whose type stubs would be another one.
        yaml: Any = importlib.import_module("yaml")
    except ImportError as error:
        # Only for this message.
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
    for number, steps in enumerate(script.turns, 1):
        _check(steps, f"turn {number}")
    for number, steps in enumerate(script.starts, 1):
        _check(steps, f"start {number}")
    if not isinstance(script.on_cancel, str):
        _check(script.on_cancel, "on_cancel")
    return script


def _check(steps: Steps, place: str) -> None:
    """Raise ScriptError for problems that the types do not cover."""
    for number, step in enumerate(steps, 1):
        where = f"{place}, step {number}"
        named = [name for name in STEPS if getattr(step, name) is not UNSET]
        if len(named) != 1:
            what = f"these are {len(named)}: {', '.join(named)}" if named else "this one is empty"
            raise ScriptError(f"{where}: a step is one of {', '.join(STEPS)}; {what}")
        name, value = step.action
        if problem := _problem_with(name, value):
            raise ScriptError(f"{where}, {name}: {problem}")
        if place.startswith("start ") and name in ENDS_TURN:
            raise ScriptError(f"{where}, {name}: a start has no turn to end")
        if isinstance(value, Repeat):
            _check(value.steps, f"{where}, repeat")


_SIGNALS = {*signal.Signals.__members__, *SIGNALS.values()}  # Windows has few of its own


def _problem_with(name: str, value: Any) -> str:
    """Return what is wrong with a step's value, empty if it can be used."""
    match name:
        case "fail":
            return _problem_with_failure(value)
        case "bytes":
            try:
                bytes.fromhex(value)
            except ValueError:
                return 'write bytes in hexadecimal, such as "ff fe 0a"'
        case "repeat" if not value.steps:
            return "there are no steps to repeat"
        case "repeat" if value.times < 0:
            return "times is at least 1, or 0 for no limit"
        case "wait" | "child" | "retry":
            seconds = value.wait if name == "retry" else value
            if not 0 <= seconds <= MAX_SECONDS:
                return f"seconds are from 0 to {MAX_SECONDS}, a day"
        case "silence" | "hang" if not value:
            return "it can only be true"
        case "fill" if not 0 <= value <= MAX_FILL_BYTES:
            return f"it takes at most {MAX_FILL_BYTES} bytes"
        case "exit" if not 0 <= value <= 255:  # noqa: PLR2004
            return "a status is from 0 to 255"
        case "kill" if value not in _SIGNALS:
            return "such as SIGKILL or SIGTERM"
        case "update" if not value.get("sessionUpdate"):
            return "sessionUpdate is missing"
    return ""


def _problem_with_failure(fail: Fail) -> str:
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


_PLACE = re.compile(r" - at `\$(?P<path>[^`]*)`$")
_INDEXED = re.compile(r"^\.(?P<list>turns|starts|on_cancel)(?P<indices>(?:\[\d+\])*)(?P<rest>.*)$")
_UNKNOWN = re.compile(r"^Object contains unknown field `(?P<name>[^`]*)`")


def _explained(message: str) -> str:
    """Return msgspec's message in words that name the turn and the step."""
    match = _PLACE.search(message)
    path = match["path"] if match else ""
    what = message[: match.start()] if match else message
    place = _INDEXED.match(path)
    where = path.lstrip(".")
    names: tuple[str, ...] = STEPS if place else Script.__struct_fields__
    if place and place["rest"]:
        names = ()
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


ENDS_WELL = "show the turn as any other"

# For an agent that is restarted automatically. A copy of `wording.choose_action`, which takes 70 ms
# to import; the process tests compare it with the payload that is sent.
_AFTER_A_RESTART = {
    RetrySafety.AUTO: Action.RETRY,
    RetrySafety.OFFER_CONTINUE: Action.CONTINUE,
    RetrySafety.ASK: Action.CONFIRM_RETRY,
}


class ExpectedFailure(msgspec.Struct, frozen=True, kw_only=True):
    """The failure that a client gets from lastword, in front of the agent or within it.

    Attributes:
        type: The error type.
        retryable: Whether a retry would help; `None` for the type's default.
        retry_safety: Whether a retry could do harm; `None` for `auto` if it would help, else
            `never`.
        phase: The turn's phase at the failure.
        wait_seconds: The wait that the provider requested.
        resets: Whether a limit ends at a known time.
        reason: The code of the cause.
        action: What helps, if neither the type nor `retry_safety` implies it.
    """

    type: ErrorType
    retryable: bool | None = None
    retry_safety: RetrySafety | None = None
    phase: Phase = Phase.BEFORE_OUTPUT
    wait_seconds: int | None = None
    resets: bool = False
    reason: str | None = None
    action: Action | None = None

    @property
    def error(self) -> AgentError:
        """The failure as a payload without a message."""
        retryable = DEFAULTS[self.type].retryable if self.retryable is None else self.retryable
        safety = self.retry_safety or (RetrySafety.AUTO if retryable else RetrySafety.NEVER)
        restarts = retryable and DEFAULTS[self.type].action is Action.RESTART
        return AgentError(
            type=self.type,
            message="",
            retryable=retryable,
            retry_safety=safety,
            action=self.action or (_AFTER_A_RESTART.get(safety) if restarts else None),
            phase=self.phase,
            retry_after_seconds=self.wait_seconds,
            reason=self.reason,
        )


class Scenario(msgspec.Struct, frozen=True, kw_only=True):
    """One scenario.

    Attributes:
        name: Its name.
        sees: What a client sees, in one line; for a wire fault, without lastword in front.
        script: What the agent does.
        failure: The failure that the client gets, `None` if the turn succeeds.
        then: What a good client does in addition to the advice for the failure.
        bare: Whether it is about an agent without lastword.
        failure_v2: The failure in protocol version 2, if it differs: there the answer to a prompt
            does not end a turn.
    """

    name: str
    sees: str
    script: Script
    failure: ExpectedFailure | None = None
    then: str = ""
    bare: bool = False
    failure_v2: ExpectedFailure | UnsetType | None = UNSET

    def failure_in(self, version: int) -> ExpectedFailure | None:
        """Return the failure that a client of this protocol version gets."""
        same = version == acp.V1.version
        return self.failure if same or isinstance(self.failure_v2, UnsetType) else self.failure_v2

    @property
    def error_type(self) -> ErrorType | None:
        return self.failure.type if self.failure else None

    @property
    def per_turn(self) -> bool:
        """Whether a prompt can request it; otherwise it concerns the whole process."""
        script = self.script
        return not (script.starts or script.run or script.login) and script.sessions == "resume"

    @property
    def advice(self) -> str:
        """What a client's author should do about the failure."""
        # The reader's models take over 100 ms to load, which an agent's start does not need.
        from lastword.client.display import describe  # noqa: PLC0415

        if self.failure is None or self.failure.type is ErrorType.CANCELLED:
            return self.then or ENDS_WELL
        view = describe(self.failure.error, now=0)
        words = "show the sentence"
        if view.wait_seconds:
            words += f" and a countdown ({view.countdown})"
        elif self.failure.resets:
            words += " and when the limit ends"
        button = f'"{view.button}"'
        if view.automatic:
            after = ", then" if view.wait_seconds else ";"
            words += f"{after} resend unasked, a few times at most, or offer {button}"
        elif not view.can_retry:
            words += f"; no resend; offer {button}"
        elif view.needs_confirmation:
            words += f"; offer {button}, and resend only if the user agrees"
        else:
            words += f"; offer {button}; no automatic resend"
        return f"{words}; {self.then}" if self.then else words

    def listed(self) -> dict[str, Any]:
        """Return the scenario for programs; `client` is an older name of `advice`."""
        failure, second = self.failure, self.failure_in(acp.V2.version)
        return {
            "name": self.name,
            "error_type": failure.type.value if failure else None,
            "error": _plain(failure) if failure else None,
            "error_in_version_2": _plain(second) if second else None,
            "sees": self.sees,
            "advice": self.advice,
            "client": self.advice,
            "bare": self.bare,
            "per_turn": self.per_turn,
            "script": _without_points(msgspec.to_builtins(self.script)),
        }


def _without_points(value: Any) -> Any:
    """Return plain values in which whole numbers have no decimal point."""
    if isinstance(value, dict):
        return {name: _without_points(member) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [_without_points(member) for member in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _plain(failure: ExpectedFailure) -> dict[str, Any]:
    return {key: value for key, value in failure.error.payload().items() if key != "message"}


_FLOODS = {
    b"(1000 debug lines)": (b"DEBUG provider.stream: chunk without data, trying again", 1000),
    b"(10000 warnings)": (b"a warning that nobody reads, from a debug log", 10_000),
}
"""Texts that are too long for the file."""


def _read_groups() -> dict[str, tuple[Scenario, ...]]:
    data = Path(__file__).with_suffix(".json").read_bytes()
    for name, (line, count) in _FLOODS.items():
        data = data.replace(name, rb"\n".join([line] * count))
    return msgspec.json.decode(data, type=dict[str, tuple[Scenario, ...]])


GROUPS = _read_groups()
SCENARIOS = {scenario.name: scenario for group in GROUPS.values() for scenario in group}


def unknown(name: str) -> str:
    """Return the sentence for an unknown scenario, without its full stop."""
    like = difflib.get_close_matches(name.lower(), SCENARIOS, n=3, cutoff=0.6)
    hint = f" (did you mean {' or '.join(like)}?)" if like else ""
    return f'there is no scenario "{name[:40]}"{hint}'
