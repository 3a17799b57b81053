"""Whatever comes, no prompt reaches the agent beyond the limit, and each cost counts once.

The dice play a client with several sessions and an agent that states costs in and between turns;
beside them stands a sum that is not the core's.
"""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest

from lastword.core.link import prompts
from lastword.core.link.costs import Spending, Spent
from lastword.core.link.effects import Kill, Spend
from lastword.core.timeline.entry import Kind
from tests.kit.rows import every
from tests.kit.wire import (
    INITIALIZE,
    INITIALIZED,
    Wire,
    cancel,
    chunk,
    error,
    prompt,
    result,
    update,
)

SESSIONS = ("a", "b", "c")
LIMITS = ("1USD", "1USD/day", "1USD/turn", "")
STEPS = 60


class BeyondLimitError(AssertionError):
    """A promise does not hold."""


class Game:
    """A link as the dice play it."""

    def __init__(self, seed: int) -> None:
        self.dice = Random(seed)
        self.limit = LIMITS[seed % len(LIMITS)]
        options = {"retry": self.dice.choice((0, 2)), "cancel_grace_seconds": 2.0}
        self.wire = Wire(spend_limit=self.limit, roll=lambda: 0.0, **options)
        self.wire.client(INITIALIZE)
        self.wire.agent(INITIALIZED)
        self.stated = dict.fromkeys(SESSIONS, 0.0)
        self.highest = dict.fromkeys(SESSIONS, 0.0)
        self.spent = dict.fromkeys(SESSIONS, 0.0)
        self.counted = dict.fromkeys(SESSIONS, 0.0)
        self.elsewhere = 0.0
        self.at_agent: dict[int, str] = {}
        """The prompts that the agent works on, with their sessions."""
        self.asked: dict[int, str] = {}
        self.begun: set[str] = set()

    def play(self) -> None:
        """Play it to its end."""
        deeds = (self.ask, self.ask, self.cost, self.cost, self.cost, self.end, self.end)
        for _ in range(STEPS):
            self.dice.choice((*deeds, self.cancel, self.wait, self.others))()
            self.look()
        for _ in range(3):
            for request_id in list(self.at_agent):
                self.answer(request_id, result(request_id))
            self.wire.time(self.wire.now + 100)
            self.look()
        self.judge()

    def is_over(self, session: str) -> bool:
        """Whether the limit is reached, by our own sum."""
        if self.limit.endswith("/day"):
            return round(sum(self.counted.values()) + self.elsewhere, 6) >= 1
        return self.limit == "1USD" and round(self.spent[session], 6) >= 1

    def look(self) -> None:
        """Look at what has reached the agent, and write down what was spent, as a shell does."""
        frames, self.wire.to_agent[:] = list(map(json.loads, self.wire.to_agent)), []
        for frame in frames:
            if frame["method"] == "session/prompt":
                session = frame["params"]["sessionId"]
                if self.is_over(session):
                    raise BeyondLimitError(f"a prompt of {session}: {self.spent}")
                self.at_agent[frame["id"]] = session
                self.begun.add(session)
        orders, self.wire.orders[:] = list(self.wire.orders), []
        assert all(isinstance(order, Spend | Kill) for order in orders)
        if orders and self.dice.random() < 0.5:
            self.report()  # a ledger that is locked is written later

    def report(self) -> None:
        """The shell says what was spent in all."""
        total = Spent(day="1", today={"USD": sum(self.counted.values()) + self.elsewhere})
        self.wire.carry_out(self.wire.core.receive_spending(total, self.wire.now))

    def ask(self) -> None:
        """A prompt."""
        request_id, session = len(self.asked) + 1, self.dice.choice(SESSIONS)
        self.asked[request_id] = session
        self.wire.client(prompt(request_id, session))

    def cost(self) -> None:
        """The agent states a cost, which may have been corrected, or have begun again."""
        session = self.dice.choice(SESSIONS)
        before = self.stated[session]
        rises, anew = before + self.dice.random() / 4, before / 3
        amount = round(self.dice.choice((rises, anew, before * 0.99, before)), 9)
        if not self.known(session):
            return
        counted = 0.0 if amount < before / 2 else self.highest[session]
        added = max(amount - counted, 0.0)
        self.stated[session], self.highest[session] = amount, max(counted, amount)
        self.spent[session] += added
        self.counted[session] += added
        stated = {"amount": amount, "currency": "USD"}
        self.wire.agent(update(session, sessionUpdate="usage_update", used=1, size=2, cost=stated))

    def known(self, session: str) -> bool:
        """Whether a turn of the session has begun."""
        return session in self.begun

    def end(self) -> None:
        """The agent ends a turn, well or not."""
        if self.at_agent:
            request_id = self.dice.choice(list(self.at_agent))
            self.wire.agent(chunk(session_id=self.at_agent[request_id]))
            limited = error(request_id, message="429 Too Many Requests: try again in 5s")
            self.answer(request_id, self.dice.choice((result(request_id), limited)))

    def answer(self, request_id: int, frame: dict[str, Any]) -> None:
        """The agent answers."""
        del self.at_agent[request_id]
        self.wire.agent(frame)

    def cancel(self) -> None:
        """The user cancels."""
        self.wire.client(cancel(self.dice.choice(SESSIONS)))

    def wait(self) -> None:
        """Time passes."""
        self.wire.time(self.wire.now + self.dice.choice((0.5, 3, 10)))

    def others(self) -> None:
        """Another process spends."""
        self.elsewhere += 0.05
        self.report()

    def judge(self) -> None:
        """Look at the whole: each prompt is answered once, and each cost is in the record once."""
        for request_id in self.asked:
            assert len(self.wire.answers(request_id)) == 1
        for session in SESSIONS:
            entries = [e for e in self.wire.entries if e.session_id == session]
            costs = [e.facts["amount"] for e in entries if e.kind is Kind.COST]
            assert round(sum(costs), 6) == round(self.counted[session], 6)


@every("seed", range(120))
def test_no_prompt_goes_beyond_the_limit_and_no_cost_is_lost(seed: int) -> None:
    Game(seed).play()


def never(*_: Any) -> None:
    """Nothing is refused."""


def fails() -> bool:
    """Whether one of the games finds something."""
    for seed in range(40):
        try:
            Game(seed).play()
        except AssertionError:
            return True
    return False


@pytest.mark.parametrize(
    ("place", "name", "mutant"),
    [
        (prompts, "refusal", never),
        (Spending, "is_reached", lambda *_: False),
        (Spending, "add_today", never),
    ],
    ids=["refuses no prompt", "reaches no limit", "forgets the day"],
)
def test_a_link_that_does_not_hold_the_limit_is_found(
    monkeypatch: pytest.MonkeyPatch, place: Any, name: str, mutant: Any
) -> None:
    monkeypatch.setattr(place, name, mutant)
    assert fails()
