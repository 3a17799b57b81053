"""Serving: the gateway's process, from its start to its replacement by a newer one.

Owns the listening socket, which survives a re-execution, the folders, and the signals that end the
process or replace it. No signal is lost, and none ends a process that is about to be replaced: they
are blocked from before the process id is known until it serves, and again from its end until its
successor serves. Blocked and pending signals survive an exec; handlers do not, and without one each
of these signals ends the process.

Also notices two changes: another version is installed where this one was, and starts (modules that
this process has not loaded yet would come from it); and a file in its folders is deleted, by the
kernel's notification (Linux's dnotify) or by looking from time to time.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import gc
import logging
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable  # noqa: TC003 - msgspec reads annotations
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
import uvicorn

from lastword import _version
from lastword.errors import LastwordError
from lastword.gateway.front.app import Front
from lastword.gateway.front.control import ControlSocket
from lastword.gateway.front.doorkeeper import Doorkeeper
from lastword.gateway.front.folders import folder_of, note_fleet_key, run_folder_of
from lastword.gateway.front.holders import HandedHolders, Holders, LimitWaits
from lastword.gateway.front.protocols import AbortableHttp, FramedProtocol
from lastword.gateway.front.services import FrontServices
from lastword.gateway.front.tokens import (
    KEY_NAME,
    LINK_SECONDS,
    TOKEN_SECONDS,
    Grant,
    Keeper,
    Links,
    address,
)
from lastword.gateway.run_folder import (
    PidFile,
    TakenError,
    close_state_folder,
    close_to_others,
    make_private,
    pid_of,
)
from lastword.gateway.settings.values import VARIABLE
from lastword.gateway.viewing.reader import Role
from lastword.notify.web_push import Subscriptions
from lastword.platform.files import file_with
from lastword.platform.pipes import close
from lastword.platform.process import ensure_standard_streams, without_our_locale

if TYPE_CHECKING:
    from collections.abc import Awaitable, Generator, Mapping
    from types import FrameType

    from lastword.gateway.front.fleet_node import FleetNode
    from lastword.gateway.front.holders import MakeHolder
    from lastword.gateway.settings.values import GatewaySettings

    WouldStart: TypeAlias = Callable[[Callable[[], bool]], Awaitable[bool]]
    """Returns whether the program that is to replace this one would start, while that is wanted."""


UNWATCHED_SECONDS = 1.0
"""How often to look where the kernel sends no notification."""

WATCHED_SECONDS = 30.0
"""How often to look nevertheless: moving the whole folder causes no event."""


class FolderWatch:
    """Calls a function when something in a folder is deleted; one folder for each process."""

    def __init__(self, folder: str, deleted: Callable[[], object]) -> None:
        """Begin; must be called in the main thread, with its event loop running."""
        self._folder = folder
        self._fd = -1
        with contextlib.suppress(ValueError, RuntimeError, AttributeError):
            # Without a handler the signal ends the process.
            asyncio.get_running_loop().add_signal_handler(signal.SIGIO, deleted)
            self.renew()

    @property
    def look_seconds(self) -> float:
        return UNWATCHED_SECONDS if self._fd < 0 else WATCHED_SECONDS

    def renew(self) -> None:
        before, self._fd = self._fd, -1
        close(before)
        if not hasattr(fcntl, "F_NOTIFY"):
            return
        try:
            self._fd = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY)
            fcntl.fcntl(self._fd, fcntl.F_NOTIFY, fcntl.DN_DELETE | fcntl.DN_MULTISHOT)
        except OSError:
            close(self._fd)
            self._fd = -1

    def close(self) -> None:
        """Stop watching; a signal that is still pending does no harm."""
        close(self._fd)
        self._fd = -1
        with contextlib.suppress(ValueError, RuntimeError):
            asyncio.get_running_loop().remove_signal_handler(signal.SIGIO)
            signal.signal(signal.SIGIO, signal.SIG_IGN)


LOOK_SECONDS = 60.0
"""How often to look; an installation that is the same twice in a row is complete."""

TRIAL_SECONDS = 60.0
"""How long a trial may take."""

_FILE = Path(_version.__file__)


def _installed() -> bytes:
    """Return what identifies the installed version; empty if there is none now."""
    try:
        return _FILE.read_bytes()
    except OSError:
        return b""


INHERITED = "LASTWORD_GATEWAY_SOCKET"
"""The environment variable with the file descriptors for the program that replaces this one: the
listening socket, the process id file, and the file with what continues."""

TRIAL = "trial"
"""Its value for a program that only shows whether it would start."""

BACKLOG = 1024
START_SECONDS = 60
"""How long a program that replaces this one may take to adopt the first agent, and then each next
one; after that it is ended, and the agents with it."""

FORGET_EVERY_SECONDS = 3600.0
COMPLAIN_EVERY_SECONDS = 60.0
DATE_SECONDS = 1.0
"""How often the date of HTTP's answers is renewed."""

