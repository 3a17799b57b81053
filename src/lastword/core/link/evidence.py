"""Evidence of a turn's failure: hints of failed calls, signs of failure, reported retries.

A hint is what a source other than the answer says about a failed call while its turn continues. The
source is the pipe itself, stderr, or whatever else the shell reads, such as an agent's journal. A
hint never ends a turn.

Owns the evidence, and what a new sign does to an earlier one. `core.link.decision` decides which of
it names the failure; `core.link.reporting` reports hints of retries. For those, this module owns
which of several sources says something new, and how long one without a cause waits for it.

Also owns the record of the agent's stderr: its beginning, its end and its length, within a bound on
memory, and the words that say what was cut. The shell reads the bytes.
"""

from __future__ import annotations

import math
from collections import deque
from enum import Enum, IntEnum, auto
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from lastword.core.failure.taxonomy import UNDECIDED, AgentError, Attribution, ErrorType
from lastword.core.link import late
from lastword.core.redact.truncate import from_word_start

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lastword.core.classify import Verdict
    from lastword.core.failure.ladder import SentError
    from lastword.core.failure.retry_policy import FailedAttempt
    from lastword.core.link.facts import SilenceCause


# --- hints of failed model calls ------------------------------------------------------------------

LATE_SECONDS = 2.0
"""How long after a turn's end evidence of it may still arrive: agents log an error as they answer
(0.1 s), and a journal's lines are read once a second."""

OVERTAKEN_SECONDS = 0.3
"""A failure this long before the turn's last output was overcome. A later one may have cut the
output off, which comes through pipes and may arrive after a line that was written later. An agent
that tries again shows nothing sooner: it waits 0.3 s or more, and the model takes time."""


TOOL_TAIL_SECONDS = 0.2
"""How long after a tool call's end its output may still arrive through another pipe."""


class HintSource(IntEnum):
    """Where a hint comes from; more precise sources are greater."""

    STDERR = 1
    """What the agent wrote on stderr, which may be about another program's failure."""
    LOG = 2
    """A file of the agent's with an unknown format, read by the form of its lines."""
    WIRE = 3
    """The agent's own frames: a retry that it announced, or an event that was requested."""
    EVENTS = 4
    """A stream of events that the agent serves."""
    JOURNAL = 5
    """A file that the agent writes, with the provider's own words."""
    OBSERVER = 6
    """The agent's own runtime, which sent the request."""


class Hint(msgspec.Struct, frozen=True, kw_only=True):
    """One failed model call of an open turn, as a source reports it.

    Attributes:
        source: where it was seen.
        verdict: why the call failed.
        attribution: how certain it is that the call was this turn's.
        at_seconds: when it happened or was seen, by the clock of `now`.
        session_id: the agent's id of the session, `None` if the source names none.
        attempt: the number of the next try; the first was 1.
        max_attempts: the most tries that there will be, if known.
        wait_seconds: how long the agent itself waits, counted from `at_seconds`.
        goes_on: whether the agent tries again; `None` if the source does not say.
        may_go_on: whether it was written as a warning, or about a call that is tried again, so that
            the agent may have recovered.
        side: the call was not for the turn itself but, for example, for a title: it has no effect.
        answered_at: when a call in this turn was last answered well, if the source knows: one that
            failed after that, with nothing shown in between, may have been for a title.
        is_over: whether the call has been tried again since, and was answered well.
        is_early: whether the source will soon know more about this call, and give another hint.
    """

    source: HintSource
    verdict: Verdict
    attribution: Attribution
    at_seconds: float
    session_id: str | None = None
    attempt: int | None = None
    max_attempts: int | None = None
    wait_seconds: float | None = None
    goes_on: bool | None = None
    may_go_on: bool = False
    side: bool = False
    answered_at: float | None = None
    is_over: bool = False
    is_early: bool = False


class SilentTurn(msgspec.Struct, frozen=True):
    """A turn at work that has shown nothing for a while.

    Attributes:
        session_id: the agent's id of its session.
        began_at: when its prompt was sent.
        silent_since: when the agent last sent something in its session.
        answered: whether the agent has answered, and the answer waits for a look alone.
        unread: whether stderr has had what may be an error since the model last answered.
        number: its number in its session.
        tries: how often its prompt had been sent and had failed.
    """

    session_id: str
    began_at: float
    silent_since: float
    answered: bool = False
    unread: bool = False
    number: int | None = None
    tries: int = 0


