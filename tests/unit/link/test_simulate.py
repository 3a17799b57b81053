"""The simulator: no broken core gets by."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from lastword.core.failure.taxonomy import ErrorType
from lastword.core.link import agent_side, ending, failures
from lastword.core.link.connection import Connection, Side
from lastword.core.link.effects import FORWARD, Answer, Drop, Effect, Send
from lastword.core.link.state import OpenRequest
from lastword.core.protocol import jsonrpc
from lastword.core.restart import sessions
from lastword.core.restart.state import ReturningSession
from tests.kit.rows import every
from tests.kit.simulation.frames import KEY, prompt
from tests.kit.simulation.links import shortest
from tests.long import simulate

pytestmark = pytest.mark.no_cover  # thousands of turns, whose lines other tests reach


class Altered(Connection):
    """The core, with what it sends changed on the way out, which breaks a promise."""

    promise = ""

    def __init_subclass__(cls, promise: str) -> None:
        cls.promise = promise

    def receive(self, side: Side, message: Any, now: float) -> list[Effect]:
        return self.alter(super().receive(side, message, now), side, message)

    def receive_eof(self, side: Side, cause: Any, now: float) -> list[Effect]:
        return self.alter(super().receive_eof(side, cause, now), None, None)

    def handle_timeout(self, now: float) -> list[Effect]:
        return self.alter(super().handle_timeout(now), None, None)

    def alter(self, effects: list[Effect], _side: Side | None, _message: Any) -> list[Effect]:
        return effects


class AnswersTwice(Altered, promise="double"):
    """Every answer of ours is sent again."""

    def alter(self, effects: list[Effect], *_: Any) -> list[Effect]:
        return effects + [effect for effect in effects if isinstance(effect, Answer)]


class DropsAnswers(Altered, promise="silent"):
    """No answer of ours to the client is sent."""

    def alter(self, effects: list[Effect], *_: Any) -> list[Effect]:
        return [e for e in effects if not isinstance(e, Answer) or e.to is Side.AGENT]


class Leaks(Altered, promise="G5"):
    """A secret is in whatever we answer."""

    def alter(self, effects: list[Effect], *_: Any) -> list[Effect]:
        return [_with_data(e, KEY) if isinstance(e, Answer) else e for e in effects]


class SaysTooMuch(Altered, promise="G6"):
    """Our answers are longer than a frame may be."""

    def alter(self, effects: list[Effect], *_: Any) -> list[Effect]:
        return [_with_data(e, "y" * 70_000) if isinstance(e, Answer) else e for e in effects]


def _with_data(effect: Answer, text: str) -> Answer:
    members = msgspec.json.decode(effect.frame)
    members.setdefault("result" if "result" in members else "error", {})["more"] = text
    return Answer(effect.to, effect.request_id, msgspec.json.encode(members))


class ForgetsPayload(Altered, promise="G3"):
    """What the agent answered passes untyped."""

    def alter(self, effects: list[Effect], side: Side | None, message: Any) -> list[Effect]:
        answers = side is Side.AGENT and getattr(message, "message", None) is not None
        answers = answers and message.message.method is None
        failed = answers and any(isinstance(e, Answer) for e in effects)
        return [FORWARD] if failed else effects


class LetsAllPass(Altered, promise="late"):
    """What was to be kept back passes."""

    def alter(self, effects: list[Effect], side: Side | None, _message: Any) -> list[Effect]:
        return [FORWARD if isinstance(e, Drop) and side is Side.AGENT else e for e in effects]


class KeepsUpdates(Altered, promise="G4"):
    """Every healthy update is kept from the client."""

    def alter(self, effects: list[Effect], side: Side | None, message: Any) -> list[Effect]:
        is_update = side is Side.AGENT and getattr(message, "message", None) is not None
        if is_update and message.message.method == "session/update":
            return []
        return effects


class SaysMore(Altered, promise="late"):
    """A word of ours follows what ends a turn."""

    def alter(self, effects: list[Effect], *_: Any) -> list[Effect]:
        if any(isinstance(e, Answer) and e.to is Side.CLIENT for e in effects):
            more = {"sessionUpdate": "notice", "severity": "warning", "title": "One thing more."}
            frame = {"sessionId": "s1", "update": more}
            effects.append(Send(Side.CLIENT, jsonrpc.notification("session/update", frame)))
        return effects


class Raises(Altered, promise="raised"):
    """It raises because of what a peer sent."""

    def alter(self, effects: list[Effect], _side: Side | None, message: Any) -> list[Effect]:
        if isinstance(message, jsonrpc.Malformed):
            raise TypeError("this line is no frame")
        return effects


class Remembers(Altered, promise="unbounded"):
    """It keeps what every frame said."""

    def alter(self, effects: list[Effect], *_: Any) -> list[Effect]:
        held = self.link.withdrawn
        held.update(
            {b"%d" % number: OpenRequest("x") for number in range(len(held), len(held) + 300)}
        )
        return effects


class IsNeverDone(Altered, promise="unbounded"):
    """What is due is due again at once."""

    def next_timeout(self) -> float | None:
        due = super().next_timeout()
        return None if due is None else min(due, 50.0)


class WaitsForTheWatchdog(Altered, promise="silent"):
    """A line that is no JSON is nobody's."""

    def receive(self, side: Side, message: Any, now: float) -> list[Effect]:
        unread = isinstance(message, jsonrpc.Malformed)
        return [] if unread else super().receive(side, message, now)