MAKING_SECONDS = 0.05
"""How long a connection may take from its first packet to its request."""

KEEP_SECONDS = 0.05
"""The shortest time between two checks of the process id file."""

LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


class Welcome(msgspec.Struct, frozen=True, kw_only=True):
    """How to connect to a running gateway.

    Attributes:
        url: the URL of ACP's own transport.
        token: a controller's token, which ends as those of `lastword gateway token` do.
        page: the page's URL.
        link: makes a link to the page, which works once.
    """

    url: str
    token: str
    page: str
    link: Callable[[], str]


class ServingError(Exception):
    """The gateway cannot be started; the text says why and what to do."""


def serve(
    settings: GatewaySettings, ready: Callable[[Welcome], None], make_holder: MakeHolder
) -> None:
    """Serve until a signal ends it; `ready` gets the URLs and a token, `make_holder` makes holders.

    Raises:
        ServingError: It cannot be started.
        StoreError: Its folder cannot be used.
    """
    host = settings.listen[0]
    if host not in LOOPBACK and not settings.behind_proxy:
        raise ServingError(
            f"the gateway itself does not listen on {host}: put a proxy with TLS in front of it, "
            "and give --behind-proxy"
        )
    listening, inherited, handed = _inherited() or (_beginning(settings), -1, None)
    port = listening.getsockname()[1]
    folder, run_folder, log_folder = _make_folders(settings.holder.state_folder, port)
    hold()
    try:
        pid_file = PidFile(run_folder, inherited)
    except TakenError:
        message = "another of your gateways is running on this port; see --listen"
        raise ServingError(message) from None
    node = _node_of(settings, folder, run_folder, goes_on=handed is not None)
    keeper = _keeper_of(folder) if node is None else node.keeper
    links = Links(folder, time.time, keeper)
    origin = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    page = f"http://{origin}"
    holder = msgspec.structs.replace(
        settings.holder,
        run_folder=run_folder,
        log_folder=log_folder,
        address=page,
        links_to=settings.public_url,
        fleet=settings.holder.fleet if node is None else node.settings,
    )
    settings = msgspec.structs.replace(settings, holder=holder)
    doorkeeper = Doorkeeper(
        keeper,
        port=port if node is None else 0,  # a cookie is for the whole fleet
        hosts=settings.hosts,
        origins=settings.origins,
        links=links,
        notified=Links.notified(folder, time.time, keeper),
        of_fleet=None if node is None else node.links,
    )
    holders = Holders(
        holder,
        make_holder,
        limit=settings.sessions,
        fleet=None if node is None else node.ownership,
    )
    fleet = None
    if node is not None:
        # Loaded for a fleet alone.
        from lastword.gateway.front.fleet_directory import FleetDirectory  # noqa: PLC0415

        fleet = FleetDirectory(holders, node)
    services = FrontServices(holders, keeper, settings, fleet)
    front = Front(services, doorkeeper, settings)
    welcome = _welcome(settings, origin, keeper, links if node is None else None)
    signals = FrontSignals()
    ensure_standard_streams()
    without_our_locale()
    # Agents get no URLs of the fleet, which may have a password; a newer program gets them again.
    started_in, fleet_urls = os.getcwd(), os.environ.get(VARIABLE)
    would_start = partial(_would_start, started_in, {**os.environ, INHERITED: TRIAL})
    os.environ.pop(VARIABLE, None)
    if holder.root:
        os.chdir(holder.root)

    async def run() -> HandedHolders:
        signals.receive()
        if fleet is not None:
            try:  # after a reload, it serves without the fleet until it can join
                await fleet.join(waits=inherited < 0)
            except LastwordError as error:
                raise ServingError(str(error)) from error
        try:
            if handed is not None:
                await holders.adopt(handed, lambda: signal.alarm(START_SECONDS))
            begun = partial(ready, welcome)
            return await _serve(
                settings, front, services, listening, pid_file, signals, begun, would_start
            )
        finally:
            if fleet is not None:
                await fleet.leave(goes_on=signals.is_reload)

    # A full collection stops every session for 0.6 ms per thousand objects: those of the start are
    # left out.
    gc.freeze()
    left = asyncio.run(run())
    holders.reports.finish()
    if signals.is_reload:
        os.chdir(started_in)
        if fleet_urls is not None:
            os.environ[VARIABLE] = fleet_urls
        _become_newer(listening, pid_file.number, left)


