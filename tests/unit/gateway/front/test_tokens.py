"""Tokens and codes: who may come, as what, to which session, until when; what a code answers."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import pytest

from lastword.errors import StoreError
from lastword.gateway.front.tokens import (
    Grant,
    Keeper,
    TokenError,
    TokenExpiredError,
)
from lastword.gateway.viewing.access import AnswerCode
from lastword.gateway.viewing.reader import Role

if TYPE_CHECKING:
    from pathlib import Path

KEEPER, OTHER = Keeper(b"k" * 32), Keeper(b"j" * 32)
MINE = Grant(Role.CONTROLLER)
CODE = AnswerCode("a session / of Ünicode", "run", 3, 1, 1000, "reject_once")


def test_a_token_contains_its_grant_and_lasts_until_its_end() -> None:
    for grant in (
        Grant(Role.CONTROLLER),
        Grant(Role.OBSERVER, "a session. with é", 200),
        Grant(Role.OBSERVER, "x" * 5, 200),
    ):
        token = KEEPER.token(grant)
        assert KEEPER.read(token, 199.9) == grant
        if grant.expires:
            with pytest.raises(TokenExpiredError, match="expired"):
                KEEPER.read(token, 200.0)


def test_a_code_is_read_as_it_was_made_until_it_expires() -> None:
    text = KEEPER.answer_code(CODE)
    assert KEEPER.read_answer_code(text, 999) == CODE
    with pytest.raises(TokenExpiredError):
        KEEPER.read_answer_code(text, 1000)


def test_a_token_or_a_code_that_was_changed_anywhere_is_wrong() -> None:
    token, code = KEEPER.token(Grant(Role.OBSERVER, "s", 100)), KEEPER.answer_code(CODE)
    for text, read in ((token, KEEPER.read), (code, KEEPER.read_answer_code)):
        for place in range(len(text) - 1):  # the last character has bits that say nothing
            other = "A" if text[place] != "A" else "B"
            with pytest.raises(TokenError, match="wrong"):
                read(text[:place] + other + text[place + 1 :], 0.0)


def test_what_is_not_a_token_or_not_a_code_is_wrong() -> None:
    token, code = KEEPER.token(MINE), KEEPER.answer_code(CODE)
    for text in ("", ".", "v1", "v1.controller..0.", "é.ü", "x" * 100_000, code, OTHER.token(MINE)):
        with pytest.raises(TokenError, match="wrong"):
            KEEPER.read(text, 0.0)
    for text in ("", ".", "x", "\ud800.\ud800", "é.é", "a.b.c.d", token, OTHER.answer_code(CODE)):
        with pytest.raises(TokenError, match="wrong"):
            KEEPER.read_answer_code(text, 0.0)


def test_a_viewers_secret_is_not_a_token() -> None:
    secret = KEEPER.secret("a")
    assert KEEPER.is_secret("a", secret)
    assert not KEEPER.is_secret("b", secret)
    assert not KEEPER.is_secret("a", "é")
    said = KEEPER.token(Grant(Role.CONTROLLER)).rpartition(".")[0]
    with pytest.raises(TokenError):
        KEEPER.read(f"{said}.{KEEPER.secret(said)}", 0.0)


def test_the_key_is_made_once_for_its_user_alone_and_an_unusable_one_reported(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "state" / "gateway"
    token = Keeper.at(str(folder)).token(Grant(Role.CONTROLLER))
    assert Keeper.at(str(folder)).read(token, 0.0)
    assert stat.S_IMODE(os.stat(folder / "gateway.key").st_mode) == 0o600
    assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
    (folder / "gateway.key").write_bytes(b"short")
    with pytest.raises(StoreError, match="does not contain a key"):
        Keeper.at(str(folder))
    with pytest.raises(StoreError, match="cannot be used"):
        Keeper.at(str(folder / "gateway.key"))
