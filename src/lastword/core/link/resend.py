"""Resending: a failed prompt goes to the agent again, soon, after a limit, or with another model.

Owns `--retry`: which failed turn is tried again, and the wait before it; the prompt that ends a
wait for a limit; and `--fallback-model`: the requests by which lastword switches a session's model
and restores the former one. `core.failure.retry_policy` decides whether a retry is worthwhile
and how long to wait, `core.link.limits` how long a limit lasts, `core.link.choices` which models
there are, `core.link.ending` begins and ends the wait, and `core.restart` restarts an agent that
crashed.

A prompt is resent as the same frame, under the same id, and only when the agent no longer works on
it: it has answered, or its process is gone. Version 2 has no such moment: there an answer accepts a
prompt, and only the session's state shows how the work ended.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET

from lastword.core.failure import ladder, retry_policy
from lastword.core.failure.retry_policy import FailedAttempt
from lastword.core.failure.taxonomy import AgentError, ErrorType, Phase, RetrySafety
from lastword.core.link import entries, failures, late, reporting
from lastword.core.link.choices import Models
from lastword.core.link.effects import Effect, Send, Side
from lastword.core.link.evidence import FailureSign, Retrying
from lastword.core.link.state import ModelRequest
from lastword.core.link.turn import REPORTS_WAITS
from lastword.core.link.waits import ModelSwitch, StoredWait
from lastword.core.protocol import acp, jsonrpc
from lastword.core.timeline.entry import Kind

if TYPE_CHECKING:
    from lastword.core.classify import Verdict
    from lastword.core.link.session import Session, Turn
    from lastword.core.link.state import Link
    from lastword.core.protocol.jsonrpc import Frame

MAX_RESENDABLE_BYTES = 4 * 1024 * 1024
"""A longer prompt is not kept, and so is not sent again."""

MAX_ALL_RESENDABLE_BYTES = 4 * MAX_RESENDABLE_BYTES
"""The bound on the kept prompts of all sessions together."""

_EARLY = frozenset({Phase.STARTUP, Phase.BEFORE_REQUEST, Phase.BEFORE_OUTPUT})


def may_resend(link: Link, turn: Turn, prompt: Frame) -> bool:
    """Return whether a prompt that goes to the agent now may have to be sent again."""
    if not link.options.tries_again or link.dialect.turn_ends_by_state or link.options.in_process:
        return False
    size = len(prompt.line)
    turns = [*link.resent.values(), *(t for s in link.sessions.values() for t in s.turns)]
    prompts = [other.resendable for other in turns if other is not turn]
    others = sum(len(other.line) for other in prompts if other is not None)
    return size <= MAX_RESENDABLE_BYTES and size + others <= MAX_ALL_RESENDABLE_BYTES


def is_free(turn: Turn) -> bool:
    """Return whether the turn is at work or waits, alone, and its failure is not yet reported."""
    # A turn that waits for another model may have to wait for its limit after all.
    if turn.resendable is None or turn.state not in REPORTS_WAITS or turn.overlapped:
        return False
    return FailureSign.STOPPED not in turn.evidence.signs and not turn.evidence.passed


def is_harmless(turn: Turn, cause: AgentError | Verdict) -> bool:
    """Return whether the same prompt can be sent again: nothing was shown, and nothing begun."""
    facts = turn.facts
    if facts.shown or facts.retry_safety(retryable=True) is not RetrySafety.AUTO:
        return False
    if isinstance(cause, AgentError):
        # The agent may know of more than has passed here.
        if cause.retryable:
            return cause.retry_safety is RetrySafety.AUTO
        return cause.phase in _EARLY
    return True


def wait_seconds(link: Link, turn: Turn, cause: AgentError | Verdict) -> float | None:
    """Return the wait before the prompt is sent again, or `None` if it is not."""
    if not is_free(turn) or not is_harmless(turn, cause):
        return None
    options = link.options
    limits = retry_policy.RetryBounds(
        tries=options.retry + 1,
        max_wait_seconds=options.retry_wait_limit_seconds or float("inf"),
        sits_out=True,
    )
    return retry_policy.next_wait(
        retry_policy.failed_of(cause),
        [1] * (len(turn.tried) + 1),
        limits,
        epoch_seconds=epoch_seconds(link),
        roll=options.roll() if options.roll else 1.0,
    )


def epoch_seconds(link: Link) -> float | None:
    """Return the time of day in seconds since 1970, if there is a clock for it."""
    now = link.options.local_time()
    return None if now is None else now.timestamp()


def can_be_restored(link: Link, session: Session) -> bool:
    """Return whether another agent will follow that can have this session."""
    agent = link.agent
    by_agent = agent.can_resume or agent.can_load
    return link.restarts and by_agent and session.opening is not None


def waiting(session: Session) -> list[Turn]:
    """Return the session's turns whose prompts are to be sent again."""
    return [turn for turn in session.turns if turn.waits]


