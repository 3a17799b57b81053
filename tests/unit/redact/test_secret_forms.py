"""Known secrets: which variables hold one, and the writings in which a value is found."""

from __future__ import annotations

import base64
from urllib.parse import quote

from lastword.core.redact.environment_secrets import secrets_of
from lastword.core.redact.redactor import Redactor
from tests.kit.rows import every

VALUE = "lantern/velvet+harbor=drift meadow"


def test_a_variable_named_like_a_secret_holds_one_unless_it_is_too_short() -> None:
    for name in (
        *("DB_PASS", "MYSQL_PWD", "GITHUB_PAT", "npm_config__auth", "SESSION_COOKIE", "dbPass"),
        *("SENTRY_DSN", "ConnectionStrings__Default", "SSH_PASSPHRASE", "FOO_API_KEY"),
        "CLOUD_CREDS",
    ):
        assert secrets_of({name: VALUE}) == (VALUE,), name
        assert secrets_of({name: "short"}) == ()
    for name in ("PWD", "OLDPWD", "SSH_AUTH_SOCK", "COMPASS", "GIT_AUTHOR_NAME", "PATTERN", "_"):
        assert secrets_of({name: VALUE}) == (), name


def test_the_credentials_in_headers_are_secrets_each_by_itself() -> None:
    headers = "authorization=Bearer%20lantern-velvet, x-team=red ,x-key=Basic harbor-drift"
    assert secrets_of({"OTEL_EXPORTER_OTLP_HEADERS": headers}) == ("lantern-velvet", "harbor-drift")


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


@every(
    ("known", "text", "left", "found"),
    [
        # One that stands within another that is broken goes with it.
        (
            ("lantern-velvet-harbor", "velvet-harbor"),
            "x lantern-\nvelvet-harbor y",
            "x (redacted) y",
            1,
        ),
        (("velvet-harbor",), "k=velvet-harbor;k=velvet-harbor", "k=(redacted);k=(redacted)", 2),
        (("velvet-harbor\ud83d",), "x velvet-harbor\ud83d y", "x (redacted) y", 1),
        ((VALUE,), f"{VALUE} and {quote(VALUE)}", "(redacted) and (redacted)", 2),
        ((VALUE,), "a lantern, velvet,\nand a harbor", "a lantern, velvet,\nand a harbor", 0),
    ],
)
def test_known_values_are_removed_once_each_and_single_words_of_them_stay(
    known: tuple[str, ...], text: str, left: str, found: int
) -> None:
    counts: dict[str, int] = {}
    assert Redactor(known, counts=counts)(text) == left
    assert counts == ({"known_value": found} if found else {})
