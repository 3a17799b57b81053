"""Evidence of a turn's failure: what is known of it, from which source, and which source decides.

Owns the slots, and the one table of precedence over them. Does not decide whether the turn fails at
all (`core.link.turn`: a user who cancelled gets `cancelled`, whatever is known here), nor what
an error or a text means (`core.classify`).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import msgspec

from lastword.core.failure import signs
from lastword.core.failure.taxonomy import UNDECIDED, AgentError, ErrorType
from lastword.core.link import late
from lastword.core.link.facts import content_text
from lastword.core.link.hints import HintSource
from lastword.core.protocol import jsonrpc
from lastword.core.protocol.tolerant import object_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from lastword.core.classify import Verdict
    from lastword.core.failure.attempts import FailedAttempt
    from lastword.core.failure.error_object import SentError
    from lastword.core.link.hints import Hint
    from lastword.core.link.session import Turn
    from lastword.core.link.state import Link

SILENT = "silent_success"
"""The reason of a failure that the agent called a success."""

RETRIES_PENDING = "retries_pending"
"""The reason of a failure that the agent was still trying to get over when its time was up."""

MAX_LOG_BYTES = 64 * 1024

_WATCHDOG = frozenset({"first_update_timeout", "idle_timeout", "turn_timeout"})
"""Reasons to stop a turn that say no more than that it took too long."""

_FINE = frozenset({ErrorType.BUDGET, ErrorType.CONTEXT_OVERFLOW, ErrorType.AUTH})
_COARSE = frozenset(
    {
        ErrorType.RATE_LIMIT,
        ErrorType.NETWORK,
        ErrorType.PROVIDER_UNAVAILABLE,
        ErrorType.TIMEOUT,
    }
)
"""What a source that sees a status alone makes of one of the others."""


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
    """What is known of one turn's failure: a slot for each source, filled by whoever learns it.

    Attributes:
        stderr_mark: how much was on stderr before the turn.
        announced: the failure that the agent itself announced, by an update or by a payload.
        passed: that update has reached the client unchanged.
        stopped: why we ended the turn, or never began it.
        lost: how the agent's process ended.
        answer: the agent's answer, if it is a failure.
        margin: a failure reported outside the protocol's own members, in an update or in an answer
            that claims success.
        text: the turn's last message, as long as it is a single chunk: it may be nothing but an
            error. Agents send an error in one piece; a message in several pieces is a model's.
        chunks: how many pieces the message had.
        messages: how many messages there were, separated by other output.
        retry_texts: how many pieces were about a retry by their form alone.
        refused: the agent's answer is `refusal`.
        output_tokens: how many the model produced in this turn, if the answer says so.
        hint: why a model call failed, as long as nothing has been shown since.
        hint_source: the source of the hint.
        hint_at: when the hint was given.
        goes_on: whether the agent tries again, if that was said.
        hinted: whether there was any hint in this turn.
        output_at: when the agent last showed output.
        suspected: whether the agent's own state said that something unspecified failed.
        looks: how often stderr was looked at while the turn was open.
        waited: whether the turn's end has been held back already so that sources could speak.
        log: what the agent wrote to its own log.
        claim: what an answer is by its form alone: one that shows nothing, or has no stop reason.
    """

    stderr_mark: int
    announced: AgentError | None = None
    passed: bool = False
    stopped: Verdict | None = None
    lost: Verdict | None = None
    answer: FailedAnswer | None = None
    margin: Verdict | None = None
    text: str | None = ""
    chunks: int = 0
    messages: int = 0
    retry_texts: int = 0
    refused: bool = False
    output_tokens: int | None = None
    hint: Verdict | None = None
    hint_source: HintSource = HintSource.STDERR
    hint_at: float = 0.0
    goes_on: bool | None = None
    hinted: bool = False
    output_at: float = 0.0
    suspected: bool = False
    looks: int = 0
    waited: bool = False
    log: bytes = b""
    claim: Verdict | None = None

    def announce(self, error: AgentError, *, passed: bool = False) -> None:
        """Note the failure that the agent announced; the first one stands."""
        self.announced = self.announced or error
        self.passed = self.passed or passed

    def pass_on(self) -> None:
        """Note that the agent itself has told the client."""
        self.passed = True

    def see(self, verdict: Verdict) -> None:
        """Note a sign outside the protocol; the latest stands unless it says less than before."""
        if self.margin is None or certainty(verdict) >= certainty(self.margin):
            self.margin = verdict

    def stop(self, verdict: Verdict) -> None:
        """Note why we end the turn, or do not begin it."""
        self.stopped = verdict

    def lose(self, verdict: Verdict) -> None:
        """Note how the agent's process ended."""
        self.lost = verdict

    def answer_with(self, failed: FailedAnswer) -> None:
        """Note that the agent answered with a failure."""
        self.answer = failed

    def claim_to_be(self, verdict: Verdict) -> None:
        """Note what the form of the agent's answer says, if nothing else says more."""
        self.claim = verdict

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
        """Note that further pieces came, or one that is not text."""
        self.messages += not self.chunks
        self.chunks, self.text = self.chunks + 1, None

    def show_other(self) -> None:
        """Note that something else was shown: further text is another message."""
        self.chunks, self.retry_texts, self.text = 0, 0, ""

    def answer_is(self, *, refused: bool, output_tokens: int | None) -> None:
        """Note what else the answer says besides its claim of success."""
        self.refused, self.output_tokens = refused, output_tokens

    def take_hint(self, hint: Hint, verdict: Verdict) -> None:
        """Take in a failed call from a source; the newest stands unless it says less."""
        self.hinted = True
        held = self.hint
        coarser = held is not None and hint.source < self.hint_source
        lowers = held is not None and held.type in _FINE and verdict.type in _COARSE
        if certainty(verdict) > 1 and not (coarser and lowers):
            self.hint, self.hint_source = verdict, hint.source
            self.hint_at, self.goes_on = hint.at_seconds, hint.goes_on

    def suspect(self) -> None:
        """Note that the agent's own state shows a failure: a second sign, not enough by itself."""
        self.suspected = True

    def count_look(self) -> None:
        """Stderr was looked at."""
        self.looks += 1

    def has_waited(self) -> None:
        """Note that the turn's end was held back for a moment."""
        self.waited = True

    def get_over(self, now: float) -> None:
        """Note that the agent has shown output, and so recovered from whatever had failed."""
        self.hint, self.output_at = None, now

    def note_log(self, data: bytes) -> None:
        """Note what the agent wrote to its log."""
        self.log = (self.log + data)[-MAX_LOG_BYTES:]


