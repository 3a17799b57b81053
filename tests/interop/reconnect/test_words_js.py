"""The words of a link in JavaScript and in Python are of one mind."""

from __future__ import annotations

import json
from pathlib import Path

from lastword.client.link_words import BY_NAME, word_of_close
from tests.interop import toolchain
from tests.kit.places import PROTOCOL
from tests.kit.programs import run_program

HERE = Path(__file__).resolve().parent
REASONS = [
    *("", "nothing that is known", "stalled retry=9", '{"reason":"host","message":"So."}'),
    *('{"reason":7}', '{"reason"', "{}", "[]"),
]
CLOSES = [(code, "") for code in (*range(1000, 1020), 3500, 4000, 4001, *range(4400, 4500))]


def test_a_close_has_the_same_word_in_both_languages() -> None:
    toolchain.require_plain_node()
    closes = CLOSES + [(1006, text) for text in (*REASONS, *BY_NAME)]
    done = run_program(
        ["node", str(HERE / "words.mjs"), str(PROTOCOL / "words.js")],
        stdin=json.dumps(closes),
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = [each["word"] if each else None for each in json.loads(done.stdout)]
    found = [word_of_close(*close) for close in closes]
    assert told == [word.word if word else None for word in found]