def waits_to_continue(turn: Turn) -> bool:
    """Return whether a turn waits to continue, by any prompt, rather than for a retry."""
    return turn.limit_wait is not None or turn.switch is not None


def shows_work(turn: Turn) -> bool:
    """Return whether the agent was active after the failed answer."""
    safe = turn.facts.retry_safety(retryable=True) is RetrySafety.AUTO
    return turn.facts.shown or turn.evidence.passed or not safe


LOOK_SECONDS = 15.0
"""How often the time of day is checked in a wait for the end of a limit, which a computer may have
slept through."""


def next_look(link: Link, turn: Turn) -> float:
    """Return when to look next whether a turn's wait is over."""
    if turn.switch is not None:
        return turn.switch.due
    return turn.again_at if turn.limit_wait is None else min(turn.again_at, link.now + LOOK_SECONDS)


def is_too_late(link: Link, turn: Turn) -> bool:
    """Return whether, by the time of day, a turn has waited longer than the user allows."""
    latest = turn.limit_wait.latest_epoch_seconds if turn.limit_wait is not None else None
    epoch = epoch_seconds(link) if latest is not None else None
    return latest is not None and epoch is not None and epoch > latest


def stored_wait(turn: Turn) -> StoredWait | None:
    """Return a turn's wait for the end of a limit, for another process; `None` without one."""
    if turn.limit_wait is None:
        return None
    verdict = turn.tried[-1].verdict
    return StoredWait(
        request_id=turn.prompts[0],
        wait=turn.limit_wait,
        type=verdict.type,
        reason=verdict.reason,
        waits=turn.limit_waits,
        waited_seconds=turn.limit_waited,
        facts=msgspec.structs.replace(turn.all_facts),
    )


def due_prompt(link: Link, turn: Turn) -> Frame | None:
    """Return the prompt that ends the turn's wait, or `None` while the wait continues.

    After a limit, and with another model, the user's own prompt is sent again only if nothing was
    shown or begun. Otherwise a new one asks the agent to continue, under the same id, so that the
    agent's answer is the turn's.
    """
    if turn.switch is not None:
        is_over = turn.switch.accepted
    else:
        # By the clock that says so first: one may have stood still, and the other have been set.
        epoch = epoch_seconds(link) if turn.limit_wait is not None else None
        until = turn.limit_wait.until_epoch_seconds if turn.limit_wait is not None else None
        by_day = epoch is not None and until is not None and epoch >= until
        is_over = by_day or turn.again_at <= link.now
    if is_too_late(link, turn) or not is_over:
        return None
    wait = turn.limit_wait or turn.switch
    if wait is None:
        return turn.resendable
    resends = wait.resends and not shows_work(turn)
    turn.end_wait(new_prompt=not resends)
    if resends:
        return turn.resendable
    text = {"type": "text", "text": link.options.continue_with}
    params = {"sessionId": turn.session.session_id, "prompt": [text]}
    frame = jsonrpc.decode(jsonrpc.request(turn.prompts[0], acp.PROMPT, params))
    return None if isinstance(frame, jsonrpc.Malformed) else frame


