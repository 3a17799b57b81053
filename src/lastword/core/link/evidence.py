"""Evidence of a turn's failure: what is known of it, from which source.

Owns the slots, and what a new sign does to the one before it. `core.link.decision` reads them, and
decides which of them names the failure.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, Any

import msgspec

from lastword.core.failure.attribution import Attribution
from lastword.core.failure.taxonomy import UNDECIDED, AgentError, ErrorType
from lastword.core.link import late
from lastword.core.link.retries.hints import HintSource

if TYPE_CHECKING:
    from lastword.core.classify import Verdict
    from lastword.core.failure.attempts import FailedAttempt
    from lastword.core.failure.error_object import SentError
    from lastword.core.link.retries.hints import Hint
    from lastword.core.link.silence import SilenceCause

SILENT = "silent_success"
"""The reason of a failure that the agent called a success."""

_FINE = frozenset({ErrorType.BUDGET, ErrorType.CONTEXT_OVERFLOW, ErrorType.AUTH})
COARSE = frozenset(
    {
        ErrorType.RATE_LIMIT,
        ErrorType.NETWORK,
        ErrorType.PROVIDER_UNAVAILABLE,
        ErrorType.TIMEOUT,
    }
)
"""What a source that sees a status alone makes of one of the others."""


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
    """What an answer is by its form alone: one that shows nothing, or has no stop reason."""

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
        may_go_on: whether the agent tries it again, or may do so by what was written.
        hinted: whether there was any hint in this turn.
        last_call: the failed call that the newest of them reported, whatever came after it.
        output_at: when the agent last showed output.
        suspected: whether the agent's own state said that something unspecified failed: a second
            sign, not enough by itself.
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
        """Return the evidence as it is now."""
        return msgspec.structs.replace(self, signs=dict(self.signs), waits=dict(self.waits))

    def announce(self, error: AgentError | None, *, passed: bool = False) -> None:
        """Take in the failure that the agent announced; the first one stands.

        Without an `error`, the agent has shown it in the client's own convention.
        """
        self.announced = self.announced or error
        self.passed = self.passed or passed

    def note(self, sign: FailureSign, verdict: Verdict) -> None:
        """Take in a sign; the latest of a kind stands, unless it says less than the one before."""
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
        """Take in that the agent answered with a failure (`FailedAnswer`)."""
        self.answer = FailedAnswer(
            verdict=verdict, sent=sent, state=state or {}, tried=tried, message=message
        )

    def read_state(self, update: object) -> None:
        """Take in an update in which the agent may say that it has failed, without saying why."""
        self.suspected = self.suspected or late.agents.has_failed_state(update)

    def say(self, text: str) -> None:
        """Take in a piece of the turn's message."""
        self.messages += not self.chunks
        self.text = None if self.chunks else text
        self.chunks += 1

    def say_of_retry(self, text: str) -> None:
        """Take in a piece that may be about a retry: if no call failed, it is the answer."""
        self.say(text)
        self.retry_texts += 1

    @property
    def speaks(self) -> bool:
        """Return whether this message says anything that is not about a retry."""
        return self.chunks > self.retry_texts

    def say_more(self) -> None:
        """Take in further pieces, or one that is not text."""
        self.messages += not self.chunks
        self.chunks, self.text = self.chunks + 1, None

    def show_other(self) -> None:
        """Take in other output: further text is another message."""
        self.chunks, self.retry_texts, self.text = 0, 0, ""

    def read_success(
        self, now: float, *, refused: bool, output_tokens: int | None, counts: bool
    ) -> None:
        """Take in what the answer says besides its claim of success.

        The agent `counts` output tokens if it has reported any before.
        """
        self.answered_at, self.refused, self.output_tokens = now, refused, output_tokens
        self.no_answer = counts and output_tokens == 0

    def add_hint(self, hint: Hint, verdict: Verdict) -> None:
        """Take in a failed call that may name a cause; the newest stands unless it says less."""
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

    def recover(self, now: float) -> None:
        """Take in output: the agent has recovered from whatever had failed."""
        self.hint, self.output_at = None, now
        self.silence = None

    def note_silence(self, cause: SilenceCause | None, now: float, *, wait: str | None) -> None:
        """Take in why the agent is silent, and count the time under the fact `wait`."""
        before, self.silence = self.silence, cause
        if cause is not None and wait is not None:
            same = before is not None and before.cause is cause.cause
            began = max(self.silence_at if same else cause.since, self.output_at)
            self.waits[wait] = self.waits.get(wait, 0.0) + max(now - began, 0.0)
        self.silence_at = now

    def count_look(self) -> None:
        """Count a look at stderr."""
        self.looks += 1

    @property
    def may_be_in_words(self) -> bool:
        """Return whether the turn's message may be a failure in words."""
        return bool(self.text or self.hinted or self.suspected or self.retry_texts)

    @property
    def is_coarse(self) -> bool:
        """Return whether a call is known to have failed by its status alone, or by less.

        The provider's words may say that a quota is used up although the status says too many
        requests.
        """
        named = self.announced is not None or FailureSign.MARGIN in self.signs
        return not named and self.hint is not None and self.hint.type in COARSE


def certainty(verdict: Verdict) -> int:
    """Return how much a verdict says: a vague one never precedes a specific one."""
    if verdict.type is ErrorType.UNKNOWN:
        return 0
    return 1 if verdict.type in UNDECIDED else 2
