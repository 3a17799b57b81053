"""The player of steps: one turn, or one start of the process.

Owns the effect of each step on the wire and the process, and how a cancel ends a turn.
"""

from __future__ import annotations

import json
import os
import signal
import threading
from typing import TYPE_CHECKING, Any, NoReturn

from lastword.core.classify.gather import signal_number
from lastword.core.protocol import acp
from lastword.kit.agent.plain import (
    FOR_EVER_SECONDS,
    STDERR,
    STDIN,
    STDOUT,
    die,
    hang,
    start_child,
    write_all,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from lastword.kit.agent.script import ClientRequest, Fail, Repeat, RetryStep, Steps, Tool
    from lastword.kit.agent.wire import Wire


class Cancelled(Exception):  # noqa: N818  (the user's choice, not an error)
    """The user cancelled the turn."""


class Answers:
    """The client's answers to the agent's requests, by the number of the request."""

    def __init__(self) -> None:
        self._came: dict[object, Any] = {}
        self._changed = threading.Condition()

    def put(self, number: object, result: object) -> None:
        """Note that an answer came."""
        with self._changed:
            self._came.setdefault(number, result)
            self._changed.notify_all()

    def wait(self, number: int, is_over: Callable[[], bool]) -> None:
        """Wait for one, or until the turn is over."""
        with self._changed:
            self._changed.wait_for(lambda: number in self._came or is_over())

    def outcome_of(self, number: int) -> str:
        """Return how the user answered a permission dialog: the option's id, or a word."""
        with self._changed:
            result = self._came.get(number)
        outcome = result.get("outcome") if isinstance(result, dict) else None
        members = outcome if isinstance(outcome, dict) else {}
        return str(members.get("optionId") or members.get("outcome") or "unknown")

    def wake(self) -> None:
        """Let those who wait look again whether their turn is over."""
        with self._changed:
            self._changed.notify_all()


class PlayedTurn:
    """A prompt, or a start of the process, while its steps are carried out.

    Attributes:
        wire: stdout.
        answers: The client's answers.
        session_id: The prompt's session.
        prompt: The prompt's id.
        message_id: The id of the agent's message, in version 2.
        cancelled: Set once the user cancelled it, unless it ignores that.
    """

    def __init__(
        self,
        wire: Wire,
        answers: Answers,
        *,
        session_id: str = "",
        prompt: object = None,
        message_id: str = "",
    ) -> None:
        self.wire = wire
        self.answers = answers
        self.session_id = session_id
        self.prompt = prompt
        self.message_id = message_id
        self.cancelled: threading.Event = threading.Event()

    def cancel(self) -> None:
        """Note that the user cancels it."""
        self.cancelled.set()
        self.answers.wake()

    def pause(self, seconds: float) -> None:
        """Wait.

        Raises:
            Cancelled: The user cancelled the turn meanwhile.
        """
        if self.cancelled.wait(seconds):
            raise Cancelled

    def play(self, steps: Steps, on_cancel: Steps | None = None) -> None:
        """Carry the steps out; a cancel goes on with other steps, or is confirmed."""
        try:
            _all(self, steps)
        except Cancelled:
            self.cancelled.clear()
            if on_cancel is None:
                self.wire.end(self.prompt, self.session_id, {"stopReason": acp.CANCELLED})
            else:
                self.play(on_cancel)


def _all(turn: PlayedTurn, steps: Steps) -> None:
    for step in steps:
        name, value = step.action
        turn.pause(0)
        _DOES[name](turn, value)


def _say(turn: PlayedTurn, text: str) -> None:
    turn.wire.chunk(turn.session_id, "agent_message_chunk", text, turn.message_id)


def _think(turn: PlayedTurn, text: str) -> None:
    turn.wire.chunk(turn.session_id, "agent_thought_chunk", text, f"{turn.message_id}-thought")


def _tool(turn: PlayedTurn, tool: Tool) -> None:
    turn.wire.tool(turn.session_id, tool)


def _update(turn: PlayedTurn, update: dict[str, Any]) -> None:
    turn.wire.update(turn.session_id, update)


def _request(turn: PlayedTurn, request: ClientRequest) -> None:
    number = turn.wire.request(turn.session_id, request.method, request.params)
    if request.wait:
        turn.answers.wait(number, turn.cancelled.is_set)


def _request_permission(turn: PlayedTurn, title: str) -> None:
    number = turn.wire.permission(turn.session_id, title)
    turn.answers.wait(number, turn.cancelled.is_set)


def _request_permissions(turn: PlayedTurn, titles: tuple[str, ...]) -> None:
    numbers = [
        turn.wire.permission(turn.session_id, title, f"asked_{at}")
        for at, title in enumerate(titles, 1)
    ]
    for number in numbers:
        turn.answers.wait(number, turn.cancelled.is_set)
    turn.pause(0)
    for title, number in zip(titles, numbers, strict=True):
        _say(turn, f"{title}: {turn.answers.outcome_of(number)}. ")


def _retry(turn: PlayedTurn, retry: RetryStep) -> None:
    turn.wire.retry(turn.session_id, retry)
    turn.pause(retry.wait)


def _repeat(turn: PlayedTurn, repeat: Repeat) -> None:
    done = 0
    while not repeat.times or done < repeat.times:
        _all(turn, repeat.steps)
        done += 1


def _fail(turn: PlayedTurn, fail: Fail) -> None:
    turn.wire.fail(turn.prompt, turn.session_id, fail)


def _result(turn: PlayedTurn, result: str | dict[str, Any]) -> None:
    whole = {"stopReason": result} if isinstance(result, str) else result
    turn.wire.end(turn.prompt, turn.session_id, whole)


def _raw(turn: PlayedTurn, line: object) -> None:
    own = json.dumps(turn.prompt)
    # In JSON a placeholder is a text, quotes and all; in a text it stands for itself.
    text = line.replace("$id", own) if isinstance(line, str) else _filled(line, own)
    turn.wire.write(
        text.replace("$session", turn.session_id).encode("utf-8", "surrogatepass") + b"\n"
    )


def _filled(line: object, own: str) -> str:
    return json.dumps(line).replace('"$id"', own)


def _fill(turn: PlayedTurn, count: int) -> None:
    _say(turn, "x" * count)


def _stderr(_turn: PlayedTurn, text: str) -> None:
    write_all(STDERR, text.encode("utf-8", "surrogatepass") + b"\n")


def _exit(_turn: PlayedTurn, code: int) -> NoReturn:
    os._exit(code)


def _kill(_turn: PlayedTurn, name: str) -> NoReturn:
    own = signal.Signals.__members__.get(name)  # Windows has few of them
    die(own if own is not None else signal_number(name) or 0)


def _hang(turn: PlayedTurn, _: object) -> NoReturn:
    turn.wire.freeze()
    hang()


def _child(_turn: PlayedTurn, seconds: float) -> None:
    # As a real agent's: it outlives the agent and its group.
    start_child(seconds, apart=True)


def _close(_turn: PlayedTurn, stream: str) -> None:
    os.close(STDIN if stream == "stdin" else STDOUT)


_DOES: dict[str, Callable[[PlayedTurn, Any], None]] = {
    "say": _say,
    "think": _think,
    "tool": _tool,
    "update": _update,
    "ask": _request,
    "ask_permission": _request_permission,
    "ask_permissions": _request_permissions,
    "wait": PlayedTurn.pause,
    "silence": lambda turn, _: turn.pause(FOR_EVER_SECONDS),
    "retry": _retry,
    "repeat": _repeat,
    "fail": _fail,
    "result": _result,
    "raw": _raw,
    "bytes": lambda turn, text: turn.wire.write(bytes.fromhex(text)),
    "fill": _fill,
    "stderr": _stderr,
    "exit": _exit,
    "kill": _kill,
    "hang": _hang,
    "child": _child,
    "close": _close,
}
