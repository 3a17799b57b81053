"""A client on the official Python SDK that comes to a gateway by URL.

    python client_py.py ws|http URL TOKEN CWD one|all

Owns what `client_ts.mjs` owns: one session and its turns, a second connection after the first was
cut in mid-turn, with one JSON line on stdout for each thing that the SDK delivered.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any, ClassVar

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

TRANSPORT, URL, TOKEN, CWD, SCENES = sys.argv[1:]
LAST_WORDS = (" The other half.", "Again.")
"""What the turn that was cut ends with, and the one after it."""
LOST_SECONDS = 10.0


def report(event: str, **fields: Any) -> None:
    print(json.dumps({"event": event, **fields}, default=str), flush=True)


class Client:
    """User code as the SDK sees it: notes every update, approves all but the second question."""

    questions = 0
    opened = asyncio.Event()
    ended: ClassVar = {words: asyncio.Event() for words in LAST_WORDS}

    def __init__(self, name: str) -> None:
        self.name = name

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:  # noqa: ARG002
        told = update.model_dump(mode="json", by_alias=True, exclude_none=True)
        report("update", name=self.name, update=told)
        if self.name == "second" and told["sessionUpdate"].endswith("_chunk"):
            Client.ended.get(told["content"].get("text"), asyncio.Event()).set()

    async def request_permission(
        self, options: Any, tool_call: Any, **_: Any
    ) -> RequestPermissionResponse:
        Client.questions += 1
        report("permission", name=self.name, title=tool_call.title)
        if Client.questions == 2:
            Client.opened.set()
            await asyncio.Event().wait()  # it is open while the link is cut
        outcome = AllowedOutcome(outcome="selected", option_id=options[0].option_id)
        return RequestPermissionResponse(outcome=outcome)


async def connected(name: str) -> Any:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    if TRANSPORT == "http":
        stream = create_http_stream(URL, headers=headers)
    else:
        stream = await create_websocket_stream(URL, headers=headers)
    connection = acp.connect_to_agent(Client(name), stream)
    hello = await connection.initialize(
        protocol_version=1,
        client_capabilities=ClientCapabilities(),
        client_info=Implementation(name=name, version="1"),
    )
    report("initialized", name=name, result=hello.model_dump(mode="json", by_alias=True))
    return connection


async def turn(connection: Any, session: str, n: int) -> None:
    prompt = [TextContentBlock(type="text", text=f"Prompt {n}")]
    asked = asyncio.ensure_future(connection.prompt(session_id=session, prompt=prompt))
    try:
        if n == 2:
            await Client.opened.wait()
        answer = await asyncio.wait_for(asked, LOST_SECONDS if n == 2 else None)
        told = answer.model_dump(mode="json", by_alias=True, exclude_none=True)
        report("answer", n=n, result=told)
    except acp.RequestError as error:
        report("refused", n=n, code=error.code, message=str(error), data=error.data)
    except TimeoutError:
        report("hang", n=n)
    except Exception as error:  # noqa: BLE001 - whatever the SDK makes of a cut
        report("refused", n=n, code=None, message=f"{type(error).__name__}: {error}", data=None)


async def main() -> None:
    first = await connected("first")
    session = (await first.new_session(cwd=CWD, mcp_servers=[])).session_id
    report("session", sessionId=session)
    await turn(first, session, 1)
    if SCENES == "all":
        await turn(first, session, 2)
        second = await connected("second")
        loaded = await second.load_session(cwd=CWD, session_id=session, mcp_servers=[])
        report("loaded", result=loaded.model_dump(mode="json", by_alias=True))
        await Client.ended[LAST_WORDS[0]].wait()
        await turn(second, session, 3)
        await Client.ended[LAST_WORDS[1]].wait()  # it may come after the answer, on another stream
    sys.stdout.flush()
    os._exit(0)  # the SDK still waits for the connection that was cut


asyncio.run(main())
