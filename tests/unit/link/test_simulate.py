"""The simulator: no broken core gets by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
from tests.kit.simulation.clients import initialize
from tests.kit.simulation.frames import (
    KEY,
    cancel,
    chunk,
    models,
    prompt,
    request,
    result,
    stopped,
    tool,
    update,
)
from tests.kit.simulation.links import Drawn, replay
from tests.kit.simulation.shrink import shortest
from tests.long import simulate

if TYPE_CHECKING:
    from tests.kit.simulation.ledger import BrokenPromiseError

pytestmark = pytest.mark.no_cover  # thousands of turns, whose lines other tests reach


class Altered(Connection):
    """The core, with what it sends changed on the way out."""

    def receive(self, side: Side, message: Any, now: float) -> list[Effect]:
        return self.alter(super().receive(side, message, now), side, message)

    def receive_eof(self, side: Side, cause: Any, now: float) -> list[Effect]:
        return self.alter(super().receive_eof(side, cause, now), None, None)

    def handle_timeout(self, now: float) -> list[Effect]:
        return self.alter(super().handle_timeout(now), None, None)

    def alter(self, effects: list[Effect], _side: Side | None, _message: Any) -> list[Effect]:
        return effects


class AnswersTwice(Altered):
    """Every answer of ours is sent again."""

    def alter(self, effects: list[Effect], *_: Any) -> list[Effect]:
        return effects + [effect for effect in effects if isinstance(effect, Answer)]


class DropsAnswers(Altered):
    """No answer of ours to the client is sent."""

    def alter(self, effects: list[Effect], *_: Any) -> list[Effect]:
        return [e for e in effects if not isinstance(e, Answer) or e.to is Side.AGENT]


class Leaks(Altered):
    """A secret is in whatever we answer."""

    def alter(self, effects: list[Effect], *_: Any) -> list[Effect]:
        return [_with_data(e, KEY) if isinstance(e, Answer) else e for e in effects]


class SaysTooMuch(Altered):
    """Our answers are longer than a frame may be."""

    def alter(self, effects: list[Effect], *_: Any) -> list[Effect]:
        return [_with_data(e, "y" * 70_000) if isinstance(e, Answer) else e for e in effects]


def _with_data(effect: Answer, text: str) -> Answer:
    members = msgspec.json.decode(effect.frame)
    members.setdefault("result" if "result" in members else "error", {})["more"] = text
    return Answer(effect.to, effect.request_id, msgspec.json.encode(members))


class ForgetsPayload(Altered):
    """What the agent answered passes untyped."""

    def alter(self, effects: list[Effect], side: Side | None, message: Any) -> list[Effect]:
        failed = side is Side.AGENT and getattr(message, "message", None) is not None
        if (
            failed
            and message.message.method is None
            and any(isinstance(e, Answer) for e in effects)
        ):
            return [FORWARD]
        return effects


class LetsAllPass(Altered):
    """What was to be kept back passes."""

    def alter(self, effects: list[Effect], side: Side | None, _message: Any) -> list[Effect]:
        return [FORWARD if isinstance(e, Drop) and side is Side.AGENT else e for e in effects]


class KeepsUpdates(Altered):
    """Every healthy update is kept from the client."""

    def alter(self, effects: list[Effect], side: Side | None, message: Any) -> list[Effect]:
        is_update = side is Side.AGENT and getattr(message, "message", None) is not None
        if is_update and message.message.method == "session/update":
            return []
        return effects


class SaysMore(Altered):
    """A word of ours follows what ends a turn."""

    def alter(self, effects: list[Effect], *_: Any) -> list[Effect]:
        if any(isinstance(e, Answer) and e.to is Side.CLIENT for e in effects):
            more = {"sessionUpdate": "notice", "severity": "warning", "title": "One thing more."}
            frame = {"sessionId": "s1", "update": more}
            effects.append(Send(Side.CLIENT, jsonrpc.notification("session/update", frame)))
        return effects


class Raises(Altered):
    """It raises because of what a peer sent."""

    def alter(self, effects: list[Effect], _side: Side | None, message: Any) -> list[Effect]:
        if isinstance(message, jsonrpc.Malformed):
            raise TypeError("this line is no frame")
        return effects


class Remembers(Altered):
    """It keeps what every frame said."""

    def alter(self, effects: list[Effect], *_: Any) -> list[Effect]:
        held = self.link.withdrawn
        held.update(
            {b"%d" % number: OpenRequest("x") for number in range(len(held), len(held) + 300)}
        )
        return effects


class IsNeverDone(Altered):
    """What is due is due again at once."""

    def next_timeout(self) -> float | None:
        due = super().next_timeout()
        return None if due is None else min(due, 50.0)


class WaitsForTheWatchdog(Altered):
    """A line that cannot be read is nobody's."""

    def receive(self, side: Side, message: Any, now: float) -> list[Effect]:
        unread = isinstance(message, jsonrpc.Malformed)
        return [] if unread else super().receive(side, message, now)

    def receive_oversized(self, *_: Any) -> list[Effect]:
        return []


