"""A bug of ours must not take a session down: the core behind a fuse.

Owns the fallback to a plain pipe. Once blown, every frame passes as it came, and nothing is added.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from lastword.core.connection import Connection
from lastword.core.effects import FORWARD, Effect, Side

if TYPE_CHECKING:
    from collections.abc import Callable

    from lastword.core.classify import Verdict
    from lastword.core.handler import Word
    from lastword.core.jsonrpc import Envelope, Frame, Malformed
    from lastword.core.options import Options

_Result = TypeVar("_Result")


class FusedConnection:
    """The core's interface; gives what a plain pipe would once the core has raised."""

    __slots__ = ("_connection", "_report", "blown")

    def __init__(self, options: Options, report: Callable[[Exception], None]) -> None:
        self._connection = Connection(options)
        self._report = report
        self.blown = False

    def _try(self, call: Callable[[], _Result], otherwise: _Result) -> _Result:
        if self.blown:
            return otherwise
        try:
            return call()
        except Exception as error:  # noqa: BLE001  (whatever it is, the session goes on)
            self._blow(error)
            return otherwise

    def _effects(self, call: Callable[[], list[Effect]]) -> list[Effect]:
        """What comes of a call; of one that fails, what had been kept back until then."""
        if self.blown:
            return []
        try:
            return call()
        except Exception as error:  # noqa: BLE001  (as above)
            return self._blow(error)

    def _blow(self, error: Exception) -> list[Effect]:
        self.blown = True
        self._report(error)
        try:
            return self._connection.kept_frames()
        except Exception:  # noqa: BLE001  (what is broken may be broken here too)
            return []

    def receive(self, side: Side, message: Frame | Malformed, now: float) -> list[Effect]:
        """As `Connection.receive`."""
        if self.blown:
            return [FORWARD]
        try:
            return self._connection.receive(side, message, now)
        except Exception as error:  # noqa: BLE001  (as above; written out for its speed)
            return [FORWARD, *self._blow(error)]

    def observe(self, messages: list[Envelope], start: int, now: float) -> int:
        """As `Connection.observe`."""
        if self.blown:
            return len(messages) - start
        try:
            return self._connection.observe(messages, start, now)
        except Exception as error:  # noqa: BLE001  (as above; written out for its speed)
            self._blow(error)
            return len(messages) - start

    def receive_oversized(self, side: Side, head: bytes, now: float) -> list[Effect]:
        """As `Connection.receive_oversized`."""
        return self._effects(lambda: self._connection.receive_oversized(side, head, now))

    def receive_stderr(self, data: bytes, now: float) -> list[Effect]:
        """As `Connection.receive_stderr`."""
        return self._effects(lambda: self._connection.receive_stderr(data, now))

    def receive_word(self, request_id: bytes, word: Word, now: float) -> list[Effect]:
        """As `Connection.receive_word`."""
        return self._effects(lambda: self._connection.receive_word(request_id, word, now))

    def agent_started(self, now: float) -> list[Effect]:
        """As `Connection.agent_started`."""
        return self._effects(lambda: self._connection.agent_started(now))

    def receive_eof(
        self, side: Side, cause: Callable[[], Verdict | None] | None, now: float
    ) -> list[Effect]:
        """As `Connection.receive_eof`; the cause is a call, since telling it may fail too."""
        return self._effects(
            lambda: self._connection.receive_eof(side, cause() if cause else None, now)
        )

    def next_timeout(self) -> float | None:
        """As `Connection.next_timeout`."""
        return self._try(self._connection.next_timeout, None)

    def handle_timeout(self, now: float) -> list[Effect]:
        """As `Connection.handle_timeout`."""
        return self._effects(lambda: self._connection.handle_timeout(now))

    def stand_still(self, seconds: float) -> None:
        """As `Connection.stand_still`."""
        self._try(lambda: self._connection.stand_still(seconds), None)

    @property
    def idle(self) -> bool:
        """As `Connection.idle`."""
        return self._try(lambda: self._connection.idle, otherwise=True)

    def receive_log(self, data: bytes, now: float) -> None:
        """As `Connection.receive_log`."""
        self._try(lambda: self._connection.receive_log(data, now), None)

    @property
    def agent_name(self) -> str | None:
        """As `Connection.agent_name`."""
        unknown: str | None = ""
        return self._try(lambda: self._connection.agent_name, unknown)

    def stderr_tail(self) -> str:
        """As `Connection.stderr_tail`."""
        return self._try(self._connection.stderr_tail, "")