class TurnId(NamedTuple):
    """The constant parts of a turn: its times move while the user is asked, or lastword stops."""

    number: int
    tries: int

    @classmethod
    def of(cls, turns: Sequence[SilentTurn]) -> TurnId | None:
        """Return the id of the only one of these turns, or `None` if there are several."""
        number = turns[0].number if len(turns) == 1 else None
        return None if number is None else cls(number, turns[0].tries)


# --- the evidence of one turn ---------------------------------------------------------------------

SILENT = "silent_success"
"""The reason for a failure that the agent called a success."""

_FINE = frozenset({ErrorType.BUDGET, ErrorType.CONTEXT_OVERFLOW, ErrorType.AUTH})
COARSE = frozenset(
    {
        ErrorType.RATE_LIMIT,
        ErrorType.NETWORK,
        ErrorType.PROVIDER_UNAVAILABLE,
        ErrorType.TIMEOUT,
    }
)
"""What a source that knows only a status makes of one of the others."""


class FailureSign(Enum):
    """A sign of failure that is a verdict and nothing else."""

    STOPPED = auto()
    """We ended the turn, or never began it."""
    LOST = auto()
    """The agent's process ended."""
    MARGIN = auto()
    """The agent reported a failure outside the protocol's own members, in an update or in an answer
    that claims success."""
    CLAIM = auto()
    """The form of the answer alone: it shows nothing, or has no stop reason."""

    if not TYPE_CHECKING:  # pragma: no branch
        __hash__ = object.__hash__


class FailedAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """An answer from the agent that is a failure: an error, or a stop reason unknown to ACP.

    Attributes:
        verdict: what it means.
        sent: the JSON-RPC error object, if it was one.
        state: version 2: the members of the idle update that held it.
        tried: what a handler in this process tried before it gave up.
        message: the sentence that the handler's author wrote for the user.
    """

    verdict: Verdict
    sent: SentError | None = None
    state: dict[str, Any] = {}
    tried: tuple[FailedAttempt, ...] = ()
    message: str | None = None


