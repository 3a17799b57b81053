"""Serving: the front in its process, from its start to its replacement by a newer one.

Owns the listening socket, which a re-execution inherits, the folders, and the signals.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from typing import TYPE_CHECKING

import msgspec
import uvicorn

from lastword.errors import StoreError
from lastword.gateway.doorkeeper import Doorkeeper
from lastword.gateway.front import Front
from lastword.gateway.holder import HolderSettings
from lastword.gateway.holders import Holders
from lastword.gateway.tokens import Grant, Keeper
from lastword.gateway.viewers import Role

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

INHERITED = "LASTWORD_GATEWAY_SOCKET"
"""The environment variable that names the listening socket's descriptor to a re-executed front."""

BACKLOG = 1024
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


class GatewaySettings(msgspec.Struct, frozen=True, kw_only=True):
    """What a gateway is started with.

    Attributes:
        host: the address that it listens at.
        port: the port; 0 for any that is free.
        path: of ACP's own transport.
        state_folder: where keys and logs are.
        command: the agent's.
        options: of `lastword run`.
        root: sessions work in it, or below.
        sessions: how many agents there may be.
        hosts: further names that it is reached by.
        origins: further origins of pages.
        behind_proxy: a proxy in front of it does TLS, and its word on the peer is trusted.
        ping_seconds: how often a socket is pinged.
        pong_seconds: how long the answer may take.
        frame_limit_bytes: how large a viewer's frame may be.
        compress: offer to compress frames.
        log_limit_bytes: how large a session's log grows.
        unattended_seconds: how long a question waits for somebody; `None` not at all.
        client_fs: the agent may use the client's file system and terminals.
    """

    host: str = "127.0.0.1"
    port: int = 7780
    path: str = "/acp"
    state_folder: str = ""
    command: list[str] = []
    options: list[str] = []
    root: str = "."
    sessions: int = 32
    hosts: list[str] = []
    origins: list[str] = []
    behind_proxy: bool = False
    ping_seconds: float = 20.0
    pong_seconds: float = 20.0
    frame_limit_bytes: int = 16 * 1024 * 1024
    compress: bool = False
    log_limit_bytes: int = 64 * 1024 * 1024
    unattended_seconds: float | None = 24 * 3600.0
    client_fs: bool = False


class ServingError(Exception):
    """The gateway cannot be started; the text says why and what to do."""


def folder_of(settings: GatewaySettings) -> str:
    """The gateway's folder."""
    return os.path.join(settings.state_folder, "gateway")


def run_folder_of(settings: GatewaySettings, port: int) -> str:
    """The folder of sockets of the gateway at a port; short, as a socket's path has to be."""
    base = os.environ.get("XDG_RUNTIME_DIR") or ""
    if not os.path.isdir(base):
        return os.path.join(folder_of(settings), f"run-{port}")
    return os.path.join(base, "lastword", str(port))


def serve(settings: GatewaySettings, ready: Callable[[str, str], None]) -> None:
    """Serve until a signal ends it; `ready` gets the URL and a token.

    Raises:
        ServingError: It cannot be started.
        StoreError: Its folder cannot be used.
    """
    if settings.host not in LOOPBACK and not settings.behind_proxy:
        raise ServingError(
            f"it does not listen at {settings.host} by itself: put a proxy with TLS in front of it, "
            "and say --behind-proxy"
        )
    listening = _listening(settings)
    port = listening.getsockname()[1]
    run_folder = run_folder_of(settings, port)
    _make_private(run_folder)
    keeper = Keeper.at(folder_of(settings))
    root = os.path.realpath(settings.root)
    template = HolderSettings(
        name="",
        run_folder=run_folder,
        log_folder=os.path.join(folder_of(settings), "sessions"),
        command=settings.command,
        options=settings.options,
        root=root,
        log_limit_bytes=settings.log_limit_bytes,
        unattended_seconds=settings.unattended_seconds,
        client_fs=settings.client_fs,
    )
    front = Front(
        Holders(template, limit=settings.sessions),
        keeper,
        Doorkeeper(keeper, hosts=settings.hosts, origins=settings.origins),
        root=root,
        path=settings.path,
        frame_limit_bytes=settings.frame_limit_bytes,
    )
    _write_pid(run_folder)
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    ready(f"ws://{host}:{port}{settings.path}", keeper.token(Grant(Role.CONTROLLER)))
    if asyncio.run(_serve(settings, front, listening)):
        _become_newer(listening)


async def _serve(settings: GatewaySettings, front: Front, listening: socket.socket) -> bool:
    """Serve; gives whether a newer front is to take over."""
    config = uvicorn.Config(
        front.app,
        ws="websockets-sansio",
        ws_max_size=settings.frame_limit_bytes,
        ws_ping_interval=settings.ping_seconds,
        ws_ping_timeout=settings.pong_seconds,
        ws_per_message_deflate=settings.compress,
        proxy_headers=settings.behind_proxy,
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=2,
    )
    server = uvicorn.Server(config)
    loop = asyncio.get_running_loop()
    again = False

    def reload() -> None:
        nonlocal again
        again = True
        loop.create_task(leave(1012, "restarts"))

    async def leave(code: int, reason: str) -> None:
        await front.close(code, reason)
        server.should_exit = True

    # uvicorn closes what it is given.
    task = asyncio.create_task(server.serve(sockets=[listening.dup()]))
    while not server.started and not task.done():
        await asyncio.sleep(0.01)
    loop.add_signal_handler(signal.SIGHUP, reload)
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(
            number, lambda: loop.create_task(leave(1001, "the gateway shuts down"))
        )
    await task
    return again


def _listening(settings: GatewaySettings) -> socket.socket:
    inherited = os.environ.pop(INHERITED, "")
    if inherited.isdigit():
        return socket.socket(fileno=int(inherited))
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((settings.host, settings.port))
    except OSError as error:
        listening.close()
        reason = (error.strerror or "failed").lower()
        raise ServingError(
            f"{settings.host}:{settings.port} cannot be listened at ({reason}); choose another "
            "with --listen"
        ) from error
    listening.listen(BACKLOG)
    return listening


def _become_newer(listening: socket.socket) -> None:
    """Take the code that is installed now, with the socket at which clients wait meanwhile."""
    listening.set_inheritable(True)
    os.environ[INHERITED] = str(listening.fileno())
    os.execv(sys.executable, [sys.executable, "-m", "lastword", *sys.argv[1:]])  # noqa: S606


def _make_private(folder: str) -> None:
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        os.chmod(folder, 0o700)
    except OSError as error:
        reason = (error.strerror or "failed").lower()
        raise StoreError(f"{folder} cannot be used ({reason})") from error


def _write_pid(run_folder: str) -> None:
    with open(os.path.join(run_folder, "front.pid"), "w", encoding="ascii") as file:
        file.write(str(os.getpid()))


def pid_of(run_folder: str) -> int | None:
    """The process of the front that serves from a run folder."""
    try:
        with open(os.path.join(run_folder, "front.pid"), encoding="ascii") as file:
            pid = int(file.read())
        os.kill(pid, 0)
    except (OSError, ValueError):
        return None
    return pid


def addresses(values: Sequence[str]) -> list[str]:
    """Names in one list, however often the option was given."""
    return [name.strip() for value in values for name in value.split(",") if name.strip()]