# --- another model after a failure, and the former one again --------------------------------------

SWITCH_LIMIT_SECONDS = 10.0
"""How long an agent may take to switch; one that takes longer counts as refusing."""

HELPED = retry_policy.HEALED_BY_TIME | {ErrorType.MODEL_NOT_FOUND}
"""Types of failures of a model or its provider, which another model may not have."""


def warn_of_models(link: Link, session: Session, models: Models) -> list[Effect]:
    """Warn of fallback models that a new session does not offer."""
    if not models.offered:
        title = "The agent offers no choice of models, so --fallback-model has no effect."
        return [*reporting.warn(link, session, title), _switch_entry(link, session, "no_models")]
    effects: list[Effect] = []
    for model in link.options.fallback_models:
        if model not in models.offered:
            shown = _shown_model(link, model)
            title = f"The agent does not offer the model {shown}: --fallback-model skips it."
            effects += reporting.warn(link, session, late.wording.plain_text(title))
            effects.append(_switch_entry(link, session, "not_offered", to=model))
    return effects


def begin_switch(link: Link, turn: Turn) -> list[Effect]:
    """Begin the switch to another model for a turn that fails; return nothing if there is none."""
    decided = link.decide(turn)
    cause, models = decided.cause, turn.session.models
    if models is None or not is_free(turn):
        return []
    failed = retry_policy.failed_of(cause)
    if failed.type not in HELPED:
        return []
    # A short wait of known length is for a retry.
    wait = retry_policy.requested_wait_seconds(failed, epoch_seconds(link))
    if wait is not None and wait <= (link.options.retry_wait_limit_seconds or float("inf")):
        return []
    # What has just failed is not worth another try in this turn.
    models.fails(turn.number)
    model = models.next_of(link.options.fallback_models)
    if model is None:
        return []
    if not link.retry_bucket.spend(cause.type):
        turn.refuse_retry()
        return []
    tried = FailedAttempt(verdict=decided.verdict, tries=turn.tries)
    resends = is_harmless(turn, cause)
    models.leave()
    due = link.now + SWITCH_LIMIT_SECONDS
    turn.wait_for_model(tried, due, ModelSwitch(resends=resends, due=due))
    burst = entries.stderr_burst(link, turn.session, turn)
    return [*burst, _request_model(link, turn.session, models, model, turn)]


def _request_model(
    link: Link, session: Session, models: Models, model: str, turn: Turn | None = None
) -> Effect:
    """Ask the agent to switch to a model: for a turn, or back to the former one."""
    models.note_request(model)
    request = ModelRequest(
        session_id=session.session_id,
        model=model,
        before=models.current,
        turn=turn,
        due=link.now + SWITCH_LIMIT_SECONDS,
    )
    method, params = models.setting(session.session_id, model)
    return Send(Side.AGENT, jsonrpc.request(link.new_model_request(request), method, params))


def switch_answered(link: Link, request: ModelRequest, frame: Frame | None) -> list[Effect]:
    """Receive the agent's answer to a request of ours; `None`: it takes too long."""
    session = link.sessions.get(request.session_id)
    models = session.models if session is not None else None
    if session is None or models is None:
        return []  # closed
    turn = request.turn
    effects: list[Effect] = []
    if frame is not None and frame.message.error is UNSET:
        result = jsonrpc.loads(frame.message.result)
        if Models(result).current in {None, request.model}:
            return _switched(link, session, models, request, result)
        # Some agents answer without an error that another model is in force.
        models.read(result)
        effects = _show_options(session, models)
    if turn is None:
        models.pop_former()
        shown = _shown_model(link, request.model)
        title = f"The agent does not go back to the model {shown}. The session has another one."
        entry = _switch_entry(
            link, session, "not_restored", source=models.current, to=request.model
        )
        warned = reporting.warn(link, session, late.wording.plain_text(title))
        return [*effects, *warned, entry]
    if frame is not None and models.current == models.former:
        # Without an answer, the agent may still switch, so the former model has to be restored.
        models.pop_former()
    entry = _switch_entry(
        link, session, "refused", source=models.current, to=request.model, turn=turn
    )
    model = models.next_of(link.options.fallback_models)
    if model is None or models.user_chose or not turn.waits_for_model:
        return [*effects, entry]
    models.leave()
    return [*effects, entry, _request_model(link, session, models, model, turn)]