class TurnEvidence(msgspec.Struct):
    """The evidence of one turn's failure.

    Attributes:
        stderr_mark: how much was on stderr before the turn.
        announced: the failure that the agent itself announced, by an update or by a payload.
        passed: that update has reached the client unchanged.
        answer: the agent's answer, if it is a failure.
        signs: the verdicts of the other signs.
        text: the turn's last message, as long as it is a single chunk: it may be nothing but an
            error. Agents send an error in one piece; a message in several pieces is a model's.
        chunks: how many pieces the message had.
        messages: how many messages there were, separated by other output.
        retry_texts: how many pieces were about a retry by their form alone.
        refused: the agent's answer is `refusal`.
        output_tokens: how many the model produced in this turn, if the answer says so.
        answered_at: when the agent claimed success.
        no_answer: an agent that counts output tokens counted none: no model wrote the message.
        hint: why a model call failed, as long as nothing has been shown since.
        hint_source: the source of the hint.
        hint_attribution: how certain it is that the hint is about this turn.
        hint_wait_until: until when the server, or the agent that tries again, lets the call wait.
        hint_at: when that call failed.
        hint_may_be_aside: whether the call followed one that was answered well, with nothing shown
            in between: the turn may have had all of its answer; or a tool failed after it, whose
            call it may have been.
        may_go_on: whether the agent tries it again, or may do so by what was written.
        hinted: whether there was any hint in this turn.
        last_call: the failed call that the newest of them reported, whatever came after it.
        output_at: when the agent last showed output.
        suspected: whether the agent's own state reported an unspecified failure: a second sign, not
            enough by itself.
        looks: how often stderr was looked at while the turn was open.
        silence: why the agent is silent, as the system last showed it; output ends it.
        silence_at: when that was.
        waits: how many seconds the turn waited in silence, by the fact of its end.
    """

    stderr_mark: int
    announced: AgentError | None = None
    passed: bool = False
    answer: FailedAnswer | None = None
    signs: dict[FailureSign, Verdict] = {}
    text: str | None = ""
    chunks: int = 0
    messages: int = 0
    retry_texts: int = 0
    refused: bool = False
    output_tokens: int | None = None
    answered_at: float = 0.0
    no_answer: bool = False
    hint: Verdict | None = None
    hint_source: HintSource = HintSource.STDERR
    hint_attribution: Attribution = Attribution.FOREIGN
    hint_wait_until: float = 0.0
    hint_at: float = 0.0
    hint_may_be_aside: bool = False
    may_go_on: bool = False
    hinted: bool = False
    last_call: Verdict | None = None
    output_at: float = 0.0
    suspected: bool = False
    looks: int = 0
    silence: SilenceCause | None = None
    silence_at: float = 0.0
    waits: dict[str, float] = {}

    def copy(self) -> TurnEvidence:
        return msgspec.structs.replace(self, signs=dict(self.signs), waits=dict(self.waits))

    def announce(self, error: AgentError | None, *, passed: bool = False) -> None:
        """Receive the failure that the agent announced; the first one stands.

        Without an `error`, the agent has shown it in the client's own convention.
        """
        self.announced = self.announced or error
        self.passed = self.passed or passed

    def note(self, sign: FailureSign, verdict: Verdict) -> None:
        """Receive a sign; the latest of a kind stands, unless it says less than the one before."""
        before = self.signs.get(sign)
        less = before is not None and certainty(verdict) < certainty(before)
        if sign is not FailureSign.MARGIN or not less:
            self.signs[sign] = verdict

    def add_answer(
        self,
        verdict: Verdict,
        *,
        sent: SentError | None = None,
        state: dict[str, Any] | None = None,
        tried: tuple[FailedAttempt, ...] = (),
        message: str | None = None,
    ) -> None:
        """Note that the agent answered with a failure (`FailedAnswer`)."""
        self.answer = FailedAnswer(
            verdict=verdict, sent=sent, state=state or {}, tried=tried, message=message
        )

    def read_state(self, update: object) -> None:
        """Read an update in which the agent may say that it has failed, without a cause."""
        self.suspected = self.suspected or late.agents.has_failed_state(update)

    def say(self, text: str, *, of_retry: bool = False) -> None:
        """Receive a piece of the turn's message.

        One that may be `of_retry` is the answer if no call failed.
        """
        self.messages += not self.chunks
        self.text = None if self.chunks else text
        self.chunks += 1
        self.retry_texts += of_retry

    @property
    def speaks(self) -> bool:
        """Return whether this message says anything that is not about a retry."""
        return self.chunks > self.retry_texts

    def say_more(self) -> None:
        """Receive further pieces, or one that is not text."""
        self.messages += not self.chunks
        self.chunks, self.text = self.chunks + 1, None

    def show_other(self) -> None:
        """Receive other output: further text is another message."""
        self.chunks, self.retry_texts, self.text = 0, 0, ""

    def read_success(
        self, now: float, *, refused: bool, output_tokens: int | None, counts: bool
    ) -> None:
        """Receive what the answer says besides its claim of success.

        The agent `counts` output tokens if it has reported any before.
        """
        self.answered_at, self.refused, self.output_tokens = now, refused, output_tokens
        self.no_answer = counts and output_tokens == 0

    def look_at(self, stderr: StderrRecord, now: float) -> str:
        """Return what was written to stderr in this turn since the last look."""
        self.looks += 1
        text = stderr.unread(self.stderr_mark, self.output_at)
        stderr.looked_at, stderr.looked_to = now, stderr.total
        return text

    def add_hint(self, hint: Hint, verdict: Verdict) -> None:
        """Receive a failed call that may name a cause; the latest stands unless it says less."""
        self.hinted, self.last_call = True, hint.verdict
        before = self.hint
        coarser = before is not None and hint.source < self.hint_source
        lowers = before is not None and before.type in _FINE and verdict.type in COARSE
        if certainty(verdict) > 1 and not (coarser and lowers):
            self.hint, self.hint_source = verdict, hint.source
            self.hint_attribution = hint.attribution
            waits = verdict.retry_after_seconds or 0.0, hint.wait_seconds or 0.0
            self.hint_at, self.hint_wait_until = hint.at_seconds, hint.at_seconds + max(waits)
            self.may_go_on = hint.goes_on is True or hint.may_go_on
            answered_at = hint.answered_at
            self.hint_may_be_aside = answered_at is not None and answered_at > self.output_at

    def doubt_hint(self) -> None:
        """Note that a tool has failed, whose call the failed one may have been."""
        self.hint_may_be_aside = True

    def withdraw_hint(self) -> None:
        """Note that the failed call succeeded in the end."""
        self.hint = self.silence = None

    def recover(self, now: float) -> None:
        """Receive output: the agent has recovered from any failure."""
        self.hint, self.output_at = None, now
        self.silence = None

    def note_silence(self, cause: SilenceCause | None, now: float, *, wait: str | None) -> None:
        """Receive why the agent is silent, and add the time to the fact `wait`."""
        before, self.silence = self.silence, cause
        if cause is not None and wait is not None:
            same = before is not None and before.cause is cause.cause
            began = max(self.silence_at if same else cause.since, self.output_at)
            self.waits[wait] = self.waits.get(wait, 0.0) + max(now - began, 0.0)
        self.silence_at = now


