"""The connections of this namespace, as the kernel reports them, and messages that are no such."""

from __future__ import annotations

import os
import socket
import struct
import sys
from typing import TYPE_CHECKING, Self

import pytest

from lastword.platform import process_tree
from lastword.platform.process_tree import TcpSocket, read_tcp_sockets, read_tree, sockets_of

if TYPE_CHECKING:
    from pathlib import Path

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="Linux has it")
HEADER = struct.Struct("=IHHII")


class Diag:
    """The kernel's end: gives these messages."""

    def __init__(self, *replies: bytes) -> None:
        self.replies = list(replies)
        self.sequence = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def settimeout(self, _seconds: float) -> None:
        pass

    def send(self, data: bytes) -> None:
        self.sequence = HEADER.unpack_from(data)[3]

    def recv(self, _size: int) -> bytes:
        return self.replies.pop(0).replace(b"SEQ!", struct.pack("=I", self.sequence))


def message(kind: int, body: bytes = b"") -> bytes:
    length = HEADER.size + len(body)
    return struct.pack("=IHH", length, kind, 0) + b"SEQ!" + bytes(4) + body + bytes(-length % 4)


def row(*, family: int = 2, address: bytes = b"\x7f\0\0\1", info: bytes = b"") -> bytes:
    ports = struct.pack(">HH", 4000, 443)
    addresses = bytes(16) + address.ljust(16, b"\0")
    rest = bytes(12) + struct.pack("=IIIII", 0, 0, 0, 0, 77)
    return message(20, bytes([family, 1, 0, 0]) + ports + addresses + rest + info)


DONE = message(3)


def read(monkeypatch: pytest.MonkeyPatch, *replies: bytes) -> list[TcpSocket]:
    diag = Diag(*replies)
    monkeypatch.setattr(process_tree.sys, "platform", "linux")
    monkeypatch.setattr(socket, "AF_NETLINK", 16, raising=False)
    monkeypatch.setattr(process_tree.socket, "socket", lambda *_: diag)
    return read_tcp_sockets()


@pytest.mark.parametrize(
    ("family", "address", "loopback"),
    [
        (2, b"\x7f\0\0\1", True),
        (2, b"\x08\x08\x08\x08", False),
        (10, bytes(15) + b"\1", True),
        (10, bytes(10) + b"\xff\xff\x7f\0\0\1", True),
        (10, bytes(10) + b"\xff\xff\x08\x08\x08\x08", False),
        (10, b"\x20\x01" + bytes(14), False),
    ],
)
def test_a_loopback_address_is_recognised(
    monkeypatch: pytest.MonkeyPatch, family: int, address: bytes, *, loopback: bool
) -> None:
    found = read(monkeypatch, row(family=family, address=address), DONE, DONE)
    assert [(each.inode, each.remote_port, each.loopback) for each in found] == [
        (77, 443, loopback)
    ]


@pytest.mark.parametrize(
    "info", [b"", struct.pack("=HH", 1, 2), struct.pack("=HHI", 8, 2, 0), struct.pack("=HH", 4, 9)]
)
def test_a_row_without_counters_has_zeros(monkeypatch: pytest.MonkeyPatch, info: bytes) -> None:
    (found,) = read(monkeypatch, row(info=info) + DONE, DONE)
    assert (found.sent_bytes, found.received_bytes) == (0, 0)


def test_an_invalid_row_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    stranger = row().replace(b"SEQ!", b"\xff\xff\xff\xff")
    assert read(monkeypatch, message(20, b"short") + stranger + DONE, DONE) == []
    assert read(monkeypatch, bytes(16), DONE) == []


def test_a_refusal_too_many_sockets_and_another_system_are_errors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(PermissionError):
        read(monkeypatch, message(2, struct.pack("=i", -1)))
    monkeypatch.setattr(process_tree, "MAX_REPLY_BYTES", 10)
    with pytest.raises(OSError, match="too many"):
        read(monkeypatch, row())
    monkeypatch.setattr(process_tree.sys, "platform", "darwin")
    with pytest.raises(OSError, match="only Linux"):
        read_tcp_sockets()


@linux_only
def test_the_tree_begins_with_its_root_and_has_its_sockets() -> None:
    root = read_tree(os.getpid())[0]
    assert root.pid == os.getpid()
    assert root.parent == os.getppid()
    assert root.words
    near, far = socket.socketpair()
    with near, far:
        assert os.fstat(near.fileno()).st_ino in set(sockets_of(os.getpid()))


def test_a_process_that_is_gone_has_an_empty_tree(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert read_tree(2**30) == []
    assert list(sockets_of(2**30)) == []
    # Or vanishes during the reading.
    monkeypatch.setattr(process_tree.os, "listdir", lambda _: ["4000000"])
    assert list(sockets_of(1)) == []
    assert process_tree._read(str(tmp_path)) == b""


@linux_only
def test_a_kernel_that_does_not_count_the_queue_has_no_time_in_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read = process_tree._read
    monkeypatch.setattr(
        process_tree, "_read", lambda path: b"" if path.endswith("/schedstat") else read(path)
    )
    assert read_tree(os.getpid())[0].queued_seconds == 0.0
