"""Links between the nodes of a fleet, over the fleet's NATS servers.

Owns their opening, their codes, their credit and their end. A node is asked for a link on its own
subject. Both ends then send to a random subject of the other, and begin each message with a code:
the fleet's key authenticates both ends' random bytes, the direction, the message's number and its
content. A forged, repeated, missing or reflected message ends the link. Nothing is retransmitted;
the user of a link opens another one.

A sender's credit grows with what the other end has read, so what a viewer does not read waits with
its sender, and never in the connection to the servers. A silent peer is pinged, and given up after
`SILENT_SECONDS`.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import secrets
import struct
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import nats.errors

from lastword.core.protocol import jsonrpc
from lastword.core.protocol.acp import object_of
from lastword.gateway import wire
from lastword.gateway.viewing.reader import UNREAD_BY_FRONT_BYTES
from lastword.gateway.viewing.render import events_facts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nats.aio.msg import Msg

    from lastword.gateway.fleet.broker import Broker
    from lastword.gateway.viewing.render import StreamEvent

NODE_SUBJECT = "lwn"
"""The subject on which a node is asked for links, followed by its name."""
INBOX_SUBJECT = "lwi"
"""The subjects of links, followed by the random name of a process and the link's number."""

NONCE_BYTES = 32
CODE_BYTES = 32

WINDOW_BYTES = 256 * 1024
"""The most that a link's reader may leave unread."""
PART_BYTES = 128 * 1024
"""The content of the largest message; NATS servers accept 1 MiB."""
ITEM_LIMIT_BYTES = 80 * 1024 * 1024
"""The largest item: the largest frame and its envelope."""

OPEN_SECONDS = 8.0
"""How long a node may take to answer a request for a link."""
UNUSED_SECONDS = 5.0
"""How long a link that was opened waits for its first message."""
MAX_UNUSED = 128
"""Such links of a process; for one more the oldest ends."""

BEAT_SECONDS = 2.0
"""How long a peer may be silent before it is pinged."""
SILENT_SECONDS = 8.0
"""How long a peer may be silent before it is given up."""

LINGER_SECONDS = 75.0
"""How long a closed link waits for the rest to be read: longer than a viewer may read nothing."""
CLOSE_SECONDS = 2.0
"""The same, at the end of the process."""

_PING, _PONG, _CLOSE = 1, 2, 4
_HEADER = struct.Struct(">BI")
"""Behind the code: the flags, and for how many bytes more there is credit."""
_ITEM = struct.Struct(">cI")
"""Before an item: its kind and size."""

FRAME, BLOCK, CONTROL = b"f", b"b", b"c"
"""The kinds of items: an ACP frame, encoded WebSocket frames, and a word with its facts."""

Serve = Callable[["NodeLink"], Awaitable[None]]


