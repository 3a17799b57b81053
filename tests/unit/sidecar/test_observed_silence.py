"""Why an observed agent is silent: what its runtime says, and what its processes show."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from lastword.core.link.evidence import SilentTurn
from lastword.core.link.facts import Cause, SilenceCause
from lastword.sidecar.sources import Sources
from tests.kit.rows import every

SENT = 100.0
REQUEST = {"event": "request", "pid": 7, "id": 1, "path": "/v1/messages", "model": True}


class Observed(Sources):
    """Sources of an agent that has one request open, and nothing else to look at."""

    def __init__(self, seen: SilenceCause | None) -> None:
        self.causes: list[Cause | None] = []
        self.lines = [REQUEST]
        observer = SimpleNamespace(read=self._lines, close=print)
        start: Any = SimpleNamespace(port=None, group=1, observer=observer)
        turn = SilentTurn("s", SENT - 1, SENT - 1, number=1)
        connection: Any = SimpleNamespace(
            receive_hint=lambda *_: [],
            expects_hints=lambda **_: None,
            silent_turns=lambda *_: [turn],
            receive_silence=lambda cause, _: self.causes.append(cause and cause.cause),
        )
        loop: Any = SimpleNamespace(relay=SimpleNamespace(apply=lambda _: None))
        console: Any = SimpleNamespace(say=pytest.fail)
        super().__init__(connection, loop, start, console, lambda _: None, enabled=True)
        self.may_look = True
        looks: Any = SimpleNamespace(
            is_due=lambda *_, **__: self.may_look, look=lambda *_, **__: seen
        )
        self._silences = looks
        self.read_observer(SENT)
        self.look_at_processes(SENT + 5)

    def _lines(self) -> list[bytes]:
        lines, self.lines = self.lines, []
        return [json.dumps(line).encode() for line in lines]

    def look_at_processes(self, now: float) -> None:
        self._look_at_processes(now, 1.0, for_timer=False)


@every(
    ("tool_since", "cause"),
    [
        (None, Cause.PROVIDER),
        (SENT - 1, Cause.PROVIDER),
        # The open request was for a title, say: the turn goes on.
        (SENT + 1, Cause.TOOL),
    ],
)
def test_a_program_started_since_the_open_request_is_the_cause(
    tool_since: float | None, cause: Cause
) -> None:
    tool = None if tool_since is None else SilenceCause(cause=Cause.TOOL, since=tool_since)
    assert Observed(tool).causes == [cause]


def test_an_ended_request_is_not_a_cause_until_the_processes_are_read() -> None:
    observed = Observed(None)
    observed.lines = [{**REQUEST, "event": "error", "name": "TypeError"}]
    observed.read_observer(SENT + 6)
    observed.may_look = False
    for _ in range(2):
        observed.look_at_processes(SENT + 7)
    assert observed.causes == [Cause.PROVIDER, None]
