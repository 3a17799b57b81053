"""A client on the official Python SDK that comes to a gateway by URL.

    python client_py.py ws|http URL TOKEN CWD

Owns what `client_ts.mjs` owns: one session, one prompt, then a second connection that loads the
session, with one JSON line on stdout for each thing that the SDK delivered.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import acp
from acp.http.client import create_http_stream
from acp.schema import (
    AllowedOutcome,
    ClientCapabilities,
    Implementation,
    RequestPermissionResponse,
    TextContentBlock,
)
from acp.ws.client import create_websocket_stream

LINGER_SECONDS = 0.5


def report(event: str, **fields: Any) -> None:
    """Write one line."""
    print(json.dumps({"event": event, **fields}, default=str), flush=True)


class Client:
    """User code as the SDK sees it: approves every permission, notes every update."""

    def __init__(self, name: str) -> None:
        self.name = name

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:  # noqa: ARG002
        told = update.model_dump(mode="json", by_alias=True, exclude_none=True)
        report("update", name=self.name, update=told)

    async def request_permission(self, options: Any, **_: Any) -> RequestPermissionResponse:
        report("permission", name=self.name, options=[option.option_id for option in options])
        outcome = AllowedOutcome(outcome="selected", option_id=options[0].option_id)
        return RequestPermissionResponse(outcome=outcome)


async def connected(name: str) -> Any:
    """A connection that has been greeted."""
    transport, url, token = sys.argv[1:4]
    headers = {"Authorization": f"Bearer {token}"}
    if transport == "http":
        stream = create_http_stream(url, headers=headers)
    else:
        stream = await create_websocket_stream(url, headers=headers)
    connection = acp.connect_to_agent(Client(name), stream)
    hello = await connection.initialize(
        protocol_version=1,
        client_capabilities=ClientCapabilities(),
        client_info=Implementation(name=name, version="1"),
    )
    report("initialized", name=name, result=hello.model_dump(mode="json", by_alias=True))
    return connection


async def main() -> None:
    """Converse."""
    cwd = sys.argv[4]
    connection = await connected("first")
    session = (await connection.new_session(cwd=cwd, mcp_servers=[])).session_id
    report("session", sessionId=session)
    prompt = [TextContentBlock(type="text", text="What is the answer?")]
    try:
        answer = await connection.prompt(session_id=session, prompt=prompt)
        report("answer", result=answer.model_dump(mode="json", by_alias=True, exclude_none=True))
    except acp.RequestError as error:
        report("refused", code=error.code, message=str(error), data=error.data)
    second = await connected("second")
    loaded = await second.load_session(cwd=cwd, session_id=session, mcp_servers=[])
    report("loaded", result=loaded.model_dump(mode="json", by_alias=True))
    await asyncio.sleep(LINGER_SECONDS)


asyncio.run(main())