class NodeLink:
    """One end of a link.

    Attributes:
        inbox: the subject on which it receives.
        peer: the subject of the other end.
        is_silent: it ended because the other end stopped answering.
    """

    def __init__(self, inbox: str, stirred: Callable[[NodeLink], None]) -> None:
        self.inbox: str = inbox
        self.peer: str = ""
        self.is_silent: bool = False
        self._stirred = stirred
        self._own_key = self._other_key = b""
        self._sent = self._received = 0
        self._unsent = bytearray()
        self._credit = WINDOW_BYTES
        self._flags = self._grant = 0
        self._incoming: deque[bytes] = deque()
        self._unread = self._taken = 0
        self._partial = bytearray()
        self._news = asyncio.Event()
        self._room = asyncio.Event()
        self._is_closing = self._is_over = self._is_lost = False

    def secure(self, peer: str, own_key: bytes, other_key: bytes) -> None:
        """Set the other end's subject, and the keys of both directions."""
        self.peer, self._own_key, self._other_key = peer, own_key, other_key

    # What its user does.

    def write(self, kind: bytes, *items: bytes) -> None:
        """Send items, as soon as there is credit; without effect once it is closing."""
        if not self._is_closing:
            for item in items:
                self._unsent += _ITEM.pack(kind, len(item))
                self._unsent += item
            self._stirred(self)

    def lines(self, frames: list[bytes]) -> None:
        """Send ACP frames."""
        self.write(FRAME, *frames)

    def framed(self, blocks: list[bytes]) -> None:
        """Send encoded WebSocket frames."""
        self.write(BLOCK, *blocks)

    def events(self, session_id: str, events: list[StreamEvent]) -> None:
        """Send frames of a session with their places in its log."""
        self.control(wire.EVENTS, session=session_id, events=events_facts(events))

    def control(self, word: str, **facts: Any) -> None:
        """Send a word with its facts."""
        self.write(CONTROL, jsonrpc.dumps({"word": word} | facts))

    @property
    def unsent_bytes(self) -> int:
        """How much is still to be sent."""
        return len(self._unsent)

    @property
    def is_closing(self) -> bool:
        """Whether it accepts no more items."""
        return self._is_closing

    @property
    def is_over(self) -> bool:
        """Whether sending and receiving have ended."""
        return self._is_over

    async def drain(self, limit: int = UNREAD_BY_FRONT_BYTES) -> None:
        """Wait until no more than this many bytes are unsent.

        Raises:
            ConnectionResetError: It has ended.
        """
        while len(self._unsent) > limit and not self._is_over:
            self._room.clear()
            await self._room.wait()
        if self._is_closing:
            raise ConnectionResetError

    async def read(self) -> list[tuple[bytes, bytes]]:
        """Return the next items with their kinds; none once the other end has closed the link.

        Raises:
            ConnectionResetError: The link was lost.
        """
        data = self._partial
        while True:
            while self._incoming:
                part = self._incoming.popleft()
                self._unread -= len(part)
                self._taken += len(part)
                if self._taken >= WINDOW_BYTES // 4:
                    self._grant += self._taken
                    self._taken = 0
                    self._stirred(self)
                data += part
                items, at = [], 0
                while len(data) - at >= _ITEM.size:
                    kind, size = _ITEM.unpack_from(data, at)
                    if size > ITEM_LIMIT_BYTES:
                        self.end()
                        break
                    start = at + _ITEM.size
                    if len(data) - start < size:
                        break
                    at = start + size
                    items.append((kind, bytes(data[start:at])))
                del data[:at]
                if items:
                    return items
            if self._is_lost:
                raise ConnectionResetError
            if self._is_closing:
                return []
            self._news.clear()
            await self._news.wait()

    def close(self) -> None:
        """Close it once what was written has been sent."""
        if not self._is_closing:
            self._is_closing = True
            self._news.set()
            self._stirred(self)
            asyncio.get_running_loop().call_later(LINGER_SECONDS, self.abort)

    def abort(self) -> None:
        """Close it at once, without what is unsent."""
        self._unsent.clear()
        self._is_closing = True
        self._news.set()
        self._room.set()
        self._stirred(self)

    # What its process does.

    def end(self, *, is_silent: bool = False) -> None:
        """End it, since the other end is gone or cannot be trusted."""
        if self._is_over:
            return
        self.is_silent = is_silent
        self._is_over = self._is_closing = self._is_lost = True
        self._unsent.clear()
        self._news.set()
        self._room.set()
        self._stirred(self)

    def ping(self) -> None:
        """Ask the other end to answer."""
        self._flags |= _PING
        self._stirred(self)

    def next_message(self) -> bytes | None:
        """Return the next message to send, if something is due and there is credit for it."""
        if self._is_over:
            return None
        size = min(len(self._unsent), self._credit, PART_BYTES)
        is_last = self._is_closing and size == len(self._unsent)
        if not (size or is_last or self._flags or self._grant):
            return None
        flags = self._flags | (_CLOSE if is_last else 0)
        content = _HEADER.pack(flags, self._grant) + self._unsent[:size]
        del self._unsent[:size]
        self._credit -= size
        self._flags = self._grant = 0
        if size:
            self._room.set()
        self._is_over = is_last
        self._sent += 1
        return _code(self._own_key, self._sent, content) + content

    def receive(self, payload: bytes) -> bool:
        """Receive a message; return whether it is the one that the other end sent next."""
        content = payload[CODE_BYTES:]
        expected = _code(self._other_key, self._received + 1, content)
        is_next = hmac.compare_digest(payload[:CODE_BYTES], expected)
        if not is_next or len(content) < _HEADER.size:
            self.end()
            return False
        self._received += 1
        flags, grant = _HEADER.unpack_from(content)
        part = content[_HEADER.size :]
        self._credit += grant
        self._unread += len(part)
        if self._unread > WINDOW_BYTES:
            self.end()
            return False
        if part:
            self._incoming.append(part)
        if flags & _PING:
            self._flags |= _PONG
        if flags & _CLOSE:
            self._is_over = self._is_closing = True
            self._unsent.clear()
            self._room.set()
        self._news.set()
        if grant or flags:
            self._stirred(self)
        return True


