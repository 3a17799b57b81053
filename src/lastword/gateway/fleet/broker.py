"""The connection to a fleet's NATS servers.

Owns the connection, to whichever server answers, and the requests over it. A message without a
connection fails at once, and an unanswered request fails when its connection is lost: nothing is
sent late. A subscription ends with its connection; its user listens for the next connection.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import ssl
from collections import deque
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import msgspec
import nats.errors
from nats.aio.client import Client

from lastword.core.redact.printable import one_line
from lastword.gateway.fleet.errors import (
    FencedError,
    FleetError,
    NotStoredError,
    OutcomeUnknownError,
    RefusedError,
)
from lastword.gateway.settings.values import servers_of
from lastword.platform.identity import roll

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from nats.aio.msg import Msg
    from nats.aio.subscription import Subscription

    from lastword.gateway.settings.values import FleetSettings

START_SECONDS = 10.0
"""How long a start waits for a server."""

CONNECT_SECONDS = 2
PING_SECONDS = 2
"""A server that answers none of two pings is given up; nats-py's own interval is 120 s."""

CLOSE_SECONDS = 1.0
ANSWER_SECONDS = 2.0
RETRY_SECONDS = (0.1, 2.0)
"""The shortest and the longest wait between two rounds of all servers."""

MAX_VIOLATIONS = 32

OTHER_END = frozenset({10071, 10164})
"""The error codes of the fence: another message is the last one, or is about to be."""

NOT_FOUND = frozenset({10037, 10059, 10014})
"""No such message, stream or consumer."""

_CREDENTIALS = re.compile(
    r"BEGIN NATS USER JWT-+\s+\S+\s.*BEGIN USER NKEY SEED-+\s+SU[A-Z2-7]{56}\s", re.DOTALL
)
"""The part of a credentials file that nats-py reads; it fails with other errors without it."""


def _is_news(record: logging.LogRecord) -> bool:
    """Return whether a warning of asyncio's is none that nats-py causes when its TLS ends."""
    return "eof_received" not in str(record.msg)


class _UnusableServerError(FleetError):
    """A server that stays unusable until its configuration, or the node's, is corrected."""


class _Connection(Client):
    """nats-py's client for one connection, which ends with it."""

    def __init__(self) -> None:
        super().__init__()
        self.lost = asyncio.Event()
        self.needs_tls = False

    async def _process_info(self, info: dict[str, Any], initial_connection: bool = False) -> None:  # noqa: FBT001, FBT002 - as inherited
        # nats-py would send the password in the clear.
        if self.needs_tls and initial_connection and not info.get("tls_required"):
            raise _UnusableServerError("it offers no TLS, which tls:// in --fleet requires")
        await super()._process_info(info, initial_connection)

    async def _close(self, status: int, do_cbs: bool = True) -> None:  # noqa: FBT001, FBT002 - as inherited
        """Close it, whether the server still reads or not, and end what waits for it."""
        self.lost.set()
        for waiting in self._resp_map.values():
            if not waiting.done():
                waiting.set_exception(nats.errors.ConnectionClosedError())
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await super()._close(status, do_cbs)
        except OSError:  # a timeout, or the connection is already broken
            writer = getattr(self._transport, "_io_writer", None)
            if writer is not None:
                writer.transport.abort()


@contextlib.contextmanager
def keep_cancellation() -> Iterator[None]:
    """Cancel the task at the end of the block if its cancellation was lost within.

    Before Python 3.12 `asyncio.wait_for`, which nats-py uses, loses a cancellation that comes
    together with the result. A loop of requests would continue, and its process never end.
    """
    task = asyncio.current_task()
    assert task is not None  # noqa: S101 - for the type checker
    before = task.cancelling()
    try:
        yield
    finally:
        if task.cancelling() > before:
            raise asyncio.CancelledError


