"""The decision why a turn failed: pure rules over a snapshot of it.

Owns the table of precedence over the sources. Does not decide whether the turn fails at all
(`core.link.turn`: a user who cancelled gets `cancelled`), or what an error or a text means
(`core.classify`).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec

from lastword.core.failure import signs
from lastword.core.failure.taxonomy import PLAN_WINDOW, UNDECIDED, AgentError, Attribution
from lastword.core.link import late
from lastword.core.link.evidence import (
    SILENT,
    FailureSign,
    HintSource,
    StderrRecord,
    TurnEvidence,
    certainty,
)
from lastword.core.link.facts import Facts, content_text
from lastword.quirks.wire import LAST_LINES

if TYPE_CHECKING:
    from collections.abc import Callable

    from lastword.core.classify import Verdict

ANNOUNCED = "announced"
"""The recorded rule for a failure that the agent reported in the contract's own words."""

RETRIES_PENDING = "retries_pending"
"""The reason of a failure that the agent was still retrying when its time ran out."""

MIN_PIECE_CHARS = 12
"""A shorter piece may contain a failure's words by chance."""

GAVE_UP_SECONDS = 1.0
"""An agent that answers within this time of a failed call has not made another."""

PROVIDER_SILENT = "provider_silent"
"""The reason of a turn that ran out of time while the provider had not answered its request."""

PROVIDER_UNREACHABLE = "provider_unreachable"
"""The reason of a turn that ran out of time while no connection to the provider was made."""

WATCHDOG = frozenset({"first_update_timeout", "idle_timeout", "turn_timeout"})
"""Reasons to stop a turn that only say that it took too long."""

_OUT_OF_TIME = WATCHDOG | {PROVIDER_SILENT, PROVIDER_UNREACHABLE}


class TurnSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """All that is known about a turn; two snapshots are equal if nothing was learned in between.

    Attributes:
        evidence: the signs of failure. A copy, as the facts are.
        facts: what the turn has shown and done.
        agent: the agent's name.
        content: the content of the session's last chunk.
        prompts: the texts of the session's last prompts.
        folder: the session's.
        slash: whether the prompt is a command of the agent's own, which may well show nothing.
        stderr: what the agent wrote there.
        stderr_bytes: how much that was.
        wait_left_seconds: the rest of the wait that the hint states.
    """

    evidence: TurnEvidence
    facts: Facts
    agent: str = ""
    content: object = None
    prompts: tuple[str, ...] = ()
    folder: str = ""
    slash: bool = False
    stderr: StderrRecord = msgspec.field(default_factory=StderrRecord)
    stderr_bytes: int = 0
    wait_left_seconds: int = 0


class Decision(msgspec.Struct, frozen=True):
    """Why a turn failed.

    Attributes:
        snapshot: what was known when it was decided.
        cause: what failed: the agent's own announcement, or a verdict.
    """

    snapshot: TurnSnapshot
    cause: AgentError | Verdict

    @property
    def vague(self) -> bool:
        """Return whether the failure has no specific type."""
        return not isinstance(self.cause, AgentError) and certainty(self.cause) <= 1

    @property
    def verdict(self) -> Verdict:
        """The failure without its sentence, which is for a lasting failure."""
        cause = self.cause
        if not isinstance(cause, AgentError):
            return cause
        return late.classify.Verdict(
            type=cause.type,
            rule=ANNOUNCED,
            retryable=cause.retryable,
            reason=cause.reason,
            origin=cause.origin,
            retry_after_seconds=cause.retry_after_seconds,
            reset_at_epoch_ms=cause.reset_at_epoch_ms,
            http_status=cause.http_status,
            provider_code=cause.provider_code,
            source=cause.source,
        )


