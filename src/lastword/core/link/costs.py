"""Costs: what sessions have cost, as sums of what their agents state, and the user's limit.

Owns the reading of a `usage_update`'s `cost`, the sums by session, turn and day, and the rule of
`--spend-limit`. An agent states a sum that grows with the session; one that falls is a correction
or a new beginning. What other processes spend on the same day, and what a session had cost before
this one, comes from the shell (`Spent`), which gets every further cost (`core.link.effects.Spend`).

Works on values alone; loaded with the first cost, or the first prompt under a limit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import Meta

from lastword.core.failure.option_values import CURRENCIES, MAX_AMOUNT, limit_of, money
from lastword.core.protocol.acp import object_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lastword.core.failure.option_values import SpendLimit

NEAR = 0.8
"""The part of the limit at which the user is notified."""

LATE_SECONDS = 2.0
"""How long after a turn's end its cost may still be stated."""

NO_COST = "The agent states no cost, so --spend-limit has no effect."

MAX_CURRENCIES = 8
"""The most currencies that are added up for one session, so that an agent cannot fill memory."""

MAX_SUMS = 512
"""The most sums, the latest, that are remembered for one session's sub-agents."""

CORRECTED, CORRECTED_LATER = 0.5, 0.98
"""A sum that falls, but not below this part, is a correction: within a turn, and in a later one. An
agent that begins again first states the cost of a single model call."""

_PLACES = 9
"""Amounts and their sums, as binary fractions, are rounded to these decimals: 0.7 + 0.2 + 0.1 is to
reach 1, and a sum that an agent adds up in another order has not fallen."""


def read(update: object) -> tuple[float, str] | None:
    """Return the cost that an update states, or `None` if it states none that can be used."""
    cost: dict[str, Any] = object_of(object_of(update).get("cost"))
    amount, currency = cost.get("amount"), cost.get("currency")
    if isinstance(amount, bool) or not isinstance(amount, int | float):
        return None
    if not 0 <= amount <= MAX_AMOUNT or not isinstance(currency, str):
        return None
    code = currency.strip().upper()
    return (round(float(amount), _PLACES), code) if code in CURRENCIES else None


Amount = Annotated[float, Meta(ge=0, le=MAX_AMOUNT)]


class Spent(msgspec.Struct, frozen=True, kw_only=True):
    """What the shell knows about spending, including that of other processes.

    Attributes:
        day: the user's local day, such as `2026-11-25`.
        today: what was spent on it in all, by currency.
        sessions: what sessions have cost: by session and currency, the sum that the agent stated
            last, and the sum of all that it stated.
    """

    day: str
    today: dict[str, Amount] = {}
    sessions: dict[str, dict[str, tuple[Amount, Amount]]] = {}


class Costs:
    """What one session and its sub-agents have cost, by currency."""

    __slots__ = (
        "_sums",
        "_turn",
        "in_turn",
        "is_other_reported",
        "session_id",
        "spent",
        "unrecorded",
    )

    def __init__(self, session_id: str, earlier: Mapping[str, tuple[float, float]]) -> None:
        self.session_id: str = session_id
        self._sums: dict[tuple[str, str], tuple[float, float]] = {}
        """By session and currency, the last stated sum, and the highest since it began, which has
        been counted. Sub-agents have their own sessions, which no client opens."""
        self.spent: dict[str, float] = {}
        """All that was spent."""
        for currency, (stated, spent) in earlier.items():
            self._sums[session_id, currency], self.spent[currency] = (stated, stated), spent
        self.in_turn: dict[str, float] = {}
        """What the last turn has cost."""
        self.unrecorded: dict[str, float] = {}
        """What is in no entry yet."""
        self._turn = 0
        self.is_other_reported: bool = False
        """Does the user know that the limit is in another currency?"""

    def state(self, amount: float, currency: str, turn: int, session_id: str) -> float:
        """Receive a sum that the agent states; return what was added since the last one.

        Before the session's first turn in this process (`turn` is 0), it is an earlier cost, and
        nothing is added.
        """
        if currency not in self.spent and len(self.spent) >= MAX_CURRENCIES:
            return 0.0
        before, counted = self._sums.pop((session_id, currency), (0.0, 0.0))
        if amount < before * (CORRECTED if turn == self._turn else CORRECTED_LATER):
            # A new sum: of another process of the agent's, or a loaded session.
            counted = 0.0
        self._sums[session_id, currency] = amount, max(amount, counted)
        if len(self._sums) > MAX_SUMS:
            del self._sums[next(iter(self._sums))]
        added = max(amount - counted, 0.0)
        _add(self.spent, currency, added)
        if not turn:
            return 0.0
        if turn != self._turn:
            self._turn, self.in_turn = turn, {}
        _add(self.in_turn, currency, added)
        _add(self.unrecorded, currency, added)
        return round(added, _PLACES)

    def stated(self, currency: str) -> float:
        """Return the sum that the agent stated last for the session itself."""
        return self._sums.get((self.session_id, currency), (0.0, 0.0))[0]

    def of_turn(self, turn: int, currency: str) -> float:
        """Return what a turn has cost, if it is the last one."""
        return self.in_turn.get(currency, 0.0) if turn == self._turn else 0.0

    def pop_unrecorded(self) -> dict[str, float]:
        """Return what is in no entry yet, and forget it."""
        costs, self.unrecorded = self.unrecorded, {}
        return {currency: amount for currency, amount in costs.items() if amount}

    def report_other(self) -> bool:
        """Return whether the limit's other currency is still to be reported, and note that."""
        is_news, self.is_other_reported = not self.is_other_reported, True
        return is_news


