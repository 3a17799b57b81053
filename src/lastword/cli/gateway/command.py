"""`lastword gateway`: serve an agent's sessions, or send a command to a running gateway.

Owns the exit status: 0; 1 if there is no gateway to send the command to; 2 if the gateway cannot
be started as requested. Owns a link's QR code, too, for a phone's camera (ISO/IEC 18004): bytes,
correction level L, versions 1 to 9, always mask 0, which readers take from the code as they would
any other.
"""

from __future__ import annotations

import errno
import os
import shlex
import shutil
import signal
import sys
import time
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from lastword.cli import envelope
from lastword.cli.config.discovery import ConfigError
from lastword.cli.config.user_file import use
from lastword.cli.gateway.options import (
    WORDS,
    parser,
    read,
    reload_parser,
    status_parser,
    stop_parser,
    token_parser,
)
from lastword.cli.page import Page, has_colours, supports_bars, terminal_columns
from lastword.cli.record_access import path_of
from lastword.cli.run.command import not_started
from lastword.cli.run.options import UsageError
from lastword.cli.words import refuse
from lastword.core.failure.phrases import counted, plain_moment
from lastword.errors import LastwordError, StoreError, missing_extra
from lastword.gateway.front.control import STATUS, STOP, ask
from lastword.gateway.front.folders import folder_of, noted_fleet_key, run_folder_of, served_ports
from lastword.gateway.front.tokens import LINK_SECONDS, TOKEN_SECONDS, Grant, Keeper, Links, address
from lastword.gateway.run_folder import pid_of
from lastword.gateway.viewing.reader import Role
from lastword.gateway.wire import is_loopback
from lastword.platform.identity import local_time
from lastword.record.paths import state_folder

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from lastword.gateway.front.process import Welcome


_SIZES = (
    *((19, 7, 1), (34, 10, 1), (55, 15, 1), (80, 20, 1), (108, 26, 1)),
    *((136, 18, 2), (156, 20, 2), (194, 24, 2), (232, 30, 2)),
)
"""By version: bytes of data, bytes of correction for each block, blocks (table 9)."""

_ALIGNMENT: tuple[tuple[int, ...], ...] = (
    *((), (6, 18), (6, 22), (6, 26), (6, 30)),
    *((6, 34), (6, 22, 38), (6, 24, 42), (6, 26, 46)),
)
"""By version: the centres of the alignment patterns (annex E)."""

_FORMAT = 0x77C4
"""Level L and mask 0 (annex C)."""

_VERSIONS = {7: 0x07C94, 8: 0x085BC, 9: 0x09A99}
"""The version's own pattern, from 7 on (annex D)."""

_QUIET = 4
_HALVES = (" ", "▄", "▀", "█")


def drawn(text: str) -> list[str]:
    """Return a QR code's lines, dark on light on every terminal; none if the text is too long."""
    modules = matrix(text.encode())
    if not modules:
        return []
    width = len(modules) + 2 * _QUIET
    empty = [[False] * width] * _QUIET
    side = [False] * _QUIET
    rows = [*empty, *([*side, *row, *side] for row in modules), *empty, [False] * width]
    return [
        "\x1b[30;107m"
        + "".join(_HALVES[2 * up + down] for up, down in zip(rows[at], rows[at + 1], strict=True))
        + "\x1b[0m"
        for at in range(0, width, 2)
    ]


def matrix(data: bytes) -> list[list[bool]]:
    """Return whether each module is dark, by row and column; empty if there are too many bytes."""
    version = next((at for at, row in enumerate(_SIZES, 1) if len(data) + 2 <= row[0]), 0)
    if not version:
        return []
    modules = _patterns(version)
    words = _codewords(data, *_SIZES[version - 1])
    bits = (bool(word >> at & 1) for word in words for at in range(7, -1, -1))
    size = len(modules)
    for number, right in enumerate([*range(size - 1, 6, -2), 5, 3, 1]):
        for row in range(size) if number % 2 else range(size - 1, -1, -1):
            for column in (right, right - 1):
                if modules[row][column] is None:
                    modules[row][column] = next(bits, False) ^ ((row + column) % 2 == 0)
    return [[bool(each) for each in row] for row in modules]


