"""Lines of agents' journals: what is read of each, and what tells nothing."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import Any

import pytest

from lastword.quirks import journals
from lastword.sidecar.journal_lines import MAX_LINE_BYTES, MAX_TEXT_BYTES, FailedCall, read_line
from lastword.sidecar.journals import rows_of
from lastword.sidecar.log_lines import read_own_line
from tests.kit import journal_samples
from tests.kit.journal_samples import SESSION
from tests.kit.rows import every

ROWS = {row.name: row for row in journals.ROWS}
AT = datetime(2026, 11, 22, 14, 18, 7, 220_000, UTC)


def read(name: str, *told: Any, **more: Any) -> FailedCall | None:
    """What the last line says that an agent writes of a failure."""
    row = ROWS[name.removesuffix("_cut")]
    sample: str = getattr(journal_samples, name.replace("-", "_"))(AT, *told, **more)
    lines = [line for line in sample.encode().split(b"\n") if row.marker in line]
    return read_line(row, lines[-1])


@every(
    ("name", "type_", "status", "attempt", "wait", "session"),
    [
        ("claude", "rate_limit", 429, 2, 2.0, None),
        ("claude_cut", "network", None, 2, 2.0, None),
        ("kimi-code", "rate_limit", 429, None, None, None),
        ("kimi", "rate_limit", 429, None, None, None),
        ("kimi-retries", "network", None, None, None, None),
        ("kimi-requests", "rate_limit", 429, None, None, None),
        ("pi", "network", None, None, None, None),
        ("qwen", "rate_limit", 429, None, None, None),
        ("opencode", "rate_limit", None, None, None, SESSION),
        ("vibe", "rate_limit", 429, 2, 2.0, None),
        ("cline", "rate_limit", None, None, None, SESSION),
    ],
)
def test_a_line_shows_what_failed_when_and_what_comes_next(  # noqa: PLR0913, PLR0917
    name: str,
    type_: str,
    status: int | None,
    attempt: int | None,
    wait: float | None,
    session: str | None,
) -> None:
    call = read(name)
    assert call is not None
    assert call.session_id == session
    # Most are read by their form, too, without the agent's row.
    by_form = call
    if name not in {"kimi", "kimi-retries", "kimi-requests", "cline"}:
        line: str = getattr(journal_samples, name.replace("-", "_"))(AT)
        own = read_own_line(line.encode(), of_session=True)
        assert own is not None
        by_form = own
    for each in (call, by_form):
        assert (each.verdict.type, each.verdict.http_status) == (type_, status)
        assert (each.attempt, each.wait_seconds) == (attempt, wait)
        assert each.at_epoch == AT.timestamp()
        assert not each.side


def test_every_row_has_a_sample() -> None:
    assert all(
        callable(getattr(journal_samples, row.name.replace("-", "_"))) for row in ROWS.values()
    )


def test_a_quota_that_the_providers_words_name_is_not_a_rate_limit() -> None:
    quota = "You exceeded your current quota, please check your plan and billing details."
    for name in ("claude", "kimi-code", "qwen", "opencode"):
        assert told(name, f"429 {quota}").verdict.type == "budget"


def told(name: str, *words: Any, **more: Any) -> FailedCall:
    call = read(name, *words, **more)
    assert call is not None
    return call


def test_what_single_agents_write_is_read_as_they_mean_it() -> None:
    claude = told("claude", attempt=3)
    assert (claude.attempt, claude.max_attempts) == (4, 11), "a number of retries"
    assert told("vibe").pid == os.getpid()
    assert told("opencode", small=True).side, "a title's call"
    aside = journal_samples.claude(AT).replace('"type"', '"isSidechain":true,"type"', 1)
    call = read_line(ROWS["claude"], aside.encode())
    assert call is not None
    assert call.side
    first, _ = journal_samples.kimi_retries(AT).split("\n")
    call = read_line(ROWS["kimi-retries"], first.encode())
    assert call is not None
    assert (call.verdict.type, call.attempt, call.wait_seconds) == ("unknown", 2, 0.7537)
    unquoted = (
        b"2026-11-22T15:25:30.601Z WARN  llm request failed  turnStep=0.1 model=m "
        b"errorName=APIConnectionError errorMessage=terminated"
    )
    call = read_line(ROWS["kimi-code"], unquoted)
    assert call is not None
    assert call.verdict.type == "network"
    elsewhere = journal_samples.kimi_requests(AT).replace("/chat/completions", "/mcp?key=messages")
    assert read_line(ROWS["kimi-requests"], elsewhere.encode()) is None, "no model's server"


@pytest.mark.parametrize(
    ("said", "type_"),
    [
        ("502 Bad Gateway", "provider_unavailable"),
        ("503 Service Unavailable", "provider_unavailable"),
        ("200 OK", None),
        ("404 Not Found", None),
    ],
)
def test_a_kimi_request_shows_a_failure_by_a_status_that_is_retried(
    said: str, type_: str | None
) -> None:
    line = journal_samples.kimi_requests(AT, said).encode()
    call = read_line(ROWS["kimi-requests"], line)
    assert (None if call is None else call.verdict.type) == type_
    assert read_line(ROWS["kimi"], line) is None, "no exception: the agent has given nothing up"


@every("row", journals.ROWS)
@every(
    "line",
    [
        b"",
        b"\x00\xff\xfe",
        b"{",
        b"[" * 50_000,
        b"{}",
        b'{"type":"system","subtype":"api_error"}',
        b'{"type":"system","subtype":"api_error","timestamp":5,"error":7}',
        b'{"type":"system","subtype":"api_error","timestamp":"yesterday","error":{}}',
        b'{"type":"system","subtype":"api_error","timestamp":"9999-99-99T00:00:00Z"}',
        b"2026-11-22T14:18:08.473Z INFO  llm request  turnStep=0.1",
        b'yesterday WARN  llm request failed errorName=A errorMessage="x"',
        b"[x] [WARN] Attempt 1 failed with status 429. Retrying with backoff...",
    ],
)
def test_a_line_of_another_form_is_ignored(row: journals.JournalRow, line: bytes) -> None:
    assert read_line(row, line) is None
    assert read_line(row, line + b" " + row.marker) is None


@pytest.mark.parametrize("name", ["claude", "opencode"])
def test_a_line_of_a_whole_conversation_is_not_read(name: str) -> None:
    row = ROWS[name]
    most = MAX_LINE_BYTES if row.members else MAX_TEXT_BYTES
    assert read(name, "x" * most) is None


def test_impossible_numbers_are_left_out() -> None:
    sample = journal_samples.claude(AT)
    for told, number in (("2000", "-1"), ("2000", "1e300"), ("2000", "true"), ("2000", '"2"')):
        line = sample.replace(f'"retryInMs":{told}', f'"retryInMs":{number}')
        call = read_line(ROWS["claude"], line.encode())
        assert call is not None
        assert call.wait_seconds is None
    line = sample.replace('"retryAttempt":1', '"retryAttempt":1e9')
    call = read_line(ROWS["claude"], line.encode())
    assert call is not None
    assert call.attempt is None


@pytest.mark.parametrize(
    ("name", "piece"),
    [
        ("kimi-code", 'errorName=a errorMessage="'),
        ("opencode", 'message="stream error" session.id=x error.error="'),
        ("vibe", "Retrying model completion "),
        ("kimi", "| ERROR "),
        ("kimi", " | ERROR | a - ["),
        ("kimi-retries", " | INFO | kimi_cli.soul.kimisoul:_r"),
        ("kimi-requests", " | ERROR | a - [x - INFO] HTTP Request: POST /"),
    ],
)
def test_a_line_that_nearly_fits_in_a_thousand_places_is_read_once(name: str, piece: str) -> None:
    row = ROWS[name]
    begin = "timestamp=2026-11-22T14:18:08Z level=ERROR " if name == "opencode" else "2026 WARN "
    if name == "kimi-code":
        begin += "llm request failed "
    elif name.startswith("kimi"):
        begin = "2026-11-22 14:18:07"
    line = (begin + piece * MAX_TEXT_BYTES)[:MAX_TEXT_BYTES].encode()
    # Were it looked at from each place anew, the test would not end.
    call = read_line(row, line)
    assert call is None or call.verdict.type == "unknown"


def test_both_agents_with_the_same_name_have_their_journals() -> None:
    assert {row.name for row in rows_of("Kimi Code CLI")} == {
        *("kimi", "kimi-code", "kimi-requests", "kimi-retries")
    }
    assert rows_of("an agent that nobody knows") == rows_of(None) == []
