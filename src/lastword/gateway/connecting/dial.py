"""Connecting to a gateway: its address, the token, and one WebSocket, perhaps through `ssh -W`.

Owns what is sent with the upgrade request, how the reconnect policy sees a failed attempt, and the
tunnel's process. A tunnel belongs to one connection and ends with it, so that a lost network, a
laptop that slept, or a new address of the machine is a new connection, and nothing else. No local
port is opened.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit, urlunsplit

import msgspec
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import (
    ConnectionClosed,
    InvalidProxy,
    InvalidStatus,
    WebSocketException,
)

from lastword._version import __version__
from lastword.client import reconnect
from lastword.gateway.connecting import ssh
from lastword.gateway.wire import MovesProtocol, is_loopback
from lastword.platform.files import decoded

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import Mapping


_PORTS = {"ws": 80, "wss": 443}
STDERR_BYTES = 64 * 1024
END_SECONDS = 2.0


class Tunnel:
    """A tunnel that is open, or is being opened."""

    def __init__(self, host: str, process: Process, end: socket.socket) -> None:
        self._host = host
        self._process = process
        self._errors = bytearray()
        self._reading = asyncio.create_task(self._read())
        self.socket: socket.socket = end

    @classmethod
    async def open(cls, host: str, url: str, way: str = ssh.OWN) -> Tunnel:
        """Start `ssh`; whether it connects shows when the socket is used.

        Args:
            host: The machine to go through.
            url: The WebSocket address, as that machine sees it.
            way: `ssh.OWN` or `ssh.SHARED`.

        Raises:
            SshError: There is no `ssh` here.
        """
        parts = urlsplit(url)
        name = parts.hostname or ""
        target = f"[{name}]" if ":" in name else name
        forward = f"{target}:{parts.port or _PORTS[parts.scheme]}"
        ours, theirs = socket.socketpair()
        try:
            process = await asyncio.create_subprocess_exec(
                *ssh.command(host, "-W", forward, way=way),
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                stderr=asyncio.subprocess.PIPE,
                env=os.environ | {"LC_ALL": "C"},  # its errors are read
                start_new_session=True,  # Ctrl-C is for `connect`, which ends it
            )
        except FileNotFoundError:
            ours.close()
            raise ssh.SshError(ssh.MISSING, ssh.BAD_REQUEST) from None
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        ours.setblocking(False)  # noqa: FBT003 - as it is called
        return cls(host, process, ours)

    async def failure(self) -> ssh.SshError | None:
        """Return why `ssh` has ended; `None` if it is the other end that has hung up."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(END_SECONDS):
                await self._process.wait()
                await self._reading
        status = self._process.returncode
        if not status and not self._errors.strip():
            return None
        return ssh.error_of(self._host, self._errors.decode("utf-8", "replace"), status)

    async def close(self) -> None:
        """End `ssh`, which would wait for a network that is gone."""
        self.socket.close()
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()
        self._reading.cancel()

    async def _read(self) -> None:
        """Keep the end of what `ssh` writes on stderr."""
        assert self._process.stderr is not None  # noqa: S101 - it has a pipe
        while piece := await self._process.stderr.read(STDERR_BYTES):
            self._errors += piece
            del self._errors[:-STDERR_BYTES]


SCHEMES = {"http": "ws", "https": "wss", "ws": "ws", "wss": "wss"}
DEFAULT_PATH = "/acp"
TOKEN_VARIABLE = "LASTWORD_GATEWAY_TOKEN"  # noqa: S105 - a variable's name
MAX_FRAME_BYTES = 80 * 1024 * 1024
UNSENT_BYTES = 64 * 1024
"""How much the kernel takes that it cannot send yet."""
CLOSE_SECONDS = 2.0
PRINTS = "`lastword gateway token` prints one on the gateway's machine"


class AddressError(Exception):
    """The URL or the token cannot be used; the text says why, without a full stop."""


def address(text: str, *, insecure: bool = False) -> str:
    """Return the WebSocket address that a URL means.

    If the URL ends in a slash or has no path, it is a gateway's root, and ACP is at `acp` below
    it.

    Args:
        text: The URL.
        insecure: Allow sending the token unencrypted to another machine.

    Raises:
        AddressError: It is not a usable URL, or would send the token unencrypted.
    """
    try:
        parts = urlsplit(text)
        scheme, host, _ = SCHEMES.get(parts.scheme), parts.hostname, parts.port
    except ValueError:
        scheme, host, parts = None, None, urlsplit("")
    if scheme is None or not host:
        raise AddressError(
            f"URL cannot be {text[:200]!r}: it is like http://127.0.0.1:7780/acp"
            " (or https, ws, wss)"
        )
    if parts.username or parts.password or parts.fragment:
        raise AddressError("URL takes neither a user nor a fragment; see --token-file")
    if scheme == "ws" and not insecure and not is_loopback(host):
        raise AddressError(
            f"the token would go to {host[:200]} in clear, for everybody on the way to read: use"
            " https (or wss), a tunnel to 127.0.0.1, or --insecure where the network itself is"
            " encrypted"
        )
    path = parts.path
    if not path or path.endswith("/"):
        path = path.removesuffix("/") + DEFAULT_PATH
    return urlunsplit((scheme, parts.netloc, path, parts.query, ""))


