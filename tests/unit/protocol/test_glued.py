"""Lines on which something stands in front of a frame, or that hold several."""

from __future__ import annotations

import itertools
import json
import random

import pytest

from lastword.core.protocol import glued, jsonrpc
from lastword.core.protocol.glued import decode_parts
from lastword.core.protocol.jsonrpc import Frame, Malformed, decode
from tests.kit.growth import costs_its_length
from tests.kit.rows import every

ANSWER = b'{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn","x":"\\"}{\\\\"}}'
UPDATE = b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s"}}'
NESTED = b'{"jsonrpc":"2.0","id":3,"result":{"a":[{"b":"}"},' + ANSWER + b"]}}"
QUESTION = b'{"jsonrpc":"2.0","id":"q","method":"session/request_permission","params":{}}'
FRAMES = (ANSWER, UPDATE, NESTED, QUESTION)

NOISE = (
    b"Loading the model... 50%",
    b"\x00",
    b"\x00" * 4096,
    b"\x1b[2K\r",
    b'an odd " quote',
    b"\\",
    b"{",
    b"}",
    b"[",
    b"{'python': 1} ",
    b"\xff\xfe",
    b"caf\xc3\xa9 ",
    b'{"level":"info"} and more',
    b'{"jsonrpc":"2.0","id":3,"result":{"stop',
    b"}" * 500_000,  # nested too deep
)


def lines_of(parts: list[Frame | Malformed]) -> list[bytes]:
    return [part.line for part in parts if isinstance(part, Frame)]


@every("noise", NOISE)
def test_a_frame_behind_any_text_is_found_and_the_text_stays_apart(noise: bytes) -> None:
    for frame in FRAMES[:3] if noise == b"[" else FRAMES:
        for end in (b"", b"\r", b" \x00"):
            parts = decode_parts(noise + frame + end, may_quote=True)
            if noise == b"[":
                assert lines_of(parts) == []  # a batch, cut short
                continue
            front, found = parts
            assert isinstance(front, Malformed)
            assert jsonrpc.as_text(front.line) == jsonrpc.as_text(noise)
            assert found == decode(frame)


def test_several_frames_behind_a_text_are_all_found() -> None:
    parts = decode_parts(
        b"noise" + UPDATE + b" \x00" + UPDATE + b'{"a":1}' + ANSWER, may_quote=True
    )
    assert [part.line for part in parts] == [b"noise", UPDATE, UPDATE, b'{"a":1}', ANSWER]
    assert lines_of(parts) == [UPDATE, UPDATE, ANSWER]


TAILS = {
    b"\x1b[0m": False,
    b"\x00\x00": False,
    b"\r\x1b[2K": False,
    b"\x1b[38;5;1m\x1b[K ": False,
    b"!": False,
    b" (sent)": True,
    b" done at 12:30, well": True,
}
"""What may stand behind a frame, and whether there are words in it."""


@every(("tail", "has_words"), TAILS.items())
def test_a_frame_in_front_of_other_output_is_found(tail: bytes, has_words: bool) -> None:
    for noise, front in itertools.product((b"", b"noise ", b"\x1b[32m"), (b"", UPDATE)):
        parts = decode_parts(noise + front + ANSWER + tail, may_quote=True)
        assert lines_of(parts) == [line for line in (front, ANSWER) if line]
        assert [part.line for part in parts if isinstance(part, Malformed)] == [
            text for text in (noise, tail) if text.strip(b"\x00")
        ]
    # A log with words behind a frame sends it no second time.
    sent = decode_parts(UPDATE + tail, may_quote=True)
    assert lines_of(sent) == ([] if has_words else [UPDATE])
    assert lines_of(decode_parts(UPDATE + tail, may_quote=False)) == [UPDATE]


NO_FRAMES = {
    "an object without the envelope": b'noise {"id":3,"result":{}}',
    "an envelope without an end": b"noise " + ANSWER[:-1],
    "an item of a list": b"[" + ANSWER + b"]",
    "items of a list": b"[" + UPDATE + b"," + ANSWER + b"]",
    "an envelope that goes on": b"noise " + ANSWER + b', "x": 1',
    "an envelope with a quote behind it": b"noise " + ANSWER + b' "',
    "another version": b"noise " + ANSWER.replace(b"2.0", b"1.0"),
    "neither request nor answer": b'noise {"jsonrpc":"2.0","id":3}',
    "no message": b'noise {"jsonrpc":"2.0"}',
    "a member of a broken frame": b'{"jsonrpc":"2.0","id":9,"result":' + ANSWER,
    "a member, after a text": b'noise {"jsonrpc":"2.0","id":9,"result" : ' + ANSWER,
    "an item of a broken list": b'{"jsonrpc":"2.0","id":9,"result":[1, ' + ANSWER,
    "an odd quote within": b'noise {"jsonrpc":"2.0","id":3,"result":{"a":"b" c"}}',
    "a closing too many": b"noise " + ANSWER + b"}",
    "JSON in front of words": b'{"id":3,"result":{}} and words',
    "JSON without an id in front of words": b'{"a":1} and words',
}


