"""The command line of `lastword run`: what is understood, and what is said of the rest."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lastword.cli.run.options import RunOptions, UsageError, parse
from lastword.cli.run.parser import parser
from lastword.core.link.option_table import MIB, OPTIONS
from tests.kit.rows import every

NAMES = [option.name for option in OPTIONS]
DEFAULTS = {option.key: option.default for option in OPTIONS}


def read(*arguments: str, **environment: str) -> RunOptions:
    """Parse in front of a command."""
    return parse([*arguments, "--", "agent"], environment)


def refusal(*arguments: str, **environment: str) -> str:
    """The sentence that says what is wrong."""
    with pytest.raises(UsageError) as caught:
        parse(arguments, environment)
    return str(caught.value)


MINUTES = {"LASTWORD_IDLE_TIMEOUT": "8m", "LASTWORD_WARN_AFTER": "9"}
VALUES: dict[str, list[tuple[list[str], dict[str, str], dict[str, Any]]]] = {
    "a command alone has every default, and its own words are none of ours": [
        ([], {}, {}),
        (["--", "agent", "--passthrough"], {}, {}),
    ],
    "a flag is on by itself or as it says": [
        ([f"--verbose{text}"], {}, {"verbose": value})
        for text, value in (("", 1), ("=1", 1), ("=no", 0), ("=TRUE", 1))
    ],
    "a value follows a space or an equals sign, and the last of several counts": [
        (["--warn-after", "7"], {}, {"warn_after": 7.0}),
        (["--warn-after=7"], {}, {"warn_after": 7.0}),
        (["--warn-after", "7", "--warn-after=8"], {}, {"warn_after": 8.0}),
    ],
    "the command line outweighs the environment": [
        (["--idle-timeout", "7"], MINUTES, {"idle_timeout": 7.0, "warn_after": 9.0}),
        (["--passthrough=0"], {"LASTWORD_PASSTHROUGH": "1"}, {}),
    ],
    "an empty variable is none": [([], {"LASTWORD_IDLE_TIMEOUT": ""}, {})],
    "the time to wait for a reset has a value of its own": [
        (["--continue-at-reset"], {}, {"continue_at_reset": 6 * 3600.0}),
        (["--continue-at-reset=90m"], {}, {"continue_at_reset": 5400.0}),
        (["--continue-at-reset", "--verbose"], {}, {"continue_at_reset": 21600.0, "verbose": 1}),
    ],
    "a size may have a unit": [
        (["--stderr-limit", text], {}, {"stderr_limit": size})
        for text, size in (
            *(("0", 0), ("4096", 4096), ("4096B", 4096), ("64KiB", 65536), ("64k", 65536)),
            *(("1MiB", MIB), ("16mib", 16 * MIB), ("2M", 2 * MIB), ("1GiB", 1024 * MIB)),
        )
    ],
}


@pytest.mark.parametrize("what", VALUES)
def test_given_options_are_set_and_all_others_have_their_defaults(what: str) -> None:
    for arguments, environment, values in VALUES[what]:
        words = arguments if "--" in arguments else [*arguments, "--", "agent"]
        options = parse(words, environment)
        assert (options.command[0], options.values) == ("agent", DEFAULTS | values)


@pytest.mark.parametrize(
    "command",
    [["agent", "--idle-timeout", "7"], ["agent", "--", "x"], ["--", "x"], ["a b", "", "*"], ["-x"]],
)
def test_words_after_the_dashes_reach_the_agent_unchanged(command: list[str]) -> None:
    options = parse(["--verbose", "--", *command], {})
    assert options.command == command
    assert options.values["idle_timeout"] == DEFAULTS["idle_timeout"]


@every(
    ("text", "seconds"),
    [("30", 30.0), ("0.5", 0.5), ("0", 0.0), ("45s", 45.0), ("1e3", 1000.0), ("007", 7.0),
     ("500ms", 0.5), ("90s", 90), ("5m", 300), ("5 min", 300), ("1H", 3600), ("1.5h", 5400),
     ("2d", 172_800), ("1w", 604_800)],
)  # fmt: skip
def test_a_duration_is_a_number_of_seconds_or_has_a_unit(text: str, seconds: float) -> None:
    assert read("--idle-timeout", text).values["idle_timeout"] == seconds


@every(
    "text",
    ["", "-1", "soon", "inf", "nan", "1y", "h", "1hm", "1h30m", "1 s x", "-0.1", "1e999", "0x10"],
)
def test_an_invalid_duration_is_refused_with_valid_ones(text: str) -> None:
    said = refusal(f"--idle-timeout={text}", "--", "agent")
    assert said.startswith(f"--idle-timeout cannot be {text!r}")
    assert said.endswith(
        "it takes a duration, such as 30 (seconds), 90s, 5m or 1h; 0 switches it off"
    )


@every("text", ["", "MiB", "-1", "1.5MiB", "1 MiB", "1MB", "1TiB", "much", "\u0661", "9" * 5000])
def test_an_invalid_size_is_refused_with_a_valid_one(text: str) -> None:
    said = refusal(f"--stderr-limit={text}", "--", "agent")
    assert said.startswith(f"--stderr-limit cannot be {text!r}")
    assert "16MiB" in said


@every(
    ("arguments", "says"),
    [
        (
            ["--silent-success", "maybe"],
            "--silent-success cannot be 'maybe': it takes one of error, pass",
        ),
        (["--silent-success", "error|pass"], "error|pass"),
        (["--report-to", "htp://ada:hunter22@c"], "--report-to is not an address that can be used"),
        (["--report-secret-file", "/none/such"], "it cannot be read"),
        (["--continue-at-reset=soon"], "--continue-at-reset cannot be 'soon': it takes a duration"),
        (["--continue-with= "], "--continue-with cannot be ' ': it takes a text that is not empty"),
        (["--fallback-model=a,"], "--fallback-model cannot be 'a,': it takes ids, separated by"),
        (
            ["--fallback-model=a,b,a"],
            "--fallback-model cannot be 'a,b,a': it takes ids, separated by",
        ),
    ],
)
def test_an_invalid_value_is_refused_with_valid_ones(arguments: list[str], says: str) -> None:
    said = refusal(*arguments, "--", "agent")
    assert says in said
    assert "hunter22" not in said, "an address may hold a password"


@every(
    ("name", "value", "says"),
    [
        ("IDLE_TIMEOUT", "soon", "LASTWORD_IDLE_TIMEOUT cannot be 'soon'"),
        ("VERBOSE", "perhaps", "LASTWORD_VERBOSE cannot be 'perhaps': it takes 1 or 0"),
    ],
)
def test_a_wrong_environment_variable_is_named(name: str, value: str, says: str) -> None:
    assert refusal("--", "agent", **{f"LASTWORD_{name}": value}).startswith(says)


def test_a_flag_does_not_consume_the_next_word() -> None:
    assert parse(["--verbose", "--", "agent"], {}).command == ["agent"]
    assert "put -- before" in refusal("--verbose", "1", "--", "agent")


@every("name", NAMES)
def test_every_option_is_in_the_help_and_can_be_set_in_the_environment(name: str) -> None:
    (option,) = [option for option in OPTIONS if option.name == name]
    known = {
        "url-or-topic": "http://[::1]:8080",
        "url": "http://[::1]:4318",
        "file": __file__,
        "spending": "5USD",
    }
    known["seconds=reject|cancel"] = "7=cancel"
    text = ({"seconds": "7", "bytes": "7MiB", "count": "7", "flag": "1"} | known).get(
        option.kind, option.kind.split("|")[-1]
    )
    variable = f"LASTWORD_{name.upper().replace('-', '_')}"
    by_variable = read(**{variable: text}).values[option.key]
    assert by_variable == read(f"--{name}={text}").values[option.key] != option.default
    told = " ".join(parser().format_help().split())
    assert f" --{name} " in told
    assert option.about in told


@every(
    ("arguments", "words"),
    [
        ([], "the agent's command is missing"),
        (["--verbose"], "the agent's command is missing"),
        (["--"], "there is no command after --"),
        (["--", ""], "there is no command after --"),
        (["agent", "acp"], "put -- before the agent's command: lastword run -- agent acp"),
        (["agent", "--", "acp"], "put -- before the agent's command: lastword run -- agent acp"),
        (["--continue-at-reset", "12h", "--", "agent"], "write --continue-at-reset=12h: "),
        (["--no-such", "--", "agent"], "there is no option --no-such"),
        (["-v", "--", "agent"], "there is no option -v"),
        (["--idle_timeout=3", "--", "agent"], "there is no option --idle_timeout"),
        (["--idle-timeout"], "--idle-timeout needs a value"),
        (["--idle-timeout", "--", "agent"], "--idle-timeout needs a value"),
    ],
)
def test_a_meaningless_command_line_is_refused_in_one_line(
    arguments: list[str], words: str
) -> None:
    said = refusal(*arguments)
    assert words in said
    assert "\n" not in said


@pytest.mark.parametrize(
    ("arguments", "environment"),
    [
        (["--passthrough"], {}),
        (["--passthrough", "--no-such", "--idle-timeout", "soon"], {}),
        (["--idle-timeout", "soon"], {"LASTWORD_PASSTHROUGH": "1"}),
        (["--passthrough"], {"LASTWORD_IDLE_TIMEOUT": "soon"}),
    ],
)
def test_passthrough_works_however_wrong_the_rest_is(
    arguments: list[str], environment: dict[str, str]
) -> None:
    options = read(*arguments, **environment)
    assert (options.values["passthrough"], options.command) == (1, ["agent"])


WORDS = st.one_of(
    st.sampled_from([f"--{name}" for name in NAMES]),
    st.sampled_from(["--", "0", "7", "1MiB", "auto", "typed", "error", "="]),
    st.text(max_size=8),
)


@given(st.lists(WORDS, max_size=6), st.dictionaries(st.sampled_from(NAMES), st.text(max_size=5)))
@example(["--idle-timeout=1_0", "--", "x"], {})
def test_every_command_line_is_understood_or_refused_in_a_sentence(
    arguments: list[str], environment: dict[str, str]
) -> None:
    variables = {f"LASTWORD_{k.upper().replace('-', '_')}": v for k, v in environment.items()}
    said = "understood"
    try:
        options = parse(arguments, variables)
    except UsageError as refused:
        said = str(refused)
    else:
        assert options.command == arguments[arguments.index("--") + 1 :]
        assert options.command[0]
    assert said
