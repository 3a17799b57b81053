"""Redaction: canaries of every shape disappear, ordinary words and ids stay."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastword.core.redact.named_values import is_denied_name
from lastword.core.redact.redactor import (
    CUT,
    MAX_TEXT_CHARS,
    Redactor,
    redact_json,
    redact_text,
)
from lastword.core.redact.shapes import REDACTED
from tests.kit.canaries import CANARIES, NAMED_CANARIES, PLAIN
from tests.kit.growth import costs_its_length
from tests.kit.rows import every


@every(
    "frame",
    [
        "{}",
        "Incorrect API key provided: {}. You can find yours elsewhere.",
        '{{"error": {{"message": "bad key {}", "code": 401}}}}',
        "('{}',)",
        "line one\n{}\nline three",
        "key '{}' rejected",
        "https://host.example/v1?x=1&y={}#end",
    ],
)
def test_a_key_of_any_known_shape_is_redacted_in_prose(frame: str) -> None:
    for kind, canary in CANARIES.items():
        redacted = redact_text(frame.format(canary))
        assert canary not in redacted, kind
        assert canary[6:-2] not in redacted, kind


@every(
    "text",
    [
        *NAMED_CANARIES.values(),
        f"authorization: {PLAIN}",
        f'{{"Authorization": "Bearer {PLAIN}"}}',
        f"{{'Authorization': 'Basic {PLAIN}=='}}",
        f"sent header Bearer {PLAIN}",
        f'"x-goog-api-key": "{PLAIN}"',
        f"api_key={PLAIN}",
        f'\\"api_key\\": \\"{PLAIN}\\"',
        f"agent --api-key={PLAIN}",
        f"agent --apiKey {PLAIN}",
        f"['agent', '--api-key', '{PLAIN}']",
        f"--token {PLAIN}",
        f"https://{PLAIN}@github.example/path",
        f"https://host.example/v1?a=b&token={PLAIN}&c=d",
        f"https://host.example/?X-Amz-Signature={PLAIN}",
        f"client_secret={PLAIN}",
        f"-----BEGIN PRIVATE KEY-----\n{PLAIN}",
        f"-----BEGIN OPENSSH PRIVATE KEY-----\\n{PLAIN}\\n-----END OPENSSH PRIVATE KEY-----",
    ],
)
def test_a_secret_of_no_known_shape_is_redacted_if_its_name_reveals_it(text: str) -> None:
    assert PLAIN not in redact_text(text)


def test_a_home_directory_loses_its_owner() -> None:
    for text, expected in (
        ("/home/jane/src/app.py", "~/src/app.py"),
        ('File "/Users/Jane Doe/x.py", line 3', 'File "~ Doe/x.py", line 3'),
        (r"C:\Users\jane\app.exe", r"~\app.exe"),
        ("/" + "root/.config/agent", "~/.config/agent"),
    ):
        assert redact_text(text) == expected


def test_the_exact_value_of_a_known_secret_is_redacted_anywhere_unless_it_is_too_short() -> None:
    redactor = Redactor(("correct horse battery", "correct horse battery staple"))
    assert redactor("it said correct horse battery staple!") == f"it said {REDACTED}!"
    assert Redactor(("main", " " * 12))("on branch main") == "on branch main"


def test_redacting_twice_changes_nothing_more() -> None:
    text = " ".join(CANARIES.values()) + f" Authorization: Bearer {PLAIN} api_key={PLAIN}"
    once = redact_text(text)
    assert redact_text(once) == once


@every("position", range(MAX_TEXT_CHARS // 2 - 60, MAX_TEXT_CHARS // 2 + 10, 7))
def test_a_secret_at_the_edge_of_the_cut_is_removed_whole(position: int) -> None:
    canary, words = CANARIES["openai"], "correct horse battery staple"
    for text in (
        "x " * (position // 2) + canary + " y" * 40_000,
        "y " * 40_000 + canary + " x" * (position // 2),
    ):
        redacted = redact_text(text)
        assert len(redacted) <= MAX_TEXT_CHARS + 16
        assert canary[3:14] not in redacted
        assert canary[-11:] not in redacted
    known = Redactor((words,))("x " * (position // 2) + words + " y" * 40_000)
    assert "correct horse" not in known


def test_a_hook_of_the_users_gets_the_text_after_our_own_rules() -> None:
    seen: list[str] = []

    def hook(text: str) -> str:
        seen.append(text)
        return text.replace("Jane", "(name)")

    assert Redactor(hook=hook)(f"Jane used {CANARIES['openai']}") == f"(name) used {REDACTED}"
    assert seen == [f"Jane used {REDACTED}"]
    assert len(Redactor(hook=lambda text: text * 9999)("abc" * 99)) <= MAX_TEXT_CHARS


@pytest.mark.parametrize("broken", [lambda _: 1 / 0, lambda _: None, lambda _: b"x"])
def test_a_text_on_which_the_hook_raises_is_dropped_rather_than_shown(broken: Any) -> None:
    assert Redactor(hook=broken)("Jane was here") == REDACTED
    assert Redactor(hook=broken).json({"a": ["Jane", 1]}) == {REDACTED: [REDACTED, 1]}


def test_each_rules_redactions_are_counted_for_the_record() -> None:
    counts: dict[str, int] = {}
    redactor = Redactor(("correct horse battery",), counts=counts)
    redactor(f"{CANARIES['openai']} and {CANARIES['groq']} of {CANARIES['e-mail']}")
    assert counts == {"api_key": 2, "email": 1}
    redactor.json({"authorization": "x", "text": "correct horse battery"})
    assert counts == {"api_key": 2, "email": 1, "secret_name": 1, "known_value": 1}


def test_members_are_dropped_whole_by_their_names_and_honest_ones_stay() -> None:
    secret = {
        "headers": {"Authorization": "x", "X-Api-Key": ["a", "b"], "Set-Cookie": {"a": 1}},
        "openaiApiKey": "short",
        "accessToken": 12345678,
        "AWS_SECRET_ACCESS_KEY": "x",
        "GITHUB_TOKEN": "hunter2x",
        "DB_PASS": "letters",
        "npmToken": PLAIN,
    }
    assert redact_json(secret) == {
        "headers": dict.fromkeys(secret["headers"], REDACTED),
        **dict.fromkeys(list(secret)[1:], REDACTED),
    }
    honest = {
        "env": [{"name": "LANG", "value": "en_GB.UTF-8"}],
        "sessionId": "s1",
        "toolCallId": "t1",
        "maxTokens": 5,
        "inputTokens": 7,
        "MAX_TOKEN": 4096,
        "NEW_TOKEN": None,
        "nextToken": "page2page2",
        "primaryKey": "user_id_12",
        "key": "Enter",
        "author": "unknown",
        "authMethods": [],
        "stopReason": "end_turn",
        "apiKey": None,
        "hasPassword": False,
    }
    assert redact_json(honest) == honest
    variable = {"name": "ACME_PAT", "value": PLAIN}
    assert redact_json([variable]) == [variable | {"value": REDACTED}]
    assert redact_json({"key": "API_TOKEN", "value": "hunter2"})["value"] == REDACTED


def test_nested_strings_and_names_are_redacted_in_a_copy() -> None:
    canary = CANARIES["github"]
    value = {"errors": [{"message": f"bad {canary}"}], canary: 1}
    before = json.dumps(value)
    assert canary not in json.dumps(redact_json(value))
    assert json.dumps(value) == before


def test_depth_and_size_are_bounded_and_what_is_not_json_never_gets_through() -> None:
    deep: list[object] = []
    for _ in range(10_000):
        deep = [deep]
    cyclic: dict[str, object] = {}
    cyclic["self"] = cyclic
    wide = {f"k{i}": [i] * 100 for i in range(1000)}
    assert CUT in json.dumps(redact_json(deep))
    assert CUT in json.dumps(redact_json(cyclic))
    assert len(json.dumps(redact_json(wide))) < 100_000
    assert redact_json({"a": object(), "b": {1, 2}, 3: b"x"}) == {"a": CUT, "b": CUT, CUT: CUT}
    assert not is_denied_name(7)


@every(
    "unit",
    ["a", "sk-", "key=", "Bearer ", "://", "@", "a@a.", "eyJ", "/home/", '"', "\\", "x-", "=", "-",
     "-----BEGIN PRIVATE KEY-----", "token: ", "org-", "--key ", "C:\\Users\\", "A1", "\ud800", "é",
     "?key=", "api_", "A@", "Authorization:", "cookie:", "1"],
)  # fmt: skip
def test_a_megabyte_of_hostile_text_is_redacted_in_linear_time(unit: str) -> None:
    assert costs_its_length(redact_text, unit * (1_000_000 // len(unit)))


@given(st.text(), st.sampled_from(sorted(CANARIES)), st.text())
def test_a_key_between_any_two_texts_disappears(before: str, kind: str, after: str) -> None:
    canary = CANARIES[kind]
    assert canary not in redact_text(f"{before} {canary} {after}")


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=30,
    )
)
def test_any_json_value_is_copied_without_raising(value: object) -> None:
    redact_json(value)