def certainty(verdict: Verdict) -> int:
    """Return how much a verdict says: a vague one never precedes a specific one."""
    if verdict.type is ErrorType.UNKNOWN:
        return 0
    return 1 if verdict.type in UNDECIDED else 2


# --- the rules, one for each source --------------------------------------------------------------


def announced(_link: Link, turn: Turn) -> AgentError | None:
    """The agent said what failed, in the contract's own words."""
    return turn.evidence.announced


def stopped(link: Link, turn: Turn) -> Verdict | None:
    """We ended the turn, so the agent's reply to that is not the cause.

    If its time ran out during retries, the failure that they were for is the cause.
    """
    known = turn.evidence
    pending = _with_wait_left(link, turn)
    if known.stopped is not None and pending is not None and known.stopped.reason in _WATCHDOG:
        return msgspec.structs.replace(pending, reason=RETRIES_PENDING)
    return known.stopped


def lost(_link: Link, turn: Turn) -> Verdict | None:
    """The agent's process ended."""
    return turn.evidence.lost


def answer(_link: Link, turn: Turn) -> Verdict | None:
    """The agent's answer says that it failed."""
    failed = turn.evidence.answer
    return None if failed is None else failed.verdict


def margin(_link: Link, turn: Turn) -> Verdict | None:
    """The agent reported the failure elsewhere than in its answer."""
    return _beside(turn, turn.evidence.margin)


