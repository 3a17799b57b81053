"""Secrets in the shapes that real ones have: none in a frame of ours, in the record, in an export.

One run of the sidecar before an agent whose every turn fails with an error that quotes one shape.
"""

from __future__ import annotations

import base64
import json
import os
import re
import zipfile
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from tests.kit.rows import every
from tests.process.attacks.conftest import Attack

if TYPE_CHECKING:
    from pathlib import Path

WORD = "velvet-harbor-lantern"
"""No pattern knows it: only its name, or what stands around it, says that it is a secret."""

NAMED = (
    *("DB_PASS", "SSH_PASSPHRASE", "MYSQL_PWD", "GITHUB_PAT", "PROXY_AUTH", "npm_config__auth"),
    *("SESSION_COOKIE", "SENTRY_DSN", "DB_CONNECTION_STRING", "ConnectionStrings__Default"),
)
KNOWN = "lantern/velvet+harbor=drift meadow"
"""The value of a variable that is known to be one: `FOO_API_KEY`."""

ENVIRONMENT = {name: f"{WORD}-{name.lower()}" for name in NAMED} | {"FOO_API_KEY": KNOWN}


def wrapped(value: str, with_: str, every: int = 12) -> str:
    return with_.join(value[at : at + every] for at in range(0, len(value), every))


def in_base64(value: str) -> str:
    return base64.b64encode(value.encode()).decode()


ENCODED = {
    "percent-encoded": quote(KNOWN, safe=""),
    "percent-encoded in small letters": quote(KNOWN, safe="").replace("%2F", "%2f"),
    "percent-encoded as a form": quote(KNOWN, safe="").replace("%20", "+"),
    "in base64": in_base64(KNOWN),
    "in base64 for URLs": base64.urlsafe_b64encode(KNOWN.encode()).decode().rstrip("="),
    "in base64 behind a user": in_base64(f"ada:{KNOWN}"),
    "in base64 behind another user": in_base64(f"adam:{KNOWN}"),
    "in base64, wrapped": wrapped(in_base64(KNOWN), "\n", 20),
    "wrapped": wrapped(KNOWN, "\n"),
    "wrapped and indented": wrapped(KNOWN, "\r\n    "),
    "wrapped, in a text within JSON": wrapped(KNOWN, "\\n"),
    "with a colour inside": KNOWN.replace("velvet", "\x1b[1mvelvet\x1b[0m"),
    "with a character that shows nothing": wrapped(KNOWN, "\u200b"),
    "with a soft hyphen": wrapped(KNOWN, "\u00ad"),
}
WRITTEN = {
    "an account key": f"AccountName=x;AccountKey={WORD};EndpointSuffix=y",
    "a shared access key": f"Endpoint=sb://x/;SharedAccessKey={WORD}",
    "a token in words": f"token: {WORD}",
    "a token in quotes": f'token: "{WORD}"',
    "an assignment": f"secret := {WORD}",
    "a quoted assignment": f'password := "{WORD}"',
    "an element": f"<password>{WORD}</password>",
    "an element with an attribute": f'<apiKey type="x">{WORD}</apiKey>',
    "a Slack webhook": f"https://hooks.slack.com/services/T01AB2CD3/B01AB2CD3/{WORD}",
    "a Discord webhook": f"https://discord.com/api/webhooks/123456789012345678/{WORD}",
    "an older Discord webhook": f"https://discordapp.com/api/webhooks/123456789012345678/{WORD}",
    "an age key": "AGE-SECRET-KEY-1QQPZRY9X8GF2TVDW0S3JN54KHCE6MUA7LQQPZRY9X8GF2TVDW0S3JN54KH",
}
SHAPES = {
    **{f"${name}": value for name, value in ENVIRONMENT.items()},
    **{f"a known value {how}": text for how, text in ENCODED.items()},
    **WRITTEN,
}
HARMLESS = {
    "a path": f"No such file: {os.getcwd()}",
    "a parser's word": "Unexpected token: '}' in line 3",
    "a limit": "max_tokens: 4096 is more than this model has",
    "a field": "password: this field is required",
    "a check": "auth: failed, pass: 3, fail: 1",
    "a title": "<password> is not allowed here",
}
"""What is no secret and must still be read; beside it, variables that are named like one."""

NO_SECRETS = {
    "PWD": os.getcwd(),
    "SSH_AUTH_SOCK": "/tmp/agent.sock",
    "COMPASS": "north-by-west",
    "GIT_AUTHOR_NAME": "Grace-Brewster",
    "PATTERN": "every-second-line",
}