def decide(snapshot: TurnSnapshot) -> Decision:
    """Return why the turn failed; `unknown` if no rule applies."""
    best: Verdict | None = None
    for rule in RULES:
        cause = rule(snapshot)
        if isinstance(cause, AgentError):
            return Decision(snapshot, cause)
        if cause is not None and (best is None or certainty(cause) > certainty(best)):
            best = cause
            if best.type not in UNDECIDED:
                break
    verdict = best or unexplained()
    text = snapshot.stderr.own_tail(snapshot.evidence.stderr_mark)
    if verdict.type in UNDECIDED and text:
        # Quote stderr: nothing else is known of the failure. The words decide neither its type nor
        # what to do, since they may be another program's.
        quoted = late.writers.quotation(text)
        if quoted:
            words = (verdict.detail, f"On stderr at that time: {quoted}")
            verdict = msgspec.structs.replace(verdict, detail="\n".join(filter(None, words)))
    return Decision(snapshot, verdict)


def unexplained() -> Verdict:
    """Return the verdict on a failure about which nothing is known."""
    return late.classify.classify_text("")


# --- the rules, one for each source --------------------------------------------------------------


def announced(snapshot: TurnSnapshot) -> AgentError | None:
    """The agent announced the failure in the contract's own words."""
    return snapshot.evidence.announced


def stopped(snapshot: TurnSnapshot) -> Verdict | None:
    """We ended the turn, so the agent's reply to that is not the cause.

    If its time ran out during retries, the failure that they were for is the cause.
    """
    verdict = snapshot.evidence.signs.get(FailureSign.STOPPED)
    pending = snapshot.evidence.hint
    if verdict is None or pending is None or verdict.reason not in _OUT_OF_TIME:
        return verdict
    if pending.retryable is not False:  # the agent's own wait says when to try again
        left = snapshot.wait_left_seconds or None
        pending = msgspec.structs.replace(pending, retry_after_seconds=left)
    return msgspec.structs.replace(pending, reason=RETRIES_PENDING)


def lost(snapshot: TurnSnapshot) -> Verdict | None:
    """The agent's process ended."""
    return snapshot.evidence.signs.get(FailureSign.LOST)


def answer(snapshot: TurnSnapshot) -> Verdict | None:
    """The agent's answer says that it failed."""
    failed = snapshot.evidence.answer
    return None if failed is None else failed.verdict


def margin(snapshot: TurnSnapshot) -> Verdict | None:
    """The agent reported the failure elsewhere than in its answer."""
    return _beside(snapshot, snapshot.evidence.signs.get(FailureSign.MARGIN))


def hint(snapshot: TurnSnapshot) -> Verdict | None:
    """A model call had failed, and nothing was shown after that."""
    verdict = snapshot.evidence.hint
    if verdict is not None and verdict.retry_after_seconds is not None:
        left = snapshot.wait_left_seconds or None
        verdict = msgspec.structs.replace(verdict, retry_after_seconds=left)
    return _beside(snapshot, verdict)


def prose(snapshot: TurnSnapshot) -> Verdict | None:
    """The turn's last message is nothing but the agent's error, in words."""
    return _beside(snapshot, _in_words(snapshot))


def _in_words(snapshot: TurnSnapshot) -> Verdict | None:
    """Return the failure in the last message, if two signs of different kinds agree.

    The message has the form of an error, or begins like this agent's, and contains nothing else.
    The other sign comes from the turn: a failed call is known, stderr reports the same, no output
    token was produced, or nothing else was shown and nobody asked for such a text.
    """
    closing = _in_last_line(snapshot)
    if closing is not None:
        return closing
    evidence, facts = snapshot.evidence, snapshot.facts
    in_margin = FailureSign.MARGIN in evidence.signs
    named = evidence.hinted or evidence.suspected or in_margin
    after_retries = evidence.chunks > evidence.retry_texts > 0
    # A command of the agent's own is answered without its model, and may show a failure's words.
    unwritten = evidence.output_tokens == 0 and not snapshot.slash
    spoken_for = named or after_retries or evidence.refused or unwritten
    text = evidence.text or ""
    if not text and evidence.chunks and (named or after_retries):
        # Of a message in several pieces, the last may be the reason.
        last = content_text(snapshot.content)
        text = last if len(last) >= MIN_PIECE_CHARS else ""
    call, words = evidence.last_call, text.strip()
    if call is not None and len(words) >= MIN_PIECE_CHARS and words in (call.detail or ""):
        return call
    alone = not facts.tool_called and not facts.thought and evidence.messages == 1
    opening = None
    if (alone or spoken_for) and signs.may_be_error(text) and late.prose.is_all_error(text):
        opening = late.agents.read_prose(text, agent=snapshot.agent)
    if opening is None and evidence.suspected and text:
        return _failed_state_in_words(text)
    failure = opening or _by_form(text, alone=alone)
    if failure is None and alone and unwritten and evidence.no_answer:
        return late.classify.classify_text(text) if late.prose.is_all_error(text) else None
    if failure is None or spoken_for or _on_stderr(snapshot) is not None:
        return failure
    # A message of the model's, or one that a prompt asks for, may be the answer.
    if not alone or snapshot.slash or evidence.output_tokens or _is_requested(snapshot, text):
        return None
    return opening or late.prose.error_by_form(text)


