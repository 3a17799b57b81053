"""An agent's requests to its model provider, and the conclusions from them.

Owns the interpretation of the observer's reports: which requests failed, why, which are retries,
and what a silent agent waits for. It receives reports and a time, and returns hints and causes; no
I/O. A request that the agent ends itself has not failed, unless the provider had not answered for a
long time.
"""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any

import msgspec

from lastword.core.classify import Verdict, classify, own_failure
from lastword.core.classify.decide import UNREADABLE
from lastword.core.failure.taxonomy import UNDECIDED, Attribution, ErrorType, Origin
from lastword.core.link.decision import PROVIDER_SILENT
from lastword.core.link.evidence import TOOL_TAIL_SECONDS, Hint, HintSource, TurnId
from lastword.core.link.facts import Cause, SilenceCause
from lastword.core.redact.printable import one_line
from lastword.core.timeline.entry import Entry, Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lastword.core.link.evidence import SilentTurn

MAX_OPEN = 256
"""The limit of open requests; beyond it, the oldest is forgotten."""

REFUSED_STATUS = 400
BODY_SECONDS = 0.3
"""How long a refusal waits for its body, which is more precise than its status."""

IDLE_SECONDS = 20.0
"""An agent without a request for this long is not just between two of them."""

STREAM_SECONDS = 30.0
"""After this silence, an answer may have ended without a report."""

GIVEN_UP_SECONDS = 10.0
"""An agent that ends a request after this long without a sign has given up on the provider."""

SAME_SHARE = 0.9
"""A retry may name another model, and so be a little shorter than the first request."""

MAX_ATTEMPT = 10_000
MAX_HOST_CHARS = 128
MAX_RUNTIME_CHARS = 40
_ENDED_BY_AGENT = frozenset({"AbortError", "CancelledError", "GeneratorExit", "KeyboardInterrupt"})


class ProviderRequest(msgspec.Struct):
    """A request to a model.

    Attributes:
        turn: the turn that was open when it was sent, if there was exactly one.
        host: its host, with the port if that is not the default one.
        path: its path, without the query.
        began_at: when it was sent.
        attempt: its number; the first is 1.
        size: the size of its body in bytes, if known.
        status: the answer's status, once it has come.
        status_at: when the status came.
        headers: the answer's headers about waits and limits.
        last_at: when it was sent, or something of the answer last came.
        body: the beginning of a refusal's body, `None` until it comes.
        is_reported: whether a refusal was reported before its body came.
        is_page: whether the answer is HTML, like a proxy's page.
    """

    turn: TurnId | None
    host: str
    path: str
    began_at: float
    attempt: int
    size: int | None = None
    status: int | None = None
    status_at: float = 0.0
    headers: dict[str, str] = {}
    last_at: float = 0.0
    body: str | None = None
    is_reported: bool = False
    is_page: bool = False

    def repeats(self, other: ProviderRequest, *, otherwise: bool) -> bool:
        """Return whether it includes another request, like a retry or the next one of a turn.

        It may go to another provider. A request for a title is shorter. If a size is unknown, the
        result is `otherwise`.
        """
        if self.size is None or other.size is None:
            return otherwise
        return self.size >= other.size * SAME_SHARE

    @property
    def is_refused(self) -> bool:
        """Whether its answer is a failure."""
        return self.status is not None and self.status >= REFUSED_STATUS

    @property
    def first_byte_seconds(self) -> float | None:
        """The time until the answer began, `None` if it did not."""
        return None if self.status is None else round(self.status_at - self.began_at, 3)


