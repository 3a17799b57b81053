"""What is added to an agent's command, and the event stream that it then serves."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from lastword.platform import process_tree
from lastword.quirks.agents import ROWS
from lastword.sidecar.agent_start import ADDED_TO, AgentStart
from lastword.sidecar.event_stream import (
    MAX_LINE_BYTES,
    Chunks,
    EmptyAnswers,
    EventLines,
)
from tests.kit.rows import every

if TYPE_CHECKING:
    import pytest


@every(
    ("command", "evidence", "may"),
    [
        ("gemini --acp", "auto", True),
        ("npx -y @google/gemini-cli@latest --acp", "auto", True),
        ("/usr/bin/qwen --acp", "auto", True),
        ("gemini --acp", "beside", False),
        ("gemini --acp", "wire", False),
        ("codex-acp", "auto", False),
        ("my-agent", "inside", True),
        ("docker run gemini", "auto", False),
        ("sudo my-agent", "inside", False),
    ],
)
def test_the_observer_is_used_for_tested_agents_and_for_any_on_request(
    command: str, evidence: str, may: bool
) -> None:
    assert AgentStart(command.split(), evidence).may_have_observer is may


@every(
    ("command", "evidence", "may"),
    [
        ("opencode acp", "auto", True),
        ("opencode acp --port 0", "auto", False),
        ("opencode acp --port=0", "auto", False),
        ("opencode serve", "auto", False),
        ("opencode acp", "wire", False),
        ("another-agent acp", "auto", False),
    ],
)
def test_a_port_is_added_if_it_is_wanted_and_none_is_given(
    command: str, evidence: str, may: bool
) -> None:
    assert AgentStart(command.split(), evidence).may_have_port is may


def test_every_agent_with_an_addition_is_in_the_lookup_table() -> None:
    observed = [row for row in ROWS if row.observed or row.name == "opencode"]
    assert len(observed) > 3
    for row in observed:
        for program in row.programs:
            assert any(name in program for name in ADDED_TO), program


def test_a_single_empty_answer_or_one_with_words_gives_no_hint() -> None:
    empty = EmptyAnswers()
    info = {"id": "m1", "parentID": "p1", "finish": "unknown"}

    def hint(number: int, prompt: str, output: int = 0) -> object:
        tokens = {"output": output, "reasoning": 0}
        more = {"id": f"m{number}", "parentID": prompt, "tokens": tokens}
        return empty.hint({"properties": {"sessionID": "s1", "info": info | more}}, 1.0)

    assert hint(1, "p1") is None
    assert hint(1, "p1") is None
    assert hint(2, "p1", output=9) is None
    assert [hint(1, f"p{number}") for number in range(2, 100)] == [None] * 98
    assert hint(2, "p99") is not None
    assert empty.hint({"properties": {"info": info}}, 1.0) is None


@every("size", [1, 2, 3, 5, 1000])
def test_chunks_are_assembled_from_any_pieces(size: int) -> None:
    framed = b"5\r\nhello\r\n7;x=y\r\n, world\r\nA\r\n0123456789\r\n"
    chunks, body = Chunks(), b""
    for start in range(0, len(framed), size):
        taken = chunks.feed(framed[start : start + size])
        assert taken is not None
        body += taken
    assert body == b"hello, world0123456789"
    assert chunks.feed(b"0\r\n\r\n") is None


@every("framed", [b"xyz\r\n", b"\r\n", b"-5\r\n", b"fffffffff\r\n", b"1" * 20_000])
def test_an_invalid_chunk_ends_the_stream(framed: bytes) -> None:
    assert Chunks().feed(framed) is None


def test_a_line_is_bounded_and_one_behind_a_longer_one_is_read() -> None:
    lines, line = EventLines(), b'data: {"session.status" "retry"}'
    for _ in range(100):
        lines.feed(b"x" * MAX_LINE_BYTES)
    lines.feed(line + b"\n" + line + b"\n" + b"no more than a line\n" + line)
    assert lines.marked() == [line]
    lines.feed(b"\n")
    assert lines.marked() == [line]


def test_no_listener_is_found_where_the_system_lists_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(process_tree, "_RANGE", "/nowhere")
    monkeypatch.setattr(process_tree, "_TABLE", "/nowhere")
    monkeypatch.setattr(process_tree, "_LSOF", ())
    assert process_tree._dynamic_from() == 49_152
    assert not process_tree.listens(1, os.getpgrp())