def certainty(verdict: Verdict) -> int:
    """Return how much a verdict says: a vague one never precedes a specific one."""
    if verdict.type is ErrorType.UNKNOWN:
        return 0
    return 1 if verdict.type in UNDECIDED else 2


# --- retries that were reported to a turn's client ------------------------------------------------

SHOW_AFTER_SECONDS = 5.0
"""A wait is shown in the conversation once it has lasted this long: most retries succeed sooner,
and a line for each of them would be noise."""

SHOW_EVERY_SECONDS = 30.0
"""The shortest time between two such lines while the wait lasts."""


SAME_CALL_SECONDS = 0.3
"""Reports from one source within this time are about the same failed call: an agent that tries
again waits as long."""

WITHHELD_SECONDS = 0.25
"""How long a retry whose source knows no cause is withheld: a journal has the line by then (pi
writes it 0.06 s before it says that it tries again), and it is looked at before this clock."""


UNCONFIRMED_SECONDS = 1.0
"""How long a failure is withheld that only its form attributes to the model call: it is reported
after as long a silence, or with a second sign."""


FREE_REPORTS = 5
"""This many of a turn's first retries are reported at once."""

REPORT_EVERY_SECONDS = 1.0
"""The shortest time between reports of one type after these: an agent that retried without a pause
was measured to report 2,776 in 1.2 s."""


class Retrying(msgspec.Struct, frozen=True, kw_only=True):
    """A model call that is about to be tried again.

    Attributes:
        verdict: why the last try failed.
        attempt: the number of the next try; the first was 1.
        max_attempts: the most tries that there will be, if known.
        wait_seconds: how long from now.
        sentence: of a wait for the end of a limit: what follows, in words.
    """

    verdict: Verdict
    attempt: int
    max_attempts: int | None = None
    wait_seconds: float | None = None
    sentence: str | None = None


