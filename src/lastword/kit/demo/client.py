"""The demo's clients for one turn: one like Zed, and one that knows `agent_error`.

Owns what each receives and shows. The first uses Zed's name and shows errors as Zed's own code
does; the second advertises `agent_error`.
"""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING, Any

import msgspec

from lastword.core.protocol import acp
from lastword.kit.peer import StrictClient

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Sequence

    from lastword.kit.peer import PeerEvent

PATIENCE_SECONDS = 60.0
"""How long a client of the demo waits for a start, a turn's end or an exit. What has not come by
then would, on a machine that is less busy: nothing can be told from it."""

PROMPT = "Why does the parser fail?"
TYPED = {"_meta": {"agent_error": {"version": 1}}}
ZED = {"name": "zed", "version": "1.18.1"}


class DemoTurn(msgspec.Struct, frozen=True, kw_only=True):
    """One turn as a client saw it.

    Attributes:
        answer: the answer to the prompt, `None` when none came.
        typed: the `error` of the typed update, when one came to a client that asked for it.
        text: what the agent had said before.
        frames: every line that came, in order.
        seconds: from the prompt to its answer, or to the end of the wait.
        ended: whether the process was gone without an answer.
        started: whether there was a session to send the prompt to.
    """

    answer: dict[str, Any] | None
    typed: dict[str, Any] | None
    text: str
    frames: list[str]
    seconds: float
    ended: bool
    started: bool = True


class DemoClient(StrictClient):
    """A client that stops waiting when the user stops the demo."""

    def __init__(self, command: Sequence[str], stopped: threading.Event) -> None:
        super().__init__(command, _defaults())
        self._stopped = stopped

    def wait(self, done: Callable[[], bool], seconds: float) -> bool:
        """Wait until something holds, the demo is stopped, or the time has passed."""
        return super().wait(lambda: done() or self._stopped.is_set(), seconds) and done()


def run_turn(
    command: Sequence[str],
    stopped: threading.Event,
    *,
    typed: bool,
    patience_seconds: float = PATIENCE_SECONDS,
) -> DemoTurn:
    """Start the command, send one prompt, and return the turn."""
    with DemoClient(command, stopped) as client:
        greeting = client.initialize(TYPED) if typed else client.initialize({}, info=ZED)
        client.answer_to(greeting, PATIENCE_SECONDS)
        started = client.answer_to(client.new_session(os.getcwd()), PATIENCE_SECONDS) is not None
        begin = time.monotonic()
        prompt = client.prompt("demo", PROMPT)
        answer = client.answer_to(prompt, patience_seconds) if started else None
        seconds = time.monotonic() - begin
        came = [event for event in client.events if not event.sent]
        return _turn_of(
            answer,
            came[: came.index(answer) + 1] if answer else came,
            seconds=seconds,
            ended=answer is None
            and not client.stdout.open
            and client.wait_for_exit(PATIENCE_SECONDS),
            started=started,
        )


def shown_by_zed(error: dict[str, Any]) -> str:
    """Return the text that Zed makes of a prompt's error.

    As `crates/agent_servers/src/acp.rs` and the `Display` of the protocol library's `Error` had it
    in autumn 2026: an internal error's `data.details` where it is the only key, else the message
    with `data` as JSON behind it.
    """
    data = error.get("data")
    is_internal = error["code"] == acp.INTERNAL_ERROR
    if is_internal and isinstance(data, dict) and set(data) == {"details"}:
        return str(data["details"])
    suffix = "" if data is None else f": {json.dumps(data, indent=2, ensure_ascii=False)}"
    return f"{error['message']}{suffix}"


def _turn_of(
    answer: PeerEvent | None,
    came: Sequence[PeerEvent],
    *,
    seconds: float,
    ended: bool,
    started: bool,
) -> DemoTurn:
    typed, text = None, ""
    for event in came:
        if event.kind == acp.V1.error_kind:
            typed = event.update["error"]
        elif event.kind == "agent_message_chunk":
            text += event.update["content"]["text"]
    return DemoTurn(
        answer=answer.frame if answer else None,
        typed=typed,
        text=text,
        frames=[event.raw.decode() for event in came],
        seconds=seconds,
        ended=ended,
        started=started,
    )


def _defaults() -> dict[str, str]:
    """Return the environment without the user's own options: the demo shows what the defaults do.

    It is not recorded or traced: its failures would look like the user's own.
    """
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith("LASTWORD_")
    }
    own = {"LASTWORD_NO_CONFIG": "1", "LASTWORD_NO_RECORD": "1", "OTEL_SDK_DISABLED": "true"}
    return inherited | own
