"""Tokens: who may come, as what, to which session, until when."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import pytest

from lastword.errors import StoreError
from lastword.gateway.front.tokens import FAILURES, MAX_PEERS, Failures, Grant, Keeper, TokenError
from lastword.gateway.viewing.reader import Role

if TYPE_CHECKING:
    from pathlib import Path

KEEPER = Keeper(b"k" * 32)


@pytest.mark.parametrize(
    "grant",
    [
        Grant(Role.CONTROLLER),
        Grant(Role.OBSERVER, "a session. with é", 200),
        Grant(Role.OBSERVER, "x" * 5, 101),
    ],
)
def test_a_token_contains_its_grant(grant: Grant) -> None:
    assert KEEPER.read(KEEPER.token(grant), 100.0) == grant


def test_a_token_lasts_until_its_end() -> None:
    token = KEEPER.token(Grant(Role.CONTROLLER, "", 100))
    assert KEEPER.read(token, 99.9)
    with pytest.raises(TokenError, match="expired"):
        KEEPER.read(token, 100.0)


def test_a_token_that_was_changed_anywhere_is_wrong() -> None:
    token = KEEPER.token(Grant(Role.OBSERVER, "s", 100))
    for place in range(len(token) - 1):  # the last character has bits that say nothing
        other = "A" if token[place] != "A" else "B"
        with pytest.raises(TokenError, match="wrong"):
            KEEPER.read(token[:place] + other + token[place + 1 :], 0.0)


@pytest.mark.parametrize("token", ["", ".", "v1", "v1.controller..0.", "é.ü", "x" * 100_000])
def test_an_invalid_token_is_wrong(token: str) -> None:
    with pytest.raises(TokenError, match="wrong"):
        KEEPER.read(token, 0.0)


def test_a_token_is_wrong_under_another_key() -> None:
    with pytest.raises(TokenError):
        Keeper(b"j" * 32).read(KEEPER.token(Grant(Role.CONTROLLER)), 0.0)


def test_a_viewers_secret_is_not_a_token() -> None:
    secret = KEEPER.secret("a")
    assert KEEPER.is_secret("a", secret)
    assert not KEEPER.is_secret("b", secret)
    assert not KEEPER.is_secret("a", "é")
    said = KEEPER.token(Grant(Role.CONTROLLER)).rpartition(".")[0]
    with pytest.raises(TokenError):
        KEEPER.read(f"{said}.{KEEPER.secret(said)}", 0.0)


def test_the_key_is_made_once_for_its_user_alone(tmp_path: Path) -> None:
    folder = tmp_path / "state" / "gateway"
    token = Keeper.at(str(folder)).token(Grant(Role.CONTROLLER))
    assert Keeper.at(str(folder)).read(token, 0.0)
    assert stat.S_IMODE(os.stat(folder / "gateway.key").st_mode) == 0o600
    assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700


def test_an_invalid_or_unreadable_key_is_reported(tmp_path: Path) -> None:
    (tmp_path / "gateway.key").write_bytes(b"short")
    with pytest.raises(StoreError, match="does not contain a key"):
        Keeper.at(str(tmp_path))
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot be used"):
        Keeper.at(str(tmp_path / "file"))


def test_after_ten_wrong_tokens_within_a_minute_only_their_sender_waits() -> None:
    now = 100.0
    failures = Failures(lambda: now)
    for _ in range(FAILURES - 1):
        failures.note("peer")
    assert failures.wait_seconds("peer") == 0
    now = 130.0
    failures.note("peer")
    assert failures.wait_seconds("peer") == 31
    assert failures.wait_seconds("other") == 0
    now = 160.0
    assert failures.wait_seconds("peer") == 0


def test_the_number_of_remembered_failures_is_bounded() -> None:
    failures = Failures(lambda: 0.0)
    for number in range(MAX_PEERS + 10):
        failures.note(str(number))
    assert len(failures._by_peer) == MAX_PEERS