def _switched(
    link: Link, session: Session, models: Models, request: ModelRequest, result: object
) -> list[Effect]:
    """Show the client the model that is now in force, and let the turn continue with it."""
    turn = request.turn
    method, params = models.setting(session.session_id, request.model)
    models.is_set(method, params, result)
    effects = _show_options(session, models)
    session.choices.note_choice(method, params)
    outcome = "switched" if turn is not None else "restored"
    before, after = request.before, request.model
    effects.append(_switch_entry(link, session, outcome, source=before, to=after, turn=turn))
    if turn is None or (link.options.fallback_stays and not models.returns_to_choice):
        models.pop_former()
    if turn is None or turn.switch is None or not turn.waits_for_model:
        return effects
    turn.switch.accept(link.now)
    if models.user_chose:
        sentence = "Continuing with the model that you chose."
    elif models.former is None:
        sentence = f"Continuing with {_shown_model(link, request.model)}."
    else:
        shown, former = _shown_model(link, request.model), _shown_model(link, models.former)
        sentence = f"Continuing with {shown}; the next turn has {former} again."
    retry = Retrying(
        verdict=link.decide(turn).verdict,
        attempt=sum(attempt.tries for attempt in turn.tried) + 1,
        sentence=late.wording.plain_text(sentence),
    )
    return effects + reporting.announce_at_once(link, turn, retry)


def _show_options(session: Session, models: Models) -> list[Effect]:
    """Show the client the options in force, unless the agent has done so itself."""
    if models.listed is None:
        return []
    shown = dict(session.choices.options)
    update = {"sessionUpdate": acp.OPTION_UPDATE, "configOptions": models.listed}
    session.choices.changed(session.session_id, update)
    if session.choices.options == shown:
        return []
    return failures.to_client(ladder.session_update(session.session_id, update))


def restore_model(link: Link, session: Session) -> list[Effect]:
    """Go back to the model that was in force before a failure, if another one is."""
    models = session.models
    if models is None or models.former is None or session.turns:
        return []
    if any(
        own.session_id == session.session_id and own.turn is None and own.due is not None
        for own in link.model_requests.values()
    ):
        return []  # It has been asked to.
    if link.agent_gone is not None:
        session.choices.note_choice(*models.setting(session.session_id, models.former))
        models.pop_former()
        return []
    # If the user is choosing a model, the agent's answer decides which it is to be.
    is_chosen = any(
        request.session_id == session.session_id
        and request.method in acp.SETTINGS
        and models.chosen_by(request.method, request.params or {}) is not None
        for request in link.from_client.values()
    )
    return [] if is_chosen else [_request_model(link, session, models, models.former)]


def _shown_model(link: Link, model: str) -> str:
    return entries.short(link.redactor(model))


def _switch_entry(  # noqa: PLR0913 - an entry's facts
    link: Link,
    session: Session,
    outcome: str,
    *,
    source: str | None = None,
    to: str | None = None,
    turn: Turn | None = None,
) -> Effect:
    return entries.record(
        link,
        Kind.MODEL_SWITCH,
        session,
        turn,
        outcome=outcome,
        from_model=None if source is None else _shown_model(link, source),
        to_model=None if to is None else _shown_model(link, to),
    )
