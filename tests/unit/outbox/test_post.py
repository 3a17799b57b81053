"""Which addresses can be used, and which are outside this machine and its private networks."""

from __future__ import annotations

import pytest

from lastword.outbox.post import PostError, is_outside, post

HERE = "203.0.114.7"
INSIDE = [
    *("127.0.0.1", "127.8.9.1", "0.0.0.0", "10.0.0.1", "172.16.0.1", "192.168.1.1"),
    *("169.254.169.254", "100.64.0.1", "224.0.0.1", "255.255.255.255", "240.0.0.1", "192.0.2.1"),
    *("::1", "::", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::127.0.0.1", "64:ff9b::7f00:1"),
    *("2001:0:1::1", "2002:7f00:1::1", "fc00::1", "fd00::1", "fe80::1", "fe80::1%lo", "fec0::1"),
    "ff02::1",
]
OUTSIDE = ["8.8.8.8", "203.0.114.8", "2606:4700:4700::1111"]


@pytest.mark.parametrize("path", ["a b", "ü"])
def test_an_address_that_http_cannot_carry_is_named_as_the_cause(path: str) -> None:
    with pytest.raises(PostError, match="has to be percent-encoded"):
        post(f"http://127.0.0.1:9/{path}", b"", {}, 60)


def test_only_a_public_address_of_another_machine_counts_as_outside() -> None:
    assert [each for each in INSIDE if is_outside(each, HERE)] == []
    assert [each for each in OUTSIDE if not is_outside(each, HERE)] == []


def test_a_public_address_of_this_machine_is_not_outside() -> None:
    assert not is_outside(HERE, HERE)