def _make_folders(state_folder: str, port: int) -> tuple[str, str, str]:
    """Return the gateway's folder, its run folder and that of its logs, for its user alone.

    Raises:
        StoreError: One cannot be used.
    """
    folder, run_folder = folder_of(state_folder), run_folder_of(state_folder, port)
    log_folder = os.path.join(folder, "sessions")
    close_state_folder(state_folder)
    for each in (folder, log_folder, os.path.dirname(run_folder), run_folder):
        make_private(each)
    close_to_others(folder)
    close_to_others(run_folder)
    return folder, run_folder, log_folder


def _welcome(
    settings: GatewaySettings, origin: str, keeper: Keeper, links: Links | None
) -> Welcome:
    """Return how to connect; without links of its own, the gateway gives those of its fleet."""
    page = f"http://{origin}"

    def link() -> str:
        grant = Grant(Role.CONTROLLER, expires=int(time.time()) + TOKEN_SECONDS)
        until = int(time.time()) + LINK_SECONDS
        code = keeper.link_code(grant, until) if links is None else links.make(grant)
        return address(settings.public_url or page, code)

    grant = Grant(Role.CONTROLLER, expires=int(time.time()) + TOKEN_SECONDS)
    url = f"ws://{origin}{settings.path}"
    return Welcome(url=url, token=keeper.token(grant), page=page, link=link)


class _FrontServer(uvicorn.Server):
    """uvicorn's server, without its signal handlers and without ten wake-ups a second."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._ending = asyncio.Event()

    async def main_loop(self) -> None:
        """Wait until `end` is called."""
        while not await self.on_tick(0):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(DATE_SECONDS):
                    await self._ending.wait()

    async def leave_new(self) -> None:
        """Leave new connections to the next program, and finish those that are being made."""
        for each in self.servers:
            each.close()
        await asyncio.sleep(MAKING_SECONDS)

    def end(self) -> None:
        """End the server."""
        self.should_exit = True
        self._ending.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        """Capture none."""
        yield


def _is_fault(record: logging.LogRecord) -> bool:
    """Return whether an error that uvicorn logs is one.

    An upgrade may be refused by an HTTP status. At the end, requests that wait for an agent are
    cancelled.
    """
    is_end = record.exc_info is not None and record.exc_info[0] is asyncio.CancelledError
    return not (is_end or record.msg in _NO_FAULTS)


_NO_FAULTS = frozenset(
    {
        "ASGI callable returned without completing handshake.",
        "Cancel %s running task(s), timeout graceful shutdown exceeded",
    }
)


class _LoopComplaints:
    """Reports errors of the event loop as asyncio does, except for a lack of descriptors.

    For that, asyncio prints a traceback for each waiting connection: two thousand a second.
    """

    _quiet_until = 0.0

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Report an error."""
        error = context.get("exception")
        if not isinstance(error, OSError) or error.errno not in {errno.EMFILE, errno.ENFILE}:
            loop.default_exception_handler(context)
        elif time.monotonic() >= self._quiet_until:
            self._quiet_until = time.monotonic() + COMPLAIN_EVERY_SECONDS
            sys.stderr.write(
                "lastword: too many files and connections are open; the gateway accepts no more "
                "until some are closed (see `ulimit -n`)\n"
            )


def _keeper_of(folder: str) -> Keeper:
    """Return the keeper of a gateway's own tokens."""
    is_revoked = not os.path.exists(os.path.join(folder, KEY_NAME))
    keeper = Keeper.at(folder)
    if is_revoked:  # the key was deleted: subscriptions end with the tokens that made them
        Subscriptions(folder).clear()
    return keeper


def _node_of(
    settings: GatewaySettings, folder: str, run_folder: str, *, goes_on: bool
) -> FleetNode | None:
    """Return this gateway as a node of its fleet; `None` without a fleet.

    Raises:
        ServingError: The fleet's key or the address cannot be used, or the extra is missing.
    """
    fleet = settings.holder.fleet
    note_fleet_key(folder, fleet.key_file if fleet is not None else "")
    if fleet is None:
        return None
    # Loaded for a fleet alone, with its extra.
    from lastword.gateway.front.fleet_node import FleetNode  # noqa: PLC0415

    try:
        return FleetNode(settings, run_folder, goes_on=goes_on)
    except LastwordError as error:
        raise ServingError(str(error)) from error