class SkipsLongLines(Altered, promise="silent"):
    """A line that is too long is nobody's."""

    def receive_oversized(self, *_: Any) -> list[Effect]:
        return []


class TakesAnyId(Altered, promise="ids"):
    """A line that cannot be read answers for each id that stands anywhere in it."""

    def receive(self, side: Side, message: Any, now: float) -> list[Effect]:
        if not isinstance(message, jsonrpc.Malformed):
            return super().receive(side, message, now)
        asked = self.link.from_client
        broken = failures.own_failure(ErrorType.PROTOCOL_ERROR, "broken_answer")
        found = [known for known in list(asked) if b'"id":' + known in message.line]
        return [
            effect
            for one in found
            for effect in agent_side.fail_open_request(self.link, one, asked[one], broken)
        ]


class BelievesTheAgent(Altered, promise="cancel"):
    """What the agent calls a cancelled turn is what the client reads."""

    def alter(self, effects: list[Effect], side: Side | None, message: Any) -> list[Effect]:
        ends = side is Side.AGENT and b"end_turn" in getattr(message, "line", b"")
        answered = any(isinstance(e, Answer) and b'"cancelled"' in e.frame for e in effects)
        return [FORWARD] if ends and answered else effects


class HasNoRoom(Altered, promise="queue"):
    """A prompt that has to wait is refused."""

    def alter(self, effects: list[Effect], side: Side | None, message: Any) -> list[Effect]:
        if side is Side.CLIENT and not effects:
            full = failures.own_failure(ErrorType.AGENT_STALLED, "queue_full")
            return ending.refuse_prompt(self.link, self.link.session("s1"), message, full)
        return effects


class GoesOnTwice(Altered, promise="double"):
    """The prompt that ends a wait for a limit is sent twice."""

    def handle_timeout(self, now: float) -> list[Effect]:
        effects = super().handle_timeout(now)
        return effects + [
            effect for effect in effects if isinstance(effect, Send) and effect.to is Side.AGENT
        ]


class WaitsOnThoughCancelled(Altered, promise="cancel"):
    """A cancel does not reach what waits."""

    def receive(self, side: Side, message: Any, now: float) -> list[Effect]:
        is_cancel = side is Side.CLIENT and b'"session/cancel"' in message.line
        waits = any(turn.waits for session in self.link.sessions.values() for turn in session.turns)
        return [] if is_cancel and waits else super().receive(side, message, now)


class WaitsForEver(Altered, promise="double"):
    """A limit that is too far away is waited for all the same."""

    def __init__(self, options: Any) -> None:
        far = options.continue_at_reset_seconds and 1e9
        super().__init__(msgspec.structs.replace(options, continue_at_reset_seconds=far))


class CountsAllThatIsEqual(Altered, promise="late"):
    """What was shown between two equal sentences does not make them others."""

    def receive(self, side: Side, message: Any, now: float) -> list[Effect]:
        if b'"tool_call"' in getattr(message, "line", b""):
            return [FORWARD]
        return super().receive(side, message, now)


class HidesTheModel(Altered, promise="mode"):
    """The client is not shown to which model the session was switched."""

    def alter(self, effects: list[Effect], *_: Any) -> list[Effect]:
        hidden = b"config_option_update"
        return [e for e in effects if not (isinstance(e, Send) and hidden in e.frame)]


class ForgetsTheAgent(Altered, promise="ids"):
    """An answer to a dead agent reaches the next one."""

    def alter(self, effects: list[Effect], side: Side | None, message: Any) -> list[Effect]:
        answers = side is Side.CLIENT and message.message.method is None
        return [FORWARD] if answers else effects


def _played(core: type[Connection], promise: str) -> simulate.Tally:
    """The links of a seed until one breaks the promise; the real core keeps them all."""
    tally = simulate.Tally(1, core)
    while promise not in tally.broken and tally.links < 300:
        tally.play(tally.links)
    return tally


@every("core", Altered.__subclasses__())
def test_random_schedules_find_a_core_that_breaks_a_promise(core: type[Altered]) -> None:
    assert core.promise in _played(core, core.promise).broken


def test_random_schedules_find_a_prompt_in_another_mode_than_the_client_shows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ReturningSession, "correct", lambda *_: None)
    monkeypatch.setattr(sessions, "_report_choices", lambda *_: [])
    assert "mode" in _played(Connection, "mode").broken


def test_a_failing_schedule_is_reduced_to_its_essential_events() -> None:
    failing = [("client", prompt(b"1", b"s1")), ("die", None, 9)]
    long = [("time", 1.0), *failing, ("time", 5.0), ("stderr", b"x")]
    reduced = shortest({"idle_timeout_seconds": 30.0}, long, "double", AnswersTwice)
    assert reduced == ({}, failing)


def test_a_failure_is_printed_as_a_test_that_can_be_pasted() -> None:
    told = simulate.explain(1, _played(AnswersTwice, "double").links - 1, AnswersTwice)
    assert "def test_" in told
    compile(told.split("\n", 1)[1], "told", "exec")
