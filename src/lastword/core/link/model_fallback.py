"""The switch to another model after a failure, and the way back to the former one.

Owns the rule of `--fallback-model`, the requests by which lastword switches a session's model, and
what their answers change. `core.link.models` knows which models there are, `core.link.ending`
begins a switch and the way back, and `core.link.agent_side` takes in the answers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import UNSET

from lastword.core.failure import ladder, retry_policy
from lastword.core.failure.attempts import FailedAttempt
from lastword.core.failure.taxonomy import ErrorType
from lastword.core.link import entries, failures, late, resend
from lastword.core.link.effects import Effect, Send, Side
from lastword.core.link.model_switch import ModelSwitch
from lastword.core.link.models import Models
from lastword.core.link.retries import notices, reporting
from lastword.core.link.retries.reported import Retrying
from lastword.core.link.state import ModelRequest
from lastword.core.protocol import acp, jsonrpc
from lastword.core.timeline.entry import Kind

if TYPE_CHECKING:
    from lastword.core.classify import Verdict
    from lastword.core.failure.taxonomy import AgentError
    from lastword.core.link.session import Session, Turn
    from lastword.core.link.state import Link
    from lastword.core.protocol.jsonrpc import Frame

SWITCH_LIMIT_SECONDS = 10.0
"""How long an agent may take to switch: one that has not by then is taken to refuse."""

HELPED = retry_policy.HEALED_BY_TIME | {ErrorType.MODEL_NOT_FOUND}
"""Types of failures that concern a model or its provider, so that another model may not have
them."""


def opened(link: Link, session: Session, models: Models) -> list[Effect]:
    """Warn of models that a session does not offer which was just opened."""
    if not models.offered:
        title = "The agent offers no choice of models, so --fallback-model has no effect."
        return [*notices.warn(link, session, title), _entry(link, session, "no_models")]
    effects: list[Effect] = []
    for model in link.options.fallback_models:
        if model not in models.offered:
            shown = _shown(link, model)
            title = f"The agent does not offer the model {shown}: --fallback-model skips it."
            effects += notices.warn(link, session, _plain(title))
            effects.append(_entry(link, session, "not_offered", to=model))
    return effects


def begin(link: Link, turn: Turn) -> list[Effect]:
    """Begin the switch to another model for a turn that fails; return nothing if there is none."""
    decided = link.decide(turn)
    cause, models = decided.cause, turn.session.models
    if models is None or not resend.is_free(turn) or not _may_help(link, cause):
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
    resends = resend.is_harmless(turn, cause)
    models.leave()
    due = link.now + SWITCH_LIMIT_SECONDS
    turn.wait_for_model(tried, due, ModelSwitch(resends=resends, due=due))
    burst = entries.stderr_burst(link, turn.session, turn)
    return [*burst, _request(link, turn.session, models, model, turn)]


def _may_help(link: Link, cause: AgentError | Verdict) -> bool:
    """Return whether another model may help: a short wait of known length is for a retry."""
    failed = resend.failed_of(cause)
    if failed.type not in HELPED:
        return False
    wait = retry_policy.requested_wait_seconds(failed, resend.epoch_seconds(link))
    return wait is None or wait > (link.options.retry_wait_limit_seconds or float("inf"))


def _request(
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


def answered(link: Link, request: ModelRequest, frame: Frame | None) -> list[Effect]:
    """Take in the agent's answer to a request of ours; `None`: it takes too long."""
    session = link.sessions.get(request.session_id)
    models = session.models if session is not None else None
    if session is None or models is None:
        return []  # closed
    effects: list[Effect] = []
    if frame is not None and frame.message.error is UNSET:
        result = jsonrpc.loads(frame.message.result)
        if Models(result).current in {None, request.model}:
            return _accepted(link, session, models, request, result)
        # Some agents answer without an error that another model is in force.
        models.read(result)
        effects = _show_options(session, models)
    turn = request.turn
    if turn is None:
        models.pop_former()
        shown = _shown(link, request.model)
        title = f"The agent does not go back to the model {shown}. The session has another one."
        entry = _entry(link, session, "not_restored", source=models.current, to=request.model)
        return [*effects, *notices.warn(link, session, _plain(title)), entry]
    if frame is not None and models.current == models.former:
        # Without an answer, the agent may still switch, and so the former model comes back.
        models.pop_former()
    entry = _entry(link, session, "refused", source=models.current, to=request.model, turn=turn)
    model = models.next_of(link.options.fallback_models)
    if model is None or models.user_chose or not turn.waits_for_model:
        return [*effects, entry]
    models.leave()
    return [*effects, entry, _request(link, session, models, model, turn)]


def _accepted(
    link: Link, session: Session, models: Models, request: ModelRequest, result: object
) -> list[Effect]:
    """Let the client see the model that is now in force, and the turn go on with it."""
    turn = request.turn
    method, params = models.setting(session.session_id, request.model)
    models.is_set(method, params, result)
    effects = _show_options(session, models)
    session.choices.comes_back_with(method, params)
    outcome = "switched" if turn is not None else "restored"
    before, after = request.before, request.model
    effects.append(_entry(link, session, outcome, source=before, to=after, turn=turn))
    if turn is None or (link.options.fallback_stays and not models.returns_to_choice):
        models.pop_former()
    if turn is not None and turn.switch is not None and turn.waits_for_model:
        turn.switch.accept(link.now)
        effects += _announce(link, turn, models, request.model)
    return effects


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


def _announce(link: Link, turn: Turn, models: Models, model: str) -> list[Effect]:
    """Tell the user with which model the turn goes on."""
    if models.user_chose:
        sentence = "Going on with the model that you chose."
    elif models.former is None:
        sentence = f"Going on with the model {_shown(link, model)}."
    else:
        former = _shown(link, models.former)
        sentence = (
            f"Going on with the model {_shown(link, model)}; the next turn has {former} again."
        )
    retry = Retrying(
        verdict=link.decide(turn).verdict,
        attempt=sum(attempt.tries for attempt in turn.tried) + 1,
        sentence=_plain(sentence),
    )
    return reporting.announce_at_once(link, turn, retry)


def restore(link: Link, session: Session) -> list[Effect]:
    """Go back to the model that was in force before a failure, if another one is."""
    models = session.models
    if models is None or models.former is None or link.restores_model(session.session_id):
        return []
    if link.agent_gone is not None:
        session.choices.comes_back_with(*models.setting(session.session_id, models.former))
        models.pop_former()
        return []
    if _user_chooses(link, session, models):
        return []  # The agent's answer decides which model it is to be.
    return [_request(link, session, models, models.former)]


def _user_chooses(link: Link, session: Session, models: Models) -> bool:
    """Return whether the agent has yet to answer the user's own choice of a model."""
    return any(
        request.session_id == session.session_id
        and request.method in acp.SETTINGS
        and models.chosen_by(request.method, request.params or {}) is not None
        for request in link.from_client.values()
    )


def _shown(link: Link, model: str) -> str:
    """Return a model's id as it is shown and recorded."""
    return entries.short(failures.redactor(link)(model))


def _plain(sentence: str) -> str:
    return late.wording.plain_text(sentence)


def _entry(  # noqa: PLR0913 - an entry's facts
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
        from_model=None if source is None else _shown(link, source),
        to_model=None if to is None else _shown(link, to),
    )
