"""A duration as a user writes it: a number, with a unit or without."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastword.core.failure.option_values import seconds_of
from tests.kit.rows import every

UNITS = {"ms": 0.001, "s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400, "w": 604_800}


@given(
    number=st.integers(0, 10**6),
    unit=st.sampled_from(sorted(UNITS)),
    space=st.sampled_from(("", " ")),
)
def test_a_number_counts_in_its_unit(number: int, unit: str, space: str) -> None:
    for written in (unit, unit.upper()):
        assert seconds_of(f"{number}{space}{written}") == pytest.approx(number * UNITS[unit])


@given(number=st.integers(0, 10**6))
def test_a_number_without_a_unit_counts_in_that_of_its_option(number: int) -> None:
    assert seconds_of(str(number)) == number
    assert seconds_of(str(number), unit="d") == number * 86_400
    assert seconds_of(str(number), unit="") is None


@given(text=st.text(max_size=12))
def test_any_other_text_is_not_a_duration_and_raises_nothing(text: str) -> None:
    seconds = seconds_of(text)
    assert seconds is None or 0 <= seconds < float("inf")


@every("text", ["", "s", "-1", "-1h", "nan", "inf", "1e999d", "1y", "1h30m", "0x1"])
def test_an_impossible_duration_is_rejected(text: str) -> None:
    assert seconds_of(text) is None