class TakesAnyId(Altered):
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


class BelievesTheAgent(Altered):
    """What the agent calls a cancelled turn is what the client reads."""

    def alter(self, effects: list[Effect], side: Side | None, message: Any) -> list[Effect]:
        ends = side is Side.AGENT and b"end_turn" in getattr(message, "line", b"")
        answered = any(isinstance(e, Answer) and b'"cancelled"' in e.frame for e in effects)
        return [FORWARD] if ends and answered else effects


class HasNoRoom(Altered):
    """A prompt that has to wait is refused."""

    def alter(self, effects: list[Effect], side: Side | None, message: Any) -> list[Effect]:
        if side is Side.CLIENT and not effects:
            full = failures.own_failure(ErrorType.AGENT_STALLED, "queue_full")
            return ending.refuse_prompt(self.link, self.link.session("s1"), message, full)
        return effects


class GoesOnTwice(Altered):
    """The prompt that ends a wait for a limit is sent twice."""

    def handle_timeout(self, now: float) -> list[Effect]:
        effects = super().handle_timeout(now)
        return effects + [
            effect for effect in effects if isinstance(effect, Send) and effect.to is Side.AGENT
        ]


class WaitsOnThoughCancelled(Altered):
    """A cancel does not reach what waits."""

    def receive(self, side: Side, message: Any, now: float) -> list[Effect]:
        is_cancel = side is Side.CLIENT and b'"session/cancel"' in message.line
        waits = any(turn.waits for session in self.link.sessions.values() for turn in session.turns)
        return [] if is_cancel and waits else super().receive(side, message, now)


class WaitsForEver(Altered):
    """A limit that is too far away is waited for all the same."""

    def __init__(self, options: Any) -> None:
        far = options.continue_at_reset_seconds and 1e9
        super().__init__(msgspec.structs.replace(options, continue_at_reset_seconds=far))


class CountsAllThatIsEqual(Altered):
    """What was shown between two equal sentences does not make them others."""

    def receive(self, side: Side, message: Any, now: float) -> list[Effect]:
        if b'"tool_call"' in getattr(message, "line", b""):
            return [FORWARD]
        return super().receive(side, message, now)


S, P = b"s1", b"1"
SENT = ("client", prompt(P, S))
ASKED = ("agent", request(b"0", b"session/request_permission", S))
FAILING = [SENT, ("die", None, 9)]
LONG = b'{"id":1,"result":{"text":"#"}}'
BROKEN = ("broken", "agent", b'{"id":1,"result":{},}', P, "answer")
ANOTHERS = b'{"params":{"id":1},"method":"x","id":7,}'
SAYS = ("agent", chunk(S, b"I will now run the tests again."))
RUNS = [("agent", tool(S, b"t%d" % number, b"completed")) for number in range(51)]
SAYS_AND_RUNS = [event for runs in RUNS for event in (SAYS, runs)]
OPENED = [
    ("client", initialize("plain", b"0")),
    ("agent", result(b"0", b'{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}')),
    ("client", request(b"2", b"session/new", b"")),
    ("agent", result(b"2", b'{"sessionId":"s1","modes":{"currentModeId":"ask"}}')),
]
RETURNS = [
    *OPENED,
    ("die", None, 9),
    *(SENT, ("time", 2.0), ("start",)),
    ("agent", result(b'"lastword:1:1"', b'{"agentCapabilities":{"loadSession":true}}')),
    ("agent", result(b'"lastword:1:2"', b'{"modes":{"currentModeId":"yolo"}}')),
    ("agent", result(b'"lastword:1:3"')),
]
GOES_ON = {"continue_at_reset_seconds": 1800.0, "clock": True}


