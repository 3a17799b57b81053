"""A client on the official Python SDK with `lastword.client.acp` in place of its own functions.

Writes what user code is given, in the lines of `client_py.py`: `agent_error` is an update to it,
and a failed turn raises `PromptFailedError`, which is reported as an error with the typed payload.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from typing import Any

import acp
import client_py
from client_py import report

from lastword import errors
from lastword.client.acp import spawn_agent_process


class Client(client_py.Client):
    async def agent_error(self, session_id: str, error: Any) -> None:
        update = {"sessionUpdate": "agent_error", "error": error.payload()}
        report("update", kind="agent_error", session=session_id, update=update)

    async def agent_retry(self, session_id: str, retry: Any) -> None:
        update = {"sessionUpdate": "agent_retry", "message": retry.message}
        report("update", kind="agent_retry", session=session_id, update=update)


async def turn(agent: Any, session_id: str, number: int, text: str, limit: float | None) -> None:
    report("prompt", n=number)
    try:
        async with asyncio.timeout(limit):
            answer = await agent.prompt(session_id=session_id, prompt=[acp.text_block(text)])
    except TimeoutError:
        report("hang", n=number)
    except errors.PromptFailedError as failed:
        data = {"agent_error": failed.error.payload()}
        cause = type(failed).__name__
        report("error", n=number, code=None, message=str(failed), data=data, cause=cause)
    except Exception as error:  # noqa: BLE001 - whatever is raised is to be reported
        report("exception", n=number, cause=type(error).__name__, text=str(error))
    else:
        body = answer.model_dump(mode="json", by_alias=True, exclude_unset=True)
        report("answer", n=number, stop_reason=answer.stop_reason, result=body)


async def main(argv: list[str]) -> None:
    """Run one session; the SDK's own shutdown ends the agent."""
    arguments = client_py.parse(argv, "interop-lastword")
    options: dict[str, Any] = {"transport_kwargs": {"stderr": None}}
    async with spawn_agent_process(
        Client(), *arguments.command, env=dict(os.environ), cwd=arguments.cwd, **options
    ) as (agent, _process):
        await client_py.converse(agent, arguments, turn)


if __name__ == "__main__":
    logging.basicConfig(handlers=[client_py.ReportingHandler()], level=logging.WARNING)
    asyncio.run(main(sys.argv[1:]))
