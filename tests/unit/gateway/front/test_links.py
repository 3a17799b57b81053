"""Links to the page: each lets somebody in once, and none for long."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest

from lastword.errors import StoreError
from lastword.gateway.front import tokens as links_module
from lastword.gateway.front.tokens import (
    LINK_SECONDS,
    MAX_LINKS,
    Grant,
    Keeper,
    Links,
    TokenError,
    address,
)
from lastword.gateway.viewing.reader import Role

if TYPE_CHECKING:
    from pathlib import Path

GRANT = Grant(Role.OBSERVER, "s", 5)
KEEPER = Keeper(b"k" * 32)


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def test_a_link_ends_with_the_key_of_its_time(tmp_path: Path) -> None:
    code = Links(str(tmp_path), Clock(), KEEPER).make(GRANT)
    with pytest.raises(TokenError):
        Links(str(tmp_path), Clock(), Keeper(b"j" * 32)).take(code)
    assert Links(str(tmp_path), Clock(), KEEPER).take(code) == GRANT


def test_a_link_leads_in_once_by_whichever_front(tmp_path: Path) -> None:
    code = Links(str(tmp_path), Clock(), KEEPER).make(GRANT)
    assert Links(str(tmp_path), Clock(), KEEPER).take(code) == GRANT
    with pytest.raises(TokenError, match="has been used"):
        Links(str(tmp_path), Clock(), KEEPER).take(code)


def test_a_link_expires_after_ten_minutes(tmp_path: Path) -> None:
    clock = Clock()
    links = Links(str(tmp_path), clock, KEEPER)
    code = links.make(GRANT)
    clock.now += LINK_SECONDS
    with pytest.raises(TokenError, match="has expired"):
        links.take(code)


@pytest.mark.parametrize("code", ["", "x", "../gateway.key", "x" * 100_000, "\udcff", "a/b"])
def test_an_invalid_code_leads_nowhere(tmp_path: Path, code: str) -> None:
    links = Links(str(tmp_path), Clock(), KEEPER)
    links.make(GRANT)
    with pytest.raises(TokenError):
        links.take(code)


def test_a_code_is_in_no_file_or_name_and_the_files_are_private(tmp_path: Path) -> None:
    code = Links(str(tmp_path), Clock(), KEEPER).make(GRANT)
    [kept] = (tmp_path / "links").iterdir()
    assert code not in kept.name
    assert code.encode() not in kept.read_bytes()
    assert (kept.stat().st_mode & 0o777, kept.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_unused_links_do_not_accumulate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    most = 20  # of a thousand, each is a file, and looks at all the others
    assert most < MAX_LINKS
    monkeypatch.setattr(links_module, "MAX_LINKS", most)
    clock = Clock()
    links = Links(str(tmp_path), clock, KEEPER)
    for _ in range(3):
        links.make(GRANT)
    for each in (tmp_path / "links").iterdir():
        os.utime(each, (1, 1))
    kept = [links.make(GRANT) for _ in range(most + 5)]
    assert len(list((tmp_path / "links").iterdir())) == most
    assert links.take(kept[-1]) == GRANT


def test_an_unusable_folder_is_reported(tmp_path: Path) -> None:
    (tmp_path / "links").write_text("")
    with pytest.raises(StoreError, match="links cannot be used"):
        Links(str(tmp_path), Clock(), KEEPER).make(GRANT)


def test_an_address_has_the_code_and_nothing_else() -> None:
    told = urlsplit(address("https://gate.example/", "a-_b"))
    assert (told.netloc, told.path, parse_qs(told.query)) == (
        "gate.example",
        "/",
        {"code": ["a-_b"]},
    )
