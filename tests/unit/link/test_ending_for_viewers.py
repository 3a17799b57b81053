"""An ending as a value: one failure, told to each that looks on as that one would be told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lastword.core.failure import ladder
from lastword.core.link.connection import Side
from lastword.core.link.effects import Answer, Effect, End, Send
from lastword.core.link.handshake import ClientProfile, read_client
from lastword.core.protocol import jsonrpc
from tests.kit.rows import every
from tests.kit.wire import INITIALIZE, Wire, cancel, chunk, error, prompt, update

if TYPE_CHECKING:
    from lastword.core.failure.ladder import CancelledEnding, Ending

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
def test_who_else_looks_on_is_told_on_a_rung_of_their_own(
    client: str, viewer: str, end: str
) -> None:
    first, alone = Watched(CLIENTS[client]), Watched(CLIENTS[viewer])
    for wire in (first, alone):
        ENDS[end](wire)
    (ending,) = first.endings
    dialect = alone.profile.dialect
    rung = ladder.rung_for(ladder.AUTO, alone.profile, dialect)
    out = ladder.frames_for(ending, rung=rung, client=alone.profile, dialect=dialect)
    assert [told.frame for told in out] == alone.told
    assert out[-1].answers == b"1"


def test_what_the_agent_ends_well_is_no_ending_of_ours() -> None:
    wire = Watched({}).agent(chunk())
    wire.agent({"jsonrpc": "2.0", "id": 1, "result": {"stopReason": "end_turn"}})
    assert wire.endings == []