def limited(wait: bytes, *then: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    """A turn that fails of a limit after it has shown something."""
    error = b'{"code":-32603,"message":"429 Too Many Requests: try again in %b"}' % wait
    failed = ("agent", b'{"id":1,"error":%b}' % error)
    return [SENT, ("agent", chunk(S, b"Half of it.")), failed, *then]


ENDED = [SENT, ("client", cancel(S)), ("time", 11.0), ("agent", chunk(S, b"late"))]

CAUGHT: list[tuple[type[Altered], str, list[tuple[Any, ...]]]] = [
    (AnswersTwice, "double", FAILING),
    (DropsAnswers, "silent", [*FAILING, ("end",)]),
    (Leaks, "G5", FAILING),
    (SaysTooMuch, "G6", FAILING),
    (ForgetsPayload, "G3", [SENT, ("agent", b'{"id":1,"error":{"code":1,"message":"no"}}')]),
    (LetsAllPass, "late", ENDED),
    (KeepsUpdates, "G4", [SENT, ("agent", update(S, b"plan"))]),
    (SaysMore, "late", FAILING),
    (WaitsForTheWatchdog, "silent", [SENT, BROKEN]),
    (WaitsForTheWatchdog, "silent", [SENT, ("long", "agent", LONG, P, "answer")]),
    (TakesAnyId, "ids", [SENT, ("broken", "agent", ANOTHERS, b"7", "request")]),
    (BelievesTheAgent, "cancel", [SENT, ASKED, ("client", cancel(S)), ("agent", stopped(P))]),
    (HasNoRoom, "queue", [*ENDED, ("client", prompt(b"2", S))]),
    (GoesOnTwice, "double", limited(b"20s", ("time", 30.0))),
    (WaitsOnThoughCancelled, "cancel", limited(b"20s", ("client", cancel(S)))),
    (WaitsForEver, "double", limited(b"1 hour", ("time", 4000.0))),
    (CountsAllThatIsEqual, "G4", [SENT, *SAYS_AND_RUNS, ("time", 11.0)]),
    (Raises, "raised", [("agent", b"no frame")]),
    (Remembers, "unbounded", [SENT, *[("agent", chunk(S, b"x"))] * 5, ("end",)]),
    (IsNeverDone, "unbounded", [SENT, ("time", 100.0)]),
]


@every("core, promise, events", CAUGHT)
def test_a_core_that_breaks_a_promise_is_caught(
    core: type[Altered], promise: str, events: list[tuple[Any, ...]]
) -> None:
    assert replay(GOES_ON, events) is None
    broken = replay(GOES_ON, events, core)
    assert broken is not None
    assert broken.promise == promise


@every("core", [row[0] for row in CAUGHT])
def test_random_schedules_find_a_broken_core(core: type[Altered]) -> None:
    tally = simulate.Tally(1, core)
    while not tally.broken and tally.links < 3000:
        tally.play(tally.links)
    assert tally.broken


def test_an_answer_to_a_dead_agent_that_reaches_the_next_one_is_caught() -> None:
    class Forgetful(Altered):
        def alter(
            self, effects: list[Effect], side: Side | None = None, message: Any = None
        ) -> list[Effect]:
            answers = side is Side.CLIENT and message.message.method is None
            return [FORWARD] if answers else effects

    events: list[tuple[Any, ...]] = [
        *(SENT, ASKED, ("die", None, 9), ("client", prompt(b"2", S)), ("time", 2.0), ("start",)),
        ("client", b'{"jsonrpc":"2.0","id":0,"result":{}}'),
    ]
    assert replay({"restart": "on-crash"}, events) is None
    broken = replay({"restart": "on-crash"}, events, Forgetful)
    assert broken is not None
    assert broken.promise == "ids"


def test_a_prompt_in_another_mode_than_the_client_shows_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert replay({"restart": "on-crash"}, RETURNS) is None
    monkeypatch.setattr(ReturningSession, "correct", lambda *_: None)
    monkeypatch.setattr(sessions, "_report_choices", lambda *_: [])
    broken = replay({"restart": "on-crash"}, RETURNS)
    assert broken is not None
    assert broken.promise == "mode"


class HidesTheModel(Altered):
    """The client is not shown to which model the session was switched."""

    def alter(self, effects: list[Effect], *_: Any) -> list[Effect]:
        hidden = b"config_option_update"
        return [e for e in effects if not (isinstance(e, Send) and hidden in e.frame)]


def test_a_prompt_to_another_model_than_the_client_shows_is_caught() -> None:
    failed = b'{"id":1,"error":{"code":-32603,"message":"429 Too Many Requests"}}'
    switched = result(b'"lastword:model:1"', b"{%b}" % models(b"small"))
    events: list[tuple[Any, ...]] = [
        *OPENED[:-1],
        ("agent", result(b"2", b'{"sessionId":"s1",%b}' % models(b"big"))),
        *(SENT, ("agent", failed), ("agent", switched), ("time", 1.0)),
    ]
    assert replay({"fallback_model": "small"}, events) is None
    broken = replay({"fallback_model": "small"}, events, HidesTheModel)
    assert broken is not None
    assert broken.promise == "mode"


def test_a_failing_schedule_is_reduced_to_its_essential_events() -> None:
    link = Drawn(1, 0, AnswersTwice)
    broken: BrokenPromiseError | None = replay(link.options, FAILING, AnswersTwice)
    assert broken is not None
    long = [("time", 1.0), *FAILING, ("time", 5.0), ("stderr", b"x")]
    options, events = shortest({"idle_timeout_seconds": 30.0}, long, "double", AnswersTwice)
    assert (options, events) == ({}, FAILING)


def test_a_failure_is_printed_as_a_test_that_can_be_pasted() -> None:
    tally = simulate.Tally(1, AnswersTwice)
    while tally.first_failing is None:
        tally.play(tally.links)
    told = simulate.explain(1, tally.first_failing, AnswersTwice)
    assert "def test_" in told
    compile(told.split("\n", 1)[1], "told", "exec")
