"""Links to the page: each lets somebody in once, and none for long."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest

from lastword.errors import StoreError
from lastword.gateway.front import tokens as links_module
from lastword.gateway.front.doorkeeper import Doorkeeper, Refusal, Requester
from lastword.gateway.front.tokens import (
    LINK_SECONDS,
    MAX_LINKS,
    NOTIFIED_SECONDS,
    Grant,
    Keeper,
    Links,
    TokenError,
    address,
)
from lastword.gateway.viewing.reader import Role
from tests.kit.patience import fused

if TYPE_CHECKING:
    from pathlib import Path

GRANT = Grant(Role.OBSERVER, "s")
KEEPER = Keeper(b"k" * 32)


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def test_a_link_leads_in_once_by_whichever_front(tmp_path: Path) -> None:
    code = Links(str(tmp_path), Clock(), KEEPER).make(GRANT)
    with pytest.raises(TokenError):  # it ends with the key of its time
        Links(str(tmp_path), Clock(), Keeper(b"j" * 32)).take(code)
    assert Links(str(tmp_path), Clock(), KEEPER).take(code) == GRANT
    with pytest.raises(TokenError, match="has been used"):
        Links(str(tmp_path), Clock(), KEEPER).take(code)
    told = urlsplit(address("https://gate.example/", code))
    assert (told.netloc, told.path) == ("gate.example", "/")
    assert parse_qs(told.query) == {"code": [code]}


def test_a_link_expires_after_ten_minutes(tmp_path: Path) -> None:
    clock = Clock()
    links = Links(str(tmp_path), clock, KEEPER)
    code = links.make(GRANT)
    clock.now += LINK_SECONDS
    with pytest.raises(TokenError, match="has expired"):
        links.take(code)


def test_an_invalid_code_leads_nowhere(tmp_path: Path) -> None:
    links = Links(str(tmp_path), Clock(), KEEPER)
    links.make(GRANT)
    for code in ("", "x", "../gateway.key", "x" * 100_000, "\udcff", "a/b"):
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
    links = Links(str(tmp_path), Clock(), KEEPER)
    for _ in range(3):
        links.make(GRANT)
    for each in (tmp_path / "links").iterdir():
        os.utime(each, (1, 1))
    kept = [links.make(GRANT) for _ in range(most + 5)]
    assert len(list((tmp_path / "links").iterdir())) == most
    assert links.take(kept[-1]) == GRANT


def test_links_removed_at_the_same_time_do_not_prevent_making_one(tmp_path: Path) -> None:
    clock = Clock()
    links = Links(str(tmp_path), clock, KEEPER)
    with ThreadPoolExecutor(8) as pool:
        for _ in range(20):
            clock.now += time.time()  # each one that waits is too old
            codes = [*pool.map(lambda _: links.make(GRANT), range(16))]
            assert len(set(codes)) == 16


def test_an_unusable_folder_is_reported(tmp_path: Path) -> None:
    (tmp_path / "links").write_text("")
    with pytest.raises(StoreError, match="links cannot be used"):
        Links(str(tmp_path), Clock(), KEEPER).make(GRANT)


@fused
async def test_links_in_notifications_wait_longer_and_displace_no_other(tmp_path: Path) -> None:
    clock = Clock()
    links = Links(str(tmp_path), clock, KEEPER)
    notified = Links.notified(str(tmp_path), clock, KEEPER)
    door = Doorkeeper(KEEPER, links=links, notified=notified)
    here = Requester(peer="127.0.0.1", headers={"host": "127.0.0.1:7780"})
    first, second, plain = notified.make(GRANT), notified.make(GRANT), links.make(GRANT)
    clock.now += LINK_SECONDS + 1.0
    assert await door.follow(here, first) == GRANT
    for code in (first, plain):
        with pytest.raises(Refusal):
            await door.follow(here, code)
    clock.now += NOTIFIED_SECONDS
    with pytest.raises(Refusal):
        await door.follow(here, second)
