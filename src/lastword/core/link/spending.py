"""Spending: costs as they come, and the end of turns at the user's limit.

Owns what a cost leads to: a notice near the limit, and the end of the turn at it. `core.link.costs`
has the sums, the rule and the words. Loaded with the first cost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lastword.core.link import costs, ending, entries, failures
from lastword.core.link.effects import Effect, Spend
from lastword.core.link.retries import notices
from lastword.core.link.turn import AT_WORK, Event
from lastword.core.protocol import jsonrpc

if TYPE_CHECKING:
    from lastword.core.link.costs import Bill, Spending, Spent
    from lastword.core.link.session import Session
    from lastword.core.link.state import Link
    from lastword.core.protocol.jsonrpc import Frame


def receive(link: Link, session: Session, frame: Frame) -> list[Effect]:
    """Take in an update that may state a cost; end the turn if that reaches the limit."""
    cost = costs.read(jsonrpc.params_of(frame).get("update"))
    if cost is None:
        return []
    amount, currency = cost
    bill, spending = link.bill_of(session), link.spend_limit()
    stated_for = frame.message.session_id or ""
    added = bill.costs.state(amount, currency, session.last_turn, stated_for)
    # Of a turn at work, its end says what it has cost.
    effects = [] if session.turns else entries.costs(link, session, session.last_turn)
    if spending is None or not amount:
        return effects
    spending.stop_expecting()
    if currency != spending.limit.currency:
        if bill.costs.report_other():
            effects += notices.inform(link, session, spending.other_text(currency))
            effects.append(entries.spend_limit(link, session, spending, "other_currency"))
    elif added:
        effects += _added(link, session, spending, bill, added)
    return effects


def receive_elsewhere(link: Link, frame: Frame) -> list[Effect]:
    """Take in a cost in a session that the client never opened, such as a sub-agent's.

    It is of the turn that began last: an agent does not say which one has begun its sub-agents.
    """
    turns = sorted(link.open_turns(), key=lambda turn: turn.started_at)
    begun = [turn.session for turn in turns]
    begun = begun or [session for session in link.sessions.values() if session.last_turn]
    return receive(link, begun[-1], frame) if begun else []


def _added(
    link: Link, session: Session, spending: Spending, bill: Bill, added: float
) -> list[Effect]:
    """Handle a further cost in the limit's currency."""
    effects: list[Effect] = []
    currency, scope = spending.limit.currency, spending.limit.scope
    if scope != "turn":
        spending.add_today(added)
        stated = bill.costs.stated(currency), bill.costs.spent[currency]
        effects.append(Spend(session.session_id, currency, added, stated))
    if spending.is_reached(bill):
        link.note_spent_out(spending, bill)
        return effects + _stop(
            link, spending, list(link.sessions.values()) if scope == "day" else [session]
        )
    if spending.is_near(bill):
        effects += notices.inform(link, session, spending.near_text(bill))
        effects.append(entries.spend_limit(link, session, spending, "near"))
    return effects


def receive_total(link: Link, spent: Spent) -> list[Effect]:
    """Take in what was spent in all; end the turns that go on if the day's limit is reached."""
    spending = link.spend_limit()
    if spending is None or not spending.update(spent):
        return []
    return _stop(link, spending, list(link.sessions.values()))


def _stop(link: Link, spending: Spending, sessions: list[Session]) -> list[Effect]:
    """End the turns that are at work in these sessions."""
    effects: list[Effect] = []
    for session in sessions:
        if any(turn.state in AT_WORK for turn in session.turns):
            effects.append(entries.spend_limit(link, session, spending, "reached"))
            verdict = failures.limit_reached(spending.sentence(link.bill_of(session)))
            effects += ending.stop_session(link, session, Event.STOP, verdict)
    return effects