def _is_requested(snapshot: TurnSnapshot, text: str) -> bool:
    """Return whether one of the last prompts asks for such a text."""
    return any(signs.may_request_error_text(prompt, text) for prompt in snapshot.prompts)


def _in_last_line(snapshot: TurnSnapshot) -> Verdict | None:
    """Return the failure in the message's last line, if it is one that no model writes.

    It may follow work. It is the last piece of the message, or comes after an empty line in it.
    """
    if not snapshot.evidence.chunks or snapshot.slash:
        return None
    text = content_text(snapshot.content).rstrip()
    line = text[text.rfind("\n") + 1 :].lstrip()
    if not line.startswith(LAST_LINES):
        return None
    # It has to be a paragraph of its own.
    if line != text.rpartition("\n\n")[2].lstrip() or _is_requested(snapshot, line):
        return None
    return late.classify.classify_text(line)


def _by_form(text: str, *, alone: bool) -> Verdict | None:
    """Return the failure in a message with the form of an error, unless it is another program's.

    A message `alone`, without a tool, is the agent's own, whichever host it names.
    """
    # The cheapest question first: most answers that mention an error say more.
    if not signs.may_be_error_by_form(text) or not late.prose.is_all_error(text):
        return None
    foreign = late.writers.is_others(text) if alone else late.writers.is_foreign(text)
    return None if foreign else late.prose.error_by_form(text, spoken_for=True)


def _failed_state_in_words(text: str) -> Verdict | None:
    """Return the failure that the text of a turn names which the agent's own state calls failed.

    Such a text may begin in any way: "The model `x` does not exist".
    """
    if not late.prose.is_all_error(text):
        return None
    verdict = late.prose.error_by_form(text, spoken_for=True) or late.classify.classify_text(text)
    return verdict if late.writers.names_call(verdict) else None


def may_be_error_text(snapshot: TurnSnapshot) -> bool:
    """Return whether the last piece of the message has the form of an error, or ends with one."""
    text = content_text(snapshot.content)
    return _by_form(text, alone=False) is not None or _in_last_line(snapshot) is not None


def stderr(snapshot: TurnSnapshot) -> Verdict | None:
    """During this turn, the agent wrote to stderr that a model call failed."""
    return _beside(snapshot, _on_stderr(snapshot))


def _on_stderr(snapshot: TurnSnapshot) -> Verdict | None:
    text = snapshot.stderr.own_tail(snapshot.evidence.stderr_mark)
    if not text:
        return None
    return late.writers.read_own(
        text, source="stderr", folder=snapshot.folder, agent=snapshot.agent
    )


def claim(snapshot: TurnSnapshot) -> Verdict | None:
    """Only the form of the answer says anything."""
    return snapshot.evidence.signs.get(FailureSign.CLAIM)