class NodeLinks:
    """The links of one process."""

    def __init__(self, broker: Broker, key: bytes, node: str) -> None:
        """Prepare them; there are none before `start`.

        Args:
            broker: The connection to the servers.
            key: The fleet's key for links.
            node: This node's name.
        """
        self._broker = broker
        self._key = key
        self._node = node
        self._serve: Serve | None = None
        self._inbox = ""
        """The first part of the subjects of its links; another one on each connection."""
        self._numbers = 0
        self._links: dict[str, NodeLink] = {}
        """By the subjects on which they receive."""
        self._opening: dict[str, asyncio.Future[Msg]] = {}
        self._unused: dict[str, float] = {}
        """When links were opened whose other end has yet to prove that it has the key."""
        self._heard: dict[str, float] = {}
        """When each peer was last heard from, by the first part of its subjects."""
        self._lost: list[str] = []
        """The other ends of the last connection's links."""
        self._ready: dict[NodeLink, None] = {}
        """Links that may have something to send, in their order."""
        self._wake = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        """Those of a connection."""
        self._served: set[asyncio.Task[None]] = set()

    async def start(self, serve: Serve) -> None:
        """Start opening links, and serve each one that another node opens until it ends."""
        self._serve = serve
        self._broker.listen(self._connection_changed)
        if self._broker.is_connected:
            await self._begin()

    async def close(self) -> None:
        """Close all links, once what was written has been sent."""
        self._serve = None
        for link in self._links.values():
            link.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_SECONDS):
                if self._served:
                    await asyncio.wait(self._served)
                while self._links and self._inbox:  # noqa: ASYNC110 - within a bound
                    await asyncio.sleep(0.01)
        self._stop()
        for task in self._served:
            task.cancel()

    # The connection.

    def _connection_changed(self, is_connected: bool) -> None:  # noqa: FBT001 - as it is called
        if not is_connected:
            self._stop()
        elif self._serve is not None:
            self._tasks.add(asyncio.create_task(self._begin()))

    async def _begin(self) -> None:
        inbox = f"{INBOX_SUBJECT}.{secrets.token_hex(16)}"
        lost, self._lost = self._lost, []
        try:
            await self._broker.subscribe(f"{inbox}.*", self._receive)
            await self._broker.subscribe(f"{NODE_SUBJECT}.{self._node}", self._requested)
            for peer in lost:  # a message without a valid code ends the other end at once
                await self._broker.publish(peer, b"")
        except (nats.errors.Error, OSError):
            return  # the connection is lost again
        self._inbox = inbox
        self._tasks |= {asyncio.create_task(self._send()), asyncio.create_task(self._beat())}

    def _stop(self) -> None:
        self._inbox = ""
        for task in self._tasks:
            task.cancel()
        self._tasks.clear()
        for link in [*self._links.values()]:
            if link.peer:
                self._lost.append(link.peer)
            link.end()
        self._links.clear()
        self._unused.clear()
        self._heard.clear()
        self._ready.clear()
        for opening in self._opening.values():
            if not opening.done():
                opening.set_exception(ConnectionRefusedError())

    async def _send(self) -> None:
        """Send what is due, one message of each link in turn."""
        while True:
            while self._ready:
                link = next(iter(self._ready))
                del self._ready[link]
                message = link.next_message()
                if message is None:
                    if link.is_over:
                        self._links.pop(link.inbox, None)
                    continue
                self._ready[link] = None
                with contextlib.suppress(nats.errors.Error, OSError):
                    # The servers answer if nobody receives that subject any more.
                    await self._broker.publish(link.peer, message, reply=link.inbox)
            self._wake.clear()
            await self._wake.wait()

    def _stir(self, link: NodeLink) -> None:
        if link.peer and link.inbox in self._links:
            self._ready[link] = None
            self._wake.set()

    async def _beat(self) -> None:
        """End links that are silent or unused; ping peers that may be."""
        loop = asyncio.get_running_loop()
        last = loop.time()
        while True:
            await asyncio.sleep(BEAT_SECONDS)
            now = loop.time()
            if now - last > 2 * BEAT_SECONDS:  # this process was stopped, and has not read since
                self._heard = dict.fromkeys(self._heard, now)
            last = now
            for inbox in [each for each, at in self._unused.items() if now - at > UNUSED_SECONDS]:
                self._end(inbox)
            by_peer = {_process_of(each.peer): each for each in self._links.values() if each.peer}
            self._heard = {each: at for each, at in self._heard.items() if each in by_peer}
            for peer, link in by_peer.items():
                silence = now - self._heard.setdefault(peer, now)
                if silence >= SILENT_SECONDS:
                    self._end_all(peer, is_silent=True)
                elif silence >= BEAT_SECONDS / 2:
                    link.ping()

    def _end(self, inbox: str) -> None:
        self._unused.pop(inbox, None)
        if (link := self._links.pop(inbox, None)) is not None:
            link.end()

    def _end_all(self, process: str, *, is_silent: bool = False) -> None:
        """End all links with a process."""
        for link in [*self._links.values()]:
            if _process_of(link.peer) == process:
                link.end(is_silent=is_silent)
                self._end(link.inbox)

    # Messages.

    def _receive(self, message: Msg) -> None:
        inbox = message.subject
        opening = self._opening.get(inbox)
        if opening is not None:
            if not opening.done():
                opening.set_result(message)
            return
        link = self._links.get(inbox)
        if link is None:
            return
        if _is_unheard(message):
            self._end_all(_process_of(link.peer))
        elif not link.receive(message.data):
            self._end(inbox)
        else:
            self._heard[_process_of(link.peer)] = asyncio.get_running_loop().time()
            if link.is_over:
                self._links.pop(inbox, None)
            if self._unused.pop(inbox, None) is not None and self._serve is not None:
                task = asyncio.create_task(self._served_by(self._serve, link))
                self._served.add(task)
                task.add_done_callback(self._served.discard)

    async def _served_by(self, serve: Serve, link: NodeLink) -> None:
        try:
            await serve(link)
        except (OSError, ValueError):
            pass
        finally:
            link.close()

    def _new_link(self) -> NodeLink:
        self._numbers += 1
        return NodeLink(f"{self._inbox}.{self._numbers}", self._stir)

    def _requested(self, message: Msg) -> None:
        """Open a link for another node, whose next message has to prove that it has the key."""
        nonce, peer = message.data, message.reply
        is_ours = peer.startswith(f"{INBOX_SUBJECT}.") and len(nonce) == NONCE_BYTES
        if not is_ours or not self._inbox or self._serve is None:
            return
        if len(self._unused) >= MAX_UNUSED:
            self._end(next(iter(self._unused)))
        link, own = self._new_link(), secrets.token_bytes(NONCE_BYTES)
        keys = _Keys(self._key, self._node, peer, link.inbox, nonce + own)
        link.secure(peer, own_key=keys.acceptor, other_key=keys.dialer)
        self._links[link.inbox] = link
        self._unused[link.inbox] = asyncio.get_running_loop().time()
        answer = asyncio.create_task(self._answer(peer, own + keys.proof, link.inbox))
        self._tasks.add(answer)
        answer.add_done_callback(self._tasks.discard)

    async def _answer(self, peer: str, payload: bytes, inbox: str) -> None:
        with contextlib.suppress(nats.errors.Error, OSError):
            await self._broker.publish(peer, payload, reply=inbox)

    async def open(self, node: str) -> NodeLink:
        """Open a link to a node.

        Raises:
            ConnectionRefusedError: It is not running, or there is no connection.
            TimeoutError: It does not answer.
        """
        if not self._inbox:
            raise ConnectionRefusedError
        link, own = self._new_link(), secrets.token_bytes(NONCE_BYTES)
        opening = asyncio.get_running_loop().create_future()
        self._opening[link.inbox] = opening
        try:
            async with asyncio.timeout(OPEN_SECONDS):
                await self._broker.publish(f"{NODE_SUBJECT}.{node}", own, reply=link.inbox)
                message = await opening
        except nats.errors.Error:
            raise ConnectionRefusedError from None
        finally:
            del self._opening[link.inbox]
        peer, nonce, proof = message.reply, message.data[:NONCE_BYTES], message.data[NONCE_BYTES:]
        keys = _Keys(self._key, node, link.inbox, peer, own + nonce)
        if _is_unheard(message) or not hmac.compare_digest(proof, keys.proof):
            raise ConnectionRefusedError
        link.secure(peer, own_key=keys.dialer, other_key=keys.acceptor)
        self._links[link.inbox] = link
        return link

    async def request(
        self, node: str, word: str, facts: Mapping[str, Any], seconds: float
    ) -> dict[str, Any] | None:
        """Send a request to a node; return its answer.

        Args:
            node: Its name.
            word: The request's word.
            facts: The request's facts.
            seconds: How long the answer may take once there is a link.

        Returns:
            The answer's facts; `None` if none came, or that node does not know the word.
        """
        try:
            link = await self.open(node)
        except OSError:
            return None
        try:
            async with asyncio.timeout(seconds):
                link.control(word, **facts)
                answered, answer = await read_control(link)
        except OSError:
            return None
        finally:
            link.close()
        return answer if answered == word and wire.UNKNOWN not in answer else None


