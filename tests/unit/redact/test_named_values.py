"""Named values: a name tells of a secret in an environment, a JSON object and a command line."""

from __future__ import annotations

from lastword.core.redact.named_values import redact_named
from lastword.core.redact.redactor import redact_text
from lastword.core.redact.shapes import REDACTED
from tests.kit.canaries import PLAIN, fake
from tests.kit.places import TESTS
from tests.kit.rows import every

NAMES = (
    *("GITHUB_TOKEN", "NPM_TOKEN", "DB_PASS", "MYSQL_PWD", "PGPASSWORD", "AWS_SECRET_ACCESS_KEY"),
    *("ACME_KEY", "ACME_PAT", "ACME_AUTH", "ACME_DSN", "ACME_COOKIE", "ACME_PW", "ACME_KEY_ID"),
    *("BACKUP_CREDENTIALS", "BACKUP_CREDS", "DEPLOY_SECRET", "KEY_PASSPHRASE", "HF_TOKEN_2"),
    *("SECRET_KEY_BASE", "REGISTRY_PASSWD", "APIKEY", "PGPASS"),
)


@every("value", ["hunter", PLAIN, "letters-alone", "p@ss!w0rd#", "(odd)value"])
@every(
    "form", ["{}={}", "export {}={}; run", "{}='{}'", 'env {}="{}" agent', "failed:\\n{}={}\\nx"]
)
def test_a_variable_whose_name_indicates_a_secret_loses_its_value(value: str, form: str) -> None:
    for name in NAMES:
        redacted = redact_text(form.format(name, value))
        assert name in redacted
        if value == "(odd)value" and (name == "APIKEY" or "SECRET" in name or "PASS" in name):
            continue  # "password (odd)" is a sentence
        assert value not in redacted, name


@every(
    "text",
    [
        f"registry.npm_token = {PLAIN}",
        f"smtp.pass: {PLAIN}",
        f"db_pwd => {PLAIN}",
        f"ACME_PAT = {PLAIN}",
        f"pass={PLAIN}",
        f"API key: {PLAIN}",
        f"groq_key: {PLAIN}",
        f"deploy-credentials: {PLAIN}",
        f'"password": "{PLAIN} and a blank"',
        f"x\\nnpm_token={PLAIN}",
        f"İ db_pass={PLAIN}",
    ],
)
def test_a_name_in_other_letters_gives_away_a_value_that_is_not_a_word(text: str) -> None:
    redacted = redact_text(text)
    assert PLAIN not in redacted
    assert "blank" not in redacted


def test_a_password_may_be_a_number() -> None:
    for name in ("DB_PASS", "MYSQL_ROOT_PASSWORD", "SMTP_PWD"):
        assert redact_text(f"{name}=123456 run") == f"{name}={REDACTED} run"


