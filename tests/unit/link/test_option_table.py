"""The table of options: one row names an option for every door, and reads what is written of it."""

from __future__ import annotations

import pytest

from lastword.core.failure.ladder import AUTO, Rung
from lastword.core.link.option_table import BY_KEY, MIB, OPTIONS
from lastword.core.link.options import LIMITS, WORDS, LinkOptions, Options
from tests.kit.rows import every


def test_an_option_has_the_same_name_everywhere() -> None:
    option = BY_KEY["idle_timeout"]
    assert (option.name, option.variable) == ("idle-timeout", "LASTWORD_IDLE_TIMEOUT")
    assert option.field == "idle_timeout_seconds"
    assert BY_KEY["fallback"].field == "fallback"


@every(
    ("key", "text", "value"),
    [
        ("idle_timeout", "0.5s", 0.5),
        ("idle_timeout", "1h", 3600),
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
        ("fallback_model", "a, b", "a,b"),
        ("fallback_model", "", ""),
        ("fallback_model", "a,,b", None),
        ("fallback_model", "a,a", None),
        ("record", "/there", "/there"),
        ("record", "", None),
        ("silent_success", "pass", "pass"),
        ("silent_success", "error|pass", None),
    ],
)
def test_a_text_is_read_by_the_kind_of_the_option(key: str, text: str, value: object) -> None:
    assert BY_KEY[key].read(text) == value


@every("option", OPTIONS)
def test_every_option_states_what_it_expects(option: object) -> None:
    assert getattr(option, "expects", "")


def test_a_links_defaults_are_those_of_the_table() -> None:
    options = Options()
    for name in (*LIMITS, "retry", "fallback", "silent_success", "record_text"):
        (option,) = [option for option in OPTIONS if option.field == name]
        assert getattr(options, name) == option.default
    assert len(LIMITS) == 10


def test_a_fallback_is_any_rung_that_there_is() -> None:
    assert set(WORDS["fallback"]) == {AUTO, *Rung}


@pytest.mark.parametrize("value", ["loud", "rpc_error", "ERROR", "", None, 7, ["error"]])
def test_an_unknown_rung_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match=r"fallback takes one of auto, typed, .*, not "):
        Options(fallback=value)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="is not a valid Rung"):
        Rung(value)


@every(
    ("options", "said"),
    [
        ({"record": 7}, "record takes True, False, or a folder's path"),
        ({"idle_timeout_seconds": -1}, "takes a number of seconds from 0"),
        ({"idle_timeout_seconds": True}, "not True"),
        ({"stderr_limit_bytes": "1"}, "takes a number of bytes"),
        ({"tool_timeout_seconds": float("inf")}, "not inf"),
        ({"restart": "always"}, "restart takes one of"),
        ({"continue_with": " "}, "continue_with takes a text that is not empty, not ' '"),
        *(
            ({"retry": each}, "retry takes a whole number from 0 up")
            for each in (-1, 1.5, True, "2")
        ),
        *(({"fallback_model": each}, "takes ids, separated by commas") for each in ("a,a", " ", 3)),
        *(
            ({"ask_timeout": each}, "a text such as 30m=reject")
            for each in ("30m=allow", 30, "=no")
        ),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        LinkOptions(**options)  # type: ignore[arg-type]


def test_the_values_of_the_command_line_are_a_links_options() -> None:
    values = {option.key: option.default for option in OPTIONS}
    made = LinkOptions.of_values(values | {"idle_timeout": 7.0}, implementation="x")
    assert (made.idle_timeout_seconds, made.implementation, made.record) == (
        7.0,
        "x",
        Options().record,
    )
