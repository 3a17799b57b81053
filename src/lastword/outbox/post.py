"""Sending one report: the request, and when to try again.

One HTTP request: sends a report and reads the answer, within one deadline. Owns the connection:
certificates are verified, redirects are not followed, the environment's proxies are used as in
`urllib`, and only the relevant part of an answer is read. At the deadline the socket is shut down,
whatever has been read by then, so a collector that sends one byte a second delays nobody. An answer
whose head is not complete is not an answer.

The schedule of a report: the meaning of a collector's answer, and when to try again. Owns both as
pure functions: no clock, no file, no socket. The final statuses are those of OTLP's specification,
except for two that HTTP allows to retry (408, 425). Every other failure may be temporary, and the
outbox's bounds limit the retries.
"""

from __future__ import annotations

import base64
import http.client
import ipaddress
import socket
import ssl
import threading
import time
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import Enum, auto
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


MAX_ANSWER_BYTES = 64 * 1024
HTTPS_PORT = 443
IPV4 = 4
UNICAST = ipaddress.IPv6Network("2000::/3")
"""All public addresses of single machines in IPv6 (IANA's registry of its address space)."""

SIX_TO_FOUR = ipaddress.IPv6Network("2002::/16")
"""RFC 3056."""


class PostError(Exception):
    """There was no answer; the text says why, in lastword's own words."""


class NotOutsideError(OSError):
    """A host is this machine, or in a private network."""


def post(  # noqa: PLR0913 - what a request of HTTP has, and what is on its way
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    deadline_seconds: float,
    *,
    certificates: str | None = None,
    proxied: bool = True,
    only_outside: bool = False,
) -> CollectorAnswer:
    """Send a body, and return the answer.

    Args:
        url: The address.
        body: The body.
        headers: Headers in addition to those of the connection.
        deadline_seconds: The time limit for everything.
        certificates: A file of trusted certificates, in place of the system's.
        proxied: Use the environment's proxies.
        only_outside: Connect neither to this machine nor into a private network, whatever the
            host's name resolves to now, nor to a proxy, which could do both.

    Raises:
        PostError: There was no answer.
    """
    proxied = proxied and not only_outside
    try:
        connection, path, extra = _connection(url, deadline_seconds, certificates, proxied=proxied)
    except OSError as error:
        raise PostError("the file of certificates cannot be read") from error
    except ValueError as error:
        raise PostError("the proxy's address is not valid") from error
    if only_outside:
        connection.addresses = outside_addresses
    fuse = threading.Timer(deadline_seconds, connection.shut)
    fuse.daemon = True
    fuse.start()
    try:
        connection.request("POST", path, body, {**headers, **extra})
        response = connection.getresponse()
        answered = response.read(MAX_ANSWER_BYTES + 1)
        if connection.was_shut:
            # To the reader, a socket that was shut down looks like the end of the answer.
            raise TimeoutError
        return CollectorAnswer(
            response.status,
            answered[:MAX_ANSWER_BYTES],
            response.getheader("retry-after", ""),
            response.getheader("date", ""),
            # What is left of the length, if the head gave one, was cut off.
            len(answered) <= MAX_ANSWER_BYTES and not response.length,
        )
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise PostError("timeout" if connection.was_shut else _reason(error)) from error
    finally:
        fuse.cancel()
        connection.close()
        connection.forget()


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "timeout"
    if isinstance(error, ssl.SSLCertVerificationError):
        return "certificate not trusted"
    if isinstance(error, ssl.SSLError):
        return "TLS failed"
    if isinstance(error, socket.gaierror):
        return "host not found"
    if isinstance(error, NotOutsideError):
        return "address in a private network"
    if isinstance(error, ConnectionRefusedError):
        return "connection refused"
    if isinstance(error, http.client.RemoteDisconnected | ConnectionError):
        return "connection closed"
    if isinstance(error, http.client.InvalidURL | UnicodeError):
        return "its address has a character that has to be percent-encoded"
    if isinstance(error, http.client.HTTPException | ValueError):
        return "no HTTP answer"
    return (error.strerror if isinstance(error, OSError) else None) or "no connection"


def addresses_of(host: str, port: int, flags: int = 0) -> list[str]:
    """Return the addresses of a host, in the order in which to try them.

    Args:
        host: Its name or address, in any spelling that the system takes.
        port: The port.
        flags: Those of `socket.getaddrinfo`.

    Raises:
        OSError: The host is not found.
        UnicodeError: This cannot be a host.
    """
    rows = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=flags)
    return [str(place[0]) for *_, place in rows]