class TokenSource(msgspec.Struct, frozen=True):
    """The source of an attempt's token.

    Attributes:
        token: the token itself; if empty, it is in a file.
        path: the path of the file, which is read for each attempt.
    """

    token: str = ""
    path: str = ""

    def take(self) -> str:
        """Return the token.

        Raises:
            AddressError: There is none.
        """
        if not self.path:
            return self.token
        try:
            with open(self.path, "rb") as file:
                token = decoded(file.read(64 * 1024)).strip()
        except OSError as error:
            why = (error.strerror or "failed").lower()
            hint = f"; {PRINTS}" if isinstance(error, FileNotFoundError) else ""
            raise AddressError(f"the token cannot be read from {self.path}: {why}{hint}") from None
        if not token or not token.isprintable() or " " in token:
            raise AddressError(f"there is no token in {self.path}")
        return token


def token_source(token: str, path: str, environment: Mapping[str, str]) -> TokenSource:
    """Choose the source of the token.

    Raises:
        AddressError: There is no token.
    """
    chosen = token or ("" if path else environment.get(TOKEN_VARIABLE, ""))
    if not chosen and not path:
        raise AddressError(
            "a token is missing: --token-file FILE, --token TOKEN, or the variable"
            f" {TOKEN_VARIABLE}; {PRINTS}"
        )
    if chosen and (not chosen.isprintable() or " " in chosen):
        raise AddressError("the token has characters that no token has")
    source = TokenSource(chosen, path)
    source.take()
    return source


class GatewaySocket(MovesProtocol, ClientConnection):
    """A socket to a gateway."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep what cannot be sent yet here, where it is seen to go, and not in the kernel."""
        super().connection_made(transport)
        with contextlib.suppress(AttributeError, OSError):  # Windows, and the tunnel's socket
            transport.get_extra_info("socket").setsockopt(
                socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, UNSENT_BYTES
            )


class _Dialler(connect):
    """A connection that follows no redirects: the token is for this address only."""

    def process_redirect(self, exc: Exception) -> Exception | str:
        return exc


async def dial(url: str, token: str, host: str = "") -> GatewaySocket:
    """Open a socket, without its own timeout: the policy has one.

    Args:
        url: The WebSocket address.
        token: The token.
        host: The machine to go through with `ssh`; empty to connect from here.
    """
    if not host:
        return await _connected(url, token, None)
    try:
        return await _through(host, url, token, ssh.OWN)
    except ssh.SshError as error:
        if not error.is_refused:
            raise
    return await _through(host, url, token, ssh.SHARED)


async def _through(host: str, url: str, token: str, way: str) -> GatewaySocket:
    tunnel = await Tunnel.open(host, url, way)
    try:
        socket = await _connected(url, token, tunnel)
    except InvalidStatus:
        await tunnel.close()
        raise
    except FAILURES as error:
        failure = await tunnel.failure()
        await tunnel.close()
        raise failure or error from None
    except BaseException:
        await tunnel.close()
        raise
    _OPEN.add(ending := asyncio.create_task(_end_with(socket, tunnel)))
    ending.add_done_callback(_OPEN.discard)
    return socket


async def _connected(url: str, token: str, tunnel: Tunnel | None) -> GatewaySocket:
    through: dict[str, Any] = {"sock": tunnel.socket} if tunnel else {}
    is_direct = tunnel is not None or is_loopback(urlsplit(url).hostname or "")
    made = await _Dialler(
        url,
        create_connection=GatewaySocket,
        additional_headers={"Authorization": f"Bearer {token}"},
        user_agent_header=f"lastword-connect/{__version__}",
        compression=None,
        proxy=None if is_direct else True,
        open_timeout=None,
        close_timeout=CLOSE_SECONDS,
        ping_interval=None,
        max_size=MAX_FRAME_BYTES,
        **through,
    )
    return cast("GatewaySocket", made)


_OPEN: set[asyncio.Task[None]] = set()
"""The tasks that end tunnels with their sockets: the loop itself would forget them."""


async def _end_with(socket: GatewaySocket, tunnel: Tunnel) -> None:
    with contextlib.suppress(asyncio.CancelledError):
        await socket.wait_closed()
    await tunnel.close()


FAILURES = (OSError, WebSocketException, EOFError, ValueError, ImportError)
"""What an attempt can fail with: the last two, by the environment's proxy or the host's name."""

UNUSABLE = "the URL's host, or the proxy of this environment, cannot be used"


def failed(error: Exception) -> reconnect.Event:
    """Return what a failed attempt means to the policy."""
    if isinstance(error, InvalidStatus):
        wait = error.response.headers.get("Retry-After")
        return reconnect.Refused(error.response.status_code, wait)
    if isinstance(error, ssh.SshError) and error.status:
        return reconnect.Refused(error.status)
    if isinstance(error, InvalidProxy | ValueError):  # whose words may have the proxy's password
        return reconnect.ConnectFailed(UNUSABLE)
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return reconnect.ConnectFailed(reason or type(error).__name__)


def end_of(end: reconnect.GiveUp, error: Exception | None) -> reconnect.GiveUp:
    """Return the end of a search, in the words of `ssh` if that is what failed in the last attempt.

    Args:
        end: The end, as the policy reports it.
        error: What the last attempt failed with, if it did.
    """
    if not isinstance(error, ssh.SshError):
        return end
    line = "" if error.status else end.line
    return replace(end, line=line, advice=f"No connection through ssh: {error}.", cause="")


def ended(error: ConnectionClosed) -> reconnect.Closed:
    """Return what the end of a socket means to the policy."""
    if error.rcvd is None:
        return reconnect.Closed(1006)
    return reconnect.Closed(error.rcvd.code, error.rcvd.reason)
