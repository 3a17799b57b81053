"""The language of scenarios: steps, and turns made of steps.

Owns the shape of a script, which is also the format of a scenario file. `kit.agent.script_files`
reads and checks a file; `kit.agent.player` carries out the steps.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType


class _Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A part of a script: a value that refuses unknown members."""


class Tool(_Part, frozen=True, kw_only=True):
    """A tool call, or the end of one.

    Attributes:
        title: What the user reads; without it, the call is one that was shown before.
        kind: `read`, `edit`, `execute` and so on. All but `read`, `search`, `think` and `fetch`
            count as having side effects.
        status: `pending`, `in_progress`, `completed` or `failed`.
        id: Which call it is.
    """

    title: str = ""
    kind: str = "other"
    status: Literal["pending", "in_progress", "completed", "failed"] = "in_progress"
    id: str = "call_1"


class ClientRequest(_Part, frozen=True, kw_only=True):
    """A request to the client.

    Attributes:
        method: Such as `session/request_permission` or `terminal/create`.
        params: Without the session, which is put in.
        wait: Whether the turn waits for the client's answer.
    """

    method: str
    params: dict[str, Any] = {}
    wait: bool = True


class Fail(_Part, frozen=True, kw_only=True):
    """The failure of a turn: exactly one of the first four members.

    Attributes:
        http: The status that the model provider answered, in the way agents pass it on.
        exception: The text of an exception, in the same way.
        error: The JSON-RPC error object itself, whatever it holds.
        agent_error: A payload of the `agent_error` extension, from an agent that speaks it.
        message: With `http`: what the provider said.
        code: With `http`: the provider's own word for it.
        headers: With `http`: the answer's headers, such as `retry-after`.
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
    """The agent says that it tries its model call again.

    Attributes:
        attempt: The number of the try that comes next; the first was 1.
        http: The status that the last one failed with.
        message: What the provider said.
        wait: Seconds that the agent then waits.
    """

    attempt: int
    http: int = 529
    message: str = "Overloaded"
    wait: float = 0


class Repeat(_Part, frozen=True, kw_only=True):
    """Repeated steps; `times` 0 is for ever."""

    steps: tuple[Step, ...]
    times: int = 0


class Step(_Part, frozen=True, kw_only=True):
    """One step: exactly one of these.

    Attributes:
        say: A piece of the agent's text.
        think: A piece of its reasoning.
        tool: A tool call.
        update: Any `session/update`, as it goes over the wire.
        ask: A request to the client.
        ask_permission: A permission dialog with this title; the turn waits for its answer.
        ask_permissions: Several such dialogs that are open at once. The turn waits for all answers,
            and says in the order of the titles how each was answered.
        wait: Seconds of silence. A cancel ends it.
        silence: Silence until the user cancels.
        retry: The agent says that it tries its model call again.
        repeat: Repeated steps.
        fail: The turn ends with a failure.
        result: The turn ends: a stop reason, or a whole result.
        raw: A line on stdout: a text as it is, anything else as JSON. `$id` and `$session` in it
            are the prompt's id and its session.
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
        """Its one member that is set, as name and value."""
        return next((name, value) for name in STEPS if (value := getattr(self, name)) is not UNSET)


STEPS = Step.__struct_fields__
"""The names of all steps."""

Steps: TypeAlias = tuple[Step, ...]


class Script(_Part, frozen=True, kw_only=True):
    """A whole scenario.

    Attributes:
        turns: The first prompt plays the first, and so on; the last one repeats.
        starts: What each start of the process does before it reads anything; the last one repeats.
        on_cancel: `confirm` ends a cancelled turn as the protocol has it, `ignore` goes on with
            it, and steps are played in its place.
        sessions: What happens to a session when the process is restarted: `resume` and `load`
            bring it back by that method, `lost` does not.
        login: Whether the agent offers a login.
        models: The models that a session offers as a config option, the first one in force, each
            with what comes of choosing it: the agent switches, refuses, never answers, or crashes.
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
        """Return the steps of a turn, from 0."""
        return self.turns[min(number, len(self.turns) - 1)]

    def accepts_prompt(self, number: int) -> bool:
        """Return whether a turn accepts its prompt, rather than rejecting it."""
        fail = self.turn(number)[0].fail if self.turn(number) else UNSET
        return not (isinstance(fail, Fail) and fail.refused)

    def start(self, life: int) -> Steps:
        """Return the steps of a start of the process, from 1."""
        return self.starts[min(life, len(self.starts)) - 1] if self.starts else ()
