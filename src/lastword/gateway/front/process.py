"""Serving: the front's process, from its start to its replacement by a newer one.

Owns the listening socket, which survives a re-execution, the folders, and the signals.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import hashlib
import logging
import os
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable  # noqa: TC003 - msgspec reads annotations
from typing import TYPE_CHECKING, Any

import msgspec
import uvicorn

from lastword.errors import StoreError
from lastword.gateway.front.abortable import AbortableHttp
from lastword.gateway.front.app import Front, FrontOptions
from lastword.gateway.front.doorkeeper import Doorkeeper
from lastword.gateway.front.framed_protocol import FramedProtocol
from lastword.gateway.front.holders import Holders
from lastword.gateway.front.links import Links, address
from lastword.gateway.front.quality import QualityOptions
from lastword.gateway.front.signals import FrontSignals, hold
from lastword.gateway.front.tokens import TOKEN_SECONDS, Grant, Keeper
from lastword.gateway.holder.process import HolderSettings
from lastword.gateway.run_folder import (
    PidFile,
    TakenError,
    close_state_folder,
    close_to_others,
    make_private,
    pid_of,
)
from lastword.gateway.viewing.attachment import Role
from lastword.outbox.target import Wish
from lastword.record.paths import store_path

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

INHERITED = "LASTWORD_GATEWAY_SOCKET"
"""The environment variable that names to a re-executed front the descriptors of the listening
socket and of the file that says which process serves."""

MAX_RUN_FOLDER_BYTES = 64
"""A Unix socket's path has 107 bytes at most on Linux, 103 on macOS; a name in it has 37."""

BACKLOG = 1024
FORGET_EVERY_SECONDS = 3600.0
COMPLAIN_EVERY_SECONDS = 60.0
KEEP_EVERY_SECONDS = 1.0
"""How often it is looked whether the file with the process' id is still there."""

LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


class GatewaySettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a gateway.

    Attributes:
        host: the address to listen on.
        port: the port; 0 for any free one.
        path: the path of ACP's own transport.
        state_folder: the folder of keys and logs.
        record_folder: the folder of the record; empty for none.
        command: the agent's command.
        options: the options of `lastword run`.
        root: sessions work in this folder or below it.
        sessions: the maximum number of agents.
        hosts: further names of the gateway.
        origins: further origins of pages.
        behind_proxy: a trusted proxy does TLS, and says who the peer is.
        proxies: the addresses or networks of trusted proxies; empty for loopback.
        ping_seconds: how often a socket is pinged.
        pong_seconds: how long the answer may take.
        frame_limit_bytes: the maximum size of a viewer's frame.
        compress: offer to compress frames.
        log_limit_bytes: the maximum size of a session's log.
        unattended_seconds: how long a question waits for a viewer; `None` for not at all.
        client_fs: the agent may use the client's file system and terminals.
        viewers: the maximum number of viewers attached to one session.
        idle_close_seconds: when to end a session without viewers in which no turn is running.
        detach_grace_seconds: when to end a session without viewers, turn or not; 0 for never.
        log_age_seconds: how long a session's log is kept after its end.
        report: where failures are reported.
        public_url: the URL by which a browser reaches the gateway; empty for where it listens.
    """

    host: str = "127.0.0.1"
    port: int = 7780
    path: str = "/acp"
    state_folder: str = ""
    record_folder: str = ""
    command: list[str] = []
    options: list[str] = []
    root: str = "."
    sessions: int = 32
    hosts: list[str] = []
    origins: list[str] = []
    behind_proxy: bool = False
    proxies: list[str] = []
    ping_seconds: float = 20.0
    pong_seconds: float = 20.0
    frame_limit_bytes: int = 16 * 1024 * 1024
    compress: bool = False
    log_limit_bytes: int = 64 * 1024 * 1024
    unattended_seconds: float | None = 24 * 3600.0
    client_fs: bool = False
    viewers: int = 64
    idle_close_seconds: float = 7 * 24 * 3600.0
    detach_grace_seconds: float = 0.0
    log_age_seconds: float = 7 * 24 * 3600.0
    report: Wish = Wish()
    public_url: str = ""


class Welcome(msgspec.Struct, frozen=True, kw_only=True):
    """How to connect to a running gateway.

    Attributes:
        url: the URL of ACP's own transport.
        token: a controller's token, which ends as those of `lastword gateway token` do.
        page: the page's URL.
        link: makes a link to the page that works once.
    """

    url: str
    token: str
    page: str
    link: Callable[[], str]


class ServingError(Exception):
    """The gateway cannot be started; the text says why and what to do."""


def folder_of(settings: GatewaySettings) -> str:
    """Return the gateway's folder."""
    return os.path.join(settings.state_folder, "gateway")