class ModelRequests:
    """An agent's requests to its model provider, from its runtime's reports."""

    __slots__ = (
        "_answered",
        "_began_at",
        "_ended",
        "_failed",
        "_open",
        "_over",
        "_refused",
        "runtimes",
    )

    def __init__(self) -> None:
        self.runtimes: dict[int, str] = {}
        """The runtime of each process that has loaded the observer."""
        self._open: dict[tuple[int, int], ProviderRequest] = {}
        self._refused: dict[tuple[int, int], ProviderRequest] = {}
        """Requests that were refused, and whose body may still come."""
        self._answered: ProviderRequest | None = None
        """The last successful request."""
        self._began_at = 0.0
        """When the last request was sent."""
        self._failed: ProviderRequest | None = None
        """The last failed request, until one that repeats it succeeds."""
        self._over: list[tuple[ProviderRequest, float, Verdict | None]] = []
        """Ended requests that are not yet recorded, when they ended, and why they failed."""
        self._ended: tuple[TurnId | None, float] | None = None
        """The turn of the last request that ended, and when; `None` if there was none."""

    @property
    def due(self) -> float | None:
        """When the next refusal is reported without its body."""
        return min((each.status_at + BODY_SECONDS for each in self._refused.values()), default=None)

    def receive(self, line: bytes, now: float, turn: TurnId | None = None) -> list[Hint]:
        """Receive a report; return hints about failed requests of this turn.

        Args:
            line: The report.
            now: When it came.
            turn: The only open turn; attempts are counted within it.
        """
        try:
            report = msgspec.json.decode(line)
        except (msgspec.DecodeError, ValueError, RecursionError):
            return []
        return self.note(report, now, turn) if isinstance(report, dict) else []

    def note(self, report: dict[str, Any], now: float, turn: TurnId | None = None) -> list[Hint]:
        """Receive a decoded report, like `receive`."""
        event, pid, number = (report.get(name) for name in ("event", "pid", "id"))
        if not isinstance(pid, int):
            return []
        if event == "start":
            if len(self.runtimes) < MAX_OPEN:
                words = f"{report.get('runtime')} {report.get('version')}"
                self.runtimes[pid] = one_line(words)[:MAX_RUNTIME_CHARS]
            return []
        if not isinstance(number, int):
            return []
        key = (pid, number)
        if event == "request":
            if report.get("model") is not True:
                return []
            hints = self._give_up_bodies(list(self._refused), turn)
            failed = self._failed
            if failed is not None and failed.turn != turn:
                failed = self._failed = None
            path = _text(report.get("path")) or ""
            attempt = failed.attempt + 1 if failed is not None and failed.path == path else 1
            size = report.get("bytes")
            if len(self._open) >= MAX_OPEN:
                del self._open[next(iter(self._open))]
            self._began_at = now
            self._open[key] = ProviderRequest(
                turn=turn,
                host=_text(report.get("host")) or "",
                path=path,
                began_at=now,
                attempt=min(attempt, MAX_ATTEMPT),
                size=size if isinstance(size, int) and not isinstance(size, bool) else None,
                last_at=now,
            )
            return hints
        if key in self._refused and event in {"body", "end", "error"}:
            request = self._refused.pop(key)
            request.body = _text(report.get("text")) or request.body
            return self._fail(request, _verdict_of(request), request.status_at, turn)
        opened = self._open.get(key)
        return [] if opened is None else self._note(key, opened, report, now, turn)

    def _note(
        self,
        key: tuple[int, int],
        request: ProviderRequest,
        report: dict[str, Any],
        now: float,
        turn: TurnId | None,
    ) -> list[Hint]:
        event, status = report.get("event"), report.get("status")
        silent_seconds, request.last_at = now - request.last_at, now
        if event == "status" and isinstance(status, int):
            headers = report.get("headers")
            request.status, request.status_at = status, now
            request.headers = headers if isinstance(headers, dict) else {}
            request.is_page = (_text(report.get("type")) or "").lower().startswith("text/html")
            if request.is_refused:
                self._refused[key] = self._open.pop(key)
            elif report.get("ends") is False:
                # Its end will not be reported.
                del self._open[key]
                if request.is_page:
                    return self._fail(request, _unusable(request), now, turn)
                return self._succeed(request, now, turn, is_over=False)
        elif event == "end":
            del self._open[key]
            if request.is_page or report.get("empty") is True:
                return self._fail(request, _unusable(request), now, turn)
            return self._succeed(request, now, turn)
        elif event == "error":
            del self._open[key]
            verdict = _verdict_of_end(request, report, now, is_awaited=request.turn == turn)
            if verdict is not None:
                return self._fail(request, verdict, now, turn)
            if request.status is not None and silent_seconds < GIVEN_UP_SECONDS:
                # It has read what it needs, such as all but the end of the stream.
                return self._succeed(request, now, turn)
            self._ended = request.turn, now
            self._over.append((request, now, None))
        return []

    def entries(self, turns: Sequence[SilentTurn]) -> list[Entry]:
        """Return an entry for each request that has ended since the last call.

        Args:
            turns: The open turns. An entry names its turn only if that is the only open one.
        """
        over, self._over = self._over, []
        turn, only = turns[0] if len(turns) == 1 else None, TurnId.of(turns)
        entries = [
            Entry(
                kind=Kind.MODEL_REQUEST,
                at_seconds=at,
                session_id=turn.session_id if turn and request.turn == only else None,
                turn=turn.number if turn and request.turn == only else None,
                facts={
                    "host": one_line(request.host)[:MAX_HOST_CHARS],
                    "status": request.status,
                    "type": None if verdict is None else verdict.type.value,
                    "attempt": request.attempt,
                    "first_byte_seconds": request.first_byte_seconds,
                    "total_seconds": round(at - request.began_at, 3),
                },
            )
            for request, at, verdict in over
        ]
        for entry in entries:
            for name in [name for name, value in entry.facts.items() if value is None]:
                del entry.facts[name]
        return entries

    def look(self, now: float, turn: TurnId | None = None) -> list[Hint]:
        """Return hints about this turn's refusals whose bodies have not come in time."""
        refused = self._refused.items()
        late = [key for key, each in refused if each.status_at + BODY_SECONDS <= now]
        return self._give_up_bodies(late, turn)

    def look_early(self, turn: TurnId | None = None) -> list[Hint]:
        """Return hints about this turn's refusals without waiting for their bodies.

        Called when the agent writes something, which may be the turn's end. Otherwise the body
        follows, and is more precise.
        """
        hints: list[Hint] = []
        for request in self._refused.values():
            if not request.is_reported and self._is_evidence(request, request.status_at, turn):
                request.is_reported = True
                hint = self._hint(request, _verdict_of(request), request.status_at, turn)
                hints.append(msgspec.structs.replace(hint, is_early=True))
        return hints

    def _give_up_bodies(self, keys: list[tuple[int, int]], turn: TurnId | None) -> list[Hint]:
        hints: list[Hint] = []
        for key in keys:
            request = self._refused.pop(key)
            hints += self._fail(request, _verdict_of(request), request.status_at, turn)
        return hints

    def silence(self, turn: TurnId | None) -> SilenceCause | None:
        """Return why a turn with an open request is silent; `None` if it waits for none."""
        # An agent that sends another request has read all it needs of an older answer.
        waits = [
            each
            for each in self._open.values()
            if each.turn == turn and (each.status is None or each.last_at >= self._began_at)
        ]
        if not waits:
            return None
        last = max(waits, key=lambda each: each.last_at)
        cause = Cause.PROVIDER if last.status is None else Cause.STREAM
        return SilenceCause(cause=cause, since=last.last_at, is_certain=True)

    def idleness(self, turn: TurnId | None, now: float) -> SilenceCause | None:
        """Return `IDLE` if this turn's last request ended long ago; otherwise `None`."""
        if self._open or self._refused or self._ended is None:
            return None
        last, ended_at = self._ended
        if last != turn or now - ended_at < IDLE_SECONDS:
            return None
        return SilenceCause(cause=Cause.IDLE, since=ended_at)

    def _succeed(
        self, request: ProviderRequest, now: float, turn: TurnId | None, *, is_over: bool = True
    ) -> list[Hint]:
        """Note a successful request; return a hint that the failure before it is over."""
        failed = self._failed
        self._ended = (request.turn, now) if is_over else None
        self._answered = request
        self._over.append((request, now, None))
        if failed is None or not failed.turn == request.turn == turn:
            return []
        if not request.repeats(failed, otherwise=True):
            return []
        self._failed = None
        hint = self._hint(failed, own_failure(ErrorType.UNKNOWN), now, turn)
        return [msgspec.structs.replace(hint, is_over=True)]

    def _fail(
        self, request: ProviderRequest, verdict: Verdict, at: float, turn: TurnId | None
    ) -> list[Hint]:
        self._ended = request.turn, at
        self._over.append((request, at, verdict))
        if not self._is_evidence(request, at, turn):
            return []
        self._failed = request
        return [self._hint(request, verdict, at, turn)]

    def _is_evidence(self, request: ProviderRequest, at: float, turn: TurnId | None) -> bool:
        """Return whether a failed request belongs to this turn.

        It does not if it was sent in an earlier turn. If the turn's own answer or a longer request
        is in progress, it was for a title or a summary.
        """
        return request.turn == turn and not any(
            each.turn == turn
            and at < each.last_at + STREAM_SECONDS
            and (each.status is not None or not request.repeats(each, otherwise=True))
            for each in self._open.values()
        )

    def _hint(
        self, request: ProviderRequest, verdict: Verdict, at: float, turn: TurnId | None
    ) -> Hint:
        answered = self._answered if self._answered and self._answered.turn == turn else None
        answered_at = None if answered is None else answered.last_at
        if answered is not None and request.repeats(answered, otherwise=False):
            # The turn continued with it, unless it had shown everything before this request.
            answered_at = answered.began_at + TOOL_TAIL_SECONDS
        unsure = request.is_page and not request.is_refused
        return Hint(
            source=HintSource.OBSERVER,
            verdict=verdict,
            # Some gateways label every answer HTML, so later events have to confirm it.
            attribution=Attribution.STRONG if unsure else Attribution.PROVEN,
            at_seconds=at,
            attempt=request.attempt + 1,
            # The agent's earlier attempts are the only sign of what it does next.
            goes_on=None if verdict.retryable or request.attempt > 1 else False,
            may_go_on=verdict.retryable,
            answered_at=answered_at,
        )