def hint(link: Link, turn: Turn) -> Verdict | None:
    """A model call had failed, and nothing was shown after that."""
    return _beside(turn, _with_wait_left(link, turn))


def _with_wait_left(link: Link, turn: Turn) -> Verdict | None:
    """Return the hint with what is left of the wait that it states."""
    known = turn.evidence
    if known.hint is None or known.hint.retry_after_seconds is None:
        return known.hint
    passed = math.floor(link.now - known.hint_at)
    left = max(known.hint.retry_after_seconds - passed, 0)
    return msgspec.structs.replace(known.hint, retry_after_seconds=left or None)


def prose(link: Link, turn: Turn) -> Verdict | None:
    """The turn's last message is nothing but the agent's error, in words."""
    return _beside(turn, _in_words(link, turn))


def _in_words(link: Link, turn: Turn) -> Verdict | None:
    """Return the failure in the last message, if two signs of different kinds agree.

    The message has the form of an error, or begins like this agent's; and the turn supports it.
    """
    known = turn.evidence
    alone = not turn.facts.tool_seen and known.messages == 1
    named = known.hinted or known.suspected or known.margin is not None
    spoken_for = named or known.refused or known.output_tokens == 0
    text = known.text or ""
    # Some agents put a remark of their own before it, in the same message.
    last = content_text(turn.session.repetition.content) if named else ""
    if alone or spoken_for:
        found = _of_known_opening(link, text) or _of_known_opening(link, last)
        if found is not None:
            return found
    if not text and (known.suspected or known.margin is not None):
        # The agent itself says that the turn has failed: the last piece may be the reason.
        text = last
    if not signs.may_be_error_by_form(text):
        return None
    if not spoken_for and (not alone or turn.facts.thought or _may_be_answer(turn)):
        return None
    return late.prose.error_by_form(text, spoken_for=spoken_for)


def _may_be_answer(turn: Turn) -> bool:
    """Return whether a message in the form of an error may be what the user asked for.

    It may if the model reported output tokens, or if a prompt of the session mentions errors.
    """
    if turn.evidence.output_tokens:
        return True
    return any(prompt is None or _asks(prompt) for prompt in turn.session.asked_for)


def _asks(prompt: bytes) -> bool:
    params = object_of(object_of(jsonrpc.loads(msgspec.Raw(prompt))).get("params"))
    blocks = params.get("prompt")
    texts = [object_of(block).get("text") for block in blocks] if isinstance(blocks, list) else []
    return signs.may_request_error_text("\n".join(text for text in texts if isinstance(text, str)))


def _of_known_opening(link: Link, text: str) -> Verdict | None:
    if not signs.may_be_error(text):
        return None
    return late.agents.read_prose(text, agent=link.agent.name)


def log(_link: Link, turn: Turn) -> Verdict | None:
    """The agent wrote to its own log."""
    return _beside(turn, _read(turn.evidence.log.decode(errors="replace"), "log"))


def stderr(link: Link, turn: Turn) -> Verdict | None:
    """The agent wrote to stderr during this turn."""
    return _beside(turn, _read(link.stderr.tail(turn.evidence.stderr_mark), "stderr"))


def claim(_link: Link, turn: Turn) -> Verdict | None:
    """Only the form of the answer says anything."""
    return turn.evidence.claim


def _read(text: str, source: str) -> Verdict | None:
    return late.classify.read_lines(text, source=source)


def _beside(turn: Turn, verdict: Verdict | None) -> Verdict | None:
    """Let a sign outside the answer decide the type, and keep the form of the answer."""
    if verdict is None:
        return None
    claimed, failed = turn.evidence.claim, turn.evidence.answer
    if claimed is not None and claimed.reason == SILENT:
        # A failure that the agent called a success is reported as that, whatever it was.
        verdict = msgspec.structs.replace(verdict, reason=SILENT)
    if failed is not None and verdict.provider_code is None:
        # The error's own code gives way to ours, and is kept (TERM-9).
        code = failed.verdict.provider_code
        verdict = msgspec.structs.replace(verdict, provider_code=code)
    return verdict


