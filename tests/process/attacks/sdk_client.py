"""A client on the official SDK, by `lastword.client.acp`: `sdk_client.py PROMPTS COMMAND…`.

Says what came of each prompt as a line of JSON: its stop reason, or the type of what was raised.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any

import acp

from lastword.client.acp import spawn_agent_process
from lastword.errors import PromptFailedError

WAIT_SECONDS = 60.0


class Client:
    """Takes everything that it is told."""

    async def session_update(self, **_: Any) -> None:
        pass

    async def request_permission(self, **_: Any) -> Any:
        outcome = acp.schema.DeniedOutcome(outcome="cancelled")
        return acp.schema.RequestPermissionResponse(outcome=outcome)


def say(**members: Any) -> None:
    sys.stdout.write(json.dumps(members) + "\n")
    sys.stdout.flush()


async def one(call: Any) -> Any:
    """What came of a call, as a line."""
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            answer = await call
    except TimeoutError:
        say(hangs=True)
    except PromptFailedError as failed:
        say(failed=failed.error.type.value, reason=failed.error.reason)
    except Exception as error:  # noqa: BLE001  (what it is about)
        say(raised=type(error).__name__)
    else:
        say(stop_reason=getattr(answer, "stop_reason", None))
        return answer
    return None


async def main(prompts: int, command: list[str]) -> None:
    async with spawn_agent_process(Client(), *command, env=dict(os.environ)) as (connection, _):
        await one(connection.initialize(protocol_version=1))
        await one(connection.new_session(cwd="/", mcp_servers=[]))
        for _number in range(prompts):
            await one(connection.prompt(session_id="s1", prompt=[acp.text_block("Hello")]))
    say(left=True)


asyncio.run(main(int(sys.argv[1]), sys.argv[2:]))
