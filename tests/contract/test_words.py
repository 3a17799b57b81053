"""The words of a link: one table, and what is made of it for each language."""

from __future__ import annotations

import ast
import json
import re
from typing import TYPE_CHECKING, Any

from lastword.client.close_codes import LossKind, classify_close, classify_upgrade
from lastword.client.link_words import BY_NAME, word_of_close, word_of_status
from lastword.client.reconnect_model import ENDS
from lastword.core.failure.taxonomy import Action, ErrorType
from lastword.core.failure.transport_words import TRANSPORT_WORDS
from protocol import generate_words
from tests.kit.places import PROTOCOL
from tests.kit.rows import every
from tests.kit.sources import ROOT

if TYPE_CHECKING:
    from lastword.core.failure.transport_words import TransportWord

ROWS: list[dict[str, Any]] = json.loads((PROTOCOL / "words.json").read_text())["words"]


def test_the_committed_files_are_those_that_the_command_generates() -> None:
    made = generate_words.made()
    assert len(made) == 4
    for path, text in made.items():
        assert path.read_text(encoding="utf-8") == text, f"{path}: run protocol/generate_words.py"
    assert [word.word for word in TRANSPORT_WORDS] == [row["word"] for row in ROWS]


def test_the_words_of_the_table_are_distinct_and_complete() -> None:
    for word in TRANSPORT_WORDS:
        assert word.type in set(ErrorType), word
        assert word.action in set(Action), word
        assert word.loss in {*LossKind, "none"}, word
        assert word.sentence.endswith("."), word
        assert word.advice.endswith("."), word
        assert re.fullmatch("[a-z0-9_]+", word.word), word
    for member in ("codes", "statuses"):
        found = [each for word in TRANSPORT_WORDS for each in getattr(word, member)]
        assert len(found) == len(set(found)), member
    names = [name for word in TRANSPORT_WORDS for name in (word.word, *word.aliases)]
    assert len(names) == len(set(names)) == len(BY_NAME)


@every("word", TRANSPORT_WORDS)
def test_codes_and_statuses_are_classified_like_their_word(word: TransportWord) -> None:
    for code in word.codes:
        loss = classify_close(code)
        assert loss.kind == word.loss
        assert loss.why in {None, word.word, "protocol"}
        assert word_of_close(code) is word
    for status in word.statuses:
        assert word_of_status(status) is word
        if status != 408:  # a request that took too long is no link that fell silent
            assert classify_upgrade(status).kind == word.loss


def test_an_end_of_the_policy_has_its_words_sentence_and_advice() -> None:
    for why, end in ENDS.items():
        if "{" not in end.line:
            word = BY_NAME[why.value]
            assert (word.sentence, word.advice) == (end.line, end.advice)


@every(
    ("code", "reason", "named"),
    [
        (1006, "", "closed_1006"),
        (4000, "", "no_heartbeat"),
        (4408, "stalled", "stalled"),
        (1011, "keepalive ping timeout", "no_heartbeat"),
        (4404, "session-unknown", "session_unknown"),
        (4429, "too_many_failures retry=9", "too_many_failures"),
        (4403, '{"reason":"host","message":"It is not known."}', "host"),
        (4403, '{"reason":', "forbidden"),
        (4403, '{"reason":7}', "forbidden"),
        (4999, "nothing that is known", None),
    ],
)
def test_a_close_is_described_by_its_reason_or_its_code(code: int, reason: str, named: str) -> None:
    word = word_of_close(code, reason)
    assert (word.word if word else None) == named


CALLS = {"ProblemError": 1, "problem": 1, "Refusal": 2, "_refused": 0, "close": 1, "shut": 1}
CALLS |= {"partial": 1, "end": 1}
"""The functions of the gateway that refuse or close, and which of their arguments is the reason."""


def test_the_gateway_refuses_and_closes_only_with_these_words() -> None:
    found = set()
    for path in (ROOT / "gateway").rglob("*.py"):
        if path.parent.name == "connecting":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                name = getattr(node.func, "attr", getattr(node.func, "id", ""))
                for reason in node.args[CALLS.get(name, len(node.args)) :][:1]:
                    if isinstance(reason, ast.Constant) and isinstance(reason.value, str):
                        found.add(reason.value)
    assert {"session_unknown", "stalled", "bad_cursor", "turn_open"} <= found
    # The HTTP transport's own ends, which no client sees: they stand on an entry alone.
    assert found - {word.word for word in TRANSPORT_WORDS} == {"deleted", "no stream is open"}