class _Keys:
    """The keys of a link: of each direction, and the acceptor's proof that it has the fleet's."""

    def __init__(self, key: bytes, node: str, dialer: str, acceptor: str, nonces: bytes) -> None:
        link = f"lastword node link 2 {node} {dialer} {acceptor}".encode()
        key = hmac.digest(key, nonces + link, "sha256")
        self.dialer: bytes = hmac.digest(key, b"dialer", "sha256")
        self.acceptor: bytes = hmac.digest(key, b"acceptor", "sha256")
        self.proof: bytes = hmac.digest(key, b"proof", "sha256")


def _code(key: bytes, number: int, content: bytes) -> bytes:
    return hmac.digest(key, number.to_bytes(8, "big") + content, "sha256")


def _process_of(subject: str) -> str:
    return subject.rpartition(".")[0]


def _is_unheard(message: Msg) -> bool:
    """Return whether the servers report that nobody receives the subject."""
    return (message.headers or {}).get("Status") == "503"


async def read_control(link: NodeLink) -> tuple[str, dict[str, Any]]:
    """Return the word that comes next, and its facts; an empty word if it is something else.

    Raises:
        ConnectionResetError: The link was lost.
    """
    items = await link.read()
    return control_of(items[0][1]) if items and items[0][0] == CONTROL else ("", {})


def control_of(item: bytes) -> tuple[str, dict[str, Any]]:
    """Return the word and the facts of such an item; an empty word if it has none."""
    facts = object_of(jsonrpc.loads(item))
    word = facts.pop("word", "")
    return (word if isinstance(word, str) else ""), facts
