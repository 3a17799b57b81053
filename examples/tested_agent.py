"""An agent and its tests, as a file to copy: a turn is taken in the process of the test.

Run it: `pytest examples/tested_agent.py`. It needs no key, no network, and none of the 40 seconds
that its retries wait.
"""

import asyncio

import acp

import lastword
from lastword.testing import take_turn


class LimitError(Exception):  # as a model provider's package raises it
    status_code = 429
    headers = {"retry-after": "20"}  # noqa: RUF012


class Agent:
    def __init__(self, limits: int) -> None:
        self.limits = limits  # so many calls of the model are refused

    def on_connect(self, conn: acp.Client) -> None:
        self.client = conn

    async def initialize(self, **_: object) -> acp.InitializeResponse:
        return acp.InitializeResponse(protocol_version=1)

    async def new_session(self, **_: object) -> acp.NewSessionResponse:
        return acp.NewSessionResponse(session_id="1")

    async def prompt(self, session_id: str, **_: object) -> acp.PromptResponse:
        answer = acp.update_agent_message_text(await self.ask_the_model())
        await self.client.session_update(session_id, answer)
        return acp.PromptResponse(stop_reason="end_turn")

    @lastword.retry(attempts=3)
    async def ask_the_model(self) -> str:
        self.limits -= 1
        if self.limits >= 0:
            raise LimitError("Too many requests")
        return "The parser is fine."


def test_a_call_that_is_limited_twice_succeeds_at_last():
    turn = asyncio.run(take_turn(Agent(limits=2), "How is the parser?"))
    assert (turn.outcome, turn.text) == ("ok", "The parser is fine.")
    assert [(retry.attempt, retry.wait_seconds) for retry in turn.retries] == [(2, 20), (3, 20)]


def test_a_limit_that_stays_is_told_with_its_wait():
    error = asyncio.run(take_turn(Agent(limits=9))).error
    assert error is not None
    assert (error.type, error.retry_after_seconds) == ("rate_limit", 20)


def test_the_user_can_cancel_while_the_agent_waits():
    assert asyncio.run(take_turn(Agent(limits=9), cancel_after=5)).outcome == "cancelled"
