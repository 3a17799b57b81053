"""Traces of other programs: each line is read as one of `lastword run --frames`.

acp.el saved `acp_el.traffic` in Emacs 28.2, in front of an agent.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lastword.cli import record_access
from lastword.core.classify.pasted_error import read_pasted
from lastword.core.protocol.acp_el import read_traffic
from lastword.core.protocol.traces import read_trace_line
from tests.kit.rows import every

PROMPT = {"jsonrpc": "2.0", "id": 2, "method": "session/prompt", "params": {"sessionId": "s1"}}
NOTE = {"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "s1"}}
ERROR = {"code": -32603, "message": "429 Too Many Requests"}
FAILED = {"jsonrpc": "2.0", "id": 2, "error": ERROR}
DONE = {"jsonrpc": "2.0", "id": 2, "result": {"stopReason": "end_turn"}}
TO_AGENT = {"from": "client", "to": "agent"}
TO_CLIENT = {"from": "agent", "to": "client"}


def inspector(direction: str, message: Any, moment: object) -> dict[str, Any]:
    text = message if isinstance(message, str) else json.dumps(message)
    return {"ts": moment, "direction": direction, "json": text}


def conductor(kind: str, sides: dict[str, str], **more: Any) -> dict[str, Any]:
    return {"ts": 0.25, "type": kind, "protocol": "acp", **sides, **more}


REQUEST = conductor("request", TO_AGENT, session=None, **{**PROMPT, "jsonrpc": "x"})
ANSWER = conductor("response", TO_CLIENT, id=2, is_error=True, payload=ERROR)

LINES = {
    "lastword's own": ({"at": 5, "from": "agent"}, {"at": 5, "from": "agent"}),
    "a message": (PROMPT, {"frame": PROMPT}),
    "a date": (
        inspector("fromClient", PROMPT, "1970-01-01T00:00:02Z"),
        {"at": 2.0, "frame": PROMPT} | TO_AGENT,
    ),
    "milliseconds": (
        inspector("FromAgent", FAILED, 1500),
        {"at": 1.5, "frame": FAILED} | TO_CLIENT,
    ),
    "no date": (
        inspector("fromAgent", "{oops", "soon"),
        {"at": None, "text": "{oops"} | TO_CLIENT,
    ),
    "a request": (REQUEST, {"at": 0.25, "frame": PROMPT} | TO_AGENT),
    "a notification": (
        conductor("notification", TO_AGENT, method=NOTE["method"], params=NOTE["params"]),
        {"at": 0.25, "frame": NOTE} | TO_AGENT,
    ),
    "an error": (ANSWER, {"at": 0.25, "frame": FAILED} | TO_CLIENT),
    "a result": (
        conductor("response", TO_CLIENT, id=2, is_error=False, payload=DONE["result"]),
        {"at": 0.25, "frame": DONE} | TO_CLIENT,
    ),
    "a line of a log": ({"ts": 1, "type": "trace", "message": "x"}, None),
    "no object": ([1], None),
}


@pytest.mark.parametrize(("line", "expected"), LINES.values(), ids=LINES)
def test_a_foreign_traces_line_is_read_as_one_of_ours(line: Any, expected: Any) -> None:
    assert read_trace_line(line) == expected


def test_the_failure_in_a_trace_is_the_one_that_is_explained() -> None:
    refused = {"jsonrpc": "2.0", "id": 9, "error": {"code": -32602, "message": "no such file"}}
    for lines in (
        (PROMPT, FAILED, NOTE),
        (inspector("fromClient", PROMPT, 1), inspector("fromAgent", FAILED, 2)),
        (REQUEST, ANSWER),
        ({"at": 1, "frame": PROMPT} | TO_AGENT, {"at": 2, "frame": FAILED} | TO_CLIENT),
        # A client's error to its agent is none.
        (inspector("fromAgent", FAILED, 1), inspector("fromClient", refused, 2)),
    ):
        reading = read_pasted("\n".join(map(json.dumps, lines)))
        assert (reading.form, reading.value) == ("JSON lines", FAILED), lines


FILE = Path(__file__).with_name("acp_el.traffic")
META = {
    "a key": 1.5,
    "429": -3,
    "": "empty",
    "quote": {"b": 1},
    "x.y;#?(": [1, [], None, True, None, None],
    "nil": 1,
    "t": 2,
}
UPDATE = {
    "sessionUpdate": "agent_message_chunk",
    "content": {"type": "text", "text": 'one "two"\n\\three — ☃ \x07\x1b[31m'},
    "_meta": META,
}


def traffic(notation: str) -> str:
    return f"(((:direction . incoming)\n  (:kind . notification)\n  (:object\n   {notation})))\n"


def test_a_traffic_file_of_emacs_is_read_as_frames_and_its_failure_explained() -> None:
    lines = read_traffic(FILE.read_text("utf-8"))
    assert {(line["at"], line["frame"]["jsonrpc"]) for line in lines} == {(None, "2.0")}
    assert [(line["from"], line["frame"].get("method")) for line in lines] == [
        *(("client", "initialize"), ("agent", None)),
        *(("client", "session/new"), ("agent", None)),
        *(("client", "session/prompt"), ("agent", "session/update")),
        *(("agent", "fs/read_text_file"), ("client", None), ("agent", None)),
    ]
    assert all({line["from"], line["to"]} == {"client", "agent"} for line in lines)
    frames = [line["frame"] for line in lines]
    capabilities = {"fs": {"readTextFile": True, "writeTextFile": False}}
    assert frames[0]["params"] == {"protocolVersion": 1, "clientCapabilities": capabilities}
    assert frames[2]["params"] == {"cwd": "/x", "mcpServers": []}
    assert frames[4]["params"]["prompt"] == [{"type": "text", "text": "hi there"}]
    assert frames[5]["params"] == {"sessionId": "s1", "update": UPDATE}
    reading = read_pasted(FILE.read_text("utf-8"))
    assert (reading.form, reading.value) == ("a traffic file of acp.el", frames[-1])
    assert frames[-1]["error"]["data"] == {"details": "429 Too Many Requests"}


@every(
    ("notation", "expected"),
    [
        ('(x\n (a . 2)\n . #1=((b . "x")))\n (y . #1#)', ({"a": 2, "b": "x"}, {"b": "x"})),
        ("(x #1=(p\n (b . 1)))\n (y #1#\n (k . 2))", ({"p": {"b": 1}}, {"p": {"b": 1}, "k": 2})),
        ("(x . #1=[((b . 1))\n 1])\n (y . #1#)", ([{"b": 1}, 1], [{"b": 1}, 1])),
        ("(x . 1e+20) (y . 1e-07)", (1e20, 1e-7)),
        ('(x . "a\tb\\fc\\\\") (y . sym)', ("a\tb\fc\\", "sym")),
        ('(x . #("text" 0 2 (n [1 2] help "x)"))) (y . :null)', ("text", None)),
        ("(x . 1) (y . 2) (x . 3)", (1, 2)),
    ],
)
def test_what_emacs_prints_is_read_as_it_was_sent(notation: str, expected: tuple[Any, Any]) -> None:
    frames = [line["frame"] for line in read_traffic(traffic(notation))]
    assert frames == [dict(zip("xy", expected, strict=True))]


@every(
    "notation",
    [
        *("(x (y (z", "x", '("x" . 1)', "(x . ])", "(x . #1#)", "(x " * 2000),
        *("(x (y . 1) . 2)", "(x . )"),
    ],
)
def test_what_was_saved_before_the_unreadable_is_read(notation: str) -> None:
    first = "(((:direction . outgoing) (:object (id . 1)))\n"
    assert [line["frame"] for line in read_traffic(first + traffic(notation)[1:])] == [{"id": 1}]


def test_other_text_is_no_traffic() -> None:
    for text in ("", "(1 2)", "(((direction . incoming)))", "a ((:direction"):
        assert read_traffic(text) == []


def test_the_page_gets_a_traffic_file_as_frames_and_again_once_it_was_saved_again(
    tmp_path: Path,
) -> None:
    file = tmp_path / "yolo.traffic"
    file.write_bytes(FILE.read_bytes())
    assert record_access.has_frames(str(file))
    shown = record_access.frame_lines(str(file), None)
    assert shown["frames"] == read_traffic(FILE.read_text("utf-8"))
    rest = record_access.frame_lines(str(file), shown["next"])
    assert (rest["frames"], rest["more"], rest["anew"]) == ([], False, False)
    file.write_text(traffic("(id . 1)"))
    again = record_access.frame_lines(str(file), shown["next"])
    assert ([line["frame"] for line in again["frames"]], again["anew"]) == ([{"id": 1}], True)
