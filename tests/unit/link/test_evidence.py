"""The evidence of a turn's failure: which of what is known decides, in every combination."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastword.core.classify import Verdict, own_failure
from lastword.core.failure.taxonomy import UNDECIDED, AgentError, ErrorType
from lastword.core.link.connection import LinkOptions
from lastword.core.link.decision import RULES
from lastword.core.link.evidence import (
    HEAD_BYTES,
    MAX_SPANS,
    SILENT,
    TAIL_BYTES,
    FailureSign,
    StderrRecord,
    TurnEvidence,
)
from lastword.core.link.handshake import AgentProfile
from lastword.core.link.session import Session
from lastword.core.link.state import Link
from tests.kit.turn_signs import (
    AIR,
    AIR_NAMED,
    NAMED_PROSE,
    SIGNS,
    VAGUE_PROSE,
    Happening,
    in_turn,
    margin,
)
from tests.kit.wire import chunk, error, failure, result


def _named(kind: ErrorType) -> Verdict:
    return Verdict(type=kind, rule=f"test:{kind.value}", retryable=False)


UNKNOWN = Verdict(type=ErrorType.UNKNOWN, rule="test:unknown", retryable=False, detail="odd")
INTERNAL = Verdict(type=ErrorType.INTERNAL, rule="test:internal", retryable=False)
ANNOUNCED = AgentError(type=ErrorType.BUDGET, message="It is used up.", retryable=False)

# Each source as the table has it, with what it can hold; what is named has a type of its own.
SLOTS: dict[str, tuple[Any, ...]] = {
    "announced": (None, ANNOUNCED),
    "stopped": (None, _named(ErrorType.AGENT_STALLED)),
    "lost": (None, _named(ErrorType.AGENT_CRASH)),
    "answer": (None, UNKNOWN, INTERNAL, _named(ErrorType.AUTH)),
    "margin": (None, UNKNOWN, INTERNAL, _named(ErrorType.NETWORK)),
    "hint": (None, _named(ErrorType.RATE_LIMIT)),
    "prose": (None, VAGUE_PROSE, NAMED_PROSE),
    "stderr": (b"", b"it went wrong, error\n", b"ERROR model_not_found\n"),
    "claim": (None, "silent", own_failure(ErrorType.PROTOCOL_ERROR, "no_stop_reason")),
}
TYPES = {
    NAMED_PROSE: ErrorType.PROVIDER_UNAVAILABLE,
    VAGUE_PROSE: ErrorType.UNKNOWN,
    b"ERROR context_length_exceeded\n": ErrorType.CONTEXT_OVERFLOW,
    b"ERROR model_not_found\n": ErrorType.MODEL_NOT_FOUND,
    "silent": ErrorType.UNKNOWN,
}


def _decided(slots: dict[str, Any]) -> Verdict | AgentError:
    """The cause of a failure of which this much is known."""
    link = Link(LinkOptions())
    link.agent = AgentProfile(name="codex-acp")
    link.stderr.receive(b"ERROR insufficient_quota, long before the turn\n")
    turn = link.new_turn(Session("s"))
    known = turn.evidence
    known.announced, known.hint = slots["announced"], slots["hint"]
    silent = slots["claim"] == "silent"
    claim = own_failure(ErrorType.UNKNOWN, SILENT) if silent else slots["claim"]
    signs = {
        FailureSign.STOPPED: slots["stopped"],
        FailureSign.LOST: slots["lost"],
        FailureSign.MARGIN: slots["margin"],
        FailureSign.CLAIM: claim,
    }
    for sign, verdict in signs.items():
        if verdict is not None:
            known.note(sign, verdict)
    if slots["answer"] is not None:
        known.add_answer(slots["answer"])
    if slots["prose"] is not None:
        known.say(slots["prose"])
    link.stderr.receive(slots["stderr"])
    return link.decide(turn).cause


def _type_of(value: Any) -> ErrorType | None:
    """What a source says by itself; `None` where it has nothing to say."""
    if not value:
        return None
    return TYPES.get(value) if isinstance(value, str | bytes) else value.type


def test_the_table_has_a_rule_for_each_source_in_order_of_precedence() -> None:
    assert [rule.__name__ for rule in RULES] == list(SLOTS)


def test_the_first_named_failure_decides_and_a_vague_sign_hides_none() -> None:
    for values in itertools.product(*SLOTS.values()):
        slots = dict(zip(SLOTS, values, strict=True))
        said = [kind for value in values if (kind := _type_of(value)) is not None]
        named = [kind for kind in said if kind not in UNDECIDED]
        expected = (named or sorted(said, key="internal unknown".index) or [ErrorType.UNKNOWN])[0]
        assert _decided(slots).type is expected, slots


@pytest.mark.parametrize("source", ["margin", "hint", "prose", "stderr", "claim"])
def test_a_failure_that_was_called_a_success_says_so_in_its_reason(source: str) -> None:
    slots = {name: values[0] for name, values in SLOTS.items()}
    assert _decided(slots | {source: SLOTS[source][-1], "claim": "silent"}).reason == SILENT


def test_an_agents_first_announced_failure_stands() -> None:
    known = TurnEvidence(0)
    known.announce(ANNOUNCED)
    known.announce(AgentError(type=ErrorType.AUTH, message="No.", retryable=False), passed=True)
    assert known.announced is ANNOUNCED
    assert known.passed


def test_the_latest_margin_counts_unless_it_is_less_specific() -> None:
    auth, network = _named(ErrorType.AUTH), _named(ErrorType.NETWORK)
    known = TurnEvidence(0)
    seen = []
    for sign in (UNKNOWN, INTERNAL, UNKNOWN, auth, network, INTERNAL, UNKNOWN):
        known.note(FailureSign.MARGIN, sign)
        seen.append(known.signs[FailureSign.MARGIN])
    assert seen == [UNKNOWN, INTERNAL, INTERNAL, auth, network, network, network]


# --- what a vague sign hid ------------------------------------------------------------------------


def test_a_late_margin_names_the_failure_of_a_withheld_empty_success() -> None:
    wire = in_turn().agent(result())
    margin(AIR)(wire)
    wire.time(1)
    assert failure(wire)["type"] == "network"


@pytest.mark.parametrize("sign", [margin(AIR), SIGNS["prose"][1][1], SIGNS["stderr"][1][1]])
def test_a_vague_errors_code_is_kept_where_another_sign_decides(
    sign: Happening,
) -> None:
    wire = in_turn()
    sign(wire)
    wire.agent(error(1, 7, "It went the wrong way."))
    told = failure(wire)
    assert told["type"] != "unknown"
    assert told["provider_code"] == "7"


def test_a_margin_about_a_retry_does_not_fail_a_success() -> None:
    retry = AIR_NAMED | {"severity": "warning", "title": "Retrying, attempt 2 of 10."}
    answer = result()
    answer["result"]["_meta"] = {"jetbrains": {"air": {"sessionFailure": retry}}}
    wire = in_turn().agent(chunk("Here it is."), answer)
    assert wire.answers() == [answer]


# --- the record of stderr: bounded, and honest about what it left out


@given(st.lists(st.binary(max_size=400), max_size=30))
def test_short_stderr_is_kept_whole(pieces: list[bytes]) -> None:
    record = StderrRecord()
    for piece in pieces:
        record.receive(piece)
    whole = b"".join(pieces)
    assert (record.total, record.summary()) == (len(whole), whole.decode(errors="replace"))


def test_lines_in_both_the_head_and_the_tail_appear_once() -> None:
    record = StderrRecord()
    lines = [b"%06d\n" % number for number in range((HEAD_BYTES + TAIL_BYTES // 2) // 7)]
    for line in lines:
        record.receive(line)
    assert record.summary() == b"".join(lines).decode()


def test_a_flood_keeps_its_head_and_tail_and_says_how_much_was_cut() -> None:
    record = StderrRecord()
    for number in range(10_000):
        record.receive(b"line %06d of a flood that does not end\n" % number)
    summary = record.summary()
    assert summary.startswith("line 000000")
    assert summary.endswith("line 009999 of a flood that does not end\n")
    cut = record.total - HEAD_BYTES - TAIL_BYTES
    assert f"{cut} bytes of stderr left out" in summary


def test_a_tools_stderr_is_left_out_of_the_calls_tail() -> None:
    record = StderrRecord()
    record.receive(b"first\n")
    record.receive(b"tool\n", own=False)
    record.receive(b"more of it\n", own=False)
    record.receive(b"second\n")
    record.receive(b"another\n", own=False)
    assert record.own_tail(0).split() == ["first", "second"]
    assert record.own_tail(len("first\ntool\n")).split() == ["second"]
    assert record.tail(0).split()[-1] == "another"


def test_the_last_of_many_stretches_are_joined() -> None:
    record = StderrRecord()
    for number in range(MAX_SPANS + 10):
        record.receive(f"own{number}\n".encode())
        record.receive(b"tool\n", own=False)
    own = record.own_tail(0).split()
    assert "tool" not in own
    assert own == [f"own{number}" for number in range(MAX_SPANS)]


def test_excluded_output_may_have_been_trimmed() -> None:
    record = StderrRecord()
    record.receive(b"tool\n" * 10, own=False)
    record.receive(b"x" * 3 * TAIL_BYTES)
    assert set(record.own_tail(0)) == {"x"}
