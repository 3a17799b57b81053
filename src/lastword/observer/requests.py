"""The requests that an agent has sent to a model provider, and what is known by them.

Owns the meaning of the observer's reports: which failed, why, whether one is a retry, and what a
silent agent waits for. Takes reports and a time, and gives back hints and causes; no I/O. A request
that the agent ends itself has not failed, unless the provider had not answered for a long time.
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
"""Requests remembered as open; the oldest goes for a new one."""

REFUSED_STATUS = 400
BODY_SECONDS = 0.3
"""How long a refusal waits for its body, which says more than its status."""

IDLE_SECONDS = 20.0
"""An agent that has asked nothing for this long is not between two requests."""

STREAM_SECONDS = 30.0
"""An answer of which nothing has come for this long may have had an end that was not reported."""

GIVEN_UP_SECONDS = 10.0
"""An agent that ends an unanswered request after this long has waited in vain."""

SAME_SHARE = 0.9
"""A retry may name another model, and so be a little shorter than what it repeats."""

MAX_ATTEMPT = 10_000
MAX_HOST_CHARS = 128
MAX_RUNTIME_CHARS = 40
_ENDED_BY_AGENT = frozenset({"AbortError", "CancelledError", "GeneratorExit", "KeyboardInterrupt"})


class ProviderRequest(msgspec.Struct):
    """A request to a model.

    Attributes:
        turn: the only turn that was open when it was sent, if there was one.
        host: where it was sent, with a port that is not the usual one.
        path: its path, without a query.
        began_at: when it was sent.
        attempt: its number; the first was 1.
        size: of its body in bytes, if that is known.
        status: the answer's, once it has come.
        status_at: when that was.
        headers: what the answer says of waits and limits.
        last_at: when something last came, or it was sent.
        body: how a refusal begins, `None` if it has not come.
        is_reported: whether a refusal was reported before its body.
        is_page: whether the answer is HTML, as a proxy's page is.
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
        """Return whether it has all of another request, as a retry has, or the next of a turn.

        One for a title is shorter. Where a size is not known, the answer is `otherwise`.
        """
        if self.size is None or other.size is None:
            return otherwise
        return self.host == other.host and self.size >= other.size * SAME_SHARE

    @property
    def is_refused(self) -> bool:
        """Return whether its answer is a failure."""
        return self.status is not None and self.status >= REFUSED_STATUS

    @property
    def first_byte_seconds(self) -> float | None:
        """Return how long it took until the answer began, `None` if it did not."""
        return None if self.status is None else round(self.status_at - self.began_at, 3)