@every("line", NO_FRAMES.values())
def test_text_that_may_not_be_a_separate_frame_stays_in_its_line(line: bytes) -> None:
    for may_quote in (True, False):
        assert decode_parts(line, may_quote=may_quote) == [decode(line)]


@every(
    "label",
    ["sent: ", "-> ", "> ", "DEBUG send", 'Sending "', "message=", "→ ", "<- ", "received: "],
)
def test_a_log_that_quotes_an_agents_message_does_not_send_it_again(label: str) -> None:
    for frame in (UPDATE, QUESTION):
        line = label.encode() + frame
        assert lines_of(decode_parts(line, may_quote=True)) == []
        assert lines_of(decode_parts(line, may_quote=False)) == [frame]


def test_an_answer_counts_at_any_place_in_its_line_unless_it_is_a_clients() -> None:
    for label in ("x", "<- ", "got: ", "sent: ", "> ", "-> ", "Name: ", "logged in"):
        assert lines_of(decode_parts(label.encode() + ANSWER, may_quote=True)) == [ANSWER], label
    of_the_client = b'{"jsonrpc":"2.0","id":3,"result":{"outcome":{}}}'
    for label in ("recv: ", "received ", "<- ", "< ", "stdin: ", "← "):
        assert lines_of(decode_parts(label.encode() + of_the_client, may_quote=True)) == [], label


@pytest.mark.parametrize(
    "method", ["initialize", "session/prompt", "session/cancel", "authenticate", "session/list"]
)
def test_a_request_that_only_clients_make_is_a_quotation_behind_any_text(method: str) -> None:
    frame = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": {}}).encode()
    assert lines_of(decode_parts(b"text" + frame, may_quote=True)) == []
    assert lines_of(decode_parts(b"text" + frame, may_quote=False)) == [frame]


GLUED = b'{"jsonrpc":"2.0","method":"x"} '
HOSTILE = {
    "many frames": GLUED * 80_000,
    "opened": b"{" * 2_000_000,
    "opened with names": b'x{"jsonrpc":' * 200_000 + b"}" * 9_000,
    "closed": b"}" * 2_000_000,
    "quotes": b'x{"' * 600_000 + b"}",
    "escapes": b"x" + b'"\\' * 1_000_000 + b"}",
    "backslashes": b'x{"' + b"\\" * 2_000_000 + b'"}',
    "almost a frame": b"x" + ANSWER[:-2] + b',"y":"' + b"a" * 2_000_000 + b'"}',
}


@pytest.mark.no_cover
@pytest.mark.parametrize("line", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_line_is_decoded_in_linear_time(line: bytes) -> None:
    frames = 80_000 if line.startswith(GLUED) else 0
    assert len(lines_of(decode_parts(line, may_quote=True))) == frames
    assert costs_its_length(lambda part: decode_parts(part, may_quote=True), line)


def test_a_line_with_too_many_braces_is_not_separated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    line = b'noise {"jsonrpc":"2.0","id":3,"result":[' + b"{}," * 50 + b"{}]}"
    assert len(lines_of(decode_parts(line, may_quote=True))) == 1
    monkeypatch.setattr(glued, "MAX_BRACES", 50)
    assert lines_of(decode_parts(line, may_quote=True)) == []


def test_any_frame_is_found_behind_any_text_that_does_not_end_like_one() -> None:
    draw = random.Random(22)
    alphabet = '{}[]":,\\ \n\x00aé\ud83d0'

    def text(most: int) -> str:
        return "".join(draw.choice(alphabet) for _ in range(draw.randrange(most)))

    def value(depth: int) -> object:
        kind = draw.randrange(5 if depth else 3)
        if kind == 3:
            return [value(depth - 1) for _ in range(draw.randrange(4))]
        if kind == 4:
            return {text(6): value(depth - 1) for _ in range(draw.randrange(4))}
        return (text(12), draw.randrange(-9, 9), None)[kind]

    for _ in range(3000):
        frame = json.dumps({"jsonrpc": "2.0", "id": 1, "result": value(4)}).encode()
        noise = text(20).replace("\n", "").encode("utf-8", "surrogatepass") + b"."
        parts = decode_parts(noise + frame, may_quote=True)
        assert lines_of(parts) == [frame], (noise, frame)
        assert jsonrpc.as_text(parts[0].line) == jsonrpc.as_text(noise)
