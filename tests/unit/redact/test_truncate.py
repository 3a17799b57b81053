"""Texts cut to so many bytes of JSON, with the cut said."""

from __future__ import annotations

import msgspec
import pytest

from lastword.core.redact.truncate import ends_to_bytes, to_bytes

LONG = {
    "letters": "abcdefgh " * 500,
    "two bytes a letter": "äöüß " * 500,
    "escapes": '"\\\n' * 500,
    "half of a pair": "x\ud83d" * 600,
}


@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
@pytest.mark.parametrize("limit", [100, 1000])
def test_a_long_text_fits_its_bytes_as_json_and_says_that_it_is_cut(text: str, limit: int) -> None:
    cut = to_bytes(text, limit)
    # An escape may take six bytes, and is counted so.
    assert limit // 7 < len(msgspec.json.encode(cut)) - 2 <= limit
    assert cut.endswith("(cut)")


@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
def test_both_ends_of_a_longer_text_may_stay(text: str) -> None:
    cut = ends_to_bytes("begin " + text + " end", 300)
    assert cut.startswith("begin ")
    assert cut.endswith(" end")
    assert len(msgspec.json.encode(cut)) - 2 <= 300


@pytest.mark.parametrize("cut", [to_bytes, ends_to_bytes])
def test_a_text_that_fits_stays_as_it_is(cut: object) -> None:
    assert callable(cut)
    assert cut("all of it", 100) == "all of it"