def outside_addresses(host: str, port: int, flags: int = 0) -> list[str]:
    """Return the addresses of a host that are outside this machine and its private networks.

    Raises:
        NotOutsideError: It has none.
        OSError: The host is not found.
        UnicodeError: This cannot be a host.
    """
    outside = []
    for address in addresses_of(host, port, flags):
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        source = ""
        try:
            with socket.socket(family, socket.SOCK_DGRAM) as probe:
                probe.connect((address, HTTPS_PORT))  # sends nothing
                source = str(probe.getsockname()[0])
        except OSError:
            pass  # no packet can get there
        if is_outside(address, source):
            outside.append(address)
    if not outside:
        raise NotOutsideError
    return outside


def is_outside(address: str, source: str) -> bool:
    """Return whether an address is public, and not this machine's own.

    Args:
        address: An IP address.
        source: The source address of packets to it; empty if none can get there.
    """
    ip = ipaddress.ip_address(address)
    if address == source or not ip.is_global or ip.is_multicast:
        return False
    # Other blocks of IPv6 have addresses of IPv4 in them, as 6to4's has, too.
    return ip.version == IPV4 or (ip in UNICAST and ip not in SIX_TO_FOUR)


class _HeadReader:
    """The lines of an answer's head; the last one is remembered."""

    def __init__(self, file: Any) -> None:
        self.file = file
        self.last = b""

    def readline(self, limit: int = -1) -> bytes:
        self.last = self.file.readline(limit)
        return self.last

    def close(self) -> None:
        self.file.close()


class _Response(http.client.HTTPResponse):
    """An answer whose head must end with an empty line, rather than with the connection."""

    def begin(self) -> None:
        reader = _HeadReader(self.fp)
        self.fp = reader  # type: ignore[assignment]
        try:
            super().begin()
        finally:
            self.fp = reader.file
        if reader.last not in {b"\r\n", b"\n"}:
            raise ConnectionError


class _Shuttable:
    """A connection that another thread can end, whatever it is waiting for."""

    response_class: type[http.client.HTTPResponse] = _Response

    sock: socket.socket | None

    addresses: Callable[[str, int], list[str]] = staticmethod(addresses_of)
    """Finds the addresses of a host."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.was_shut = False
        self._twin: socket.socket | None = None
        self._ends_at = time.monotonic() + named["timeout"]
        # Where the standard library makes its socket, before TLS wraps it and takes it away.
        self._create_connection = self._connect_twin

    def _connect_twin(self, address: tuple[str, int], *_: Any) -> socket.socket:
        """Connect to the first of a host's addresses that answers in the time that is left."""
        failure: OSError = TimeoutError()
        for place in self.addresses(*address):
            left = self._ends_at - time.monotonic()
            if left <= 0:
                break
            try:
                made = socket.create_connection((place, address[1]), left)
            except OSError as error:
                failure = error
                continue
            self._twin = made.dup()
            if self.was_shut:
                made.close()
                raise TimeoutError
            return made
        raise failure

    def shut(self) -> None:
        """End it now."""
        self.was_shut = True
        twin = self._twin
        if twin is not None:
            try:
                twin.shutdown(socket.SHUT_RDWR)
            except OSError:
                return  # the other side was first

    def forget(self) -> None:
        """Close the second descriptor.

        `close` does not: `http.client` calls it while an answer without a length is still read.
        """
        twin, self._twin = self._twin, None
        if twin is not None:
            twin.close()


class _Plain(_Shuttable, http.client.HTTPConnection):
    """Over TCP."""


class _Secure(_Shuttable, http.client.HTTPSConnection):
    """Over TLS."""