def _verdict_of(request: ProviderRequest) -> Verdict:
    body: Any = request.body
    with contextlib.suppress(ValueError, RecursionError):  # a page, or cut short
        body = json.loads(body) if body else None
    return classify(
        {"http_status": request.status, "headers": request.headers, "body": body, "message": None}
    )


def _verdict_of_end(
    request: ProviderRequest, report: dict[str, Any], now: float, *, is_awaited: bool
) -> Verdict | None:
    """Return why a request ended without a whole answer, `None` if the agent ended it on purpose.

    It does so when a request is no longer awaited: its turn is over, or the user has cancelled.
    """
    name, code = _text(report.get("name")), _text(report.get("code"))
    if name in _ENDED_BY_AGENT:
        in_vain = request.status is None and now - request.began_at >= GIVEN_UP_SECONDS
        return own_failure(ErrorType.TIMEOUT, PROVIDER_SILENT) if is_awaited and in_vain else None
    phase = "connect" if request.status is None else "stream"
    verdict = classify({"exception_class": name or "", "code": code, "phase": phase})
    if verdict.type in UNDECIDED:
        return own_failure(ErrorType.NETWORK, "connection_lost")
    return verdict


def _unusable(request: ProviderRequest) -> Verdict:
    """Return why an answer with a good status is a failure: it is a page, or empty."""
    if not request.is_page:
        return own_failure(ErrorType.NETWORK, "truncated_stream")
    verdict = own_failure(ErrorType.PROTOCOL_ERROR, UNREADABLE)
    return msgspec.structs.replace(verdict, origin=Origin.PROVIDER)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