async def _serve(  # noqa: PLR0913, PLR0917 - what it is made of
    settings: GatewaySettings,
    front: Front,
    services: FrontServices,
    listening: socket.socket,
    pid_file: PidFile,
    signals: FrontSignals,
    begun: Callable[[], None],
    would_start: WouldStart,
) -> HandedHolders:
    """Serve until a signal comes; return what continues in the program that replaces this one."""
    config = uvicorn.Config(
        front.app,
        http=AbortableHttp,
        ws=FramedProtocol,
        ws_max_size=settings.frame_limit_bytes,
        ws_ping_interval=settings.ping_seconds,
        ws_ping_timeout=settings.pong_seconds,
        ws_per_message_deflate=settings.compress,
        proxy_headers=settings.behind_proxy,
        # Without these, uvicorn would take a variable of the environment.
        forwarded_allow_ips=settings.proxies or ["127.0.0.1", "::1"],
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=2,
        backlog=BACKLOG,
    )
    server = _FrontServer(config)
    complaints = logging.StreamHandler()
    complaints.setFormatter(logging.Formatter("lastword: %(message)s"))
    complaints.addFilter(_is_fault)
    logging.getLogger("uvicorn.error").addHandler(complaints)
    asyncio.get_running_loop().set_exception_handler(_LoopComplaints())
    # uvicorn closes what it is given.
    task = asyncio.create_task(server.serve(sockets=[listening.dup()]))
    while not server.started and not task.done():  # noqa: ASYNC110 - it has no event
        await asyncio.sleep(0.01)
    control = ControlSocket(services.holders)
    await control.make()
    signal.alarm(0)
    begun()
    beside = [
        asyncio.create_task(_forget_old(services.holders, settings.log_age_seconds)),
        asyncio.create_task(_keep(pid_file, control, services.holders.run_folder)),
        asyncio.create_task(front.quality.watch()),
        asyncio.create_task(_upgrade(services)),
        asyncio.create_task(LimitWaits(services.holders, services.directory).watch()),
    ]
    while True:
        waiting = asyncio.create_task(signals.came.wait())
        await asyncio.wait((task, waiting), return_when=asyncio.FIRST_COMPLETED)
        cost = services.reload_cost
        if signals.is_reload and not cost and not await would_start(lambda: signals.is_reload):
            cost = "the installed version does not start with these options and files"
        if not signals.is_reload or not cost:
            break
        signals.drop_reload()
        sys.stderr.write(f"lastword: not reloaded, since {cost}\n")
    if not waiting.done():
        waiting.cancel()
        await task
        return HandedHolders()
    await server.leave_new()
    await front.close(
        *((1012, "gateway_restarts") if signals.is_reload else (1001, "gateway_stops"))
    )
    server.end()
    await task
    for done in beside:
        done.cancel()
    await asyncio.wait(beside)
    await control.close()
    handed = HandedHolders()
    if signals.is_reload:
        handed = await services.holders.hand_over(lambda: signals.is_reload)
    if signals.is_reload:
        hold()
    else:
        await services.holders.stop_all(ends_sessions=False)
        signals.restore_defaults()
    return handed


async def _keep(pid_file: PidFile, control: ControlSocket, run_folder: str) -> None:
    """Make the process id file and the control socket again whenever they are deleted."""
    deleted = asyncio.Event()
    folder = FolderWatch(run_folder, deleted.set)
    try:
        while True:
            deleted.clear()
            if pid_file.keep() | await control.keep():
                folder.renew()
            await asyncio.sleep(KEEP_SECONDS)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(folder.look_seconds):
                    await deleted.wait()
    finally:
        folder.close()


async def _would_start(
    folder: str, variables: Mapping[str, str], is_wanted: Callable[[], bool]
) -> bool:
    """Return whether the installed program takes our options and files; it says why not."""
    nowhere, until = subprocess.DEVNULL, time.monotonic() + TRIAL_SECONDS
    try:
        trial = await asyncio.create_subprocess_exec(
            *_words(), stdin=nowhere, stdout=nowhere, cwd=folder, env=variables
        )
    except OSError as error:
        sys.stderr.write(f"lastword: {error}\n")
        return False
    try:
        while trial.returncode is None and is_wanted() and time.monotonic() < until:  # noqa: ASYNC110
            await asyncio.sleep(KEEP_SECONDS)
        return trial.returncode == 0
    finally:
        if trial.returncode is None:
            trial.kill()
            await trial.wait()


