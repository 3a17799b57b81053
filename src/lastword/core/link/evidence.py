"""Evidence of a turn's failure: what is known of it, by who said so, and which of it decides.

Owns the slots, and the one table of precedence over them. Does not own whether the turn fails at
all (`core.link.turn`: a user who cancelled is told `cancelled`, whatever stands here), nor what an
error or a text means (`core.classify`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from lastword.core.failure import signs
from lastword.core.failure.taxonomy import UNDECIDED, AgentError, ErrorType

if TYPE_CHECKING:
    from collections.abc import Callable

    from lastword.core.classify import Verdict
    from lastword.core.failure.attempts import FailedAttempt
    from lastword.core.failure.error_object import SentError
    from lastword.core.link.session import Turn
    from lastword.core.link.state import Link

SILENT = "silent_success"
"""The reason of a failure that the agent called a success."""

MAX_LOG_BYTES = 64 * 1024


class FailedAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """An answer of the agent's that is a failure: an error, or a stop reason that is none of ACP's.

    Attributes:
        verdict: what it means.
        sent: the JSON-RPC error object, if it was one.
        state: version 2: the members of the idle update that it stood in.
        tried: what a handler in this process tried before it gave up.
        message: the sentence that the handler's author wants the user to read.
    """

    verdict: Verdict
    sent: SentError | None = None
    state: dict[str, Any] = {}
    tried: tuple[FailedAttempt, ...] = ()
    message: str | None = None


class TurnEvidence(msgspec.Struct):
    """What is known of one turn's failure: a slot for each source, filled by whoever learns it.

    Attributes:
        stderr_mark: how much there was on stderr before the turn.
        announced: the failure that the agent itself announced, by an update or by a payload.
        passed: that update has reached the client as it came.
        stopped: why we ended the turn, or never began it.
        lost: how the agent's process ended.
        answer: the agent's answer, where that is a failure.
        margin: a failure told of in the margin of an update, or of an answer that claims success.
        text: the turn's message, as long as it is a single chunk: it may be nothing but an error.
        log: what the agent told its own log.
        claim: what an answer is by its form alone: one that shows nothing, or has no stop reason.
    """

    stderr_mark: int
    announced: AgentError | None = None
    passed: bool = False
    stopped: Verdict | None = None
    lost: Verdict | None = None
    answer: FailedAnswer | None = None
    margin: Verdict | None = None
    text: str | None = None
    log: bytes = b""
    claim: Verdict | None = None

    def announce(self, error: AgentError, *, passed: bool = False) -> None:
        """The agent announced its failure; the first word stands."""
        self.announced = self.announced or error
        self.passed = self.passed or passed

    def pass_on(self) -> None:
        """The client has been told by the agent itself."""
        self.passed = True

    def see(self, verdict: Verdict) -> None:
        """A sign came in a margin; the latest stands, unless it says less than the one before."""
        if self.margin is None or certainty(verdict) >= certainty(self.margin):
            self.margin = verdict

    def stop(self, verdict: Verdict) -> None:
        """We end the turn, or do not begin it, for this reason."""
        self.stopped = verdict

    def lose(self, verdict: Verdict) -> None:
        """The agent's process ended so."""
        self.lost = verdict

    def answer_with(self, failed: FailedAnswer) -> None:
        """The agent answered with a failure."""
        self.answer = failed

    def claim_to_be(self, verdict: Verdict) -> None:
        """The form of the agent's answer says this, where nothing else says more."""
        self.claim = verdict

    def say(self, text: str | None) -> None:
        """The turn's message is this single chunk; `None` where there is more to it."""
        self.text = text

    def note_log(self, data: bytes) -> None:
        """The agent told its log something."""
        self.log = (self.log + data)[-MAX_LOG_BYTES:]


def certainty(verdict: Verdict) -> int:
    """How much a verdict says: a vague one never stands before a named one."""
    if verdict.type is ErrorType.UNKNOWN:
        return 0
    return 1 if verdict.type in UNDECIDED else 2


# --- the rules, one a source ---------------------------------------------------------------------


def announced(_link: Link, turn: Turn) -> AgentError | None:
    """The agent said what failed, in the contract's own words."""
    return turn.evidence.announced


def stopped(_link: Link, turn: Turn) -> Verdict | None:
    """We ended the turn: whatever the agent says to that is no cause of it."""
    return turn.evidence.stopped


def lost(_link: Link, turn: Turn) -> Verdict | None:
    """The agent's process ended."""
    return turn.evidence.lost


def answer(_link: Link, turn: Turn) -> Verdict | None:
    """The agent's answer says that it failed."""
    failed = turn.evidence.answer
    return None if failed is None else failed.verdict


def margin(_link: Link, turn: Turn) -> Verdict | None:
    """The agent told of the failure beside its answer."""
    return _beside(turn, turn.evidence.margin)


def prose(link: Link, turn: Turn) -> Verdict | None:
    """The turn is nothing but its agent's error, in words."""
    text = "" if turn.facts.tool_seen else turn.evidence.text or ""
    if not signs.may_be_error(text):
        return None
    # Loaded at the first failure: the classifier's tables are no part of a healthy turn.
    from lastword.core.classify import agents  # noqa: PLC0415

    return _beside(turn, agents.read_prose(text, agent=link.agent.name))


def log(_link: Link, turn: Turn) -> Verdict | None:
    """The agent told its own log."""
    return _beside(turn, _read(turn.evidence.log.decode(errors="replace"), "log"))


def stderr(link: Link, turn: Turn) -> Verdict | None:
    """The agent wrote on stderr, in this turn."""
    return _beside(turn, _read(link.stderr.tail(turn.evidence.stderr_mark), "stderr"))


def claim(_link: Link, turn: Turn) -> Verdict | None:
    """Nothing tells but the form of the answer."""
    return turn.evidence.claim


def _read(text: str, source: str) -> Verdict | None:
    # Loaded at the first failure, as in `prose`.
    from lastword.core import classify  # noqa: PLC0415

    return classify.read_lines(text, source=source)


def _beside(turn: Turn, verdict: Verdict | None) -> Verdict | None:
    """A sign beside the answer decides the type; what the answer was in form stays told."""
    if verdict is None:
        return None
    claimed, failed = turn.evidence.claim, turn.evidence.answer
    if claimed is not None and claimed.reason == SILENT:
        # A failure that the agent called a success is named so, whatever it was.
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
    prose,
    log,
    stderr,
    claim,
)
"""The precedence: the first that names a failure decides. One that is vague (`unknown`, and an
`internal` that may be no more than "Internal error") decides only where none after it names one."""


def decide(link: Link, turn: Turn) -> AgentError | Verdict:
    """What the turn failed of. Total: what no rule knows is `unknown`."""
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


def unexplained() -> Verdict:
    """A failure of which nothing is known."""
    from lastword.core import classify  # noqa: PLC0415  (as in `prose`)

    return classify.classify_text("")


def hides_failure(link: Link, turn: Turn) -> bool:
    """Does something speak against the turn's success?"""
    known = turn.evidence
    if known.announced is not None or known.margin is not None:
        return True
    return known.text is not None and prose(link, turn) is not None
