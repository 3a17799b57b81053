"""What turns have cost, as their agents stated it: by turn, and by agent, model and day.

Owns the sums. Amounts of different currencies are never added up or converted.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from lastword.core.failure.option_values import money
from lastword.core.protocol.tolerant import number_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from lastword.record.reader import RecordedEntry

Costs: TypeAlias = dict[str, float]
"""Amounts by currency."""

_PLACES = 9


class CostTotal(msgspec.Struct, frozen=True, kw_only=True):
    """What the turns of one agent with one model have cost on one day.

    Attributes:
        agent: the agent's name.
        model: the model's id; `None` if the agent does not say.
        day: the local day, such as `2026-11-25`.
        currency: the ISO 4217 code.
        amount: the sum.
    """

    agent: str
    model: str | None
    day: str
    currency: str
    amount: float


def add(costs: Costs, facts: Mapping[str, Any]) -> None:
    """Add what an entry with these facts states."""
    _add(costs, str(facts.get("currency")), number_of(facts.get("amount")))


def total(costs: Iterable[Costs]) -> Costs:
    sums: Costs = {}
    for each in costs:
        for currency, amount in each.items():
            _add(sums, currency, amount)
    return sums


def totals_of(
    entries: Iterable[RecordedEntry],
    agent_of: Callable[[int], str],
    day_of: Callable[[int], str],
) -> tuple[CostTotal, ...]:
    """Return the sums of a period's entries.

    Args:
        entries: The entries that state costs.
        agent_of: Names the agent of a run, by its row.
        day_of: Names the day of a moment in milliseconds since 1970.
    """
    sums: dict[tuple[str, str, str], Costs] = defaultdict(dict)
    for recorded in entries:
        model = str(recorded.entry.facts.get("model") or "")
        key = day_of(recorded.at_epoch_ms), agent_of(recorded.run), model
        add(sums[key], recorded.entry.facts)
    return tuple(
        CostTotal(agent=agent, model=model or None, day=day, currency=currency, amount=amount)
        for (day, agent, model), costs in sorted(sums.items())
        for currency, amount in sorted(costs.items())
    )


def in_words(costs: Mapping[str, float]) -> str:
    """Return costs for a person, such as `0.42 USD, 1.00 EUR`; empty if there are none."""
    return ", ".join(money(amount, currency) for currency, amount in sorted(costs.items()))


def _add(costs: Costs, currency: str, amount: float) -> None:
    costs[currency] = round(costs.get(currency, 0.0) + amount, _PLACES)