def run_folder_of(settings: GatewaySettings, port: int) -> str:
    """Return the socket folder of the gateway on a port; a socket's path has to be short.

    Raises:
        StoreError: No folder has a path that is short enough.
    """
    folders = [
        os.path.join(parent, f"{before}{port}{after}")
        for parent, before, after in _run_folders(settings)
    ]
    for folder in folders:
        if len(os.fsencode(folder)) <= MAX_RUN_FOLDER_BYTES:
            return folder
    raise StoreError(
        f"{folders[0]} is too long for the path of a socket; set XDG_RUNTIME_DIR to a shorter "
        "folder of your own"
    )


def served_ports(settings: GatewaySettings) -> list[int]:
    """Return the ports on which gateways of this folder are running."""
    found: set[int] = set()
    for parent, before, after in _run_folders(settings):
        with contextlib.suppress(OSError):
            for name in os.listdir(parent):
                port = name.removeprefix(before).removesuffix(after)
                if f"{before}{port}{after}" != name or not (port.isascii() and port.isdigit()):
                    continue
                if pid_of(os.path.join(parent, name)) is not None:
                    found.add(int(port))
    return sorted(found)


def _run_folders(settings: GatewaySettings) -> list[tuple[str, str, str]]:
    """Return where run folders may be: the folder, and what is around the port in their names."""
    state = os.path.realpath(folder_of(settings))
    after = f"-{hashlib.sha256(state.encode()).hexdigest()[:6]}"
    runtime = os.environ.get("XDG_RUNTIME_DIR") or ""
    folders = [(os.path.join(runtime, "lastword"), "", after)] if os.path.isdir(runtime) else []
    shared = os.path.join(tempfile.gettempdir(), f"lastword-{os.getuid()}")
    return [*folders, (state, "run-", ""), (shared, "", after)]


def serve(settings: GatewaySettings, ready: Callable[[Welcome], None]) -> None:
    """Serve until a signal ends it; `ready` gets the URLs and a token.

    Raises:
        ServingError: It cannot be started.
        StoreError: Its folder cannot be used.
    """
    if settings.host not in LOOPBACK and not settings.behind_proxy:
        raise ServingError(
            f"it does not listen at {settings.host} by itself: put a proxy with TLS in front of "
            "it, and say --behind-proxy"
        )
    listening, inherited = _inherited() or (_listening(settings), -1)
    port = listening.getsockname()[1]
    run_folder = run_folder_of(settings, port)
    log_folder = os.path.join(folder_of(settings), "sessions")
    close_state_folder(settings.state_folder)
    for folder in (folder_of(settings), log_folder, os.path.dirname(run_folder), run_folder):
        make_private(folder)
    close_to_others(folder_of(settings))
    close_to_others(run_folder)
    hold()
    pid_file = _pid_file(run_folder, inherited)
    keeper = Keeper.at(folder_of(settings))
    links = Links(folder_of(settings), time.time, keeper)
    root = os.path.realpath(settings.root)
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    page = f"http://{host}:{port}"
    template = HolderSettings(
        name="",
        run_folder=run_folder,
        address=page,
        log_folder=log_folder,
        record_folder=settings.record_folder,
        command=settings.command,
        options=settings.options,
        root=root,
        log_limit_bytes=settings.log_limit_bytes,
        unattended_seconds=settings.unattended_seconds,
        client_fs=settings.client_fs,
        viewers=settings.viewers,
        idle_close_seconds=settings.idle_close_seconds,
        detach_grace_seconds=settings.detach_grace_seconds,
        state_folder=settings.state_folder,
        report=settings.report,
    )
    front = Front(
        Holders(template, limit=settings.sessions),
        keeper,
        Doorkeeper(keeper, port=port, hosts=settings.hosts, origins=settings.origins, links=links),
        FrontOptions(
            root=root,
            path=settings.path,
            frame_limit_bytes=settings.frame_limit_bytes,
            viewers=settings.viewers,
            quality=QualityOptions(
                command=settings.command[0],
                log_folder=template.log_folder,
                state_folder=settings.state_folder,
                behind_proxy=settings.behind_proxy,
            ),
            record=store_path(settings.record_folder) if settings.record_folder else "",
        ),
    )
    public = settings.public_url or page

    def link() -> str:
        grant = Grant(Role.CONTROLLER, expires=int(time.time()) + TOKEN_SECONDS)
        return address(public, links.make(grant))

    token = keeper.token(Grant(Role.CONTROLLER, expires=int(time.time()) + TOKEN_SECONDS))
    url = f"ws://{host}:{port}{settings.path}"
    ready(Welcome(url=url, token=token, page=page, link=link))
    told = FrontSignals()
    asyncio.run(_serve(settings, front, listening, pid_file, told))
    front.holders.reports.finish()
    if told.is_reload:
        _become_newer(listening, pid_file.number)


class _FrontServer(uvicorn.Server):
    """uvicorn's, without its handlers of signals."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        """Capture none."""
        yield


class _NoFalseAlarm(logging.Filter):
    """Drops what uvicorn logs of each upgrade that was refused by an HTTP status, as it may be."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Tell whether a line is logged."""
        return record.msg != "ASGI callable returned without completing handshake."


