"""The processes and connections of a silent agent: when they are looked at, and what that shows.

Owns the schedule and the cost: at most once in 2 s, at most a five-hundredth of the time unless a
timer takes effect, and only while one turn is silent. The judgement is pure rules. A model provider
is recognised by the size of what was sent to it after the prompt, and not by its address: it may be
on this machine, as an MCP server may be elsewhere. Without proof there is no cause, as on a system
that shows no processes. A program is named, but never its command line, which may have secrets.
Loaded at the first silence.
"""

from __future__ import annotations

import os
import re
import time
from typing import TYPE_CHECKING

import msgspec

from lastword.core.link.facts import Cause, SilenceCause
from lastword.platform.process_tree import (
    ESTABLISHED,
    SYN_SENT,
    TcpSocket,
    read_tcp_sockets,
    read_tree,
    sockets_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lastword.core.link.evidence import SilentTurn
    from lastword.platform.process_tree import Process


# --- names of programs

_SHELLS = frozenset(
    {"sh", "bash", "dash", "zsh", "ksh", "fish", "ash", "busybox", "cmd", "powershell", "pwsh"}
)
_STARTERS = _SHELLS | {
    *("env", "nice", "nohup", "sudo", "timeout", "setsid", "stdbuf", "time"),
    *("bwrap", "firejail", "unshare"),
}
_INTERPRETERS = re.compile(r"(?:node|nodejs|bun|deno|python|pypy|ruby|perl|php)[\d.]*")
_HAVE_COMMANDS = frozenset({
    *("npm", "pnpm", "yarn", "bun", "cargo", "go", "git", "docker", "podman", "pip", "uv"),
    *("poetry", "gradle", "gradlew", "mvn", "bundle", "rake", "dotnet", "kubectl", "terraform"),
    *("apt", "apt-get", "brew", "make", "just", "mix", "composer", "helm", "deno"),
})  # fmt: skip
_SCRIPT = re.compile(r"(?:-cli)?\.(?:c?js|mjs|ts|py|rb|pl|php|sh)$")
_NAME = re.compile(r"[A-Za-z0-9][\w.+-]{0,31}")
_COMMAND = re.compile(r"[a-z][a-z-]{1,15}")
_MODULE = re.compile(r"[A-Za-z_][A-Za-z_.]{0,31}")
_SERVERS = re.compile(r"mcp|lsp|language-?server|tsserver|(?:^|/)gopls$|rust-analyzer|--stdio")
MAX_WORDS = 8


def program_of(words: Sequence[str]) -> str | None:
    """Return the name of the program that a command line runs, if it may be shown."""
    if not words:
        return None
    if len(words) == 1 and " " in words[0]:
        # Some programs, such as npm, replace their command line with a title: "npm run test".
        words = words[0].split()
    program, rest = _base(words[0]), list(words[1:])
    if _INTERPRETERS.fullmatch(program) and rest:
        if rest[0] == "-m" and len(rest) > 1 and _MODULE.fullmatch(rest[1]):
            return f"{program} -m {rest[1]}"
        if not rest[0].startswith("-") and ("/" in rest[0] or _SCRIPT.search(rest[0])):
            program, rest = _SCRIPT.sub("", _base(rest[0])), rest[1:]
    if not _NAME.fullmatch(program):
        return None
    if program in _HAVE_COMMANDS and rest and _COMMAND.fullmatch(rest[0]):
        return f"{program} {rest[0]}"
    return program


def starts_others(words: Sequence[str]) -> bool:
    """Return whether a command line is that of a shell, a sandbox or another launcher."""
    program = _base(words[0]) if words else ""
    return program in _STARTERS or "sandbox" in program


def is_server(words: Sequence[str]) -> bool:
    """Return whether a command line is that of an MCP server or a language server."""
    if words and _base(words[0]) in _SHELLS:
        return False
    return any(_SERVERS.search(word.lower()) for word in words[:MAX_WORDS])


def _base(word: str) -> str:
    return os.path.basename(word.strip()).removeprefix("-")


# --- the judgement of two looks

REQUEST_BYTES = 4096
"""The least size of a request to a model: it has the agent's instructions and tools."""

SMALL_REQUEST_BYTES = 64
ERROR_BYTES = 4096
"""The largest error response; on a new connection certificates are added."""

CERTIFICATE_BYTES = 8192
HANDSHAKE_BYTES = 4096
"""The most that is sent on a new connection before its first request."""

MIN_TRIES = 3
SAME_BYTES = 128
"""How much the size of a repeated request may differ: its header may have a count."""

MAX_BETWEEN = 3
"""The most tries between the two looks that have the fewest between them."""

MIN_SECONDS = 2.0
BUSY_SHARE = 0.8
MIN_RETRANSMITS = 3
CLOCK_SECONDS = 0.05
"""How much the kernel's clock and ours may differ."""


class OwnSocket(msgspec.Struct, frozen=True):
    """A connection of one of the agent's processes."""

    pid: int
    tcp: TcpSocket


class Look(msgspec.Struct, frozen=True):
    """An agent's processes and connections at one moment."""

    at: float
    processes: tuple[Process, ...] = ()
    """The agent's own process is the first."""
    sockets: tuple[OwnSocket, ...] = ()


class Judge:
    """Finds the cause of a silence by comparing each look with the one before."""

    def __init__(self) -> None:
        self._before: Look | None = None
        self._began_at = -1.0
        self._base: dict[int, int] = {}
        """What each connection had sent before the prompt, at the last look before it."""
        self._since: dict[Cause, float] = {}
        """When each lasting state began."""
        self._requests: list[_Sent] = []

    def judge(self, look: Look, turn: SilentTurn) -> SilenceCause | None:
        """Return why this turn is silent, if the two looks prove it."""
        before, self._before = self._before, look
        if turn.began_at != self._began_at:
            self._began_at = turn.began_at
            sockets = before.sockets if before is not None else ()
            self._base = {each.tcp.inode: each.tcp.sent_bytes for each in sockets}
            self._since.clear()
            self._requests = []
        # Connections between two of the agent's own processes do not count.
        ends = {
            (each.tcp.local_port, each.tcp.remote_port)
            for each in look.sockets
            if each.tcp.loopback
        }
        connections = [
            each
            for each in look.sockets
            if not (each.tcp.loopback and (each.tcp.remote_port, each.tcp.local_port) in ends)
        ]
        tools = self._tools(look, connections)
        connections = [each for each in connections if each.pid not in tools]
        self._count_requests(look, before, connections)
        if before is None or before.at < turn.began_at or not look.processes:
            self._since.clear()
            return None
        for cause in (
            self._stopped(look, before, tools),
            self._provider(look, before, connections),
            self._unreachable(look, before, connections),
            self._tool(look, before, tools),
            self._busy(look, before, tools),
            self._server(look, before),
            self._tries(),
        ):
            if cause is not None:
                return cause
        return None

    # --- connections

    def _sent(self, tcp: TcpSocket) -> int:
        """Return how much was sent since the prompt."""
        return tcp.sent_bytes - self._base.get(tcp.inode, 0)

    def _is_of_turn(self, look: Look, tcp: TcpSocket) -> bool:
        return look.at - tcp.sent_ago >= self._began_at - CLOCK_SECONDS

    def _large(self, look: Look, connections: Iterable[OwnSocket]) -> list[OwnSocket]:
        """Return the connections on which a request to a model may have been sent."""
        return [
            each
            for each in connections
            if each.tcp.state == ESTABLISHED
            and self._is_of_turn(look, each.tcp)
            and self._sent(each.tcp) >= REQUEST_BYTES
        ]

    def _provider(
        self, look: Look, before: Look, connections: list[OwnSocket]
    ) -> SilenceCause | None:
        large = self._large(look, connections)
        earlier = {each.tcp.inode: each.tcp for each in before.sockets}
        if not large or any(
            (last := earlier.get(each.tcp.inode)) and each.tcp.received_bytes > last.received_bytes
            for each in large
        ):
            return None
        most = max(self._sent(each.tcp) for each in large)
        silent = [
            each.tcp
            for each in large
            if _is_unanswered(each.tcp)
            and 2 * self._sent(each.tcp) >= most
            and each.tcp.sent_ago >= MIN_SECONDS
            and each.tcp.inode in earlier
        ]
        if not silent:
            return None
        newest = min(silent, key=lambda tcp: tcp.sent_ago)
        cause = Cause.UNREACHABLE if newest.retransmits >= MIN_RETRANSMITS else Cause.PROVIDER
        return SilenceCause(cause=cause, since=look.at - newest.sent_ago)

    def _unreachable(
        self, look: Look, before: Look, connections: list[OwnSocket]
    ) -> SilenceCause | None:
        """Return that a connection is not established, in a turn in which no request was sent."""
        ports = {each.tcp.remote_port for each in before.sockets if each.tcp.state == SYN_SENT}
        waits = any(
            each.tcp.state == SYN_SENT and each.tcp.remote_port in ports for each in connections
        )
        waits = waits and not self._large(look, connections)
        return self._lasting(Cause.UNREACHABLE, before.at, holds=waits)

    def _server(self, look: Look, before: Look) -> SilenceCause | None:
        """Return that a server on this machine has not answered a small request.

        Of the agent's own processes, only those count that are servers by their names.
        """
        earlier = {each.tcp.inode for each in before.sockets}
        servers = {process.pid for process in look.processes if is_server(process.words)}
        owners = {
            (each.tcp.local_port, each.tcp.remote_port): each.pid
            for each in look.sockets
            if each.tcp.loopback
        }
        ages = [
            each.tcp.sent_ago
            for each in look.sockets
            if each.tcp.loopback
            and each.tcp.state == ESTABLISHED
            and each.tcp.inode in earlier
            and self._is_of_turn(look, each.tcp)
            and SMALL_REQUEST_BYTES <= self._sent(each.tcp) < REQUEST_BYTES
            and _is_unanswered(each.tcp)
            and each.tcp.sent_ago >= MIN_SECONDS
            and (owner := owners.get((each.tcp.remote_port, each.tcp.local_port))) != each.pid
            and (owner is None or owner in servers)
        ]
        if not ages:
            return None
        return SilenceCause(cause=Cause.MCP_SERVER, since=look.at - max(ages))

    # --- tries

    def _count_requests(
        self, look: Look, before: Look | None, connections: list[OwnSocket]
    ) -> None:
        earlier = {each.tcp.inode: each.tcp for each in (before.sockets if before else ())}
        latest = {request.inode: request for request in self._requests}
        for each in connections:
            tcp = each.tcp
            last = earlier.get(tcp.inode)
            sent = tcp.sent_bytes - (last.sent_bytes if last else 0)
            received = tcp.received_bytes - (last.received_bytes if last else 0)
            request = latest.get(tcp.inode)
            if request is not None and not request.received:
                # The rest of a request that was still being sent, or the next one too.
                request.sent += sent
                request.received = received
            elif sent >= REQUEST_BYTES and self._is_of_turn(look, tcp):
                first = last is None
                self._requests.append(_Sent(tcp.inode, first, sent, received, look.at))
            elif request is not None:
                request.received += received
        del self._requests[:-MAX_REQUESTS]

    def _tries(self) -> SilenceCause | None:
        """Return that one request was repeated, with answers short enough to be errors."""
        answered = [request for request in self._requests if request.received]
        first = [request for request in answered if request.first]
        again = [request for request in answered if not request.first]
        # The first look at a connection may show one request or several.
        count = max(_same(first), _same(again) + 1 if again else 0)
        if first and again:
            # An agent that waits longer and longer between its tries reuses a connection until that
            # is closed for being idle, and makes a new one for every later try.
            more = min(request.sent for request in first) - min(request.sent for request in again)
            if -SAME_BYTES <= more <= HANDSHAKE_BYTES:
                count = max(count, _same(first) + _same(again))
        if count < MIN_TRIES:
            return None
        return SilenceCause(cause=Cause.TRIES, since=self._requests[0].at, tries=count)

    # --- processes

    def _stopped(self, look: Look, before: Look, tools: set[int]) -> SilenceCause | None:
        earlier = {process.pid: process.state for process in before.processes}
        own = [process for process in look.processes if process.pid not in tools]
        stopped = any(_in_state(process, earlier, "Tt") for process in own)
        disk = any(_in_state(process, earlier, "D") for process in own)
        return self._lasting(Cause.STOPPED, before.at, holds=stopped) or self._lasting(
            Cause.DISK, before.at, holds=disk
        )

    def _busy(self, look: Look, before: Look, tools: set[int]) -> SilenceCause | None:
        # On a loaded machine a busy process waits for its share of the processors.
        earlier = {each.pid: each.cpu_seconds + each.queued_seconds for each in before.processes}
        enough = (look.at - before.at) * BUSY_SHARE
        busy = any(
            process.pid in earlier
            and process.cpu_seconds + process.queued_seconds - earlier[process.pid] >= enough > 0
            for process in look.processes
            if process.pid not in tools
        )
        return self._lasting(Cause.BUSY, before.at, holds=busy)

    def _lasting(self, cause: Cause, began: float, *, holds: bool) -> SilenceCause | None:
        if not holds:
            self._since.pop(cause, None)
            return None
        return SilenceCause(cause=cause, since=self._since.setdefault(cause, began))

    def _tool(self, look: Look, before: Look, tools: set[int]) -> SilenceCause | None:
        earlier = {process.pid for process in before.processes}
        lasting = [
            process
            for process in look.processes
            if process.pid in tools & earlier and process.parent not in tools
        ]
        if not lasting:
            return None
        tool = max(lasting, key=lambda process: process.age_seconds)
        since = look.at - tool.age_seconds
        # A shell or sandbox stands for the program that it was started for.
        children = [process for process in look.processes if process.parent == tool.pid]
        while children and starts_others(tool.words):
            tool = max(children, key=lambda process: process.age_seconds)
            children = [process for process in look.processes if process.parent == tool.pid]
        program = program_of(tool.words)
        if program is None:
            return None
        return SilenceCause(cause=Cause.TOOL, since=since, program=program)

    def _tools(self, look: Look, connections: list[OwnSocket]) -> set[int]:
        """Return the processes that are tools: started in this turn, once the model had answered.

        A process that sends the model's request itself is a part of the agent, as is one that was
        started before the request.
        """
        large = self._large(look, connections)
        tools: set[int] = set()
        own = program_of(look.processes[0].words) if look.processes else None
        for process in look.processes[1:]:
            started = look.at - process.age_seconds
            if process.parent in tools:
                tools.add(process.pid)
            elif started < self._began_at - CLOCK_SECONDS or process.state == "Z":
                continue
            elif own is not None and program_of(process.words) == own:
                continue  # a worker
            elif not is_server(process.words):
                # The process and its descendants; a parent comes before its children.
                below = {process.pid}
                for each in look.processes:
                    if each.parent in below:
                        below.add(each.pid)
                others = [each.tcp for each in large if each.pid not in below]
                is_own = not others and any(each.pid in below for each in large)
                answered = any(
                    not _is_unanswered(tcp) and look.at - tcp.sent_ago <= started + CLOCK_SECONDS
                    for tcp in others
                )
                if not is_own and (answered or not others):
                    tools.add(process.pid)
        return tools


MAX_REQUESTS = 64


class _Sent(msgspec.Struct):
    """What was sent on one connection between two looks: a request, or several."""

    inode: int
    first: bool
    sent: int
    received: int
    at: float


def _same(requests: list[_Sent]) -> int:
    """Return how often the same request was sent; 0 if requests differ, or an answer was long.

    Several may have been sent between two looks. The first look at a connection does not show how
    many there were.
    """
    if not requests:
        return 0
    least = min(request.sent for request in requests)
    most = 1 if requests[0].first else MAX_BETWEEN
    for few in range(1, most + 1):
        # Suppose that the smallest amount was of so few requests.
        size, count = least / few, 0
        for request in requests:
            times = 1 if request.first else round(request.sent / size)
            room = CERTIFICATE_BYTES if request.first else 0
            differs = abs(request.sent - times * size) > times * SAME_BYTES / few
            if differs or request.received > times * ERROR_BYTES + room:
                break
            count += times
        else:
            if count:
                return count
    return 0


def _is_unanswered(tcp: TcpSocket) -> bool:
    """Return whether nothing was received since something was last sent.

    What arrives within one round trip was already under way, such as a TLS session ticket.
    """
    if tcp.received_bytes == 0 or tcp.received_ago > tcp.sent_ago:
        return True
    return not tcp.loopback and tcp.sent_ago - tcp.received_ago <= 1.5 * tcp.rtt_seconds


def _in_state(process: Process, earlier: dict[int, str], states: str) -> bool:
    return process.state in states and earlier.get(process.pid, "-") in states


# --- the looks

LOOK_SECONDS = 2.0
LOOK_SHARE = 500
"""The next look waits this many times the duration of the last: 0.2 % of a core."""

MAX_LOOK_SECONDS = 30.0
MAX_STORED = 4096


class SilenceLooks:
    """Looks at an agent's processes and connections."""

    __slots__ = (
        "_due",
        "_has_sockets",
        "_judge",
        "_looked_at",
        "_others",
        "_owners",
        "_root",
        "seconds",
    )

    def __init__(self) -> None:
        self._judge = Judge()
        self._root = 0
        self._looked_at = -LOOK_SECONDS
        self._due = 0.0
        self._owners: dict[int, int] = {}
        """The processes of the agent's connections, by inode."""
        self._others: set[int] = set()
        """The inodes of connections that are not the agent's."""
        self._has_sockets = True
        self.seconds: float = 0.0
        """The processor time of all looks, in this thread."""

    def is_due(self, now: float, *, for_timer: bool = False) -> bool:
        """Return whether to look; before a timer, the cost of the last look does not matter."""
        return now >= (self._looked_at + LOOK_SECONDS if for_timer else self._due)

    def look(
        self, root: int, turns: Sequence[SilentTurn], now: float, *, port: int | None = None
    ) -> SilenceCause | None:
        """Return why the only silent turn is silent, if a look shows it.

        Args:
            root: The agent's process.
            turns: The silent turns. With several, nobody can tell whose a connection is.
            now: The time.
            port: The port at which the agent serves its events to us.
        """
        began = time.thread_time()
        if root != self._root:
            self._root, self._judge = root, Judge()
            self._owners.clear()
        processes = read_tree(root)
        sockets = self._sockets(processes, port)
        took = time.thread_time() - began
        self.seconds += took
        self._looked_at = now
        self._due = now + min(max(LOOK_SECONDS, took * LOOK_SHARE), MAX_LOOK_SECONDS)
        look = Look(now, tuple(processes), tuple(sockets))
        if len(turns) != 1:
            return None
        return self._judge.judge(look, turns[0])

    def _sockets(self, processes: Sequence[Process], port: int | None) -> list[OwnSocket]:
        if not self._has_sockets or not processes:
            return []
        try:
            listed = [
                each
                for each in read_tcp_sockets()
                if port is None
                or (each.local_port != port and not (each.loopback and each.remote_port == port))
            ]
        except OSError:
            # A sandbox without this source: the processes are still visible.
            self._has_sockets = False
            return []
        inodes = {each.inode for each in listed}
        pids = {process.pid for process in processes}
        self._others &= inodes
        self._owners = {
            inode: pid for inode, pid in self._owners.items() if inode in inodes and pid in pids
        }
        # Reading descriptors is expensive: it is done only for new connections.
        if not inodes <= self._others | self._owners.keys():
            # Later processes first: what a child has inherited, the parent has too.
            for process in reversed(processes):
                for inode in sockets_of(process.pid):
                    if inode in inodes:
                        self._owners[inode] = process.pid
            self._others = set(sorted(inodes - self._owners.keys())[:MAX_STORED])
        return [
            OwnSocket(self._owners[each.inode], each)
            for each in listed
            if each.inode in self._owners
        ]
