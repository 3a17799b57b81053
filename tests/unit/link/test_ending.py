"""The end of a turn: why it failed is decided once, and told to each client in its own way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from lastword.core.failure import ladder
from lastword.core.link import session
from lastword.core.link.connection import Side
from lastword.core.link.decision import Decision, TurnSnapshot, decide
from lastword.core.link.effects import Answer, Effect, End, Send
from lastword.core.link.handshake import ClientProfile, read_client
from lastword.core.protocol import jsonrpc
from lastword.core.timeline import summary
from tests.kit.rows import every
from tests.kit.wire import (
    INITIALIZE,
    Wire,
    cancel,
    chunk,
    error,
    greeted,
    prompt,
    reply,
    result,
    update,
)
from tests.unit.link.test_connection_rare_frames import in_turn

if TYPE_CHECKING:
    from lastword.core.failure.ladder import CancelledEnding, Ending


@pytest.fixture
def decisions(monkeypatch: pytest.MonkeyPatch) -> list[Decision]:
    """Every decision that is made, in order."""
    made: list[Decision] = []

    def counted(known: TurnSnapshot) -> Decision:
        made.append(decide(known))
        return made[-1]

    monkeypatch.setattr(session, "decide", counted)
    return made


@pytest.mark.parametrize("retry", [0, 2])
@pytest.mark.parametrize("sources", [False, True], ids=["wire alone", "with other sources"])
@pytest.mark.parametrize(
    "answer",
    [error(1, message="429 Too Many Requests"), error(1, message="Internal error")],
    ids=["named", "vague"],
)
def test_each_failed_answer_is_decided_once(
    decisions: list[Decision], answer: dict[str, Any], retry: int, *, sources: bool
) -> None:
    wire = greeted(retry=retry)
    wire.core.expects_hints(present=sources)
    wire.client(prompt(1)).agent(answer)
    wire.time(0.3)  # a vague answer is held back for a moment where other sources may speak
    assert len(decisions) == 1
    wire.client(prompt(2))  # gives up a wait, so that the first prompt fails for good
    assert len(decisions) == 1


def test_a_withheld_answer_is_decided_again_after_new_evidence(
    decisions: list[Decision],
) -> None:
    wire = greeted()
    wire.core.expects_hints(present=True)
    wire.client(prompt(1)).agent(error(1, message="Internal error"))
    wire.stderr(b"ERROR insufficient_quota\n").time(0.3)
    assert [made.cause.type.value for made in decisions] == ["internal", "budget"]


# --- A turn that the user cancelled was cancelled, whatever the agent then calls it


def test_a_cancelled_turn_is_recorded_as_cancelled_whatever_its_stop_reason() -> None:
    wire = in_turn().client(cancel()).agent(result(1))
    assert wire.answers(1)[0]["result"] == {"stopReason": "end_turn"}
    facts = wire.entries[-1].facts
    assert (facts["stop_reason"], facts["cancelled"]) == ("end_turn", True)
    assert summary.summarise(wire.entries).outcome == "cancelled"


def test_an_in_process_answer_after_the_cancel_always_ends_as_cancelled() -> None:
    wire = in_turn(in_process=True).client(cancel()).agent(result(1, "max_tokens"))
    assert wire.answers(1)[0]["result"] == {"stopReason": "cancelled"}
    assert wire.entries[-1].facts["cancelled"] is True


# --- An ending as a value: one failure, told to each that looks on as that one would be told


AIR = {"jetbrains": {"air": {"version": 1, "capabilities": ["sessionFailure"]}}}
CLIENTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "zed": {"clientInfo": {"name": "zed", "version": "1"}},
    "acpx": {"clientInfo": {"name": "acpx", "version": "1"}},
    "typed": {"clientCapabilities": {"_meta": {"agent_error": {"version": 1}}}},
    "stop_reason": {
        "clientCapabilities": {"_meta": {"agent_error": {"version": 1, "stop_reason": True}}}
    },
    "air": {"clientCapabilities": {"_meta": AIR}},
}
ENDS = {
    "an error": lambda wire: wire.agent(error(1, 429, "slow down")),
    "an error after a tool": lambda wire: [
        wire.agent(update(sessionUpdate="tool_call", toolCallId="t", status="in_progress")),
        wire.agent(error(1, -32603, "odd")),
    ],
    "a death": lambda wire: [wire.agent(chunk()), wire.eof(Side.AGENT)],
    "a cancel that is not confirmed": lambda wire: [
        wire.client(cancel()),
        wire.agent(error(1, -32603, "stopped")),
    ],
}


class Watched(Wire):
    """A link whose ending is kept, as a value and as the frames that followed it."""

    def __init__(self, client: dict[str, Any]) -> None:
        super().__init__()
        self.endings: list[Ending | CancelledEnding] = []
        self.told: list[bytes] = []
        greeting = INITIALIZE | {"params": {"protocolVersion": 1, **client}}
        self.profile: ClientProfile = read_client(jsonrpc.dumps(greeting))
        self.client(greeting).agent({"id": 0, "result": {"protocolVersion": 1}}).client(prompt())

    def carry_out(self, effects: list[Effect], *came: Any) -> None:
        super().carry_out(effects, *came)
        for effect in effects:
            if isinstance(effect, End):
                self.endings.append(effect.ending)
            elif self.endings and isinstance(effect, Send | Answer) and effect.to is Side.CLIENT:
                self.told.append(effect.frame)


@every("end", ENDS)
@every("viewer", CLIENTS)
@every("client", CLIENTS)
def test_other_viewers_get_the_ending_on_their_own_rung(client: str, viewer: str, end: str) -> None:
    first, alone = Watched(CLIENTS[client]), Watched(CLIENTS[viewer])
    for wire in (first, alone):
        ENDS[end](wire)
    (ending,) = first.endings
    dialect = alone.profile.dialect
    rung = ladder.rung_for(ladder.AUTO, alone.profile, dialect)
    out = ladder.frames_for(ending, rung=rung, client=alone.profile, dialect=dialect)
    assert [told.frame for told in out] == alone.told
    assert out[-1].answers == b"1"


def test_a_successful_turn_has_no_ending_of_ours() -> None:
    wire = Watched({}).agent(chunk(), reply(1, stopReason="end_turn"))
    assert wire.endings == []
