"""Corners of the core that no scenario comes by: blocks, glued frames, what only lenience takes."""

from __future__ import annotations

import json

import pytest

from lastword.core.failure import ladder
from lastword.core.failure.taxonomy import AgentError, ErrorType
from lastword.core.link.connection import Side
from lastword.core.protocol import glued, jsonrpc
from lastword.core.protocol.jsonrpc import Frame, decode
from lastword.core.redact.redactor import Redactor
from tests.kit.wire import cancel, prompt, second_version

FRAME = b'{"jsonrpc":"2.0","method":"session/update","params":{}}'


def test_a_long_block_is_split_without_reading_its_line_ends() -> None:
    block = (FRAME + b"\n") * 100
    messages = jsonrpc.decode_block(block)
    assert messages is not None
    assert jsonrpc.split_block(block, messages) == [FRAME] * 100
    assert jsonrpc.split_block(block.removesuffix(b"\n"), messages) == [FRAME] * 100


@pytest.mark.parametrize("lines", [1, 2, 64, 65, 1000])
def test_an_invalid_byte_is_found_in_a_block_of_any_length(lines: int) -> None:
    odd = FRAME.replace(b"{}", b'{"x":"caf\xe9"}') + b"\n"
    assert jsonrpc.decode_block(odd.replace(b"\xe9", b"\xc3\xa9") * lines) is not None
    for place in {0, lines // 2, lines - 1}:
        block = (FRAME + b"\n") * place + odd + (FRAME + b"\n") * (lines - 1 - place)
        assert jsonrpc.decode_block(block) is None


@pytest.mark.parametrize("glue", [b" ", b"\n\n", b"\n \n"])
def test_a_block_whose_lines_are_not_single_messages_is_not_split(glue: bytes) -> None:
    block = FRAME + glue + (FRAME + b"\n") * 2
    messages = jsonrpc.decode_block((FRAME + b"\n") * 3)
    assert messages is not None
    assert jsonrpc.split_block(block, messages) is None


@pytest.mark.parametrize("line", [b"no frame", FRAME + b" and then prose", FRAME + b"[1]"])
def test_a_line_with_other_values_than_objects_is_not_separated(line: bytes) -> None:
    assert glued.decode_parts(line, may_quote=True) == [decode(line)]


def test_a_character_may_span_two_pieces_of_a_long_text() -> None:
    for shift in range(4):
        block = b"a" * shift + "\N{GRINNING FACE}".encode() * 500_000
        assert jsonrpc.is_text(block)
        assert not jsonrpc.is_text(block + b"\xff")


def test_numbers_that_json_does_not_know_become_null() -> None:
    frame = decode(b'{"jsonrpc":"2.0","id":1,"result":{"cost":NaN,"limit":Infinity}}')
    assert isinstance(frame, Frame)
    assert json.loads(frame.line)["result"] == {"cost": None, "limit": None}


def test_a_frame_that_only_a_lenient_reader_accepts_can_get_another_id() -> None:
    frame = decode(b'{"jsonrpc":"2.0","id":1,"result":{},"half \\ud83d":1}')
    assert isinstance(frame, Frame)
    assert json.loads(jsonrpc.with_id(frame, b'"x"')) == json.loads(frame.line) | {"id": "x"}


# --- what is sent


def payload(**members: object) -> AgentError:
    return AgentError(type=ErrorType.UNKNOWN, message="It failed.", retryable=False, **members)


def details_of(error: AgentError, sent: ladder.SentError | None) -> str:
    members = ladder.error_object(error, sent=sent, details=ladder.Details.ALONE)
    details: str = members["data"]["details"]
    return details


def test_a_client_that_shows_one_text_gets_the_agents_own_words_in_it() -> None:
    sent = ladder.SentError({"code": -32603, "message": "quota of tier 2"}, Redactor())
    assert details_of(payload(), sent) == "It failed. (quota of tier 2)"
    assert details_of(payload(), None) == "It failed."


@pytest.mark.parametrize("lead", ["Internal error: ", "Internal error\n"])
def test_a_client_that_shows_one_text_is_not_shown_an_empty_internal_error(lead: str) -> None:
    assert details_of(payload(detail={"text": f"{lead}529"}), None) == "It failed. (529)"


def test_a_quote_that_differs_only_in_backquotes_is_not_repeated() -> None:
    detail = {"text": "no `x`."}
    error = AgentError(
        type=ErrorType.UNKNOWN, message="It said: no x.", retryable=False, detail=detail
    )
    assert details_of(error, None) == "It said: no x."


@pytest.mark.parametrize(
    ("code", "is_prompt", "told"),
    [
        (-32603, True, {"code": -32603, "message": "no", "data": {"details": "It failed. (no)"}}),
        (-32603, False, {"code": -32603, "message": "It failed. (no)"}),
        (-32002, True, {"code": -32002, "message": "It failed. (no)"}),
    ],
)
def test_a_client_that_shows_raw_data_gets_none_where_it_would_show_it(
    code: int, is_prompt: bool, told: dict[str, object]
) -> None:
    sent = ladder.SentError({"code": code, "message": "no"}, Redactor())
    alone = ladder.Details.ALONE
    assert ladder.error_object(payload(), sent=sent, details=alone, is_prompt=is_prompt) == told


def test_an_oversized_detail_is_dropped_before_the_agents_data() -> None:
    members = ladder.error_object(payload(detail={"text": "x" * ladder.MAX_FRAME_BYTES}))
    assert "detail" not in members["data"]["agent_error"]
    assert members["data"]["errorKind"] == "unknown"


def test_a_hook_that_changes_nothing_is_not_counted() -> None:
    counts: dict[str, int] = {}
    assert Redactor(hook=lambda text: text, counts=counts)("as it is") == "as it is"
    assert counts == {}


def test_a_value_of_too_many_parts_is_cut() -> None:
    assert Redactor().json([["a"] * 5, "b"], max_values=4) == [["a", "a", "(cut)"], "(cut)"]
    assert Redactor().json("a", max_values=0) == "(cut)"


def test_a_cancelled_prompt_with_an_oversized_answer_is_cancelled_in_version_2() -> None:
    wire = second_version().client(prompt(2), cancel())
    head = b'{"jsonrpc":"2.0","id":2,"result":{"a":"'
    wire.carry_out(wire.core.receive_oversized(Side.AGENT, head, wire.now))
    assert [answer["error"]["code"] for answer in wire.answers(2)] == [-32800]
