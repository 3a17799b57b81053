"""Sessions and their turns: what is in progress, and the methods that change it.

Owns a session's open turns, questions, tools and waiting prompts, and the state of each turn.
Decides nothing: the modules that call the methods do.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

import msgspec

from lastword.core.link import late
from lastword.core.link.choices import Choices
from lastword.core.link.decision import (
    Decision,
    TurnSnapshot,
    contradicts_success,
    decide,
    wait_left_seconds,
)
from lastword.core.link.evidence import FailureSign, ReportedRetries, TurnEvidence
from lastword.core.link.facts import Facts, OpenTools, Repetition
from lastword.core.link.turn import FINAL, TABLE, Event, Move, State
from lastword.core.link.waits import WaitingPrompt
from lastword.core.protocol import acp
from lastword.core.protocol.acp import object_of

if TYPE_CHECKING:
    from lastword.core.classify import Verdict
    from lastword.core.failure.retry_policy import FailedAttempt
    from lastword.core.failure.taxonomy import AgentError
    from lastword.core.link.choices import Models
    from lastword.core.link.evidence import StderrRecord
    from lastword.core.link.facts import SilenceCause
    from lastword.core.link.limits import AccountLimit
    from lastword.core.link.waits import LimitWait, ModelSwitch, StoredWait
    from lastword.core.protocol.jsonrpc import Frame, Update

_OUTPUT_KINDS = acp.TEXT_KINDS | acp.THOUGHT_KINDS | acp.TOOL_KINDS
"""Output of the model, which therefore has answered."""

FOREGROUND = b"foreground"
"""Stands for version 2's foreground work, which has no request, in place of a request's id."""

RECENT_PROMPTS = 2
"""An answer may be about the prompt before: "And in German?"."""

MAX_PROMPT_CHARS = 16 * 1024
"""What is kept of a longer one: half of it from its beginning, half from its end."""

SAME_SECONDS = 1.0
"""How far two reports of one program's start may be apart."""


