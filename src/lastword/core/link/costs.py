"""Costs: what sessions have cost, as sums of what their agents state, and the user's limit.

Owns the reading of a `usage_update`'s `cost`, the sums by session, turn and day, and the rule and
the words of `--spend-limit`. An agent states a sum that grows with the session; one that has fallen
has begun again. What other processes spend on the same day, and what a session had cost before this
one, comes from the shell (`Spent`), which gets each further cost (`core.link.effects.Spend`).

Works on values alone; loaded with the first cost, or the first prompt under a limit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from lastword.core.failure.money import CURRENCIES, MAX_AMOUNT, limit_of, money
from lastword.core.protocol.tolerant import object_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lastword.core.failure.money import SpendLimit

NEAR = 0.8
"""The part of the limit at which the user gets a notice."""

LATE_SECONDS = 2.0
"""How long after a turn's end its cost may still be stated: until then it is not missed."""

NO_COST = "The agent states no cost, so --spend-limit has no effect."

MAX_CURRENCIES = 8
"""The currencies of one session that are added up; an agent cannot make us remember more."""

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


class Spent(msgspec.Struct, frozen=True, kw_only=True):
    """What the shell knows of spending, also that of other processes.

    Attributes:
        day: the user's local day, such as `2026-11-25`.
        today: what was spent on it in all, by currency.
        sessions: what sessions have cost: by session and currency, the sum that the agent stated
            last, and the sum of all that it stated.
    """

    day: str
    today: dict[str, float] = {}
    sessions: dict[str, dict[str, tuple[float, float]]] = {}


class Costs:
    """What one session has cost, by currency."""

    __slots__ = ("_turn", "in_turn", "is_other_reported", "spent", "stated", "unrecorded")

    def __init__(self, earlier: Mapping[str, tuple[float, float]]) -> None:
        self.stated: dict[str, float] = {}
        """The sums that the agent stated last."""
        self.spent: dict[str, float] = {}
        """All that was spent."""
        for currency, (stated, spent) in earlier.items():
            self.stated[currency], self.spent[currency] = stated, spent
        self.in_turn: dict[str, float] = {}
        """What the last turn has cost."""
        self.unrecorded: dict[str, float] = {}
        """What no entry has yet."""
        self._turn = 0
        self.is_other_reported: bool = False
        """Does the user know that the limit is in another currency?"""

    def state(self, amount: float, currency: str, turn: int) -> float:
        """Take in a sum that the agent states; return what was added since the last.

        Before the session's first turn in this process (`turn` is 0), it is what the session had
        cost before, and nothing is added.
        """
        before = self.stated.get(currency)
        if before is None and len(self.stated) >= MAX_CURRENCIES:
            return 0.0
        self.stated[currency] = amount
        # A sum that falls is a new one: of another process of the agent's, or a loaded session.
        added = amount - before if before is not None and amount >= before else amount
        _add(self.spent, currency, added)
        if not turn:
            return 0.0
        if turn != self._turn:
            self._turn, self.in_turn = turn, {}
        _add(self.in_turn, currency, added)
        _add(self.unrecorded, currency, added)
        return round(added, _PLACES)

    def of_turn(self, turn: int, currency: str) -> float:
        """Return what a turn has cost, if it is the last one."""
        return self.in_turn.get(currency, 0.0) if turn == self._turn else 0.0

    def pop_unrecorded(self) -> dict[str, float]:
        """Return what no entry has yet, and forget it."""
        costs, self.unrecorded = self.unrecorded, {}
        return {currency: amount for currency, amount in costs.items() if amount}

    def report_other(self) -> bool:
        """Return whether the limit's other currency is still to be reported, and note that."""
        is_news, self.is_other_reported = not self.is_other_reported, True
        return is_news


def _add(sums: dict[str, float], currency: str, amount: float) -> None:
    sums[currency] = round(sums.get(currency, 0.0) + amount, _PLACES)


class Bill(msgspec.Struct, frozen=True):
    """A session whose costs are looked at: its id, its latest turn, and the costs."""

    session_id: str
    turn: int
    costs: Costs


class Spending:
    """The user's limit, and what is spent of it beyond the link's sessions."""

    __slots__ = ("_noticed", "cost_due", "cost_due_in", "limit", "shared")

    def __init__(self, limit: SpendLimit) -> None:
        self.limit: SpendLimit = limit
        self.shared: Spent = Spent(day="")
        """What the shell last reported, and what was added here since."""
        self._noticed: dict[str, str] = {}
        self.cost_due: float | None = None
        """When an agent that has stated no cost is reported to state none: once a link."""
        self.cost_due_in: str | None = None
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
        """Take in what the shell reports; return whether the day's limit is reached by it."""
        self.shared = spent
        return self.limit.scope == "day" and self.today >= self.limit.amount

    def add_today(self, amount: float) -> None:
        """Add what was spent here, until the shell reports the day's new sum."""
        _add(self.shared.today, self.limit.currency, amount)

    def spent(self, bill: Bill) -> float:
        """Return what was spent of the limit."""
        limit = self.limit
        if limit.scope == "day":
            return self.today
        if limit.scope == "turn":
            return bill.costs.of_turn(bill.turn, limit.currency)
        return bill.costs.spent.get(limit.currency, 0.0)

    def is_reached(self, bill: Bill) -> bool:
        """Return whether nothing is left of the limit."""
        return self.spent(bill) >= self.limit.amount

    def is_near(self, bill: Bill) -> bool:
        """Return whether a notice is due: once for a turn, session or day near the limit."""
        if self.spent(bill) < NEAR * self.limit.amount:
            return False
        scope = self.limit.scope
        key, of = bill.session_id, str(bill.turn if scope == "turn" else "")
        if scope == "day":
            key, of = "", self.shared.day
        is_news = self._noticed.get(key) != of
        self._noticed[key] = of
        return is_news

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
        """Shift its clock by the time that it stood still."""
        if self.cost_due is not None:
            self.cost_due += seconds

    def near_text(self, bill: Bill) -> str:
        """Return the notice of a limit that is near."""
        return f"{self.sentence(bill)} The agent is stopped when the limit is reached."

    def other_text(self, currency: str) -> str:
        """Return the notice of costs in another currency."""
        return (
            f"The agent states costs in {currency}, and --spend-limit is in {self.limit.currency}: "
            "the limit does not apply to them."
        )

    def sentence(self, bill: Bill) -> str:
        """Return what was spent, and of how much."""
        limit = self.limit
        spent, allowed = (money(each, limit.currency) for each in (self.spent(bill), limit.amount))
        return f"{_WHAT[limit.scope]} {spent} of the {allowed} allowed."


_WHAT = {
    "turn": "This turn has cost",
    "session": "This session has cost",
    "day": "Today's sessions have cost",
}


def spending_of(text: str) -> Spending | None:
    """Return the sums for a limit as the user wrote it; `None` for an empty text."""
    limit = limit_of(text)
    return None if limit is None else Spending(limit)