class ModelRequests:
    """An agent's requests to its model provider, as its runtime reports them."""

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
        """Those whose refusal may still get a body."""
        self._answered: ProviderRequest | None = None
        """The last that was answered well."""
        self._began_at = 0.0
        """When the last one was sent."""
        self._failed: ProviderRequest | None = None
        """The last that failed, until another one succeeds."""
        self._over: list[tuple[ProviderRequest, float, Verdict | None]] = []
        """Those that have ended and are not yet recorded, when they did, and why they failed."""
        self._ended: tuple[TurnId | None, float] | None = None
        """The turn of the last one that ended, and when; `None` if there was none."""

    @property
    def due(self) -> float | None:
        """When a refusal is reported without its body."""
        return min((each.status_at + BODY_SECONDS for each in self._refused.values()), default=None)

    def receive(self, line: bytes, now: float, turn: TurnId | None = None) -> list[Hint]:
        """Receive a report; return what it says of failed requests of this turn.

        Args:
            line: The report.
            now: When it came.
            turn: The only open turn: its requests are counted from 1.
        """
        try:
            report = msgspec.json.decode(line)
        except (msgspec.DecodeError, ValueError, RecursionError):
            return []
        return self.note(report, now, turn) if isinstance(report, dict) else []

    def note(self, report: dict[str, Any], now: float, turn: TurnId | None = None) -> list[Hint]:
        """Receive a report that is decoded, as `receive` does one that is not."""
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
        if event == "request":
            return self._begin((pid, number), report, now, turn)
        key = (pid, number)
        if key in self._refused and event in {"body", "end", "error"}:
            request = self._refused.pop(key)
            request.body = _text(report.get("text")) or request.body
            return self._fail(request, _verdict_of(request), request.status_at, turn)
        opened = self._open.get(key)
        return [] if opened is None else self._note(key, opened, report, now, turn)

    def _begin(
        self, key: tuple[int, int], report: dict[str, Any], now: float, turn: TurnId | None
    ) -> list[Hint]:
        if report.get("model") is not True:
            return []
        hints = self._give_up_bodies(list(self._refused), turn)
        failed = self._failed
        if failed is not None and failed.turn != turn:
            failed = self._failed = None
        path = _text(report.get("path")) or ""
        attempt = failed.attempt + 1 if failed is not None and failed.path == path else 1
        if len(self._open) >= MAX_OPEN:
            del self._open[next(iter(self._open))]
        self._began_at = now
        self._open[key] = ProviderRequest(
            turn=turn,
            host=_text(report.get("host")) or "",
            path=path,
            began_at=now,
            attempt=min(attempt, MAX_ATTEMPT),
            size=_size(report.get("bytes")),
            last_at=now,
        )
        return hints

    def _note(
        self,
        key: tuple[int, int],
        request: ProviderRequest,
        report: dict[str, Any],
        now: float,
        turn: TurnId | None,
    ) -> list[Hint]:
        event, status = report.get("event"), report.get("status")
        request.last_at = now
        if event == "status" and isinstance(status, int):
            headers = report.get("headers")
            request.status, request.status_at = status, now
            request.headers = headers if isinstance(headers, dict) else {}
            request.is_page = (_text(report.get("type")) or "").lower().startswith("text/html")
            if request.is_refused:
                self._refused[key] = self._open.pop(key)
            elif report.get("ends") is False:
                # How it continues is not reported.
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
            self._ended = request.turn, now
            self._over.append((request, now, None))
        return []

    def entries(self, turns: Sequence[SilentTurn]) -> list[Entry]:
        """Return an entry for each request that has ended since the last call.

        Args:
            turns: The open turns: one that the request was not sent in is not named.
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
        """Return this turn's refusals whose bodies have not come in time."""
        refused = self._refused.items()
        late = [key for key, each in refused if each.status_at + BODY_SECONDS <= now]
        return self._give_up_bodies(late, turn)

    def look_early(self, turn: TurnId | None = None) -> list[Hint]:
        """Return this turn's refusals that still wait for their bodies: the agent says something.

        What it says may be the turn's end. Otherwise the body follows, and names the cause better.
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
        """Return why an agent is silent that has a request open; `None` if it has none."""
        # Of an answer that has not gone on since, whoever asks again has had enough.
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
        """Return that a silent agent has had no request open for long in a turn that had one."""
        if self._open or self._refused or self._ended is None:
            return None
        last, ended_at = self._ended
        if last != turn or now - ended_at < IDLE_SECONDS:
            return None
        return SilenceCause(cause=Cause.IDLE, since=ended_at)

    def _succeed(
        self, request: ProviderRequest, now: float, turn: TurnId | None, *, is_over: bool = True
    ) -> list[Hint]:
        """Receive a good answer, and report that a failure before it has been got over."""
        failed, self._failed = self._failed, None
        self._ended = (request.turn, now) if is_over else None
        self._answered = request
        self._over.append((request, now, None))
        if failed is None or not failed.turn == request.turn == turn:
            return []
        if not request.repeats(failed, otherwise=True):
            return []
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
        """Return whether a request that failed was this turn's.

        It was not if it was sent for an earlier turn; or if this turn's own answer is on its way,
        or a longer request: then it was for a title or a summary.
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
            # The turn went on with it, unless it had shown all before the other was sent.
            answered_at = answered.began_at + TOOL_TAIL_SECONDS
        unsure = request.is_page and not request.is_refused
        return Hint(
            source=HintSource.OBSERVER,
            verdict=verdict,
            # Some gateways call each of their answers HTML: what follows has to confirm it.
            attribution=Attribution.STRONG if unsure else Attribution.PROVEN,
            at_seconds=at,
            attempt=request.attempt + 1,
            # Nothing is known of what the agent does next, but by what it has done.
            goes_on=None if verdict.retryable or request.attempt > 1 else False,
            may_go_on=verdict.retryable,
            answered_at=answered_at,
        )


def _verdict_of(request: ProviderRequest) -> Verdict:
    body: Any = request.body
    with contextlib.suppress(ValueError, RecursionError):  # it is a page, or cut short
        body = json.loads(body) if body else None
    return classify(
        {"http_status": request.status, "headers": request.headers, "body": body, "message": None}
    )


def _verdict_of_end(
    request: ProviderRequest, report: dict[str, Any], now: float, *, is_awaited: bool
) -> Verdict | None:
    """Return why a request ended without a whole answer, `None` if the agent wanted it to.

    It wants the end of one that is no longer awaited: its turn is over, or the user has cancelled.
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
    """Return why an answer that no status calls a failure is one: it is a page, or empty."""
    if not request.is_page:
        return own_failure(ErrorType.NETWORK, "truncated_stream")
    verdict = own_failure(ErrorType.PROTOCOL_ERROR, UNREADABLE)
    return msgspec.structs.replace(verdict, origin=Origin.PROVIDER)


def _size(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
