"""No secret is kept: not in the store, not in the log, not in spans or metrics, with words or not.

Every shape goes in by prompts, tool input, exceptions, the author's own words, headers of MCP
servers and the environment. The author's own log has a test with the handlers (`test_handling.py`).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import msgspec
import pytest

from lastword.otel.spans import SpanBuilder
from lastword.record.run import Row, this_run
from tests.kit.canaries import CANARIES, NAMED_CANARIES, PLAIN
from tests.kit.recording import everything_in

if TYPE_CHECKING:
    from pathlib import Path

    from tests.process.inprocess.conftest import Record, Start

SHAPES = CANARIES | NAMED_CANARIES
WAYS = ("tool", "throttle", "own", "say")


def leaks(kept: str) -> list[str]:
    """The shapes of which something stands in a text."""
    found = []
    for shape, canary in SHAPES.items():
        secret = canary if shape in CANARIES else PLAIN
        if secret in kept or secret[6:-2] in kept:
            found.append(shape)
    return found


def spans_of(record: Record) -> str:
    """All that OpenTelemetry would be told of a record."""
    query = "SELECT kind, level, at_epoch_ms, at_seconds, session_id, turn, request_id, facts"
    rows = record.rows(f"{query} FROM entries ORDER BY id")
    run = this_run("01RUN", door="serve", program="agent.py")
    builder = SpanBuilder(run, 0.0)
    told = [
        t for *kept, facts in rows for t in builder.receive(Row(*kept, msgspec.json.decode(facts)))
    ]
    assert len(told) > len(SHAPES)
    return repr(told + builder.rest())


@pytest.mark.parametrize(("door", "words"), [("sdk", "1"), ("asyncio", "0")])
def test_no_secret_is_stored_with_words_or_without(
    start: Start, record: Record, tmp_path: Path, words: str
) -> None:
    log = tmp_path / "log.jsonl"
    hidden = {"SOME_API_KEY": "correct horse battery", "ANTHROPIC_API_KEY": PLAIN}
    client = start("log", LOG_FILE=str(log), LASTWORD_RECORD_TEXT=words, **hidden)
    client.open()
    servers = [
        {
            "name": shape,
            "type": "http",
            "url": "http://127.0.0.1",
            "headers": [{"name": "authorization", "value": canary}],
        }
        for shape, canary in SHAPES.items()
    ]
    client.answer(client.request("session/new", cwd="/", mcpServers=servers))
    for canary in SHAPES.values():
        for way in WAYS:
            client.turn(f"{way} {canary}")
    client.turn("throttle at the correct horse battery")
    assert client.end() == 0
    assert len(record.outcomes) == len(SHAPES) * len(WAYS) + 1
    kept = everything_in(record.path.parent)
    said = log.read_text()
    # Every entry is in the author's log, and a failure's words where they were asked for.
    assert [json.loads(line)["lastword_kind"] for line in said.splitlines()] == record.kinds
    assert ("Too Many Requests" in kept) is (words == "1")
    for text in (kept, said, spans_of(record)):
        assert leaks(text) == []
        assert "horse" not in text