class ReportedRetries(msgspec.Struct, eq=False):
    """The retries of one turn that its client knows about."""

    _attempt: int = 0
    """The greatest number of an attempt that was reported."""
    _source: HintSource | None = None
    """The source of the last report."""
    _source_at: float = -math.inf
    """When the call in that report failed."""
    last: Retrying | None = None
    """The last retry, as long as the agent has shown nothing since."""
    last_at: float = 0.0
    since: float = 0.0
    """Since when the turn waits."""
    _withheld: Hint | None = None
    withheld_until: float | None = None
    """When a retry that waits for its cause is reported."""
    _shown: Retrying | None = None
    _shown_at: float | None = None
    _sent: int = 0
    """How many were reported to a client that reads such reports."""
    _sent_at: dict[ErrorType, float] = {}
    """When the last of each type was reported."""
    _unsent: tuple[Retrying, str, float] | None = None
    """The latest retry, if it came too soon after another, with what follows and when it came."""
    unsent_until: float | None = None
    """When that one is reported."""

    def next_attempt(self, hint: Hint) -> int | None:
        """Return the number of the try that this hint announces, or `None` if it is known.

        A try is reported once, by whichever source. A source that does not count its tries is used
        only as long as no other source has reported any: two sources may report the same try.
        """
        if hint.attempt is None:
            own = self._source is None or self._source is hint.source
            # A log may have several lines on one request.
            same = not hint.goes_on and hint.at_seconds < self._source_at + SAME_CALL_SECONDS
            return max(self._attempt, 1) + 1 if own and not same else None
        return hint.attempt if hint.attempt > self._attempt else None

    def note(
        self,
        retry: Retrying,
        source: HintSource | None,
        now: float,
        *,
        since: float,
        attempt: int | None = None,
    ) -> None:
        """Note that a retry is reported, or would be to a client that reads such reports.

        Its wait starts now; the call that it follows had failed at `since`. `attempt` is its number
        by the source's count, if that differs.
        """
        if self.last is None:
            self.since = since
        self._attempt = max(self._attempt, attempt or retry.attempt)
        self._source = source or self._source
        self._source_at = since
        self.last, self.last_at = retry, now

    def add_passed(self, attempt: int | None, source: HintSource) -> None:
        """Note that the agent itself reported a retry to the client."""
        self._attempt = max(self._attempt, attempt or max(self._attempt, 1) + 1)
        self._source = source

    def withhold(self, hint: Hint, now: float, seconds: float = WITHHELD_SECONDS) -> None:
        """Keep a retry until its cause is known, or until it is confirmed, at most this long."""
        self._withheld, self.withheld_until = hint, now + seconds

    def withholds(self, source: HintSource) -> bool:
        """Return whether a retry of this source is withheld."""
        return self._withheld is not None and self._withheld.source is source

    def forget_early(self, hint: Hint) -> None:
        """Forget a withheld retry about which its source now says more."""
        withheld = self._withheld
        if withheld is not None and withheld.is_early and withheld.source is hint.source:
            self.pop_withheld()

    def pop_withheld(self) -> Hint | None:
        """Return the retry that waits for its cause, if any, and forget it."""
        hint, self._withheld, self.withheld_until = self._withheld, None, None
        return hint

    @property
    def delayed_until(self) -> float | None:
        """When a retry that is withheld, or that came too soon, is reported."""
        dues = self.withheld_until, self.unsent_until
        return min((due for due in dues if due is not None), default=None)

    def may_send(self, retry: Retrying, what_next: str, now: float) -> bool:
        """Return whether a retry may be reported now; otherwise keep it instead of an older one."""
        type_ = retry.verdict.type
        due = self._sent_at.get(type_, -math.inf) + REPORT_EVERY_SECONDS
        if self._sent >= FREE_REPORTS and now < due:
            self._unsent, self.unsent_until = (retry, what_next, now), due
            return False
        self._sent += 1
        self._sent_at[type_] = now
        self._unsent = self.unsent_until = None
        return True

    def pop_unsent(self, now: float) -> tuple[Retrying, str] | None:
        """Return the retry that came too soon, with what is left of its wait, and forget it."""
        unsent, self._unsent, self.unsent_until = self._unsent, None, None
        if unsent is None:
            return None
        retry, what_next, came_at = unsent
        if retry.wait_seconds is not None:
            left = max(retry.wait_seconds - (now - came_at), 0.0)
            retry = msgspec.structs.replace(retry, wait_seconds=left)
        self._sent_at[retry.verdict.type] = now
        return retry, what_next

    def begin_again(self) -> None:
        """Count tries anew for a prompt that is sent again, keeping what was shown."""
        self._attempt, self._source, self.last = 0, None, None
        self._source_at = -math.inf
        self._unsent = self.unsent_until = None
        self.pop_withheld()

    def forget_wait(self) -> None:
        """Forget the wait: the agent has shown something, so it has what it waited for."""
        self.last = self._shown = None
        self._unsent = self.unsent_until = None
        self.pop_withheld()

    @property
    def waits(self) -> bool:
        """Whether there is a retry after which the agent has shown nothing."""
        return self.last is not None or self._withheld is not None

    @property
    def due(self) -> float | None:
        if self.last is None or self.last is self._shown:
            return None
        first = self.since + SHOW_AFTER_SECONDS
        return first if self._shown_at is None else max(first, self._shown_at + SHOW_EVERY_SECONDS)

    def pop_due(self, now: float) -> Retrying | None:
        """Return the retry for which a line is due, and note that it has one."""
        due = self.due
        if due is None or due > now:
            return None
        self._shown, self._shown_at = self.last, now
        return self.last

    def shift(self, seconds: float) -> None:
        """Shift the clocks by the time that they stood still."""
        self.since += seconds
        self.last_at += seconds
        if self.withheld_until is not None:
            self.withheld_until += seconds
        if self.unsent_until is not None:
            self.unsent_until += seconds
        if self._shown_at is not None:
            self._shown_at += seconds


HEAD_BYTES = 8 * 1024
TAIL_BYTES = 64 * 1024

LOOK_BYTES = 8 * 1024
"""How much of it is looked at while a turn is open."""