def _codewords(data: bytes, size: int, correction: int, blocks: int) -> list[int]:
    """Return the data with its correction, the blocks interleaved."""
    head = 0b0100 << 8 | len(data)  # the mode, and the number of bytes
    whole = ((head << 8 * len(data) | int.from_bytes(data)) << 4).to_bytes(len(data) + 2)
    padded = whole + (b"\xec\x11" * size)[: size - len(whole)]
    length = size // blocks
    parts = [padded[at : at + length] for at in range(0, size, length)]
    # The Reed-Solomon code of each block.
    generator, root = [1], 1
    for _ in range(correction):
        pairs = zip([*generator, 0], [0, *generator], strict=True)
        generator = [a ^ _product(b, root) for a, b in pairs]
        root = _product(root, 2)
    corrections = []
    for part in parts:
        rest = [0] * correction
        for word in part:
            factor = word ^ rest[0]
            pairs = zip([*rest[1:], 0], generator[1:], strict=True)
            rest = [a ^ _product(b, factor) for a, b in pairs]
        corrections.append(rest)
    return [
        word
        for group in (parts, corrections)
        for column in zip(*group, strict=True)
        for word in column
    ]


def _product(a: int, b: int) -> int:
    """Return a product in the code's field of 256."""
    result = 0
    while b:
        result ^= a * (b & 1)
        a = a << 1 ^ (0x11D if a & 0x80 else 0)
        b >>= 1
    return result


