"""Known secrets in every writing; secrets in lists and commands, split, cut at their ends."""

from __future__ import annotations

import base64
from urllib.parse import quote

import pytest

from lastword.core.redact.environment_secrets import secrets_in, secrets_of
from lastword.core.redact.redactor import MAX_SPLIT, REDACTED, Redactor, redact_json, redact_text
from tests.kit.canaries import CANARIES, fake
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


TOKEN = fake(24)
BASE64 = fake(64, "Qw+/7aZ")


@every(
    "listed",
    [
        *(["--token", "hunter2"], ["--api-key", "a"], ["--apiKey", "hunter2"], ["-key", "x y"]),
        *(["--db_password", "12"], ["--pat", "x"], ["--token", 123456], ["serve", "--auth", "x"]),
        *(["x-api-key", TOKEN], ["Authorization", TOKEN], ["--client-secret", "-x"]),
    ],
)
def test_a_value_in_a_list_behind_a_secrets_option_or_header_is_redacted(
    listed: list[object],
) -> None:
    assert redact_json({"args": listed}) == {"args": [*listed[:-1], REDACTED]}


@every(
    "listed",
    [
        *(["--token", "--verbose"], ["--token=", "serve"], ["--max-token", "9"], ["--no-auth"]),
        *(["token", "path"], ["password", "user"], ["--sort-key", "name"], ["--token", True]),
        *(["--token", None], ["x" * 100, "y"], ["--model", "large"], [1, 2]),
    ],
)
def test_a_value_behind_a_word_that_only_resembles_one_stays(listed: list[object]) -> None:
    assert redact_json(listed) == listed


def test_the_secrets_in_a_command_are_recognised() -> None:
    command = ["env", f"API_KEY={TOKEN}1", "agent", "--api-key", f"{TOKEN}2", f"--token={TOKEN}3"]
    command += ["--key", "/etc/ssl/private.pem", "--token", "--model", "large-model", "--pat", "x"]
    command += ["--authToken", f"{TOKEN}4"]
    assert secrets_in(command) == tuple(f"{TOKEN}{number}" for number in range(1, 5))
    assert Redactor(secrets_in(command))(f"401: {TOKEN}2 is no key") == f"401: {REDACTED} is no key"


@pytest.mark.no_cover
@every("name", CANARIES)
@pytest.mark.parametrize("noise", ["\x1b[0m", "\\u001b[1;31m", "\u200b"])
def test_a_key_that_something_unseen_splits_is_found(name: str, noise: str) -> None:
    key = CANARIES[name]
    for at in (len(key) // 3, len(key) - 4):
        left = redact_text(f"failed: {key[:at]}{noise}{key[at:]} (see the log)")
        assert left == f"failed: {REDACTED} (see the log)"


def test_each_split_key_is_removed_once_and_colours_elsewhere_stay() -> None:
    stripe, github = CANARIES["stripe"], CANARIES["github"]
    assert redact_text(f"no {stripe[:9]}\x1b[0m{stripe[9:]}") == f"no {REDACTED}"
    text = f"\x1b[31mfailed\x1b[0m: {github[:9]}\x1b[0m{github[9:]}"
    assert redact_text(text) == f"\x1b[31mfailed\x1b[0m: {REDACTED}"
    text = "\x1b[31mError\x1b[0m: no\x1b[1m model"
    assert redact_text(text) == text
    keys = [github[:-3] + f"{number:03}" for number in range(2 * MAX_SPLIT)]
    left = redact_text(" ".join(f"{key[:9]}\x1b[0m{key[9:]}" for key in keys))
    assert left == " ".join([REDACTED] * len(keys))


@every(
    "text",
    [
        f"(cut) {BASE64[:40]}\n{BASE64}\n{BASE64[:12]}==\n-----END RSA PRIVATE KEY-----",
        f"key: {BASE64}\\n{BASE64[:12]}==\\n-----END PRIVATE KEY-----\\n",
        f"key: {BASE64}\\r\\n{BASE64[:12]}==\\r\\n-----END PRIVATE KEY-----",
        f"    {BASE64}\n    {BASE64[:12]}==\n    -----END OPENSSH PRIVATE KEY-----",
        f"{BASE64} {BASE64[:12]}== -----END PGP PRIVATE KEY BLOCK-----",
        f"{BASE64}\n{BASE64[:12]}\n=aB3d\n-----END PGP PRIVATE KEY BLOCK-----",
        f"{BASE64}\n" * 80 + f"{BASE64[:12]}=\n-----END PRIVATE KEY-----",
        f"{BASE64[:10]}==\n-----END PRIVATE KEY-----",
        f"{BASE64 * 20}-----END PRIVATE KEY-----",
        f"{BASE64}\n{BASE64}-----END PRIVATE KEY-----",
    ],
)
@pytest.mark.parametrize("before", ["", "401 the provider refuses this key\n", "Error: no key "])
def test_the_end_of_a_private_key_is_removed_and_no_word_before_it(text: str, before: str) -> None:
    left = redact_text(before + text)
    assert left.startswith(before)
    assert BASE64[:10] not in left
    assert REDACTED in left


SIGNED = "tid=" + fake(32) + ";exp=1790000000;sku=free;st=dotcom;chat=1;8kp=1:" + fake(64)
BOT = "123456789" + ":AA" + fake(33)


@every(
    ("text", "left"),
    [
        (f"token {SIGNED} expired", f"token {REDACTED} expired"),
        (f'"token": "{SIGNED}"', f'"token": "{REDACTED}"'),
        (
            f"https://api.telegram.org/bot{BOT}/sendMessage",
            f"https://api.telegram.org/bot{REDACTED}/sendMessage",
        ),
        (
            f"https://api.telegram.org/file/bot{BOT.replace(':', '%3A')}/a",
            f"https://api.telegram.org/file/bot{REDACTED}/a",
        ),
        (f"code_verifier={TOKEN}&x=1", f"code_verifier={REDACTED}&x=1"),
        (f'{{"codeVerifier": "{TOKEN}"}}', f'{{"codeVerifier": "{REDACTED}"}}'),
        (f"device_code: {TOKEN}", f"device_code: {REDACTED}"),
        (f"agent --authToken {TOKEN}", f"agent --authToken {REDACTED}"),
    ],
)
def test_a_secret_is_found_in_its_place(text: str, left: str) -> None:
    assert redact_text(text) == left
