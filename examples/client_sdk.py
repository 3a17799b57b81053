"""A client on the official Python SDK, with typed failures and a countdown.

Run it: `python examples/client_sdk.py`. It needs the extra `acp`, no key and no network. Put your
own agent's command after `--` to see what it does with your failures.
"""

import asyncio
import os
import sys
import time

import acp

from lastword import client, errors
from lastword.client.acp import spawn_agent_process

LASTWORD = [sys.executable, "-m", "lastword"]
COMMAND = [*LASTWORD, "run", "--", *(sys.argv[2:] or [*LASTWORD, "agent", "rate_limit"])]
SECONDS_TO_SHOW = 3  # an editor counts down to the end


class Client:
    async def session_update(self, update, **_):
        if update.session_update == "agent_message_chunk":
            print("it says:", update.content.text)

    async def agent_retry(self, retry, **_):
        print(retry.message)

    async def request_permission(self, **_):
        return {"outcome": {"outcome": "cancelled"}}


async def count_down(error):
    received = time.time()
    for _ in range(SECONDS_TO_SHOW):
        shown = client.describe(error, received=received)
        print(f"[{shown.button}] {shown.countdown}")
        if not shown.wait_seconds:
            break
        await asyncio.sleep(1)
    print("ask first" if shown.needs_confirmation else "no need to ask")


async def main():
    """Take one turn and show how it ended."""
    async with spawn_agent_process(Client(), *COMMAND, env=os.environ) as (agent, _):
        await agent.initialize(protocol_version=acp.PROTOCOL_VERSION)
        session = await agent.new_session(cwd="/", mcp_servers=[])
        text = acp.text_block("Why does the parser fail?")
        try:
            answer = await agent.prompt(session_id=session.session_id, prompt=[text])
            print("the turn ended:", answer.stop_reason)
        except errors.PromptFailedError as failed:
            print(f"{type(failed).__name__}: {failed}")
            await count_down(failed.error)


asyncio.run(main())
