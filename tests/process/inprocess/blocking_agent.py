"""An agent whose handler blocks the event loop for as many seconds as it is asked to."""

from __future__ import annotations

import asyncio
import sys
import time
from typing import Any

import acp

import lastword
from lastword.inprocess import loop_watchdog

# What takes seconds in an editor takes tenths here.
loop_watchdog.BLOCKED_SECONDS = 0.3
loop_watchdog.LOOK_SECONDS = 0.05
loop_watchdog.POLL_SECONDS = 0.02


class BlockingAgent(acp.Agent):
    """Says a word, blocks, says another."""

    def on_connect(self, conn: Any) -> None:
        self.connection = conn

    async def initialize(self, protocol_version: int, **_: Any) -> acp.InitializeResponse:
        return acp.InitializeResponse(protocol_version=protocol_version)

    async def prompt(self, prompt: Any, session_id: str, **_: Any) -> acp.PromptResponse:
        await self.connection.session_update(session_id, acp.update_agent_message_text(BEFORE))
        time.sleep(float(prompt[0].text))  # noqa: ASYNC251  (the mistake that is to be seen)
        await self.connection.session_update(session_id, acp.update_agent_message_text("after"))
        return acp.PromptResponse(stop_reason="end_turn")


BEFORE = "before" * int(sys.argv[3])
limits = lastword.Options(
    idle_timeout_seconds=float(sys.argv[1]), cancel_grace_seconds=float(sys.argv[2])
)
asyncio.run(lastword.run_agent(BlockingAgent(), options=limits))