RULES: tuple[Callable[[Link, Turn], AgentError | Verdict | None], ...] = (
    announced,
    stopped,
    lost,
    answer,
    margin,
    hint,
    prose,
    log,
    stderr,
    claim,
)
"""The precedence: the first that names a failure decides. One that is vague (`unknown`, and an
`internal` that may be no more than "Internal error") decides only where none after it names one."""


def decide(link: Link, turn: Turn) -> AgentError | Verdict:
    """Return why the turn failed. Total: what no rule knows is `unknown`."""
    best: Verdict | None = None
    for rule in RULES:
        found = rule(link, turn)
        if isinstance(found, AgentError):
            return found
        if found is not None and (best is None or certainty(found) > certainty(best)):
            best = found
            if best.type not in UNDECIDED:
                break
    return best or unexplained()


def is_vague(link: Link, turn: Turn) -> bool:
    """Return whether nothing that is known of the failure gives it a specific type."""
    found = decide(link, turn)
    return not isinstance(found, AgentError) and certainty(found) <= 1


def is_coarse(turn: Turn) -> bool:
    """Return whether only a call is known to have failed, seen by its status or not at all.

    The provider's words may say that a quota is used up although the status says too many requests.
    """
    known = turn.evidence
    told = known.announced is not None or known.margin is not None
    return not told and known.hint is not None and known.hint.type in _COARSE


def unexplained() -> Verdict:
    """Return the verdict on a failure of which nothing is known."""
    return late.classify.classify_text("")


def hides_failure(link: Link, turn: Turn) -> bool:
    """Return whether something contradicts the turn's claim of success."""
    known = turn.evidence
    if known.announced is not None or known.margin is not None:
        return True
    if _ended_on_hint(turn):
        return True
    return bool(known.text or known.hinted or known.suspected) and prose(link, turn) is not None


def _ended_on_hint(turn: Turn) -> bool:
    """Return whether the turn ended on a failed call, with nothing to show for it afterwards.

    Text on stderr or in a log may come from anything: it counts only if the turn shows nothing at
    all; a log's text also counts if nothing was said after a tool. Once there was text, the same
    holds for a call that was to be tried again: a further call may have succeeded with nothing to
    add. A command of the agent's own, such as `/compact`, may well show nothing.
    """
    known = turn.evidence
    if known.hint is None or turn.slash:
        return False
    if not turn.facts.output or _shows_retries_alone(turn):
        return True
    if known.hint_source is HintSource.LOG:
        return _is_wordless(turn)
    tried_again = turn.facts.text and known.goes_on is True
    return known.hint_source > HintSource.STDERR and not tried_again


def _shows_retries_alone(turn: Turn) -> bool:
    known, facts = turn.evidence, turn.facts
    return known.messages == 1 and not (known.speaks or facts.tool_seen or facts.thought)


def _is_wordless(turn: Turn) -> bool:
    """Return whether a tool ran and nothing was said after it except about retries."""
    return turn.facts.tool_seen and not turn.evidence.speaks


def may_end_on_failure(turn: Turn) -> bool:
    """Return whether nothing was said after a tool ran, or a source reported a failed call."""
    return _is_wordless(turn) or turn.evidence.hinted


def is_error_text(link: Link, turn: Turn) -> bool:
    """Return whether the only message of this failed turn is the error itself, not output.

    After a remark, or after the beginning of an answer, it is not all that was shown.
    """
    known = turn.evidence
    if known.messages != 1 or not known.text:
        return False
    return _repeats_answer(known) or _in_words(link, turn) is not None


def _repeats_answer(known: TurnEvidence) -> bool:
    """Is the message what the error says, too? Claude tells each failure in both."""
    text = (known.text or "").strip()
    sent = known.answer.sent if known.answer else None
    if not text or sent is None or not sent.message.endswith(text):
        return False
    return sent.message.removesuffix(text).rstrip(" :").lower() in {"", "internal error"}