class Turn(msgspec.Struct, eq=False, kw_only=True):
    """One prompt turn (version 2: one stretch of foreground work, with the prompts that joined)."""

    number: int
    """Counted from 1 within the link."""
    session: Session
    resendable: Frame | None = None
    """The prompt, where it may be sent again."""
    tried: tuple[FailedAttempt, ...] = ()
    """The tries that failed, with the wait after each."""
    again_at: float = 0.0
    """When it is to be sent again."""
    limit_wait: LimitWait | None = None
    """The wait for the end of a limit, while there is one."""
    limit_waits: int = 0
    """How often it has waited for a limit."""
    limit_waited: float = 0.0
    """How long these waits were, in seconds."""
    switch: ModelSwitch | None = None
    earlier: Facts | None = None
    """The facts from before it continued with a prompt that is not the user's."""
    continues: bool = False
    """Is the prompt that ends one of these waits on its way?"""
    failure_id: str = ""
    """The id of this turn's failure at JetBrains AIR, once a record of it was sent."""
    failure_revision: int = 0
    """How many records have been sent under that id."""
    warned_by_us: bool = False
    """Is one of them ours, and not the agent's own?"""
    reported: ReportedRetries = msgspec.field(default_factory=ReportedRetries)
    # The members from here on are reset when the turn is renewed.
    started_at: float
    evidence: TurnEvidence
    state: State = State.SENT
    prompts: list[bytes] = []
    """Ids of the prompts that have not been answered (version 1: always exactly one)."""
    facts: Facts = msgspec.field(default_factory=Facts)
    _decision: Decision | None = None
    _judged: tuple[TurnSnapshot, bool] | None = None
    slash: bool = False
    overlapped: bool = False
    running: bool = False
    warned: bool = False
    stop_due: float | None = None
    """When the agent's grace period after a cancel or stop ends."""
    cancelled: tuple[bytes, ...] = ()
    """The prompts that the user cancelled; others may join the work later."""
    was_open: bool = False
    """Was there surely no answer when the user cancelled? Then none can have crossed the cancel."""
    withheld: Frame | None = None
    """An answer that claims success with nothing shown, held back for a moment."""
    withheld_until: float = 0.0
    withheld_failure: bool = False
    """Is that answer a failure that does not state its cause?"""
    retry_refused: bool = False
    """Were the process's retries used up when it failed?"""
    retries: int = 0
    """How many retries of its model call the agent has reported."""
    retry_is_certain: bool = True
    """Is the last of them certain to follow, rather than only possible after a failed call?"""
    usage_reported: bool = False
    """Has the agent stated its usage after its last words?"""
    done_reported: bool = False
    """Was it reported to the user that it seems to be done?"""
    translated: bool = False
    """Was the agent's announcement of a failure withheld, so that we report it if it lasts?"""

    @property
    def open(self) -> bool:
        """Whether the turn has not been answered yet."""
        return self.state not in FINAL

    @property
    def waits(self) -> bool:
        """Whether the prompt has failed and is to be sent again."""
        return self.state is State.WAITING

    @property
    def waits_for_model(self) -> bool:
        """Whether it waits for the agent to switch to another model."""
        return self.waits and self.switch is not None and not self.switch.accepted

    @property
    def last_at(self) -> float:
        """When the model last answered in this turn; the turn's beginning if it has not."""
        return max(self.started_at, self.evidence.output_at)

    def step(self, event: Event) -> Move:
        """Move to the table's next state for an event, and return what to do."""
        self.state, move = TABLE[self.state, event]
        return move

    def add_prompt(self, request_id: bytes, *, slash: bool = False) -> None:
        """Add a prompt for this turn to answer; one with a `slash` may well show nothing."""
        self.prompts.append(request_id)
        self.slash = self.slash or slash

    def drop_prompt(self, request_id: bytes) -> None:
        """Drop a prompt that was answered while the turn continues."""
        self.prompts.remove(request_id)

    def accept(self, request_id: bytes) -> None:
        """Version 2: note that the agent has accepted a prompt, and so answered it."""
        self.drop_prompt(request_id)
        self.running = True

    def show_progress(self, *, running: bool = False) -> None:
        """Note that the agent shows progress; version 2: that its work on this turn is running."""
        self.running = self.running or running
        self.step(Event.UPDATE)

    def absorb(self, other: Turn) -> None:
        """Version 2: end a turn that became part of this one's work, and is idle with it."""
        self.overlapped = True
        other.step(Event.RESULT)

    def cancel(self, due: float, *, was_open: bool = False) -> None:
        """Cancel all that the turn is to answer; the agent has until `due` to confirm.

        If it surely `was_open`, the agent cannot have answered before.
        """
        self.cancelled = tuple(self.prompts)
        self.was_open = self.was_open or was_open
        if self.step(Event.CANCEL) is Move.CANCEL:
            self.stop_due = due

    def carry_cancel_of(self, other: Turn) -> None:
        """Take over prompts that were cancelled in the other turn, with its grace period."""
        self.step(Event.CANCEL)
        self.cancelled, self.stop_due = other.cancelled, other.stop_due

    def stop(self, event: Event, verdict: Verdict, due: float) -> None:
        """Give up on a turn at work; the agent has until `due` to stop."""
        self.step(event)
        self.evidence.note(FailureSign.STOPPED, verdict)
        self.stop_due = due

    def time_out(self) -> Move:
        """Return what to do now that the agent's grace period, or a wait, is over."""
        self.stop_due = None
        return self.step(Event.TIMEOUT)

    def hold(self, frame: Frame, until: float, *, failure: bool = False) -> None:
        """Hold the agent's answer back; `failure` says that it is one."""
        self.withheld, self.withheld_until, self.withheld_failure = frame, until, failure

    def waits_for_look(self, now: float) -> bool:
        """Return whether its answer has been held back long enough and needs only a last look."""
        return self.withheld is not None and self.withheld_until <= now

    def pop_withheld(self) -> Frame | None:
        """Return the answer that was held back, if any, and forget it."""
        frame, self.withheld = self.withheld, None
        return frame

    def count_retry(self, *, certain: bool = True) -> None:
        """Count a retry that the agent reported, or that its failed call may lead to."""
        self.retries += 1
        self.retry_is_certain = certain

    def refuse_retry(self) -> None:
        """Note that the prompt is not sent again since the process has no more retries."""
        self.resendable, self.retry_refused = None, True

    def note_message(self, method: str, now: float) -> None:
        """Receive a request or a notification from the agent, except an update.

        One that a person sees, or that changes something, shows that a model call succeeded.
        """
        self.facts.note_message(method)
        if method in acp.USER_REQUESTS or method in acp.HAS_SIDE_EFFECTS:
            self.evidence.show_other()
            self.recover(now)

    def show(self, update: Update, text: str | None, now: float) -> None:
        """Receive output: a piece of the turn's message, or something else."""
        kind = update.session_update
        if kind in acp.TEXT_KINDS and text is not None:
            self.evidence.say(text)
        elif kind in acp.TEXT_KINDS:
            self.evidence.say_more()
        elif kind in acp.SHOWN_KINDS:
            self.evidence.show_other()
        if kind in _OUTPUT_KINDS and update.status == "failed":
            # An agent closes its tools without a model.
            self.evidence.doubt_hint()
        elif kind in _OUTPUT_KINDS:
            self.recover(now)

    def note_usage(self) -> None:
        """Note that the agent stated its usage, which follows its last words."""
        self.usage_reported = self.evidence.speaks

    def recover(self, now: float) -> None:
        """Note output of the model: it has answered, so the last retry was made."""
        self.usage_reported = False
        self.evidence.recover(now)
        self.reported.forget_wait()
        self.retry_is_certain = True

    def announce(self, error: AgentError, *, passed: bool) -> None:
        """Receive the agent's own announcement of a failure, and whether the client gets it."""
        self.step(Event.UPDATE)
        self.evidence.announce(error, passed=passed)
        self.translated = self.translated or not passed

    def decide(self, snapshot: TurnSnapshot) -> Decision:
        """Return why the turn failed; it is decided once for a snapshot."""
        if self._decision is None or self._decision.snapshot != snapshot:
            self._decision = decide(snapshot)
        return self._decision

    def contradicts_success(self, snapshot: TurnSnapshot) -> bool:
        """Return whether its claim of success is contradicted; it is judged once for a snapshot."""
        if self._judged is None or self._judged[0] != snapshot:
            self._judged = snapshot, contradicts_success(snapshot)
        return self._judged[1]

    def snapshot(self, agent: str, stderr: StderrRecord, now: float) -> TurnSnapshot:
        return TurnSnapshot(
            evidence=self.evidence.copy(),
            facts=msgspec.structs.replace(self.facts),
            agent=agent,
            content=self.session.repetition.content,
            prompts=tuple(self.session.recent_prompts),
            folder=self.session.folder,
            slash=self.slash,
            stderr=stderr,
            stderr_bytes=stderr.total,
            wait_left_seconds=wait_left_seconds(self.evidence, now),
        )

    @property
    def tries(self) -> int:
        """How many requests to the provider are known; a failure that lasts is the last one's."""
        return self.retries + (1 if self.retry_is_certain else 0)

    def wait(self, tried: FailedAttempt, until: float) -> None:
        """Let a turn at work wait until its prompt is sent again."""
        self.step(Event.RETRY)
        self.tried = (*self.tried, tried)
        self.again_at = until

    def count_limit_wait(self, seconds: float) -> None:
        """Count a wait for the end of a limit that begins now."""
        self.limit_waits += 1
        self.limit_waited += seconds

    def wait_for_reset(self, tried: FailedAttempt, until: float, wait: LimitWait) -> None:
        """Let a turn at work, or one that gets no other model, wait for the end of a limit."""
        self.tried, self.switch = self.tried[: -1 if self.switch else None], None
        self.wait(tried, until)
        self.limit_wait = wait

    def restore_wait(self, stored: StoredWait, verdict: Verdict) -> None:
        """Restore what happened to a turn that waited for a limit in another process."""
        self.facts = stored.facts
        self.evidence.add_answer(verdict)
        self.limit_waits, self.limit_waited = stored.waits, stored.waited_seconds

    def wait_for_model(self, tried: FailedAttempt, until: float, switch: ModelSwitch) -> None:
        """Let a turn at work wait until the agent has switched to another model."""
        self.wait(tried, until)
        self.switch = switch

    def end_wait(self, *, new_prompt: bool) -> None:
        """End such a wait. Work before a new prompt is still part of the turn."""
        self.limit_wait, self.switch, self.continues = None, None, True
        if new_prompt:
            self.earlier = self.all_facts

    def pop_continues(self) -> bool:
        """Return whether the prompt that is sent now ends such a wait, and forget it."""
        continues, self.continues = self.continues, False
        return continues

    @property
    def all_facts(self) -> Facts:
        """The facts of all the turn's work, including that before such a wait."""
        return self.facts if self.earlier is None else self.facts.after(self.earlier)

    def stop_waiting(self) -> None:
        """Stop waiting: the prompt is not sent again, and its last failure is the turn's."""
        if self.switch is None or self.switch.accepted:
            self.retries -= 1  # the one that was announced and does not follow
        self.limit_wait = self.switch = None
        self.tried = self.tried[:-1]

    def renew(self, now: float, stderr_mark: int) -> None:
        """Start again, keeping only the summary of earlier tries."""
        new = Turn(
            number=self.number,
            session=self.session,
            started_at=now,
            evidence=TurnEvidence(stderr_mark),
        )
        for name in _RENEWED:
            setattr(self, name, getattr(new, name))
        self.reported.begin_again()

    def add_record(self, failure_id: str) -> int:
        """Count a record that JetBrains AIR gets of the turn's failure; return its number."""
        self.failure_id = failure_id
        self.failure_revision += 1
        self.warned_by_us = True
        return self.failure_revision

    def follow_record(self, failure_id: str, revision: int) -> None:
        """Note the agent's own warning that JetBrains AIR shows, or that it shows none any more."""
        self.failure_id, self.failure_revision = failure_id, revision