@every(
    "text",
    [
        "max_tokens=4096 and token limit: 200000",
        "pass=3 fail=0",
        "TOKENS=12 MAX_TOKEN=4096 EOS_TOKEN=50256 NEXT_TOKEN=abcdefgh1",
        "PASS: tests/test_login_with_password_12345.py",
        "--- PASS: TestLoginWithPassword123 (0.00s)",
        "PWD=/srv/app OLDPWD=/tmp SHLVL=1",
        "cost_per_token=0.000015 time_to_first_token: 1234.567ms ms_per_token=12.5",
        "primary_key=user_id_1234 CACHE_KEY=v1-linux-node-20 sort-key: created_at_2026",
        "COMPASS=north1234 MONKEY=banana1234 keyboard=us path=/a1/b2/c3",
        "first_pass: 12345abcde all_pass=12345abcde",
        "GITHUB_TOKEN: not set",
        'NODE_COOKIE = "lastword_node" and BODY_KEY = re.compile(x)',
        "HF_TOKEN=true NPM_TOKEN=none DEPLOY_KEY={key} X_TOKEN=$OTHER_TOKEN",
        "InvalidSessionToken: Invalid session token provided.",
        "fetch(url, { credentials: 'include' })",
        "auth: required; cookies: none; key: Enter",
        "the token is expired, the key=",
        "_1_2=abc",
        "sessionId sess_01J9ZK3V8Q2M5N7P and toolCallId toolu_01AbCdEfGh",
        "550e8400-e29b-41d4-a716-446655440000",
        "traceparent 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "req_011CSHoEeqs5C35K2UUqR7Fy",
        "model claude-opus-4-5-20251101 and gpt-5-codex and qwen/qwen3-coder:free",
        "Rate limit reached for gpt-4o in organization org_redacted on tokens per min (TPM)",
        "maximum context length is 16385 tokens, however you requested 33625 tokens",
        "https://platform.openai.com/docs/guides/error-codes/api-errors",
        "https://host.example/home/about?page=2&sort=key",
        "Basic authentication required; Bearer authentication is not supported",
        "The token is expired. Provide an API key in the Authorization header",
        "npm install @zed-industries/codex-acp@0.5.1 and opencode-ai@1.18.0",
        "Traceback (most recent call last):\n  File \"app.py\", line 12, in main\nKeyError: 'key'",
        "commit 3f786850e387550fdab836ed7e6dc881de23001b",
        "task-force, sk-learn, disk-usage, risk_assessment, pk-constraint, user-agent",
        "organisation-wide policy, org-level-settings, team-based, project_settings",
        "key: value, secretary: Bob, tokens: 128",
        "retry after 20 s; resets_in_seconds: 13872",
        # Code:
        "interface A { apiKey: string; password?: string }",
        "secret: Secret<String>, password: Option<SecretString>",
        "apiKey: Optional[str] = None",
        'api_key=os.environ["OPENAI_API_KEY"]',
        'api_key=os.getenv("OPENAI_API_KEY")',
        "apiKey: process.env.OPENAI_API_KEY,",
        "token = get_token(user)",
        "token = self._token",
        "password = getpass.getpass()",
        'password = request.getParameter("password");',
        "password=$DB_PASSWORD password: ${DB_PASSWORD}",
        "git@github.com:acme/widgets.git",
        "ENV NODE_ENV production",
        "set -euo pipefail",
        "- name: LANG\n  value: en_GB.UTF-8",
        "src/token/key.py:12: max_tokens=4096",
        "token SemicolonToken, password AuthenticationFilter",
        "type ApiKey = string;",
    ],
)
def test_ordinary_words_ids_and_names_that_only_resemble_a_secrets_stay(text: str) -> None:
    assert redact_text(text) == text


@every(
    ("text", "expected"),
    [
        ("curl -u user:pw https://x", f"curl -u {REDACTED} https://x"),
        ("curl -sSuuser:pw https://x", f"curl -sSu{REDACTED} https://x"),
        ("curl --proxy-user='a:b c' https://x", f"curl --proxy-user='{REDACTED}' https://x"),
        ("docker run -u 1000:1000 image", "docker run -u 1000:1000 image"),
        ("mysql -u root -psecret db", f"mysql -u root -p{REDACTED} db"),
        ("mysql -u root -p db", "mysql -u root -p db"),
        ("mariadb-dump -p'a b' db", f"mariadb-dump -p{REDACTED} db"),
        ("docker run -p 80:80 mysql -P 3306", "docker run -p 80:80 mysql -P 3306"),
        ("sshpass -p pw ssh host", f"sshpass -p {REDACTED} ssh host"),
        ("podman login -u me -p pw", f"podman login -u me -p {REDACTED}"),
        ("redis-cli -a pw ping", f"redis-cli -a {REDACTED} ping"),
        ("zip -P pw out.zip in", f"zip -P {REDACTED} out.zip in"),
        ("tool --pass pw1 --db-password=x y", f"tool --pass {REDACTED} --db-password=x y"),
    ],
)
def test_a_password_in_a_command_is_redacted(text: str, expected: str) -> None:
    assert redact_text(text) == expected


def test_hashes_of_lock_files_and_honest_lines_stay() -> None:
    files = ("requirements.txt", "interop/package-lock.json", "interop/agents/package-lock.json")
    texts = [(TESTS / name).read_text() for name in (*files, "kit/honest_lines.txt")]
    lines = [line for text in texts for line in text.splitlines()]
    assert len(lines) > 1000
    assert [line for line in lines if redact_text(line) != line and "@" not in line] == []


def test_a_value_that_a_sentence_quotes_is_removed() -> None:
    for text in (
        "Incorrect API key provided: {}. You can find yours",
        "API key '{}' is invalid",
        'token "{}" expired',
        "the password is {}",
        "password {} rejected",
    ):
        assert redact_text(text.format("qTzu8jzPde0IgxLd")) == text.format(REDACTED)


def test_a_value_is_redacted_once_and_its_surroundings_stay() -> None:
    text = f"A_TOKEN=abcd B_TOKEN={fake(20)}, c_token_token: {fake(20)}."
    redacted, found = redact_named(text, text.lower())
    assert found == 3
    assert redacted.startswith(f"A_TOKEN={REDACTED} B_TOKEN={REDACTED}")
