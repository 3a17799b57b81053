"""A client on the official Python SDK with `lastword.client.acp` in place of its own functions.

Writes what user code is given, in the lines of `client_py.py`: `agent_error` is an update to it,
and a failed turn raises `PromptFailedError`, which is reported as an error with the typed payload.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import sys
from typing import Any

import acp
from acp.schema import ClientCapabilities, Implementation

from lastword import errors
from lastword.client.acp import spawn_agent_process

LINGER_SECONDS = 0.2


def report(event: str, **fields: Any) -> None:
    """Write one line."""
    print(json.dumps({"event": event, **fields}, default=str), flush=True)


class Complaints(logging.Handler):
    """Turns what the SDK complains about into `log` lines."""

    def emit(self, record: logging.LogRecord) -> None:
        """Report one record."""
        report("log", level=record.levelname, text=record.getMessage())


class Client:
    """User code."""

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        """Note an update."""
        body = update.model_dump(mode="json", by_alias=True, exclude_unset=True)
        report("update", kind=body["sessionUpdate"], session=session_id, update=body)

    async def agent_error(self, session_id: str, error: Any) -> None:
        """Note why the turn is about to fail."""
        update = {"sessionUpdate": "agent_error", "error": error.payload()}
        report("update", kind="agent_error", session=session_id, update=update)

    async def agent_retry(self, session_id: str, retry: Any) -> None:
        """Note that the agent is trying again."""
        update = {"sessionUpdate": "agent_retry", "message": retry.message}
        report("update", kind="agent_retry", session=session_id, update=update)

    async def request_permission(self, options: Any, **_: Any) -> dict[str, Any]:
        """Allow once."""
        for option in options:
            if option.kind == "allow_once":
                return {"outcome": {"outcome": "selected", "optionId": option.option_id}}
        return {"outcome": {"outcome": "cancelled"}}


async def turn(agent: Any, session_id: str, number: int, text: str, limit: float | None) -> None:
    """Run one turn and report how it ended, once."""
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


async def converse(agent: Any, arguments: argparse.Namespace) -> None:
    """Initialize, open a session, prompt in sequence."""
    limit, stage = arguments.turn_timeout, "initialize"
    try:
        async with asyncio.timeout(limit):
            hello = await agent.initialize(
                protocol_version=1,
                client_capabilities=ClientCapabilities(field_meta=arguments.meta),
                client_info=Implementation(name=arguments.name, version="1.0.0"),
            )
            report("initialized", result=hello.model_dump(mode="json", by_alias=True))
            stage = "session/new"
            session = await agent.new_session(cwd=arguments.cwd, mcp_servers=[])
            report("session", id=session.session_id)
        for number, text in enumerate(arguments.prompt):
            await turn(agent, session.session_id, number, text, limit)
    except Exception as error:  # noqa: BLE001 - whatever is raised is to be reported
        report("failed", stage=stage, cause=type(error).__name__, text=str(error))
    await asyncio.sleep(LINGER_SECONDS)


async def run(arguments: argparse.Namespace) -> None:
    """The whole session; the SDK's own shutdown ends the agent."""
    options: dict[str, Any] = {"transport_kwargs": {"stderr": None}}
    async with spawn_agent_process(
        Client(), *arguments.command, env=dict(os.environ), cwd=arguments.cwd, **options
    ) as (agent, process):
        await converse(agent, arguments)
    report("ended", returncode=process.returncode)


def main(argv: list[str]) -> int:
    """Run one session."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--name", default="interop-lastword", help="clientInfo.name")
    parser.add_argument("--meta", type=json.loads, help="_meta of its capabilities, as JSON")
    parser.add_argument("--protocol", choices=["1"], help="the only version of the SDK")
    parser.add_argument("--cwd", default=".")
    parser.add_argument("--prompt", action="append", default=[])
    parser.add_argument("--turn-timeout", type=float)
    at = argv.index("--")
    arguments = parser.parse_args(argv[:at])
    arguments.command = argv[at + 1 :]
    arguments.cwd = os.path.abspath(arguments.cwd)
    logging.basicConfig(handlers=[Complaints()], level=logging.WARNING)
    asyncio.run(run(arguments))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