_RENEWED = Turn.__struct_fields__[Turn.__struct_fields__.index("started_at") :]


class Session:
    """What one session of the link has in progress."""

    __slots__ = (
        "_before",
        "_warned_of",
        "_was_warned",
        "account_limit",
        "announced_wait",
        "asking",
        "choices",
        "dismissed",
        "is_new",
        "last_turn",
        "models",
        "opened",
        "opening",
        "progress_at",
        "recent_prompts",
        "repetition",
        "session_id",
        "tools",
        "turns",
        "unresolved",
        "waiting",
        "waits_until",
    )

    def __init__(self, session_id: str) -> None:
        self.session_id: str = session_id
        self.opened: bool = False
        """Did the client open or name it? It does not know sub-agents' sessions."""
        self.opening: dict[str, Any] | None = None
        """The params with which the client opened it: working directory, MCP servers and so on."""
        self.choices: Choices = Choices()
        self.turns: list[Turn] = []
        self.tools: OpenTools = OpenTools()
        self.recent_prompts: deque[str] = deque(maxlen=RECENT_PROMPTS)
        """The last prompts; of a long one, only the beginning and the end."""
        self.asking: dict[bytes, float] = {}
        """The agent's open requests to the user, and since when the clocks stand still for each."""
        self.dismissed: bool = False
        """Has the user dismissed a question, without progress since? Some clients do that before
        they cancel."""
        self.progress_at: float = 0.0
        self.announced_wait: float = 0.0
        """How long the agent has announced since then to wait, which no limit of silence counts."""
        self.waits_until: float = 0.0
        """When the last of these waits ends."""
        self._before = 0.0, 0.0, 0.0
        self._was_warned = False
        """The values before the last frame, which may have been about a retry."""
        self._warned_of: SilenceCause | None = None
        self.unresolved: set[bytes] = set()
        """Prompts that we answered while the agent lives, and that it has not answered yet."""
        self.waiting: list[WaitingPrompt] = []
        self.repetition: Repetition = Repetition()
        self.account_limit: AccountLimit | None = None
        """The limit of the account that the agent last reported as used up."""
        self.is_new: bool = False
        """Was it made by this agent, rather than loaded?"""
        self.last_turn: int = 0
        """The number of its latest turn at the agent; 0 before the first."""
        self.models: Models | None = None

    @property
    def folder(self) -> str:
        """The folder that the client opened the session in; empty if it named none."""
        cwd = object_of(self.opening).get("cwd")
        return cwd if isinstance(cwd, str) else ""

    def read_account_limit(self, stated: object) -> None:
        """Read from an update or event which limit of the account is used up, if any."""
        self.account_limit = late.limits.read_account_limit(stated)

    def open(self, params: Any, answer: object, *, models: Models | None, is_new: bool) -> None:
        """Note that the client opened the session with these params, and the agent's answer."""
        self.opened, self.opening, self.models, self.is_new = True, params, models, is_new
        self.choices.read_answer(answer)

    def add_prompt(self, text: str) -> None:
        """Note that a prompt with this text goes to the agent."""
        if len(text) > MAX_PROMPT_CHARS:
            half = MAX_PROMPT_CHARS // 2
            text = f"{text[:half]}\n{text[-half:]}"
        self.recent_prompts.append(text)

    def begin(self, turn: Turn, now: float, *, again: Frame | None = None) -> None:
        """Begin a turn; `again` is its prompt if that may be sent again.

        Overlapping turns are never sent again. Otherwise we report what the agent announces.
        """
        self.turns.append(turn)
        self.last_turn = turn.number
        if len(self.turns) > 1:
            self._overlap()
        if again is not None and not turn.overlapped:
            turn.resendable = again
        self.opened = True
        self.progress(now)

    def join(self, now: float) -> None:
        """Version 2: add a prompt to the work that continues."""
        self._overlap()
        self.progress(now)

    def _overlap(self) -> None:
        # Another turn's frames look the same, so they may show nothing. Those before the last two
        # were marked when the third came.
        for turn in self.turns[-2:]:
            turn.overlapped = True

    def carry(self, turn: Turn) -> None:
        """Version 2: keep prompts that the agent had not accepted for the next stretch of work."""
        turn.overlapped = True
        self.turns.append(turn)
        self.last_turn = turn.number

    def end(self, turn: Turn) -> None:
        """End a turn that is answered."""
        if turn in self.turns:
            self.turns.remove(turn)
        if not self.turns:
            self.tools.drain()
            # A question that nobody answered must not stop the clocks of the next turn.
            self.asking.clear()
            self.repetition.forget()

    @property
    def quarantined(self) -> bool:
        """Whether the agent is still busy with a turn that ended for the client."""
        return bool(self.unresolved)

    def quarantine(self, turn: Turn, *, foreground: bool) -> None:
        """Note a turn that ended for the client although the agent has not answered."""
        self.unresolved.update(turn.prompts)
        if foreground:
            self.unresolved.add(FOREGROUND)

    def resolve(self, request_id: bytes, *, accepted: bool = False) -> None:
        """Note the agent's late answer; if it `accepted` (version 2), its work is still to come."""
        self.unresolved.discard(request_id)
        if accepted:
            self.unresolved.add(FOREGROUND)

    def resolve_all(self) -> None:
        """Expect no more late answers: the agent is gone."""
        self.unresolved.clear()

    def let_wait(self, frame: Frame, due: float) -> None:
        """Hold a prompt back until the quarantine is over, or until `due`."""
        self.waiting.append(WaitingPrompt(frame, due))

    def stop_waiting(self, prompt: WaitingPrompt) -> None:
        """Forget a prompt that was held back and is answered without the agent."""
        self.waiting.remove(prompt)

    def progress(self, now: float) -> None:
        """Note that the agent showed progress in this session."""
        self._before = self.progress_at, self.announced_wait, self.waits_until
        self.progress_at, self.announced_wait, self.waits_until = now, 0.0, now
        self.dismissed = False
        for turn in self.turns:
            self._was_warned, turn.warned = turn.warned, False

    def note_retry(self) -> None:
        """Note that the last frame was about a retry, which is not progress."""
        self.progress_at, self.announced_wait, self.waits_until = self._before
        for turn in self.turns:
            turn.warned = self._was_warned

    def note_wait(self, since: float, seconds: float) -> None:
        """Note that the agent waits before it tries again; several sources may say so."""
        until = since + seconds
        self.announced_wait += max(until - max(since, self.waits_until), 0.0)
        self.waits_until = max(until, self.waits_until)

    def warn(self, cause: SilenceCause | None = None, *, done: bool = False) -> None:
        """Note that the silence has been reported, with its cause and whether it seems `done`."""
        self._warned_of = cause
        for turn in self.turns:
            turn.warned = True
            turn.done_reported = turn.done_reported or done

    def was_warned_of(self, cause: SilenceCause) -> bool:
        """Return whether the last report was about this, however much was shown since.

        A build that prints a line now and then is one long-running program.
        """
        last = self._warned_of
        return (
            last is not None
            and (last.cause, last.program) == (cause.cause, cause.program)
            and abs(last.since - cause.since) < SAME_SECONDS
        )

    def open_question(self, request_id: bytes, now: float) -> None:
        """Note a question from the agent to the user."""
        # If questions overlap, the clocks stand still from the first to the last answer.
        self.asking[request_id] = min(self.asking.values(), default=now)

    def open_foreground_question(self, now: float) -> None:
        """Version 2: note that the work waits for the user, whatever it asks."""
        self.asking.setdefault(FOREGROUND, now)

    def withdraw(self, request_id: bytes) -> None:
        """Withdraw a question: nobody will answer it."""
        self.asking.pop(request_id, None)

    def withdraw_all(self) -> None:
        """Withdraw every question: the agent that asked is gone."""
        self.asking.clear()

    def answered(self, request_id: bytes, now: float, *, dismissed: bool = False) -> None:
        """Note that the user answered or `dismissed` a question, and restart the clocks."""
        since = self.asking.pop(request_id, None)
        if since is not None and not self.asking:
            for turn in self.turns:
                # Only the turn's own clock stood still, not the grace period after a cancel.
                turn.started_at += now - max(since, turn.started_at)
            self.progress(now)
        self.dismissed = self.dismissed or dismissed

    def pop_waiting(self) -> list[WaitingPrompt]:
        """Return the prompts held back, and forget them."""
        waiting, self.waiting = self.waiting, []
        return waiting

    def shift(self, seconds: float) -> None:
        """Shift the clocks of this session's turns by the time that they stood still."""
        self.progress_at += seconds
        self.waits_until += seconds
        self.asking = {question: since + seconds for question, since in self.asking.items()}
        self.waiting = [WaitingPrompt(each.frame, each.due + seconds) for each in self.waiting]
        for turn in self.turns:
            turn.started_at += seconds
            turn.withheld_until += seconds
            turn.again_at += seconds
            turn.reported.shift(seconds)
            if turn.stop_due is not None:
                turn.stop_due += seconds