def _add(sums: dict[str, float], currency: str, amount: float) -> None:
    sums[currency] = round(sums.get(currency, 0.0) + amount, _PLACES)


class Bill(msgspec.Struct, frozen=True):
    """A session's id, its latest turn, and its costs."""

    session_id: str
    turn: int
    costs: Costs


class Spending(msgspec.Struct, eq=False):
    """The user's limit, and what was spent of it outside the link's sessions."""

    limit: SpendLimit
    shared: Spent = Spent(day="")
    """What the shell last reported, and what was added here since."""
    _noticed: dict[str, str] = {}
    _reached: dict[str, tuple[str, float]] = {}
    kill_due: float | None = None
    """When the agent's process is to be ended, since it keeps spending beyond the limit."""
    _kill_for: str = ""
    cost_due: float | None = None
    """When it is reported, once for a link, that the agent states no cost."""
    cost_due_in: str | None = None
    """The session whose turn ended without one; `None` until one does, or a cost is stated."""

    @property
    def today(self) -> float:
        """What was spent today in the limit's currency, as far as the shell has reported it."""
        return self.shared.today.get(self.limit.currency, 0.0)

    def begin_day(self, day: str) -> None:
        """Begin a later day, on which nothing is spent yet; an earlier one changes nothing."""
        if day > self.shared.day:
            self.shared = Spent(day=day, sessions=self.shared.sessions)

    def update(self, spent: Spent) -> bool:
        """Receive what the shell reports; return whether the day's limit is reached by it."""
        self.shared = spent
        return self.limit.scope == "day" and self.today >= self.limit.amount

    def add_today(self, amount: float) -> None:
        """Add what was spent here, until the shell reports the day's new sum."""
        today = dict(self.shared.today)
        _add(today, self.limit.currency, amount)
        self.shared = msgspec.structs.replace(self.shared, today=today)

    def spent(self, bill: Bill) -> float:
        limit = self.limit
        if limit.scope == "day":
            return self.today
        if limit.scope == "turn":
            return bill.costs.of_turn(bill.turn, limit.currency)
        return bill.costs.spent.get(limit.currency, 0.0)

    def is_reached(self, bill: Bill) -> bool:
        """Return whether the limit is used up."""
        return self.spent(bill) >= self.limit.amount

    def is_near(self, bill: Bill) -> bool:
        """Return whether a notice is due: once for a turn, session or day near the limit."""
        if self.spent(bill) < NEAR * self.limit.amount:
            return False
        key, of = self._period(bill)
        is_news = self._noticed.get(key) != of
        self._noticed[key] = of
        return is_news

    def note_reached(self, bill: Bill, now: float, grace_seconds: float) -> None:
        """Note a cost at the limit: the agent is ended if its grace period is over."""
        key, of = self._period(bill)
        before, since = self._reached.get(key, (None, now))
        if before != of:
            self._reached[key] = of, now
        elif now - since >= grace_seconds:
            self.kill_due, self._kill_for = now, bill.session_id

    def pop_kill(self) -> str:
        """Return the session for which the agent's process is ended, once."""
        self.kill_due = None
        return self._kill_for

    def _period(self, bill: Bill) -> tuple[str, str]:
        """Return what the limit applies to: a session and its turn, a session, or a day."""
        scope = self.limit.scope
        if scope == "day":
            return "", self.shared.day
        return bill.session_id, str(bill.turn if scope == "turn" else "")

    def expect_cost(self, session_id: str, until: float) -> None:
        """Note that a turn has ended without a cost, which may follow."""
        if self.cost_due_in is None:
            self.cost_due_in, self.cost_due = session_id, until

    def stop_expecting(self) -> str:
        """Note that the agent states costs, or that the user learns that it states none.

        Returns the session in which one was expected, if any.
        """
        session_id = self.cost_due_in or ""
        self.cost_due, self.cost_due_in = None, ""
        return session_id

    def shift(self, seconds: float) -> None:
        """Shift the clocks by the time that they stood still."""
        self._reached = {key: (of, at + seconds) for key, (of, at) in self._reached.items()}
        if self.cost_due is not None:
            self.cost_due += seconds

    def sentence(self, bill: Bill) -> str:
        """Return in words how much of the limit was spent."""
        limit = self.limit
        spent, allowed = (money(each, limit.currency) for each in (self.spent(bill), limit.amount))
        return f"{_WHAT[limit.scope]} {spent} of the {allowed} allowed."


_WHAT = {
    "turn": "This turn has cost",
    "session": "This session has cost",
    "day": "Today's sessions have cost",
}


def spending_of(text: str) -> Spending | None:
    """Return the sums for a limit in the user's notation; `None` for an empty text."""
    limit = limit_of(text)
    return None if limit is None else Spending(limit)
