"""Text made fit to be shown: printable, for JSON as well, and cut to so many bytes."""

from __future__ import annotations

import json

import msgspec
import pytest

from lastword.core.classify import Verdict
from lastword.core.failure.taxonomy import ErrorType
from lastword.core.failure.wording import compose
from lastword.core.redact.printable import one_line, printable, printable_json
from lastword.core.redact.redactor import Redactor
from lastword.core.redact.truncate import ends_to_bytes, to_bytes
from tests.kit.rows import every

OBEYED = ["\x1b", "\x07", "\x9b", "\x85", "\r", "\x08", "\u202e", "\u2066", "\u200f", "\u2028"]


@every("mark", OBEYED)
def test_a_character_that_a_terminal_obeys_becomes_a_space(mark: str) -> None:
    assert printable(f"a{mark}b\n\tc") == "a b\n\tc"
    assert one_line(f"a{mark}b\n\tc") == "a b  c"


@every(
    ("written", "shown"),
    [
        ("\x1b[91m\x1b[1mError: \x1b[0mno model", "Error: no model"),
        ("\x1b[38;5;9;1mError\x1b[0m: no\x1b[K", "Error: no"),
        ("a\x1b[?25lb\x1b[2 qc", "a b c"),
        ("\x1b]0;title\x07a\x1b]8;;http://host\x1b\\link\x1b]8;;\x1b\\", " a link "),
        ("a\x1b]an end is missing", "a ]an end is missing"),
        ("a\x1b[\x1b[0m31mb [5m]", "a b [5m]"),
    ],
)
def test_a_control_sequence_is_removed_as_a_whole(written: str, shown: str) -> None:
    assert printable(written) == one_line(written) == shown
    verdict = Verdict(type=ErrorType.UNKNOWN, retryable=False, rule="", detail=written)
    error = compose(verdict, phase=None, retry_safety=None)
    quoted = " ".join(shown.split()).replace("[", "(").replace("]", ")").removeprefix("Error: ")
    assert f'"{quoted}"' in error.message


def test_a_text_that_can_be_printed_is_the_same() -> None:
    assert printable("naïve 😀 text") == "naïve 😀 text"
    assert printable_json('"naïve 😀 text"') == '"naïve 😀 text"'


@every("mark", [*OBEYED, "\U000e0001"])
def test_json_is_escaped_and_means_the_same(mark: str) -> None:
    value = {"a" + mark: [mark, "line\n"]}
    told = printable_json(json.dumps(value, ensure_ascii=False, indent=2))
    assert mark not in told
    assert json.loads(told) == value


@pytest.mark.parametrize(
    "text",
    ["abcdefgh " * 500, "äöüß " * 500, '"\\\n' * 500, "x\ud83d" * 600],
    ids=["letters", "two bytes a letter", "escapes", "half of a pair"],
)
def test_a_long_text_fits_its_bytes_as_json_and_says_that_it_is_cut(text: str) -> None:
    for limit in (100, 1000):
        cut = to_bytes(text, limit)
        # An escape may take six bytes, and is counted so.
        assert limit // 7 < len(msgspec.json.encode(cut)) - 2 <= limit
        assert cut.endswith("(cut)")
    cut = ends_to_bytes("begin " + text + " end", 300)
    assert cut.startswith("begin ")
    assert cut.endswith(" end")
    assert len(msgspec.json.encode(cut)) - 2 <= 300
    assert to_bytes("all of it", 100) == ends_to_bytes("all of it", 100) == "all of it"


def test_a_secret_is_redacted_before_it_is_cut() -> None:
    secret = "correct horse battery staple " * 3
    verdict = Verdict(
        type=ErrorType.UNKNOWN, retryable=False, rule="", provider_code="x" * 100 + secret
    )
    error = compose(verdict, phase=None, retry_safety=None, redact=Redactor((secret,)))
    assert error.provider_code is not None
    assert "correct" not in error.provider_code
