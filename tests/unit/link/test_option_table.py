"""The table of options: one row names an option for every door, and reads what is written of it."""

from __future__ import annotations

import pytest

from lastword.core.failure.ladder import AUTO, Rung
from lastword.core.link.option_table import BY_KEY, MIB, OPTIONS
from lastword.core.link.options import LIMITS, WORDS, Options


def test_an_option_has_the_same_name_everywhere() -> None:
    option = BY_KEY["idle_timeout"]
    assert option.name == "idle-timeout"
    assert option.variable == "LASTWORD_IDLE_TIMEOUT"
    assert option.field == "idle_timeout_seconds"
    assert BY_KEY["fallback"].field == "fallback"


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("idle_timeout", "0.5s", 0.5),
        ("idle_timeout", "soon", None),
        ("idle_timeout", "-1", None),
        ("stderr_limit", "2MiB", 2 * MIB),
        ("stderr_limit", "2 parsecs", None),
        ("retry", "2", 2),
        ("retry", "-1", None),
        ("retry", "1.5", None),
        ("retry", "²", None),
        ("retry", "9" * 5000, None),
        ("verbose", "YES", True),
        ("verbose", "perhaps", None),
        ("record", "/there", "/there"),
        ("record", "", None),
        ("silent_success", "pass", "pass"),
        ("silent_success", "error|pass", None),
    ],
)
def test_a_text_is_read_by_the_kind_of_the_option(key: str, text: str, value: object) -> None:
    assert BY_KEY[key].read(text) == value


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_every_option_says_what_it_takes(option: object) -> None:
    assert getattr(option, "expects", "")


def test_what_a_link_is_set_to_by_default_stands_in_the_table() -> None:
    options = Options()
    for name in (*LIMITS, "retry", "fallback", "silent_success", "record_text"):
        (option,) = [option for option in OPTIONS if option.field == name]
        assert getattr(options, name) == option.default
    assert len(LIMITS) == 8


def test_a_fallback_is_any_rung_that_there_is() -> None:
    assert set(WORDS["fallback"]) == {AUTO, *Rung}
