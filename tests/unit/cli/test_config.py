"""Configuration files: where they are, what they may say, and the line of what is wrong."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastword.cli.config import discovery
from lastword.cli.config.command import problems_of
from lastword.cli.config.discovery import find, project_path, user_path
from lastword.cli.config.rows import TYPES, rows_in
from lastword.cli.config.settings import (
    FROM_FILE_VARIABLE,
    MAX_BYTES,
    MAX_PROJECT_BYTES,
    PROJECT,
    TABLES,
    USER,
    ConfigDocument,
    DocumentError,
    FileSettings,
    options_of,
    read,
    texts_of,
)
from lastword.core.classify import classify, messages, own_rows
from lastword.core.classify.text import fold
from lastword.core.link.option_table import FILE_KEYS, OPTIONS
from tests.kit.doc_blocks import blocks
from tests.kit.places import ROOT
from tests.kit.rows import every

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.kit.doc_blocks import Block

SAFE = {
    *("first-update-timeout", "idle-timeout", "tool-timeout", "turn-timeout"),
    *("warn-after", "show-retries", "ask-reminder"),
}
"""What a project's file may set, and no more."""

VALUES: dict[str, Any] = {
    "flag": True,
    "seconds": "5m",
    "bytes": "16MiB",
    "count": 3,
    "days": "4w",
    "folder": "there",
    "file": "there",
    "url-or-topic": "http://127.0.0.1:8080",
    "url": "http://127.0.0.1:4318",
    "hosts": ["a.example"],
    "origins": ["https://a.example"],
    "text": "text",
    "spending": "5USD",
    "seconds=reject|cancel": "30m=cancel",
    "ids": "a,b",
}
NAMED = {
    "listen": "127.0.0.1:1",
    "path": "/acp",
    "public-url": "https://gateway.example",
    "proxy-address": ["10.0.0.0/8"],
    "sessions": 3,
    "viewers": 3,
    "idle-close": "1h",
    "detach-grace": 0,
    "log-age": "1d",
    "log-limit": "1MiB",
    "unattended": "reject",
    "unattended-timeout": 5,
    "ping": "5s",
    "pong-timeout": 5.5,
    "frame-limit": "1MiB",
    "compress": "on",
    "fleet": "nats://user:password@nats.example:4222,tls://nats.example",
    "fleet-node": "box-1",
    "fleet-replicas": 3,
}
"""A value that each option takes, by its kind or by its name."""

EVERY = [(table, name) for table in TABLES for name in options_of(table)]


def value_of(table: str, name: str) -> object:
    """A value that an option takes."""
    option = options_of(table)[name]
    if table == "gateway" and name in NAMED:
        return NAMED[name]
    return option.words[0] if option.words else VALUES[option.kind]


def written(table: str, name: str, value: object) -> str:
    """A file with this one setting."""
    return f"[{table}]\n{name} = {str(value).lower() if value is True else repr(value)}\n"


def problems(folder: Path, text: str, source: str = USER) -> list[str]:
    """What is wrong with a file, without its path."""
    path = folder / "config.toml"
    path.write_text(text)
    return [str(each).removeprefix(f"{path}") for each in problems_of(str(path), source)]


# --- every option


@every(("table", "name"), EVERY)
def test_every_option_can_be_set_in_the_users_file(table: str, name: str, tmp_path: Path) -> None:
    assert problems(tmp_path, written(table, name, value_of(table, name))) == []


@every(("table", "name"), EVERY)
def test_a_projects_file_sets_only_options_declared_safe(
    table: str, name: str, tmp_path: Path
) -> None:
    found = problems(tmp_path, written(table, name, value_of(table, name)), PROJECT)
    is_safe = table == "run" and name in SAFE
    assert options_of(table)[name].project_safe == is_safe
    assert bool(found) != is_safe


@every(("table", "name"), EVERY)
def test_an_option_refuses_a_value_of_another_type(table: str, name: str, tmp_path: Path) -> None:
    for value in ("{ a = 1 }", "1979-05-27", "[[1]]", '"\\u0000"', "nan"):
        assert len(problems(tmp_path, f"[{table}]\n{name} = {value}\n")) == 1, value