def _patterns(version: int) -> list[list[bool | None]]:
    """Return the fixed modules of a version's codes, with `None` for those of the data."""
    size = 17 + 4 * version
    modules: list[list[bool | None]] = [[None] * size for _ in range(size)]

    def square(row: int, column: int, half: int, dark: set[int]) -> None:
        for y in range(max(0, row - half), min(size, row + half + 1)):
            for x in range(max(0, column - half), min(size, column + half + 1)):
                modules[y][x] = max(abs(y - row), abs(x - column)) in dark

    centres = _ALIGNMENT[version - 1]
    corners = {(6, 6), (6, size - 7), (size - 7, 6)}
    for row, column in {*product(centres, centres)} - corners:
        square(row, column, 2, {0, 2})
    for at in range(size):
        modules[6][at] = modules[at][6] = at % 2 == 0
    for row, column in ((3, 3), (3, size - 4), (size - 4, 3)):
        square(row, column, 4, {0, 1, 3})
    for at in range(15):
        bit = bool(_FORMAT >> at & 1)
        modules[at + (at > 5) if at < 8 else size - 15 + at][8] = bit  # noqa: PLR2004
        modules[8][size - 1 - at if at < 8 else 14 - at + (at < 9)] = bit  # noqa: PLR2004
    modules[size - 8][8] = True
    for at in range(18 if version in _VERSIONS else 0):
        bit = bool(_VERSIONS[version] >> at & 1)
        modules[at // 3][size - 11 + at % 3] = modules[size - 11 + at % 3][at // 3] = bit
    return modules


assert sys.platform != "win32"  # noqa: S101


def main(arguments: Sequence[str]) -> int:
    """Serve, or send a command to a running gateway; return the exit status."""
    word = arguments[0] if arguments else ""
    own = arguments[: list(arguments).index("--")] if "--" in arguments else arguments
    if {"-h", "--help"} & {*own}:  # needs neither the extra nor a file
        WORDS.get(word, parser)().parse_args(["--help"])
    try:
        if word in _WORDS:
            # A gateway that restarts with an invalid file would be gone.
            use((), "gateway" if word in {"reload", "restart"} else "")
            return _WORDS[word](arguments[1:])
        return _serve(arguments)
    except ImportError as error:
        missing = missing_extra("lastword gateway", "gateway", error)
        if missing is error:
            missing = missing_extra("lastword gateway with --fleet", "fleet", error)
        if missing is error:
            raise
        return refuse("", missing)
    except (ConfigError, UsageError, LastwordError) as error:
        return refuse("", error)


def _serve(arguments: Sequence[str]) -> int:
    from lastword.cli.gateway.holder import holder_of  # noqa: PLC0415
    from lastword.gateway.front.process import INHERITED, TRIAL, ServingError, serve  # noqa: PLC0415
    from lastword.outbox.own_reports import OwnReports  # noqa: PLC0415

    settings = read(arguments, use(arguments, "gateway"))
    if os.environ.get(INHERITED) == TRIAL:
        return 0
    holder = settings.holder
    program = holder.command[0]
    # A reload continues with the sessions that are there, whether or not the agent still is.
    if INHERITED not in os.environ and shutil.which(program) is None:
        number = errno.EACCES if os.path.exists(program) and os.sep in program else errno.ENOENT
        raise UsageError(not_started(program, OSError(number, os.strerror(number))))
    try:
        serve(settings, partial(_ready, _record_of(holder.state_folder)), holder_of)
    except (ServingError, StoreError) as error:
        reports = OwnReports(holder.report, holder.state_folder, program)
        failure = {"type": "internal", "reason": "gateway_not_started", "phase": "startup"}
        reports.add("start", failure | {"origin": "lastword", "retryable": False})
        reports.finish()
        return refuse("", error)
    if sys.stderr.isatty():
        sys.stderr.write("lastword: stopped\n")
    return 0


def _record_of(folder: str) -> str:
    """Return the option with which other commands find a gateway; empty if none is needed."""
    if folder == state_folder(os.environ):
        return ""
    return f" --record {shlex.quote(folder)}"


def _ready(record: str, welcome: Welcome) -> None:
    sys.stderr.write(f"lastword: serving at {welcome.url}\n")
    if sys.stderr.isatty():
        sys.stderr.write(f"lastword: token {welcome.token}\n")
        sys.stderr.write(f"lastword: the page (the link works once): {welcome.link()}\n")
        sys.stderr.write(
            f"lastword: Ctrl-C stops the gateway and its agents; `lastword gateway reload{record}` "
            "restarts it, and its agents keep running\n"
        )
    else:  # a log is read by others
        sys.stderr.write(f"lastword: `lastword gateway token{record}` prints a token\n")
        sys.stderr.write(
            f"lastword: the page is at {welcome.page}/; "
            f"`lastword gateway token --link {welcome.page}{record}` prints a link to it\n"
        )
    sys.stderr.flush()


def _token(arguments: Sequence[str]) -> int:
    options = token_parser().read(arguments)
    if options.expires is None:
        options.expires = TOKEN_SECONDS
    expires = int(time.time() + options.expires) if options.expires else 0
    grant = Grant(Role(options.role), options.session, expires)
    folder = folder_of(_state_folder(options))
    if key_file := options.fleet_key_file or noted_fleet_key(folder):
        from lastword.gateway.fleet.key import TOKENS, FleetKey  # noqa: PLC0415

        keeper = Keeper(FleetKey.at(key_file).derived(TOKENS))
    else:
        keeper = Keeper.at(folder)
    if not options.link:
        sys.stdout.write(f"{keeper.token(grant)}\n")
        return 0
    if key_file:
        code = keeper.link_code(grant, int(time.time()) + LINK_SECONDS)
    else:
        code = Links(folder, time.time, keeper).make(grant)
    link = address(options.link, code)
    sys.stdout.write(f"{link}\n")
    _draw(link)
    return 0


def _draw(link: str) -> None:
    """Show a link that another device can open as a QR code, if this is a terminal."""
    if is_loopback(urlsplit(link).hostname or "") or not (has_colours() and supports_bars()):
        return
    lines = drawn(link)
    if lines and len(lines) * 2 <= terminal_columns():  # two rows a line
        sys.stdout.write("\n" + "\n".join(lines) + "\n")


def _state_folder(options: argparse.Namespace) -> str:
    return os.path.dirname(path_of(options))


def _run_folder(options: argparse.Namespace) -> str:
    return run_folder_of(_state_folder(options), options.port)


def _other_ports(options: argparse.Namespace) -> list[int]:
    """Return the other ports on which gateways of this folder are running."""
    return [each for each in served_ports(_state_folder(options)) if each != options.port]


def _missing(options: argparse.Namespace) -> str:
    """Return how a sentence ends which says that no gateway is running there."""
    where = f"running on port {options.port}{_elsewhere(_other_ports(options))}"
    hint = "" if options.record else " (does it have its own --record?)"
    return where + hint


def _elsewhere(ports: list[int]) -> str:
    match ports:
        case []:
            return ""
        case [port]:
            return f"; another is running on port {port} (--port {port})"
    return f"; others are running on ports {', '.join(map(str, ports))} (--port {ports[0]})"


def _reload(arguments: Sequence[str], word: str = "reload") -> int:
    return _signal(reload_parser(word).read(arguments), signal.SIGHUP)


def _signal(options: argparse.Namespace, number: signal.Signals) -> int:
    pid = pid_of(_run_folder(options))
    if pid is None:
        return refuse("", f"you have no gateway {_missing(options)}", status=1)
    os.kill(pid, number)
    doing = "was asked to reload" if number == signal.SIGHUP else "is stopping"
    sys.stdout.write(f"gateway: process {pid} {doing}\n")
    return 0


def _stop(arguments: Sequence[str]) -> int:
    options = stop_parser().read(arguments)
    folder = _run_folder(options)
    if options.agents:
        ask(folder, STOP)
    return _signal(options, signal.SIGTERM)


def _status(arguments: Sequence[str]) -> int:
    options = status_parser().read(arguments)
    folder = _run_folder(options)
    agents = ask(folder, STATUS).get("holders")
    if not isinstance(agents, list):
        agents = []
    front = pid_of(folder)
    others = _other_ports(options)
    lines: list[str] = []
    members: dict[str, Any] = {}
    failure: LastwordError | None = None
    if options.fleet:
        from lastword.cli.gateway import fleet_status  # noqa: PLC0415

        try:
            fleet = fleet_status.fleet_of(folder)
        except LastwordError as error:
            failure, members["fleet"] = error, None
        else:
            lines = list(fleet_status.lines_of(fleet))
            members["fleet"] = fleet_status.members_of(fleet)
    if options.json:
        # A holder's own report; `sessionId` is an older name of `session_id`.
        holders = [
            each
            | {
                "sessions": [
                    {"session_id": session.get("sessionId"), **session}
                    for session in each.get("sessions", [])
                ]
            }
            for each in agents
        ]
        envelope.write({"front_pid": front, "holders": holders, "other_ports": others, **members})
        return _status_of(front, failure)
    page = Page()
    if front is None:
        page.line(f"gateway: not {_missing(options)}")
    else:
        page.line(f"gateway: process {front}{_elsewhere(others)}")
        if not agents:
            page.line("agents: none is running; the first session starts one")
    for holder in agents:
        agent = holder.get("agent_pid")
        page.line(f"agent: {f'process {agent}' if agent else 'starts when it is needed'}")
        for session in holder.get("sessions", []):
            what = "a turn is running" if session.get("turn") else "idle"
            activity = str((session.get("view") or {}).get("activity"))
            what = _ACTIVITIES.get(activity, what)
            until_ms = (session.get("view") or {}).get("continues_at_epoch_ms")
            if until_ms:
                moment = plain_moment(until_ms, local_time()) or "now"
                what = f"a turn continues {moment}, when a limit ends"
            viewers = session.get("controllers", 0) + session.get("observers", 0)
            questions = session.get("questions", 0)
            waits = f", {counted(questions, 'question')} open" if questions else ""
            page.line(f"  {session.get('sessionId')}: {what}, {counted(viewers, 'viewer')}{waits}")
    for line in lines:
        page.line(line)
    sys.stdout.write(page.drain())
    return _status_of(front, failure)


def _status_of(front: int | None, failure: LastwordError | None) -> int:
    if failure is not None:
        return refuse("", failure)
    return 0 if front is not None else 1


_ACTIVITIES = {
    "active": "the agent works on without a turn",
    "quiet": "the agent worked on without a turn, and is quiet",
}


_WORDS: dict[str, Callable[[Sequence[str]], int]] = {
    "token": _token,
    "status": _status,
    "reload": _reload,
    "restart": partial(_reload, word="restart"),
    "stop": _stop,
}
