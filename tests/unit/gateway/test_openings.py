"""Requests that open sessions: to whom each is answered, and what came of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from lastword.gateway.openings import Opening, Openings

if TYPE_CHECKING:
    from lastword.gateway.front_link import FrontLink

ONE, OTHER = (cast("FrontLink", object()) for _ in range(2))


def test_a_request_that_is_sent_again_while_it_waits_is_answered_over_the_newer_link() -> None:
    openings = Openings()
    openings.add(7, Opening(ONE, "a", b"1", {"cwd": "/"}))
    assert not openings.is_under_way(OTHER, "a", b"2")
    assert not openings.is_under_way(OTHER, "b", b"1")
    assert openings.is_under_way(OTHER, "a", b"1")
    taken = openings.take(7)
    assert taken is not None
    assert taken.link is OTHER
    assert openings.take(7) is None
    assert openings.session_of("a", b"1") == ""
    openings.opened(taken, "s")
    assert openings.session_of("a", b"1") == "s"


def test_all_that_wait_are_given_once() -> None:
    openings = Openings()
    openings.add(7, Opening(ONE, "a", b"1", {}))
    assert [each.request_id for each in openings.take_all()] == [b"1"]
    assert openings.take_all() == []
