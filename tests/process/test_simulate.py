"""The simulator: it holds for the real core, always in the same way, and no broken core gets by."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from lastword.core.link.connection import Connection, Side
from lastword.core.link.effects import FORWARD, Answer, Drop, Effect, Send
from lastword.core.link.state import OpenRequest
from lastword.core.protocol import jsonrpc
from tests.kit.places import ROOT
from tests.kit.simulation.frames import KEY, cancel, chunk, prompt, request, update
from tests.kit.simulation.links import Drawn, replay
from tests.kit.simulation.shrink import shortest
from tests.long import simulate

if TYPE_CHECKING:
    from tests.kit.simulation.ledger import BrokenPromiseError

SIMULATE = (sys.executable, "-m", "tests.long.simulate")
LAST_LINE = re.compile(
    r"turns=(\d+) silent=0 double=0 late=0 unbounded=0 trace=([0-9a-f]{16}) turns_per_s=\d+"
)


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*SIMULATE, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_twenty_thousand_turns_of_every_kind_keep_every_promise() -> None:
    done = _run("--turns", "20000", "--seed", "1")
    assert done.returncode == 0, done.stdout
    found = LAST_LINE.fullmatch(done.stdout.splitlines()[-1])
    assert found is not None, done.stdout
    assert int(found[1]) >= 20_000


def test_a_seed_gives_the_same_trace_whatever_the_hashes() -> None:
    traces = set()
    for number in ("1", "2"):
        done = subprocess.run(
            [*SIMULATE, "--turns", "1000", "--seed", "5", "--quiet"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
            env={"PYTHONHASHSEED": number},
        )
        found = LAST_LINE.fullmatch(done.stdout.strip())
        assert found is not None
        traces.add(found[2])
    assert len(traces) == 1


class Altered(Connection):
    """The core, with what it sends changed on the way out."""

    def receive(self, side: Side, message: Any, now: float) -> list[Effect]:
        return self.alter(super().receive(side, message, now), side, message)

    def receive_eof(self, side: Side, cause: Any, now: float) -> list[Effect]:
        return self.alter(super().receive_eof(side, cause, now))

    def handle_timeout(self, now: float) -> list[Effect]:
        return self.alter(super().handle_timeout(now))

    def alter(
        self, effects: list[Effect], side: Side | None = None, message: Any = None
    ) -> list[Effect]:
        raise NotImplementedError


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

    def alter(
        self, effects: list[Effect], side: Side | None = None, message: Any = None
    ) -> list[Effect]:
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

    def alter(self, effects: list[Effect], side: Side | None = None, *_: Any) -> list[Effect]:
        return [FORWARD if isinstance(e, Drop) and side is Side.AGENT else e for e in effects]


class KeepsUpdates(Altered):
    """Every healthy update is kept from the client."""

    def alter(
        self, effects: list[Effect], side: Side | None = None, message: Any = None
    ) -> list[Effect]:
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

    def alter(self, effects: list[Effect], *more: Any) -> list[Effect]:
        if more and isinstance(more[1], jsonrpc.Malformed):
            raise RuntimeError("this line is no frame")
        return effects


class Remembers(Altered):
    """It keeps what every frame said."""

    def alter(self, effects: list[Effect], *_: Any) -> list[Effect]:
        held = self.link.withdrawn
        held.update({b"%d" % number: OpenRequest("x") for number in range(len(held) + 300)})
        return effects


class IsNeverDone(Altered):
    """What is due is due again at once."""

    def next_timeout(self) -> float | None:
        due = super().next_timeout()
        return None if due is None else min(due, 50.0)

    def alter(self, effects: list[Effect], *_: Any) -> list[Effect]:
        return effects


S, P = b"s1", b"1"
SENT = ("client", prompt(P, S))
ASKED = ("agent", request(b"0", b"session/request_permission", S))
FAILING = [SENT, ("die", None, 9)]
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
    (Raises, "raised", [("agent", b"no frame")]),
    (Remembers, "unbounded", [SENT, *[("agent", chunk(S, b"x"))] * 5, ("end",)]),
    (IsNeverDone, "unbounded", [SENT, ("time", 100.0)]),
]


@pytest.mark.parametrize(
    ("core", "promise", "events"), CAUGHT, ids=lambda v: getattr(v, "__name__", "")
)
def test_a_core_that_breaks_a_promise_is_caught(
    core: type[Altered], promise: str, events: list[tuple[Any, ...]]
) -> None:
    assert replay({}, events) is None
    broken = replay({}, events, core)
    assert broken is not None
    assert broken.promise == promise


@pytest.mark.parametrize("core", [row[0] for row in CAUGHT], ids=lambda core: core.__name__)
def test_the_dice_find_a_broken_core_by_themselves(core: type[Altered]) -> None:
    tally = simulate.Tally(1, core)
    while not tally.broken and tally.links < 100:
        tally.play(tally.links)
    assert tally.broken


def test_an_answer_to_an_agent_that_is_gone_is_caught_where_it_reaches_the_next() -> None:
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


def test_a_failing_schedule_is_cut_down_to_what_is_needed() -> None:
    link = Drawn(1, 0, AnswersTwice)
    broken: BrokenPromiseError | None = replay(link.options, FAILING, AnswersTwice)
    assert broken is not None
    long = [("time", 1.0), *FAILING, ("time", 5.0), ("stderr", b"x")]
    options, events = shortest({"idle_timeout_seconds": 30.0}, long, "double", AnswersTwice)
    assert (options, events) == ({}, FAILING)


def test_a_failure_is_told_as_a_test_that_can_be_pasted() -> None:
    tally = simulate.Tally(1, AnswersTwice)
    while tally.first_failing is None:
        tally.play(tally.links)
    told = simulate.explain(1, tally.first_failing, AnswersTwice)
    assert "def test_" in told
    compile(told.split("\n", 1)[1], "told", "exec")
