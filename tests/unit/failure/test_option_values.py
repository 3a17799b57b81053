"""Values of options as a user writes them: durations, and limits in money with their currency."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastword.cli.run.options import UsageError, parse
from lastword.core.failure.option_values import CURRENCIES, limit_of, money, seconds_of
from lastword.core.link.option_table import BY_KEY
from lastword.core.link.options import Options
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


OPTION = BY_KEY["spend_limit"]


@every(
    ("text", "written"),
    [
        ("5USD", "5USD/session"),
        ("5.50 EUR/day", "5.5EUR/day"),
        ("2usd/turn", "2USD/turn"),
        (" 0.01 usd / Session ", "0.01USD/session"),
        (".5GBP", "0.5GBP/session"),
        ("0.00001USD", "0.00001USD/session"),
        ("100USD", "100USD/session"),
        ("1000000000000IDR", "1000000000000IDR/session"),
        ("0", ""),
        ("", ""),
    ],
)
def test_a_limit_is_an_amount_with_its_currency(text: str, written: str) -> None:
    assert (OPTION.read(text), OPTION.read(written)) == (written, written)
    assert Options(spend_limit=text).spend_limit == written


@every(
    "text",
    [
        *("5", "5XYZ", "USD", "five USD", "5USD/week", "5USD/", "-5USD", "+5USD", "0.00EUR"),
        *("1e400USD", "nanUSD", "infUSD", "5 US Dollars", "$5", "5,50EUR", "5.5.0USD", ".USD"),
        *("\u0665USD", "\u00b2USD", "2000000000000USD", "5USD/day/turn", "5_0USD"),
    ],
)
def test_an_invalid_limit_is_refused_with_a_valid_one(text: str) -> None:
    assert OPTION.read(text) is None
    with pytest.raises(UsageError, match="it takes an amount with its currency, such as 5USD"):
        parse(["--spend-limit", text, "--", "agent"], {})
    with pytest.raises(ValueError, match="spend_limit takes an amount with its currency"):
        Options(spend_limit=text)


def test_a_limit_has_its_parts() -> None:
    limit = limit_of("7.5 chf / day")
    assert limit is not None
    assert (limit.amount, limit.currency, limit.scope) == (7.5, "CHF", "day")


def test_a_limit_for_a_day_needs_the_record() -> None:
    with pytest.raises(UsageError, match="--no-record"):
        parse(["--spend-limit=5USD/day", "--no-record", "--", "agent"], {})
    for limit in ("5USD", "5USD/turn"):
        options = parse([f"--spend-limit={limit}", "--no-record", "--", "agent"], {})
        assert options.values["spend_limit"]


@pytest.mark.parametrize(
    ("amount", "words"),
    [
        (0, "0.00 USD"),
        (0.00001, "less than 0.0001 USD"),
        (0.00034567, "0.00035 USD"),
        (0.01, "0.01 USD"),
        (1234.5, "1,234.50 USD"),
    ],
)
def test_an_amount_is_shown_to_the_cent_or_finer_below_one(amount: float, words: str) -> None:
    assert money(amount, "USD") == words


def test_the_codes_are_three_letters_each_and_unique() -> None:
    assert len(CURRENCIES) > 150
    assert all(len(code) == 3 and code.isupper() for code in CURRENCIES)