def _beside(snapshot: TurnSnapshot, verdict: Verdict | None) -> Verdict | None:
    """Return a verdict from outside the answer, with what the form of the answer adds."""
    if verdict is None:
        return None
    claimed, failed = claim(snapshot), snapshot.evidence.answer
    if claimed is not None and claimed.reason == SILENT and verdict.reason != PLAN_WINDOW:
        # A failure that the agent called a success is reported as that, whatever it was; only the
        # end of a plan's window is found by its reason.
        verdict = msgspec.structs.replace(verdict, reason=SILENT)
    if failed is not None and verdict.provider_code is None:
        # The error's own code gives way to ours, and is kept (TERM-9).
        code = failed.verdict.provider_code
        verdict = msgspec.structs.replace(verdict, provider_code=code)
    return verdict


RULES: tuple[Callable[[TurnSnapshot], AgentError | Verdict | None], ...] = (
    announced,
    stopped,
    lost,
    answer,
    margin,
    hint,
    prose,
    stderr,
    claim,
)
"""The precedence: the first rule that names a failure decides. A vague failure (`unknown`, or an
`internal` that may be a mere "Internal error") decides only if no later rule names one."""


# --- a success that may not be one ---------------------------------------------------------------


def contradicts_success(snapshot: TurnSnapshot) -> bool:
    """Return whether something contradicts the turn's claim of success."""
    evidence = snapshot.evidence
    if evidence.announced is not None or FailureSign.MARGIN in evidence.signs:
        return True
    if _ended_on_hint(snapshot):
        return True
    may_be_in_words = evidence.text or evidence.hinted or evidence.suspected or evidence.retry_texts
    in_words = _in_words if may_be_in_words else _in_last_line
    return in_words(snapshot) is not None


def _ended_on_hint(snapshot: TurnSnapshot) -> bool:
    """Return whether the turn ended on a failed call and showed nothing afterwards.

    A failure that only its form attributes to this turn counts if the turn shows nothing at all, or
    if the agent gave up at once; after a tool, only one in a log does, and at any time. Once there
    was text, a call that was to be tried again does not count: another call may have succeeded with
    nothing to add, unless the runtime would have reported that. After an answer in words, or one
    that showed nothing more, the runtime's request may have been for a title. A command of the
    agent's own, such as `/compact`, may well show nothing.
    """
    evidence, facts = snapshot.evidence, snapshot.facts
    if evidence.hint is None or snapshot.slash:
        return False
    shows_work = evidence.speaks or facts.tool_called or facts.thought
    if not facts.output or (evidence.messages == 1 and not shows_work):
        return True
    if evidence.hint_may_be_aside or (
        evidence.hint_source is HintSource.OBSERVER and evidence.speaks
    ):
        return False
    if evidence.hint_attribution is not Attribution.PROVEN:
        if is_wordless(evidence, facts):
            return evidence.hint_source is HintSource.LOG
        if evidence.hint_at < evidence.answered_at - GAVE_UP_SECONDS:
            return False
    may_have_succeeded = evidence.may_go_on and evidence.hint_source is not HintSource.OBSERVER
    return not (facts.text and may_have_succeeded)


def is_wordless(evidence: TurnEvidence, facts: Facts) -> bool:
    """Return whether a tool ran and no text followed it except about retries."""
    return facts.tool_called and not evidence.speaks


def is_error_text(snapshot: TurnSnapshot) -> bool:
    """Return whether the only message of this failed turn is the error itself, not output.

    After a remark, or after the beginning of an answer, it is not all that was shown.
    """
    evidence = snapshot.evidence
    if evidence.messages != 1 or not evidence.text:
        return False
    if _in_last_line(snapshot) is not None:
        return evidence.text.lstrip().startswith(LAST_LINES)
    # Claude states each failure both in the message and in the error.
    text = evidence.text.strip()
    sent = evidence.answer.sent if evidence.answer else None
    if text and sent is not None and sent.message.endswith(text):
        before = sent.message.removesuffix(text).rstrip(" :").lower()
        if before in {"", "internal error"}:
            return True
    return _in_words(snapshot) is not None


def wait_left_seconds(evidence: TurnEvidence, now: float) -> int:
    """Return the rest of the wait that a hint states, in whole seconds."""
    return max(math.ceil(evidence.hint_wait_until - now), 0) if evidence.hint is not None else 0