class _LoopComplaints:
    """What failed in the event loop, as asyncio says it, but for a lack of descriptors.

    asyncio says that with a traceback for each connection it could accept: two thousand a second.
    """

    def __init__(self) -> None:
        self._quiet_until = 0.0

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Say it."""
        error = context.get("exception")
        if not isinstance(error, OSError) or error.errno not in {errno.EMFILE, errno.ENFILE}:
            loop.default_exception_handler(context)
        elif time.monotonic() >= self._quiet_until:
            self._quiet_until = time.monotonic() + COMPLAIN_EVERY_SECONDS
            sys.stderr.write(
                "lastword: it has as many files and connections open as it may, and takes no more "
                "until some are closed; see `ulimit -n`\n"
            )


async def _serve(
    settings: GatewaySettings,
    front: Front,
    listening: socket.socket,
    pid_file: PidFile,
    told: FrontSignals,
) -> None:
    """Serve until a signal comes."""
    config = uvicorn.Config(
        front.app,
        http=AbortableHttp,
        ws=FramedProtocol,
        ws_max_size=settings.frame_limit_bytes,
        ws_ping_interval=settings.ping_seconds,
        ws_ping_timeout=settings.pong_seconds,
        ws_per_message_deflate=settings.compress,
        proxy_headers=settings.behind_proxy,
        # Said in full: uvicorn would else take it from a variable of the environment.
        forwarded_allow_ips=settings.proxies or ["127.0.0.1", "::1"],
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=2,
        backlog=BACKLOG,
    )
    server = _FrontServer(config)
    logging.getLogger("uvicorn.error").addFilter(_NoFalseAlarm())
    told.take()
    asyncio.get_running_loop().set_exception_handler(_LoopComplaints())
    # uvicorn closes what it is given.
    task = asyncio.create_task(server.serve(sockets=[listening.dup()]))
    while not server.started and not task.done():  # noqa: ASYNC110 - it tells in no other way
        await asyncio.sleep(0.01)
    asyncio.get_running_loop().add_signal_handler(signal.SIGCHLD, _reap)
    _reap()
    beside = [
        asyncio.create_task(_forget_old(front.holders, settings.log_age_seconds)),
        asyncio.create_task(_keep(pid_file)),
        asyncio.create_task(front.quality.watch()),
    ]
    waiting = asyncio.create_task(told.wait())
    await asyncio.wait((task, waiting), return_when=asyncio.FIRST_COMPLETED)
    if not waiting.done():
        waiting.cancel()
        await task
        return
    await front.close(*((1012, "gateway_restarts") if told.is_reload else (1001, "gateway_stops")))
    server.should_exit = True
    await task
    for done in beside:
        done.cancel()
    await asyncio.wait(beside)
    if told.is_reload:
        hold()
    else:
        told.let_go()


async def _keep(pid_file: PidFile) -> None:
    while True:
        pid_file.keep()
        await asyncio.sleep(KEEP_EVERY_SECONDS)


async def _forget_old(holders: Holders, age_seconds: float) -> None:
    while True:
        holders.forget_old(age_seconds, time.time())
        await asyncio.sleep(FORGET_EVERY_SECONDS)


def _reap() -> None:
    """Reap ended holders, including those that were started before a re-execution."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _inherited() -> tuple[socket.socket, int] | None:
    """Return the previous front's socket and lock file."""
    listening, _, pid_file = os.environ.pop(INHERITED, "").partition(",")
    if not (listening.isdecimal() and pid_file.isdecimal()):
        return None
    for number in (int(listening), int(pid_file)):
        os.set_inheritable(number, False)  # noqa: FBT003 - its only form
    return socket.socket(fileno=int(listening)), int(pid_file)


def _pid_file(run_folder: str, inherited: int) -> PidFile:
    try:
        return PidFile(run_folder, inherited)
    except TakenError:
        raise ServingError("another gateway of yours has this port; see --listen") from None


def _listening(settings: GatewaySettings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # By its protocol asyncio knows that answers are not to wait for more to come (`TCP_NODELAY`).
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
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


def _become_newer(listening: socket.socket, pid_file: int) -> None:
    """Run the code that is installed now, keeping the socket on which clients wait."""
    for number in (listening.fileno(), pid_file):
        os.set_inheritable(number, True)  # noqa: FBT003 - its only form
    os.environ[INHERITED] = f"{listening.fileno()},{pid_file}"
    words = [sys.executable, "-P", "-m", "lastword", *sys.argv[1:]]
    os.execv(sys.executable, words)  # noqa: S606


def addresses(values: Sequence[str]) -> list[str]:
    """Return the names as one list, however often the option was given."""
    return [name.strip() for value in values for name in value.split(",") if name.strip()]