def _connection(
    url: str, timeout: float, certificates: str | None, *, proxied: bool
) -> tuple[_Plain | _Secure, str, dict[str, str]]:
    """Return the connection, the path to request, and headers for a proxy."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    path = parts.path + (f"?{parts.query}" if parts.query else "")
    is_direct = not proxied or proxy_bypass(parts.netloc)
    proxy = "" if is_direct else getproxies().get(parts.scheme, "")
    between = urlsplit(proxy if "://" in proxy else f"//{proxy}")
    login: dict[str, str] = {}
    if between.username is not None:
        pair = f"{unquote(between.username)}:{unquote(between.password or '')}".encode()
        login = {"proxy-authorization": f"Basic {base64.b64encode(pair).decode()}"}
    if parts.scheme == "https":
        # The defaults verify the certificate and the host's name.
        context = ssl.create_default_context(cafile=certificates)
        if not proxy:
            return _Secure(host, parts.port, timeout=timeout, context=context), path, {}
        secure = _Secure(between.hostname, between.port, timeout=timeout, context=context)
        secure.set_tunnel(host, parts.port, login)
        return secure, path, {}
    if not proxy:
        return _Plain(host, parts.port, timeout=timeout), path, {}
    return _Plain(between.hostname, between.port, timeout=timeout), url, login


FIRST_WAIT_SECONDS = 1.0
MAX_WAIT_SECONDS = 300.0
JITTER = 0.25
"""A wait is up to a quarter shorter or longer, so that many machines do not return together."""

MAX_REQUESTED_SECONDS = 24 * 3600.0
"""The longest wait that a collector can request."""

TRANSIENT_STATUSES = frozenset({408, 425, 429})
_MAX_DIGITS = 9
_MAX_DOUBLINGS = 16


class Fate(Enum):
    """The outcome of sending a report."""

    DELIVERED = auto()
    REFUSED = auto()
    """It will never be accepted: it goes to the dead letters."""
    FAILED = auto()
    """It may be accepted later."""


class CollectorAnswer(msgspec.Struct, frozen=True):
    """A collector's answer.

    Attributes:
        status: the HTTP status.
        body: the part that was read.
        retry_after: the header of that name.
        date: the collector's own time, from its header.
        is_whole: the whole body was read.
    """

    status: int
    body: bytes = b""
    retry_after: str = ""
    date: str = ""
    is_whole: bool = True


class _PartialSuccess(msgspec.Struct, rename="camel"):
    rejected_log_records: int | str = 0


class _ExportResponse(msgspec.Struct, rename="camel"):
    partial_success: _PartialSuccess | None = None


def fate_of(answer: CollectorAnswer, *, is_otlp: bool) -> tuple[Fate, str]:
    """Return a report's fate after an answer, and the reason in a few words."""
    status = answer.status
    if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
        if not is_otlp or (not answer.body.strip() and answer.is_whole):
            return Fate.DELIVERED, ""
        # A network's login page also has the status 200, but is not JSON.
        try:
            partial = msgspec.json.decode(answer.body, type=_ExportResponse).partial_success
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return Fate.FAILED, "not an answer of a collector"
        if partial is not None and str(partial.rejected_log_records) != "0":
            return Fate.REFUSED, "rejected by the collector"
        return Fate.DELIVERED, ""
    try:
        words = f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        words = str(status)
    if HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR:
        final = status not in TRANSIENT_STATUSES
        return (Fate.REFUSED if final else Fate.FAILED), words
    # A network's login page may also answer with a redirect; none is ever followed.
    return Fate.FAILED, words


def requested_wait(answer: CollectorAnswer, now_seconds: float) -> float | None:
    """Return the wait in seconds that the collector asks for, as a number or a date.

    Args:
        answer: The answer.
        now_seconds: The local time of day, in seconds since 1970 UTC.
    """
    text = answer.retry_after.strip()
    if text.isascii() and text.isdigit():
        seconds = float(text[:_MAX_DIGITS]) if len(text) <= _MAX_DIGITS else MAX_REQUESTED_SECONDS
        return min(seconds, MAX_REQUESTED_SECONDS)
    until = _moment(text)
    if until is None:
        return None
    theirs = _moment(answer.date)
    since = now_seconds if theirs is None else theirs
    return min(max(until - since, 0.0), MAX_REQUESTED_SECONDS)


def _moment(text: str) -> float | None:
    try:
        date: datetime = parsedate_to_datetime(text)
        # A date of HTTP without a zone is UTC's.
        aware = date if date.tzinfo else date.replace(tzinfo=UTC)
        return float(aware.timestamp())
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


def wait_seconds(failures: int, requested: float | None, roll: float) -> float:
    """Return how many seconds to wait after this many failures in a row.

    Args:
        failures: From 1 up.
        requested: The wait that the collector asked for, which is the minimum.
        roll: A random number from 0 to 1.
    """
    doublings = min(failures - 1, _MAX_DOUBLINGS)
    plain = min(FIRST_WAIT_SECONDS * 2.0**doublings, MAX_WAIT_SECONDS)
    own = min(plain * (1 + JITTER * (2 * roll - 1)), MAX_WAIT_SECONDS)
    return own if requested is None else max(own, requested)


def is_due(due_epoch_ms: int, now_epoch_ms: int) -> bool:
    """Return whether it is time, as also for a time beyond any wait: a clock was set back."""
    longest = int(MAX_REQUESTED_SECONDS * 1000)
    return due_epoch_ms <= now_epoch_ms or due_epoch_ms - now_epoch_ms > longest