def _words() -> list[str]:
    """Return the command line of the program that replaces this one."""
    return [sys.executable, "-P", "-m", "lastword", *sys.argv[1:]]


async def _upgrade(services: FrontServices) -> None:
    """Ask for a reload, once for each version that is installed, when no agent would end by it."""
    tried = before = running = _installed()
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        now = _installed()
        is_free = not services.reload_cost and services.holders.can_be_handed_over
        if is_free and now == before and now not in {b"", running, tried}:
            tried = now
            os.kill(os.getpid(), RELOAD)
        before = now


async def _forget_old(holders: Holders, age_seconds: float) -> None:
    while True:
        with contextlib.suppress(OSError):  # as of a lack of descriptors
            holders.forget_old(age_seconds, time.time())
        await asyncio.sleep(FORGET_EVERY_SECONDS)


def _inherited() -> tuple[socket.socket, int, HandedHolders] | None:
    """Return the socket, the process id file and the agents of the program before this one."""
    numbers = os.environ.pop(INHERITED, "").split(",")
    if not all(number.isdecimal() for number in numbers):
        return None
    listening, pid_file, *file = map(int, numbers)
    handed = HandedHolders()
    for number in file:  # version 0.3 gives none
        with os.fdopen(number, "rb") as left:
            left.seek(0)
            handed = msgspec.json.decode(left.read(), type=HandedHolders)
    for number in (listening, pid_file, *handed.descriptors):
        os.set_inheritable(number, False)  # noqa: FBT003 - its only form
    return socket.socket(fileno=listening), pid_file, handed


def _beginning(settings: GatewaySettings) -> socket.socket:
    pid = pid_of(run_folder_of(settings.holder.state_folder, settings.listen[1]))
    if pid is not None:
        raise ServingError(
            f"your gateway is running on this port, as process {pid}; choose another with --listen"
        )
    return _listening(*settings.listen)


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sets `TCP_NODELAY` only where the protocol is given.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        reason = (error.strerror or "failed").lower()
        raise ServingError(
            f"cannot listen on {host}:{port} ({reason}); choose another address with --listen"
        ) from error
    listening.listen(BACKLOG)
    return listening


def _become_newer(listening: socket.socket, pid_file: int, left: HandedHolders) -> None:
    """Run the code that is installed now, with the listening socket and the agents."""
    file = file_with(msgspec.json.encode(left))
    for number in (listening.fileno(), pid_file, file, *left.descriptors):
        os.set_inheritable(number, True)  # noqa: FBT003 - its only form
    os.environ[INHERITED] = f"{listening.fileno()},{pid_file},{file}"
    signal.alarm(START_SECONDS)  # it survives the exec, and ends a program that hangs
    os.execv(sys.executable, _words())  # noqa: S606


RELOAD = signal.SIGHUP
HANDLED = (RELOAD, signal.SIGTERM, signal.SIGINT)


def hold() -> None:
    """Block the handled signals, which stay pending."""
    signal.pthread_sigmask(signal.SIG_BLOCK, HANDLED)


class FrontSignals:
    """The signals that were received."""

    def __init__(self) -> None:
        self._numbers: list[int] = []
        self.came: asyncio.Event = asyncio.Event()
        """Set by the first one."""

    def receive(self) -> None:
        """Receive signals from now on, and those that are pending."""
        loop = asyncio.get_running_loop()

        # The loop's own handlers are called later: a signal just before the end would be lost.
        def note(number: int, _: FrameType | None) -> None:
            self._numbers.append(number)
            with contextlib.suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(self.came.set)

        for number in HANDLED:
            signal.signal(number, note)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, HANDLED)

    def restore_defaults(self) -> None:
        """Let the next signal end the process, which is ending anyway."""
        for number in HANDLED:
            signal.signal(number, signal.SIG_DFL)

    def drop_reload(self) -> None:
        """Forget the reloads that were asked for."""
        self._numbers = [number for number in self._numbers if number != RELOAD]
        self.came.clear()

    @property
    def is_reload(self) -> bool:
        """Return whether a newer program is to take over; a stop signal takes precedence."""
        return set(self._numbers) == {RELOAD}
