"""The TCP connections of this network namespace, with their counters, as Linux reports them.

Owns the reading of NETLINK_SOCK_DIAG, which needs no privilege and holds no content. Other systems
have no such source; where a sandbox refuses it, `OSError` says so. It is loaded at the first
silence.
"""

from __future__ import annotations

import os
import socket
import struct
import sys
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator

ESTABLISHED = 1
SYN_SENT = 2
_STATES = 1 << ESTABLISHED | 1 << SYN_SENT
MAX_REPLY_BYTES = 4 * 1024 * 1024
"""What one look reads at most: 10,000 connections."""

_TIMEOUT_SECONDS = 0.05
_NETLINK_SOCK_DIAG = 4
_SOCK_DIAG_BY_FAMILY = 20
_NLM_F_REQUEST_DUMP = 0x301
_NLMSG_ERROR, _NLMSG_DONE = 2, 3
_INET_DIAG_INFO = 2
_HEADER = struct.Struct("=IHHII")
_REQUEST = struct.Struct("=BBBxI48x")
_MESSAGE = struct.Struct("=BBBB2s2s16s16sIIIIIIII")
_ATTRIBUTE = struct.Struct("=HH")
_BUFFER_BYTES = 256 * 1024
_LOOPBACK_6 = bytes(15) + b"\x01"
_MAPPED = bytes(10) + b"\xff\xff"
_INFO = struct.Struct("=xxB41xI4xI12xI48xQQ")
"""The members of the kernel's `tcp_info` that are needed: retransmits, last_data_sent,
last_data_recv, rtt, bytes_acked and bytes_received."""


class TcpSocket(msgspec.Struct, frozen=True, kw_only=True):
    """One connection.

    Attributes:
        inode: its number, by which its process is described.
        state: `ESTABLISHED`, or `SYN_SENT` while it is being made.
        local_port: the port at this end.
        remote_port: the port at the other end.
        loopback: the other end is on this machine.
        sent_bytes: what was sent and has arrived.
        received_bytes: what was received.
        sent_ago: how many seconds ago something was last sent.
        received_ago: how many seconds ago something was last received.
        rtt_seconds: the time to the other end and back.
        retransmits: how often the last segment has been sent again without an answer.
    """

    inode: int
    state: int = ESTABLISHED
    local_port: int = 0
    remote_port: int = 0
    loopback: bool = False
    sent_bytes: int = 0
    received_bytes: int = 0
    sent_ago: float = 0.0
    received_ago: float = 0.0
    rtt_seconds: float = 0.0
    retransmits: int = 0


def read_tcp_sockets() -> list[TcpSocket]:
    """Return the open connections.

    Raises:
        OSError: the system has no such source, or refuses it.
    """
    if sys.platform != "linux":
        raise OSError("only Linux lists its connections so")
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG) as diag:
        diag.settimeout(_TIMEOUT_SECONDS)
        sockets: list[TcpSocket] = []
        for family in (socket.AF_INET, socket.AF_INET6):
            sockets += _dump(diag, family)
    return sockets


def _dump(diag: socket.socket, family: int) -> Iterator[TcpSocket]:
    request = _REQUEST.pack(family, socket.IPPROTO_TCP, 1 << (_INET_DIAG_INFO - 1), _STATES)
    length = _HEADER.size + len(request)
    diag.send(_HEADER.pack(length, _SOCK_DIAG_BY_FAMILY, _NLM_F_REQUEST_DUMP, family, 0) + request)
    left = MAX_REPLY_BYTES
    while left > 0:
        data = diag.recv(_BUFFER_BYTES)
        left -= len(data)
        at = 0
        while at + _HEADER.size <= len(data):
            length, kind, _, sequence, _ = _HEADER.unpack_from(data, at)
            if kind == _NLMSG_ERROR:
                (number,) = struct.unpack_from("=i", data, at + _HEADER.size)
                raise OSError(-number, os.strerror(-number))
            if kind == _NLMSG_DONE or length < _HEADER.size:
                return
            if sequence == family:
                described = _socket_in(data[at + _HEADER.size : at + length])
                if described is not None:
                    yield described
            at += (length + 3) & ~3
    raise OSError("there are too many connections")


def _socket_in(message: bytes) -> TcpSocket | None:
    """Return the connection that a message of the kernel's describes."""
    if len(message) < _MESSAGE.size:
        return None
    members = _MESSAGE.unpack_from(message)
    family, state, _, retransmits, local, remote, _, address = members[:8]
    info = _info_in(message[_MESSAGE.size :])
    _, sent_ms, received_ms, rtt, sent, received = info or (0, 0, 0, 0, 0, 0)
    return TcpSocket(
        inode=members[-1],
        state=state,
        local_port=int.from_bytes(local, "big"),
        remote_port=int.from_bytes(remote, "big"),
        loopback=_is_loopback(family, address),
        # The kernel counts the beginning of a connection as one byte.
        sent_bytes=max(sent - 1, 0),
        received_bytes=received,
        sent_ago=sent_ms / 1000,
        received_ago=received_ms / 1000,
        rtt_seconds=rtt / 1_000_000,
        retransmits=retransmits,
    )


def _info_in(attributes: bytes) -> tuple[int, ...] | None:
    at = 0
    while at + _ATTRIBUTE.size <= len(attributes):
        length, kind = _ATTRIBUTE.unpack_from(attributes, at)
        if length < _ATTRIBUTE.size:
            return None
        if kind == _INET_DIAG_INFO and length >= _ATTRIBUTE.size + _INFO.size:
            return _INFO.unpack_from(attributes, at + _ATTRIBUTE.size)
        at += (length + 3) & ~3
    return None


def _is_loopback(family: int, address: bytes) -> bool:
    if family == socket.AF_INET:
        return address[0] == 127  # noqa: PLR2004 - 127.0.0.0/8
    if address.startswith(_MAPPED):
        return address[12] == 127  # noqa: PLR2004 - the same, mapped
    return address == _LOOPBACK_6
