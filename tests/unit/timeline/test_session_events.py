"""The table of a session's events, and every place that says something of each."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from lastword.core.timeline.entry import Kind
from lastword.core.timeline.session_events import (
    BY_WORD,
    FACTS,
    GATEWAY,
    LOG_KINDS,
    RECORDED,
    SESSION_EVENTS,
    WORDS,
)
from lastword.gateway.api.shapes import EventKind
from lastword.gateway.quality import table
from lastword.record.present import gateway_words, words
from lastword.web.files import GATEWAY as GATEWAY_PAGE
from lastword.web.files import RECORD, SHARED
from protocol import generate_events
from tests.kit.sources import FILES, ROOT, nodes_of

if TYPE_CHECKING:
    from pathlib import Path


def cases(script: Path, function: str) -> set[str]:
    """The kinds or words for which a function of a page has a case of its own."""
    text = script.read_text(encoding="utf-8").partition(function)[2].partition("\n}\n")[0]
    return set(re.findall(r'case "(\w+)":', text))


def test_every_kind_has_a_row_with_a_label_and_is_recorded_or_in_a_log() -> None:
    assert set(SESSION_EVENTS) == set(Kind) == RECORDED | {*LOG_KINDS}
    assert all(spec.label for spec in SESSION_EVENTS.values())
    assert {*FACTS} == {*Kind}


def test_the_record_has_words_for_every_kind_that_it_has_and_no_other() -> None:
    assert set(gateway_words.TELLERS) == GATEWAY
    assert set(words._TELLERS) | {Kind.PROMPT} == RECORDED  # a prompt has no more to say


def test_the_api_and_the_metrics_have_the_kinds_of_the_table() -> None:
    assert [kind.value for kind in EventKind] == [kind.value for kind in LOG_KINDS]
    (label,) = table.EVENTS.labels
    assert {BY_WORD[word] for word in label.values} == WORDS.keys() & RECORDED


def test_words_of_the_log_that_older_versions_wrote_are_read_and_still_written() -> None:
    older = {kind.value: word for kind, word in WORDS.items() if word != kind.value}
    assert older == {
        "session_restored": "restored",
        "session_not_restored": "not_restored",
        "supervisor_exited": "agent_ended",
    }
    assert {BY_WORD[word] for word in WORDS.values()} == {*WORDS}


def test_the_pages_script_is_what_the_table_makes() -> None:
    assert generate_events.FILE == SHARED / "session_events.js"
    assert generate_events.FILE.read_text(encoding="utf-8") == generate_events.made()


def test_the_pages_know_no_kind_and_no_word_that_the_table_lacks() -> None:
    own = {kind.value for kind in RECORDED - {*LOG_KINDS}}
    shown = cases(SHARED / "timeline.js", "function inWords(")
    assert "viewer_left" in shown
    assert shown <= {*LOG_KINDS}
    about = cases(RECORD / "record.js", "function ownAbout(")
    assert "silence" in about
    assert about <= own
    news = cases(GATEWAY_PAGE / "session.js", "  #life(params)")
    assert "agent_ended" in news
    assert news <= {*WORDS.values()}


def test_the_gateway_notes_every_event_of_the_table_that_a_log_has_as_life_and_no_other() -> None:
    noted, named = set(), set()
    for path in FILES:
        if not path.is_relative_to(ROOT / "gateway") or path.name == "recorded_entries.py":
            continue
        for node in nodes_of(path):
            if isinstance(node, ast.Call):
                args = {*map(kind_of, node.args)} - {None}
                called = ast.unparse(node.func).rpartition(".")[2]
                noted |= args if called in {"note", "note_of", "note_bounded", "LagNote"} else set()
            elif isinstance(node, ast.Subscript) and ast.unparse(node.value) == "WORDS":
                named |= {kind_of(node.slice)} - {None}
    assert noted | named == {*WORDS}


def kind_of(node: ast.expr) -> Kind | None:
    said = ast.unparse(node)
    return Kind[said.removeprefix("Kind.")] if said.startswith("Kind.") else None
