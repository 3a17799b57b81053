"""Known secrets: which variables hold one, and the writings in which a value is found."""

from __future__ import annotations

import base64
from urllib.parse import quote

import pytest

from lastword.core.redact.environment_secrets import secrets_of
from lastword.core.redact.redactor import Redactor
from tests.kit.rows import every

VALUE = "lantern/velvet+harbor=drift meadow"


@every(
    "name",
    [
        *("DB_PASS", "MYSQL_PWD", "GITHUB_PAT", "npm_config__auth", "SESSION_COOKIE", "dbPass"),
        *("SENTRY_DSN", "ConnectionStrings__Default", "SSH_PASSPHRASE", "FOO_API_KEY"),
        "CLOUD_CREDS",
    ],
)
def test_a_variable_named_like_a_secret_holds_one(name: str) -> None:
    assert secrets_of({name: VALUE}) == (VALUE,)


@pytest.mark.parametrize(
    "name", ["PWD", "OLDPWD", "SSH_AUTH_SOCK", "COMPASS", "GIT_AUTHOR_NAME", "PATTERN", "PATH", "_"]
)
def test_a_variable_that_only_resembles_one_holds_none(name: str) -> None:
    assert secrets_of({name: VALUE}) == ()


def test_the_credentials_in_headers_are_secrets_each_by_itself() -> None:
    headers = "authorization=Bearer%20lantern-velvet, x-team=red ,x-key=Basic harbor-drift"
    assert secrets_of({"OTEL_EXPORTER_OTLP_HEADERS": headers}) == ("lantern-velvet", "harbor-drift")


def test_a_value_too_short_to_be_searched_for_is_not_a_secret() -> None:
    assert secrets_of({"DB_PASS": "short"}) == ()


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@every(
    "written",
    [
        VALUE,
        quote(VALUE),
        quote(VALUE, safe=""),
        quote(VALUE, safe="").replace("%2F", "%2f"),
        _base64(VALUE),
        _base64("a" + VALUE),
        _base64("ab" + VALUE),
        base64.urlsafe_b64encode(VALUE.encode()).decode().rstrip("="),
        VALUE[:9] + "\r\n    " + VALUE[9:],
        VALUE[:9] + "\\n" + VALUE[9:],
        VALUE[:9] + "\x1b[1m" + VALUE[9:14] + "\x1b[0m" + VALUE[14:],
        "\u200b".join(VALUE),
    ],
)
def test_a_known_value_is_redacted_however_it_is_written(written: str) -> None:
    counts: dict[str, int] = {}
    redact = Redactor((VALUE,), counts=counts)
    scrubbed = redact(f"before {written} after")
    assert scrubbed.startswith("before ")
    assert scrubbed.endswith(" after")
    assert written[4:-4] not in scrubbed
    assert len(scrubbed) < 40
    assert sum(counts.values()) == 1


def test_a_text_with_two_writings_of_a_value_loses_both() -> None:
    redact = Redactor((VALUE,))
    assert redact(f"{VALUE} and {quote(VALUE)}") == "(redacted) and (redacted)"


def test_single_words_of_a_secret_value_stay() -> None:
    redact = Redactor((VALUE,))
    assert redact("a lantern, velvet,\nand a harbor") == "a lantern, velvet,\nand a harbor"


def test_a_value_that_ends_in_a_lone_surrogate_is_removed() -> None:
    redact = Redactor(("velvet-harbor\ud83d",))
    assert redact("x velvet-harbor\ud83d y") == "x (redacted) y"


def test_a_value_within_a_longer_broken_one_is_removed_with_it() -> None:
    counts: dict[str, int] = {}
    redact = Redactor(("lantern-velvet-harbor", "velvet-harbor"), counts=counts)
    assert redact("x lantern-\nvelvet-harbor y") == "x (redacted) y"
    assert counts == {"known_value": 1}


def test_a_value_in_a_text_without_a_blank_is_redacted_and_counted() -> None:
    counts: dict[str, int] = {}
    redact = Redactor(("velvet-harbor",), counts=counts)
    assert redact("key=velvet-harbor;again=velvet-harbor") == "key=(redacted);again=(redacted)"
    assert counts == {"known_value": 2}
