"""Traffic files of acp.el; it saved `acp_el.traffic` in Emacs 28.2, in front of an agent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lastword.cli import record_access
from lastword.core.classify.pasted_error import read_pasted
from lastword.core.protocol.acp_el import read_traffic

FILE = Path(__file__).with_name("acp_el.traffic")
ERROR = {"code": -32603, "message": "Internal error"}
FAILED = {
    "jsonrpc": "2.0",
    "id": 3,
    "error": ERROR | {"data": {"details": "429 Too Many Requests"}},
}
META = {
    "a key": 1.5,
    "429": -3,
    "": "empty",
    "quote": {"b": 1},
    "x.y;#?(": [1, [], None, True, None, None],
    "nil": 1,
    "t": 2,
}
TEXT = 'one "two"\n\\three — ☃ \x07\x1b[31m'
UPDATE = {
    "sessionUpdate": "agent_message_chunk",
    "content": {"type": "text", "text": TEXT},
    "_meta": META,
}
PROMPT = {"sessionId": "s1", "prompt": [{"type": "text", "text": "hi there"}]}


def traffic(notation: str) -> str:
    return f"(((:direction . incoming)\n  (:kind . notification)\n  (:object\n   {notation})))\n"


def test_a_traffic_file_is_read_as_frames() -> None:
    lines = read_traffic(FILE.read_text("utf-8"))
    assert [(line["at"], line["from"], line["to"]) for line in lines] == [
        (None, *sides)
        for sides in [("client", "agent"), ("agent", "client")] * 2
        + [("client", "agent"), ("agent", "client"), ("agent", "client")]
        + [("client", "agent"), ("agent", "client")]
    ]
    frames = [line["frame"] for line in lines]
    assert {frame["jsonrpc"] for frame in frames} == {"2.0"}
    assert [frame.get("method") for frame in frames] == [
        *("initialize", None, "session/new", None, "session/prompt"),
        *("session/update", "fs/read_text_file", None, None),
    ]
    capabilities = {"fs": {"readTextFile": True, "writeTextFile": False}}
    assert frames[0]["params"] == {"protocolVersion": 1, "clientCapabilities": capabilities}
    assert frames[2]["params"] == {"cwd": "/x", "mcpServers": []}
    assert frames[4]["params"] == PROMPT
    assert frames[5]["params"] == {"sessionId": "s1", "update": UPDATE}
    assert frames[-1] == FAILED


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
    "notation",
    [
        "(x (y (z",
        "x",
        '("x" . 1)',
        "(x . ])",
        "(x . #1#)",
        "(x " * 2000,
        "(x (y . 1) . 2)",
        "(x . )",
    ],
)
def test_what_was_saved_before_the_unreadable_is_read(notation: str) -> None:
    first = "(((:direction . outgoing) (:object (id . 1)))\n"
    assert [line["frame"] for line in read_traffic(first + traffic(notation)[1:])] == [{"id": 1}]


@pytest.mark.parametrize("text", ["", "(1 2)", "(((direction . incoming)))", "a ((:direction"])
def test_other_text_is_no_traffic(text: str) -> None:
    assert read_traffic(text) == []


def test_the_failure_in_a_traffic_file_is_explained() -> None:
    reading = read_pasted(FILE.read_text("utf-8"))
    assert (reading.form, reading.value) == ("a traffic file of acp.el", FAILED)


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