class Broker:
    """The fleet's servers, as one process uses them.

    Attributes:
        failure: why there has been no connection since the last one was lost; empty if there is
            one.
    """

    def __init__(self, settings: FleetSettings, name: str) -> None:
        """Prepare a connection.

        Args:
            settings: The fleet's.
            name: The servers' name for this process in their reports.
        """
        self._settings = settings
        self._name = name
        self._servers = sorted(settings.urls, key=lambda _: roll())
        self._connection: _Connection | None = None
        self._connected = asyncio.Event()
        self.failure: str = ""
        self._opening: asyncio.Task[None] | None = None
        self._keeping: asyncio.Task[None] | None = None
        self._listeners: list[Callable[[bool], None]] = []
        self._violations: deque[str] = deque(maxlen=MAX_VIOLATIONS)
        logging.getLogger("nats").propagate = False  # it is reported here
        logging.getLogger("asyncio").addFilter(_is_news)

    # The connection.

    async def open(self, seconds: float = START_SECONDS) -> None:
        """Connect, and stay connected until `close`; a later call waits for the connection.

        Raises:
            FleetError: No server answers in time, or none accepts this user.
        """
        if self._keeping is None:
            if self._opening is None or self._opening.done():
                self._opening = asyncio.create_task(self._open(seconds))
            await asyncio.shield(self._opening)  # several callers wait for one try
        try:
            async with asyncio.timeout(seconds):
                await self.connected()
        except TimeoutError:
            raise FleetError("no NATS server of the fleet answers") from None

    async def _open(self, seconds: float) -> None:
        wait = RETRY_SECONDS[0]
        until = asyncio.get_running_loop().time() + seconds
        while True:
            try:
                self._connection = await self._connect()
                break
            except _UnusableServerError:
                raise
            except FleetError:
                if asyncio.get_running_loop().time() + wait > until:
                    raise
            await asyncio.sleep(wait)
            wait = min(2 * wait, RETRY_SECONDS[1])
        self._connected.set()
        self._keeping = asyncio.create_task(self._keep())

    async def close(self) -> None:
        """End the connection."""
        if self._opening is not None:
            self._opening.cancel()
        # Until it has ended: `wait_for`, as nats-py connects, can lose a cancellation before 3.12.
        while self._keeping is not None and not self._keeping.done():
            self._keeping.cancel()
            await asyncio.wait((self._keeping,), timeout=CLOSE_SECONDS)
        if self._connection is not None:
            await self._connection.close()

    @property
    def is_connected(self) -> bool:
        """Return whether there is a connection."""
        return self._connected.is_set()

    async def connected(self) -> None:
        """Wait until there is a connection."""
        await self._connected.wait()

    def listen(self, listener: Callable[[bool], None]) -> None:
        """Call a function with each change: `True` for a connection, `False` for its loss."""
        self._listeners.append(listener)

    def ignore(self, listener: Callable[[bool], None]) -> None:
        """Stop calling a function, if it was called."""
        if listener in self._listeners:
            self._listeners.remove(listener)

    @property
    def server(self) -> str:
        """Return the server's address; empty without a connection."""
        url = self._connection.connected_url if self._connection is not None else None
        return f"{url.hostname}:{url.port}" if url is not None else ""

    def violation_of(self, subject: str) -> str:
        """Return a server's message when it refused a subject to this user; empty for none."""
        refused = f'"{subject}"'.lower(), "subscription to"  # without an inbox, nothing is answered
        return next((each for each in self._violations if any(r in each for r in refused)), "")

    @property
    def server_version(self) -> tuple[int, int, int]:
        """Return the server's version."""
        version = self._live().connected_server_version
        return version.major, version.minor, version.patch

    @property
    def max_payload(self) -> int:
        """Return the size of the largest message that the server accepts."""
        return self._live().max_payload

    async def _keep(self) -> None:
        while self._connection is not None:
            await self._connection.lost.wait()
            self._connected.clear()
            for listener in tuple(self._listeners):
                listener(False)  # noqa: FBT003 - a listener
            wait = RETRY_SECONDS[0]
            connection: _Connection | None = None
            while connection is None:
                try:
                    connection = await self._connect()
                except FleetError as error:
                    self.failure = str(error)
                    await asyncio.sleep(wait * (1 + roll()) / 2)
                    wait = min(2 * wait, RETRY_SECONDS[1])
            self._connection, self.failure = connection, ""
            self._connected.set()
            for listener in tuple(self._listeners):
                listener(True)  # noqa: FBT003 - a listener

    async def _connect(self) -> _Connection:
        """Connect to the first server that answers; one that does not is tried last from then on.

        Raises:
            _UnusableServerError: A file of the settings cannot be used, or no server answers and
                one of them is configured wrongly.
            FleetError: No server answers.
        """
        options = {"name": self._name, **_files(self._settings)}
        failures: list[str] = []
        unusable: _UnusableServerError | None = None
        for url in self._servers.copy():
            try:
                return await _connected(url, options, self._note)
            except _UnusableServerError as error:
                unusable = _UnusableServerError(f"the NATS server {servers_of([url])}: {error}")
            except Exception as error:  # noqa: BLE001 - as nats-py fails for what it cannot read
                if isinstance(error, (TimeoutError, nats.errors.TimeoutError)):
                    reason = "no answer"
                elif "expecting INFO" in str(error) or not isinstance(
                    error, (nats.errors.Error, OSError)
                ):
                    reason = "not a NATS server"
                else:
                    number = getattr(error, "errno", None)  # asyncio's text repeats the address
                    text = str(error).removeprefix("nats: ")
                    if number and number > 0:
                        text = os.strerror(number)
                    reason = one_line(text.strip("'")).lower() or "failed"
                failures.append(f"{servers_of([url])} ({reason})")
            self._servers.remove(url)
            self._servers.append(url)
        if unusable is not None:
            raise unusable
        raise FleetError(
            f"no NATS server of the fleet answers: {', '.join(failures)}; start one, or correct "
            "--fleet"
        )

    async def _note(self, error: Exception) -> None:
        """Note a refused subject; a message that was dropped here ends the connection."""
        if isinstance(error, nats.errors.SlowConsumerError) and self._connection is not None:
            await self._connection.close()
        text = one_line(str(error).removeprefix("nats: ")).lower()
        if "permissions violation" in text:
            self._violations.appendleft(text)

    def _live(self) -> _Connection:
        if self._connection is None or self._connection.lost.is_set():
            raise nats.errors.ConnectionClosedError
        return self._connection

    # What is sent, with nats-py's own errors.

    def new_inbox(self) -> str:
        """Return a subject for answers."""
        return self._live().new_inbox()

    async def publish(
        self,
        subject: str,
        payload: bytes = b"",
        *,
        reply: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Send a message.

        Raises:
            nats.errors.Error: There is no connection, or the message is too large.
        """
        await self._live().publish(
            subject, payload, reply=reply, headers=dict(headers) if headers else None
        )

    async def request(
        self,
        subject: str,
        payload: bytes = b"",
        *,
        timeout: float = ANSWER_SECONDS,  # noqa: ASYNC109 - as nats-py has it
        headers: Mapping[str, str] | None = None,
    ) -> Msg:
        """Send a message; return its answer.

        Raises:
            nats.errors.Error: There is no answer in this many seconds, or no connection.
        """
        with keep_cancellation():
            return await self._live().request(
                subject, payload, timeout=timeout, headers=dict(headers) if headers else None
            )

    async def subscribe(
        self, subject: str, receive: Callable[[Msg], None] | None = None
    ) -> Subscription:
        """Receive a subject's messages until the connection ends.

        Raises:
            nats.errors.Error: There is no connection.
        """
        if receive is None:
            return await self._live().subscribe(subject)

        async def received(message: Msg) -> None:
            receive(message)

        return await self._live().subscribe(subject, cb=received)

    # JetStream, with the fleet's errors.

    async def call(
        self,
        name: str,
        request: Mapping[str, Any] | None = None,
        *,
        seconds: float = ANSWER_SECONDS,
    ) -> dict[str, Any]:
        """Return what JetStream's API answers to a request, such as `STREAM.INFO.LW0`.

        Raises:
            RefusedError: It refuses.
            OutcomeUnknownError: It does not answer.
        """
        subject = f"$JS.API.{name}"
        payload = msgspec.json.encode(request) if request is not None else b""
        answer = await self._answer(subject, payload, None, seconds)
        if (refusal := answer.get("error")) is not None:
            raise _refused(refusal)
        return answer

    async def store(
        self,
        subject: str,
        payload: bytes,
        headers: Mapping[str, str] | None = None,
        *,
        seconds: float = ANSWER_SECONDS,
    ) -> int:
        """Store a message in the stream of its subject; return its number there.

        Raises:
            FencedError: The subject's last message is not the one that the headers name.
            NotStoredError: It was not stored.
            OutcomeUnknownError: It may have been stored.
        """
        answer = await self._answer(subject, payload, headers, seconds)
        refusal = answer.get("error")
        if refusal is None:
            return int(answer["seq"])
        if refusal.get("err_code") in OTHER_END:
            raise FencedError("another message is the last one")
        raise _refused(refusal)

    async def _answer(
        self, subject: str, payload: bytes, headers: Mapping[str, str] | None, seconds: float
    ) -> dict[str, Any]:
        if self._connection is None or self._connection.lost.is_set():
            raise NotStoredError("there is no connection to a NATS server")
        try:
            reply = await self.request(subject, payload, timeout=seconds, headers=headers)
        except nats.errors.MaxPayloadError as error:
            raise NotStoredError("the message is larger than the NATS server accepts") from error
        except nats.errors.NoRespondersError as error:
            raise NotStoredError("no NATS server has JetStream, or the stream, now") from error
        except (nats.errors.Error, OSError) as error:
            if violation := self.violation_of(subject):
                raise RefusedError(0, violation) from error
            raise OutcomeUnknownError("the NATS server does not answer") from error
        try:
            answer = msgspec.json.decode(reply.data, type=dict[str, Any])
        except msgspec.DecodeError as error:
            raise OutcomeUnknownError("the NATS server's answer cannot be read") from error
        return answer


async def _connected(
    url: str, options: Mapping[str, Any], note: Callable[[Exception], Any]
) -> _Connection:
    parts = urlsplit(url)
    login: dict[str, Any] = {}
    if parts.username is not None and parts.password is not None:
        login = {"user": unquote(parts.username), "password": unquote(parts.password)}
    elif parts.username is not None:
        login = {"token": unquote(parts.username)}
    connection = _Connection()
    connection.needs_tls = parts.scheme == "tls"
    is_open = False

    async def failed(error: Exception) -> None:
        if not is_open:
            raise error
        await note(error)

    try:
        await connection.connect(
            f"{parts.scheme}://{servers_of([url])}",
            allow_reconnect=False,
            connect_timeout=CONNECT_SECONDS,
            ping_interval=PING_SECONDS,
            error_cb=failed,
            **login,
            **options,
        )
        is_open = True
    except ssl.SSLCertVerificationError as error:
        raise _UnusableServerError(
            f"its certificate cannot be verified ({error.verify_message}); give the certificate "
            "that signs it with --fleet-ca"
        ) from None
    except nats.errors.Error as error:
        if "authorization" in str(error).lower() or "authentication" in str(error).lower():
            which = (
                "credentials of --fleet-credentials"
                if "user_credentials" in options
                else "user and password, or the token, of --fleet"
            )
            raise _UnusableServerError(f"it does not accept the {which}") from None
        raise
    finally:
        if not is_open:
            await connection.close()
    return connection


def _files(settings: FleetSettings) -> dict[str, Any]:
    """Return the connection options that the settings' files contain.

    Raises:
        _UnusableServerError: One of the files cannot be used.
    """
    options: dict[str, Any] = {}
    path = option = ""
    try:
        if path := settings.credentials_file:
            option = "--fleet-credentials"
            with open(path, encoding="ascii") as file:
                content = file.read()
            if not _CREDENTIALS.search(content):
                raise _UnusableServerError(f"{path} has no credentials: no user, or no seed")
            options["user_credentials"] = path
        if path := settings.ca_file:
            option = "--fleet-ca"
            options["tls"] = ssl.create_default_context(cafile=path)
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or str(error) or "failed").lower()
        raise _UnusableServerError(f"{path} cannot be used ({reason}); see {option}") from None
    return options


def _refused(refusal: Mapping[str, Any]) -> RefusedError:
    description = one_line(str(refusal.get("description") or "refused"))
    return RefusedError(int(refusal.get("err_code", 0)), description)
