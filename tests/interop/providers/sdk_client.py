"""A client on the official SDK, for one turn; it prints what it was given as a line of JSON.

Runs in the environment that has the packages. The plan is its argument, its environment
the agent's.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import acp

AGENT = Path(__file__).resolve().parent / "guarded_agent.py"


class Client:
    def __init__(self) -> None:
        self.updates: list[dict[str, Any]] = []

    async def session_update(self, update: Any, **_: Any) -> None:
        self.updates.append(update.model_dump(mode="json", by_alias=True, exclude_none=True))


async def main() -> None:
    client: Any = Client()
    spawned = acp.spawn_agent_process(client, sys.executable, str(AGENT), "plain", env=os.environ)
    seen: dict[str, Any] = {"updates": client.updates}
    async with spawned as (connection, _process):
        await connection.initialize(protocol_version=1)
        session = await connection.new_session(cwd="/", mcp_servers=[])
        try:
            done = await connection.prompt(
                session_id=session.session_id, prompt=[acp.text_block(sys.argv[1])]
            )
            seen["stop_reason"] = done.stop_reason
        except acp.RequestError as error:
            seen["error"] = {"code": error.code, "message": str(error), "data": error.data}
    print(json.dumps(seen))


if __name__ == "__main__":
    asyncio.run(main())
