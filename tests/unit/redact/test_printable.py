"""Printable text: nothing that a terminal would obey is left, and JSON means what it meant."""

from __future__ import annotations

import json

from lastword.core.redact.printable import one_line, printable, printable_json
from tests.kit.rows import every

OBEYED = ["\x1b", "\x07", "\x9b", "\x85", "\r", "\x08", "\u202e", "\u2066", "\u200f", "\u2028"]


@every("mark", OBEYED)
def test_a_character_that_a_terminal_obeys_becomes_a_space(mark: str) -> None:
    assert printable(f"a{mark}b\n\tc") == "a b\n\tc"
    assert one_line(f"a{mark}b\n\tc") == "a b  c"


def test_a_text_that_can_be_printed_is_the_same() -> None:
    assert printable("naïve 😀 text") == "naïve 😀 text"
    assert printable_json('"naïve 😀 text"') == '"naïve 😀 text"'


@every("mark", [*OBEYED, "\U000e0001"])
def test_json_is_escaped_and_means_the_same(mark: str) -> None:
    value = {"a" + mark: [mark, "line\n"]}
    told = printable_json(json.dumps(value, ensure_ascii=False, indent=2))
    assert mark not in told
    assert json.loads(told) == value