def test_the_options_of_run_are_all_there_but_those_about_files() -> None:
    assert {*options_of("run")} == {each.name for each in OPTIONS if each.key not in FILE_KEYS}


def test_no_project_safe_option_takes_a_path_an_address_or_a_command() -> None:
    kinds = {option.kind for option in OPTIONS if option.project_safe}
    assert kinds == {"seconds", "auto|off"}


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("idle-timeout", 90, "90"),
        ("idle-timeout", 0.5, "0.5"),
        ("no-record", True, "1"),
        ("no-record", False, "0"),
        ("record", "rec", "/home/me/.config/lastword/rec"),
        ("record", "/rec", "/rec"),
        ("report-to", "", ""),
    ],
)
def test_a_value_means_the_same_as_on_the_command_line(name: str, value: object, text: str) -> None:
    assert texts_of(options_of("run")[name], value, "/home/me/.config/lastword") == [text]


# --- what is wrong, and its line


@every(
    ("text", "says"),
    [
        ("[runn]\n", ":1: there is no table 'runn'. Did you mean run?"),
        ("run = 1\n", ":1: run is a table: [run]"),
        ("journal = 1\n", ":1: journals are written as [[journal]]"),
        ("\n[run]\nretry = 1\nidle_timeout = 1\n", ":4: there is no option 'idle_timeout'"),
        ("[run]\nretry = 'x'\n", ":2: retry cannot be 'x': it takes a whole number"),
        ("[run]\nfallback = 'no'\n", ":2: fallback cannot be 'no': it takes one of auto"),
        ("run.retry = true\n", ":1: retry takes a whole number"),
        ("run = { idle-timeout = [] }\n", ":1: idle-timeout takes a duration"),
        ("[run]\nreport-to = 'http://u:pass@'\n", ":2: report-to cannot be this"),
        ("[gateway]\n\nlisten = 'x'\n", ":3: listen cannot be 'x': it takes HOST:PORT"),
        ("[gateway]\nproxy-address = ['x']\n", ":2: proxy-address cannot be 'x'"),
        ("[gateway]\ncompress = 'yes'\n", ":2: compress cannot be 'yes'"),
        ("x = \n", ":1: this is not TOML: invalid value"),
        ("[run]\n[run]\n", ":2: this is not TOML: cannot declare"),
        ("[run]\nretry = " + "1" * 5000, ": a number is too long"),
        ("x = " + "[" * 30_000, ": its values are nested too deep"),
        ("# '''\n[run]\nretry = 1 # '''\nverbose = 1\n", ":4: verbose takes true or false"),
        ('[run]\nrecord = """\n[gateway]\n"""\nretry = -1\n', ":5: retry cannot be '-1'"),
        ("# [run]\n[run] # retry = 2\n\tretry=2.5\n", ":3: retry cannot be '2.5'"),
        ('["run"]\n"retry" = -1\n', ":2: retry cannot be '-1'"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_reported_with_its_line(text: str, says: str, tmp_path: Path) -> None:
    found = problems(tmp_path, text)
    assert len(found) == 1
    assert found[0].startswith(says)


def test_all_wrong_values_are_reported_in_the_order_of_the_lines(tmp_path: Path) -> None:
    text = (
        "[run]\nretry = -1\nrecord-text = 1\n[[classify.rule]]\nname = 'a'\n[gateway]\nping = 0\n"
    )
    lines = [int(each.split(":")[1]) for each in problems(tmp_path, text)]
    assert lines == [2, 3, 4, 7]


def test_a_sentence_about_a_strangers_file_is_one_printable_line(tmp_path: Path) -> None:
    found = problems(tmp_path, '[run]\n"\\u001b[31m\\nx" = 1\n', PROJECT)
    assert len(found) == 1
    assert found[0].isprintable()


@given(st.text(max_size=200))
def test_any_text_can_be_read_as_a_file(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    path = tmp_path_factory.mktemp("any") / "c.toml"
    path.write_bytes(text.encode(errors="replace"))
    for source in (USER, PROJECT):
        assert all(str(each).isprintable() for each in problems_of(str(path), source))


# --- which file


def test_only_a_regular_file_is_read(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    for path in (fifo, tmp_path):
        with pytest.raises(DocumentError, match="not a regular file"):
            ConfigDocument(str(path))
    with pytest.raises(DocumentError, match="no such file"):
        ConfigDocument(str(tmp_path / "none"))
    assert ConfigDocument(os.devnull).values == {}


def test_a_file_that_is_too_large_or_not_text_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_text("#" * (MAX_BYTES + 1))
    with pytest.raises(DocumentError, match="larger than 64 KiB"):
        ConfigDocument(str(path))
    path.write_text("#" * (MAX_PROJECT_BYTES + 1))
    assert ConfigDocument(str(path)).values == {}
    with pytest.raises(DocumentError, match="larger than 4 KiB"):
        ConfigDocument(str(path), of_project=True)
    path.write_bytes(b"# a\n# \xff\n")
    with pytest.raises(DocumentError, match="not UTF-8") as caught:
        ConfigDocument(str(path))
    assert caught.value.line == 2


def test_a_projects_file_that_is_a_link_or_another_users_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, link = tmp_path / "c.toml", tmp_path / "link"
    path.write_text("[run]\n")
    link.symlink_to(path)
    assert ConfigDocument(str(link)).values == {"run": {}}
    with pytest.raises(DocumentError, match="symbolic link"):
        ConfigDocument(str(link), of_project=True)
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    assert ConfigDocument(str(path)).values == {"run": {}}
    with pytest.raises(DocumentError, match="belongs to another user"):
        ConfigDocument(str(path), of_project=True)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder with a repository in it, where the command works."""
    home = tmp_path / "home"
    (home / "repository" / ".git").mkdir(parents=True)
    (home / "repository" / "a" / "b").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(home / "repository" / "a" / "b")
    return home


def test_the_users_file_follows_xdg(home: Path) -> None:
    default = str(home / ".config" / "lastword" / "config.toml")
    assert user_path({}) == default
    assert user_path({"XDG_CONFIG_HOME": "relative"}) == default
    assert user_path({"XDG_CONFIG_HOME": "/etc/xdg"}) == "/etc/xdg/lastword/config.toml"


def test_a_projects_file_is_the_nearest_up_to_the_top_of_its_repository(home: Path) -> None:
    assert project_path() == ""
    (home / ".lastword.toml").write_text("")
    assert project_path() == ""
    top = home / "repository" / ".lastword.toml"
    top.write_text("")
    assert project_path() == str(top)
    nearer = home / "repository" / "a" / ".lastword.toml"
    nearer.write_text("")
    assert project_path() == str(nearer)


def test_the_home_folder_and_the_root_are_not_projects(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / ".lastword.toml").write_text("")
    for folder in (home, home.parent, "/"):
        monkeypatch.chdir(folder)
        assert project_path() == ""
    outside = home.parent / "outside"
    outside.mkdir()
    (outside / ".lastword.toml").write_text("")
    monkeypatch.chdir(outside)
    assert project_path() == str(outside / ".lastword.toml")


def test_a_deleted_folder_is_not_a_project(home: Path) -> None:
    (home / "repository" / "a" / "b").rmdir()
    assert project_path() == ""


@pytest.mark.parametrize(
    ("words", "environment", "user"),
    [
        ([], {"LASTWORD_CONFIG": "/e.toml"}, "/e.toml"),
        (["--config", "/c.toml"], {"LASTWORD_CONFIG": "/e.toml"}, "/c.toml"),
        (["--config=/c.toml", "--", "--no-config"], {}, "/c.toml"),
        (["--no-config"], {"LASTWORD_CONFIG": "/e.toml"}, ""),
        ([], {"LASTWORD_CONFIG": "/e.toml", "LASTWORD_NO_CONFIG": "1"}, ""),
        (["--config", "/c.toml"], {"LASTWORD_NO_CONFIG": "1"}, "/c.toml"),
        (["--no-config=0"], {"LASTWORD_NO_CONFIG": "1", "LASTWORD_CONFIG": "/e.toml"}, "/e.toml"),
    ],
)
def test_the_chosen_file_is_read_or_none(
    words: list[str], environment: dict[str, str], user: str
) -> None:
    found = find(words, environment)
    assert (found.user, found.present) == (user, bool(user))


def test_the_search_imports_next_to_nothing() -> None:
    assert re.findall(r"^(?:from|import) (\S+)", _source(discovery.__file__), re.MULTILINE) == [
        "__future__",
        "os",
        "sys",
        "lastword.core.redact.printable",
    ]


def _source(path: str | None) -> str:
    assert path is not None
    with open(path, encoding="utf-8") as file:
        return file.read()


# --- the environment of other commands


def test_unset_variables_come_from_the_users_file(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_text("[run]\nrecord = 'r'\nretry = 2\nidle-timeout = 5\n[record]\nrecord-days = 7\n")
    files = FileSettings()
    assert read(files, str(path), USER, TABLES) == []
    environment = {"LASTWORD_RETRY": "1", "LASTWORD_RECORD": ""}
    files.complete(environment)
    made = {"LASTWORD_RECORD": f"{tmp_path}/r", "LASTWORD_RECORD_DAYS": "7"}
    names = "LASTWORD_RECORD LASTWORD_RECORD_DAYS"
    assert environment == {"LASTWORD_RETRY": "1", FROM_FILE_VARIABLE: names} | made
    # A process that starts anew, as at `gateway reload`, has no value that the file has no more.
    FileSettings().complete(environment)
    assert environment == {"LASTWORD_RETRY": "1"}
    foreign = {"PATH": "/bin", FROM_FILE_VARIABLE: "PATH"}
    FileSettings().complete(foreign)
    assert foreign == {"PATH": "/bin"}


# --- rows


RULE: dict[str, Any] = {"name": "acme", "type": "budget", "message": "Acme  points are gone"}
JOURNAL: dict[str, Any] = {
    "name": "acme",
    "agent": "acme-agent",
    "default": "~/.acme",
    "path": "logs/*/{session}.log",
    "marker": " ERR ",
    "pattern": r"(?P<at>\S++) ERR (?P<message>.*)",
}


@pytest.fixture
def used() -> Iterator[None]:
    """No rule stays in use."""
    yield
    own_rows.use(())


@pytest.mark.usefixtures("used")
def test_a_rule_decides_before_the_built_in_ones_and_is_named() -> None:
    row = RULE | {"words": ["ACME_POINTS"], "unless": "trial", "retryable": False}
    rows, wrong = rows_in({"classify": {"rule": [row]}})
    assert wrong == []
    before = classify("429 rate limit: ACME points are gone")
    own_rows.use(rows.rules)
    verdict = classify("429 rate limit: ACME points are gone")
    assert (before.type.value, verdict.type.value) == ("rate_limit", "budget")
    assert (verdict.rule, verdict.retryable, verdict.refused) == ("config:acme", False, True)
    assert classify({"error": {"code": "acme_points"}}).rule == "config:acme"
    assert classify("429 rate limit: trial ACME points are gone").rule == before.rule
    assert classify(ValueError("nothing of that")).rule != "config:acme"


@every(
    ("change", "says"),
    [
        ({"type": "bugdet"}, "type cannot be 'bugdet'. Did you mean budget?"),
        ({"type": "agent_crash"}, "type cannot be 'agent_crash'"),
        ({"type": None}, "type is missing"),
        ({"name": "A B"}, "name has lower-case letters"),
        ({"message": "abc"}, "message needs 4 characters"),
        ({"message": []}, "a rule has message or words"),
        ({"message": 1}, "message takes a text, or a list"),
        ({"words": "two words"}, "words are single"),
        ({"retryable": True}, "retryable can only be false"),
        ({"messages": "x"}, "there is no member 'messages'. Did you mean message?"),
    ],
)
def test_an_unusable_rule_is_refused_with_the_reason(change: dict[str, Any], says: str) -> None:
    row = {key: value for key, value in (RULE | change).items() if value is not None}
    rows, ((path, told),) = rows_in({"classify": {"rule": [RULE | {"name": "b"}, row]}})
    assert path[:3] == ("classify", "rule", 1)
    assert told.startswith(says)
    assert [rule.name for rule in rows.rules] == ["b"]


def test_rows_are_tables_with_unique_names() -> None:
    assert "another row" in rows_in({"journal": [JOURNAL, JOURNAL]})[1][0][1]
    assert "[[journal]]" in rows_in({"journal": [1]})[1][0][1]
    assert "more than 200" in rows_in({"journal": [JOURNAL] * 201})[1][0][1]
    assert "there is no member 'x'" in rows_in({"classify": {"x": 1}})[1][0][1]


def test_a_rule_is_written_as_the_built_in_ones_are() -> None:
    rows, wrong = rows_in({"classify": {"rule": [
        {"name": f"{kind.value}-{number}", "type": kind.value, "message": part}
        for kind, parts in messages.STRONG.items() if kind.value in TYPES
        for number, part in enumerate(parts[:9]) if len(part) > 3
    ]}})  # fmt: skip
    assert wrong == []
    assert all(row.messages == (fold(row.messages[0]),) for row in rows.rules)


MEMBERS = {
    "must": {"type": "error"},
    "at": "timestamp",
    "failure": {"message": "error.message", "http_status": ["error", "status"]},
    "attempt": "attempt",
}


def test_a_journal_is_read_as_a_built_in_one() -> None:
    by_members = {key: value for key, value in JOURNAL.items() if key != "pattern"} | {
        "name": "json", "members": MEMBERS, "goes-on": True, "in-time": False,
        "variables": [["ACME_HOME", "logs"]],
    }  # fmt: skip
    rows, wrong = rows_in({"journal": [JOURNAL, by_members]})
    assert wrong == []
    text, json = rows.journals
    assert (text.name, text.marker, text.goes_on, text.in_time) == (
        "config:acme", b" ERR ", None, True,
    )  # fmt: skip
    assert json.members is not None
    assert json.members.failure == {
        "message": ("error", "message"),
        "http_status": ("error", "status"),
    }
    assert (json.goes_on, json.in_time, json.variables) == (True, False, (("ACME_HOME", "logs"),))


@every(
    ("change", "says"),
    [
        ({"path": "/etc/passwd"}, "path is a file below"),
        ({"path": "../x"}, "path is a file below"),
        ({"path": "a*b"}, "path is a file below"),
        ({"default": None}, "a journal needs default"),
        ({"variables": ["HOME"]}, "variables are pairs"),
        ({"variables": [["HOME", "../.."]]}, "variables are pairs"),
        ({"members": MEMBERS}, "a journal needs either pattern or members"),
        ({"pattern": None}, "a journal needs either pattern or members"),
        ({"pattern": "(?P<at>"}, "pattern cannot be used"),
        ({"pattern": "x" * 1001}, "pattern has more than 1000"),
        ({"pattern": "(?P<at>x)"}, "pattern needs the groups"),
        ({"pattern": "(?P<at>x)(?P<message>y)(?P<zone>z)"}, "pattern has a group"),
        ({"marker": ""}, "marker takes a text"),
        ({"goes-on": "yes"}, "goes-on takes true or false"),
        ({"agent": 1}, "agent takes a text"),
        ({"pattern": None, "members": {"failure": {"message": "m"}}}, "at is missing"),
        ({"pattern": None, "members": {"at": "at", "failure": {}}}, "failure has message"),
        ({"pattern": None, "members": MEMBERS | {"must": 1}}, "must is a table"),
        ({"pattern": None, "members": MEMBERS | {"at": 1}}, "a path is written"),
        ({"pattern": None, "members": MEMBERS | {"when": "x"}}, "there is no member 'when'"),
        ({"pattern": None, "members": 1}, "members is a table"),
    ],
)
def test_an_unusable_journal_is_refused_with_the_reason(change: dict[str, Any], says: str) -> None:
    row = {key: value for key, value in (JOURNAL | change).items() if value is not None}
    rows, ((_, told),) = rows_in({"journal": [row]})
    assert told.startswith(says)
    assert rows.journals == ()


# --- the page


@pytest.mark.parametrize("block", blocks("toml"), ids=lambda block: block.name)
def test_a_file_that_is_shown_can_be_used(block: Block, tmp_path: Path) -> None:
    if block.page == "docs/configuration.md":
        assert problems(tmp_path, block.text) == []


def test_the_page_lists_what_a_projects_file_can_set() -> None:
    page = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    shown = page.partition("<!-- project-safe -->")[2].partition("<!-- /")[0]
    assert re.findall(r"`([\w-]+)`", shown) == [each.name for each in OPTIONS if each.project_safe]
    assert {*re.findall(r"`(\w+)`", page.partition("`type` is one of")[2].partition(".")[0])} == {
        *TYPES
    }