class Leaks:
    """What came of the run: a text for each shape, and what is kept of all."""

    def __init__(self, attack: Attack) -> None:
        texts = [*SHAPES.values(), *HARMLESS.values(), " ".join(NO_SECRETS.values())]
        said = [f"Something odd about {text} , sorry" for text in texts]
        errors = [
            [["error", {"code": -32603, "message": one, "data": {"note": one}}]] for one in said
        ]
        attack.environment |= ENVIRONMENT | NO_SECRETS
        with attack.run({"session/prompt": errors}, options=("--record-text",)) as client:
            client.open()
            self.frames = []
            for _ in said:
                since = len(client.frames)
                client.turn()
                self.frames.append(json.dumps(client.frames[since:], ensure_ascii=False))
        self.kept = attack.command("log", "--last", "--limit", "500", "--json").stdout
        file = attack.folder / "report.zip"
        attack.command("export", "--last", "-o", str(file))
        with zipfile.ZipFile(file) as bundle:
            self.kept += "".join(bundle.read(name).decode() for name in bundle.namelist())

    def frame_of(self, shape: str) -> str:
        return self.frames[[*SHAPES, *HARMLESS, "variables"].index(shape)]


@pytest.fixture(scope="module")
def leaks(tmp_path_factory: pytest.TempPathFactory) -> Leaks:
    folder: Path = tmp_path_factory.mktemp("leaks")
    return Leaks(Attack(folder))


def traces_of(secret: str, text: str) -> list[str]:
    """What of a secret stands in a text: any eight of its characters in a row, or decoded."""
    bare = re.sub(r"\\[nrtu](?:200b|00ad|001b)?|\[\d*m|[^\w/+%=-]", "", text)
    core = re.sub(r"\s|\x1b\[\d*m|[\u200b\u00ad]|\\n", "", secret)
    pieces = {core[at : at + 10] for at in range(0, len(core) - 10, 5)}
    return sorted(piece for piece in pieces if piece in bare or piece in text)


def secret_in(shape: str) -> str:
    """The secret part of a shape's text."""
    text = SHAPES[shape]
    if WORD in text:
        return WORD
    return text.removeprefix("AGE-SECRET-KEY-")


# G5: no secret passes into what is ours.


@every("shape", SHAPES)
def test_a_secret_of_this_shape_is_in_no_frame_and_in_nothing_that_is_kept(
    leaks: Leaks, shape: str
) -> None:
    secret = secret_in(shape)
    assert traces_of(secret, leaks.frame_of(shape)) == []
    if shape.startswith("$"):
        assert SHAPES[shape] not in leaks.kept


@every("what", HARMLESS)
def test_what_only_sounds_like_a_secret_is_still_there_to_read(leaks: Leaks, what: str) -> None:
    assert HARMLESS[what].split("/")[0] in json.loads(leaks.frame_of(what))[-1]["error"]["message"]


def test_variables_that_only_sound_like_secrets_are_none(leaks: Leaks) -> None:
    message = json.loads(leaks.frame_of("variables"))[-1]["error"]["message"]
    for value in NO_SECRETS.values():
        assert os.path.basename(value) in message


def test_nothing_that_is_kept_holds_the_word_that_every_secret_shared(leaks: Leaks) -> None:
    assert "Something odd about" in leaks.kept
    assert WORD not in leaks.kept


def test_the_last_words_of_agents_that_died_hold_no_secret(attack: Attack) -> None:
    shapes = ["an assignment", "$GITHUB_PAT"]
    lives = [
        {"session/prompt": [[["stderr", f"Error: odd, {SHAPES[shape]}\n"], ["exit", 1]]]}
        for shape in shapes
    ]
    attack.environment |= ENVIRONMENT
    with attack.run(*lives, options=("--record-text",)) as client:
        client.open(sessions=0)
        for shape in shapes:
            session = client.new_session()
            client.begin_anew()
            client.turn(session=session)
            told = json.dumps(client.frames, ensure_ascii=False)
            # The words of a failed clone are another program's, which a crash does not quote.
            assert ("odd, " in told) is (shape != "$GITHUB_PAT")
            assert traces_of(secret_in(shape), told) == []
    kept = attack.command("log", "--last", "--json").stdout
    kept += attack.command("log", "--errors", "--json").stdout
    assert WORD not in kept