_MAX_PIECES = 512

MAX_SPANS = 256
"""Stretches that are left out; if there are more, what is between the last two is left out too."""

_MAX_ARRIVALS = 64


class StderrRecord(msgspec.Struct, eq=False):
    """A bounded record of a byte stream: head, tail, total."""

    _head: bytes = b""
    _tail: list[bytes] = []
    _tail_bytes: int = 0
    _not_own: list[tuple[int, int]] = []
    """What a tool or another turn may have written: where each stretch begins and ends."""
    _arrivals: deque[tuple[float, int]] = msgspec.field(
        default_factory=lambda: deque(maxlen=_MAX_ARRIVALS)
    )
    """The times at which the last pieces came, with their positions."""
    total: int = 0
    recorded: int = 0
    """How many bytes the session record has entries for."""
    since_frame: int = 0
    """Bytes since the agent's last valid frame."""
    came_at: float = 0.0
    """When the last of it came."""
    looked_at: float = 0.0
    """When it was last looked at, while a turn was open, and how far."""
    looked_to: int = 0

    def receive(self, data: bytes, now: float = 0.0, *, own: bool = True) -> None:
        """Receive bytes; without `own`, a tool or another turn may have written them."""
        self.came_at = now
        self._arrivals.append((now, self.total))
        if not own:
            begin, spans = self.total, self._not_own
            if spans and (spans[-1][1] == begin or len(spans) >= MAX_SPANS):
                begin = spans.pop()[0]
            spans.append((begin, self.total + len(data)))
        self.total += len(data)
        self.since_frame += len(data)
        missing = HEAD_BYTES - len(self._head)
        if missing > 0:
            self._head += data[:missing]
        self._tail.append(data[-TAIL_BYTES:])
        self._tail_bytes += len(self._tail[-1])
        # Joined only when twice the bound is there, so that a flood does not cost a copy per chunk.
        if self._tail_bytes > 2 * TAIL_BYTES or len(self._tail) > _MAX_PIECES:
            self._compact()

    def count_anew(self) -> None:
        """Restart the count: the agent sent a frame, or was stopped for its flood."""
        self.since_frame = 0

    def pop_unrecorded(self) -> int:
        """Return how many bytes the session record has no entry for; the caller writes one."""
        count = self.total - self.recorded
        self.recorded = self.total
        return count

    def has_news(self, since_at: float) -> bool:
        """Return whether something came at this time or later that was not looked at."""
        return self.looked_to != self.total and self.came_at >= since_at

    def unread(self, since: int, since_at: float) -> str:
        """Return the end of what came after the last look.

        Only what came after the first `since` bytes, and at `since_at` or later, counts.
        """
        begin = next((begin for came, begin in self._arrivals if came >= since_at), self.total)
        return self.own_tail(max(since, begin, self.looked_to, self.total - LOOK_BYTES))

    def _compact(self) -> bytes:
        joined = b"".join(self._tail)[-TAIL_BYTES:]
        self._tail = [joined]
        self._tail_bytes = len(joined)
        return joined

    def tail(self, since: int = 0) -> str:
        """Return the end of what came after the first `since` bytes, at most 64 KiB, as text."""
        tail = self._compact()
        size = max(0, self.total - since)
        text = tail[max(0, len(tail) - size) :].decode(errors="replace")
        return from_word_start(text) if size > len(tail) else text

    def own_tail(self, since: int) -> str:
        """As `tail`, but only what came while one turn was open and no tool ran."""
        if not self._not_own or self._not_own[-1][1] <= since:
            return self.tail(since)
        tail = self._compact()
        cut = self.total - len(tail)
        begin = max(since, cut)
        pieces: list[bytes] = []
        for start, end in [*self._not_own, (self.total, self.total)]:
            if start > begin:
                pieces.append(tail[begin - cut : start - cut])
            begin = max(begin, end)
        return b"\n".join(pieces).decode(errors="replace")

    def summary(self) -> str:
        """Return head and tail as text, saying how many bytes between them were cut."""
        tail = self._compact()
        cut = self.total - len(self._head) - len(tail)
        if cut > 0:
            note = f"\n[... {cut} bytes of stderr left out ...]\n"
            return self._head.decode(errors="replace") + note + tail.decode(errors="replace")
        overlap = len(self._head) + len(tail) - self.total
        return (self._head + tail[overlap:]).decode(errors="replace")
