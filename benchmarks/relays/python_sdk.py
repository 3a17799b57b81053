"""A plain relay made of the official Python SDK: `python python_sdk.py AGENT ARGUMENTS`.

One untyped connection to the client and one to the agent, each passing on whatever the other is
sent. The SDK's typed classes would cost more, and drop what they have no name for.
"""

import asyncio
import os
import sys
from typing import Any

import acp
from acp.connection import Connection
from acp.stdio import spawn_stdio_connection

LINE_LIMIT_BYTES = 64 * 1024 * 1024


async def main(command: list[str]) -> None:
    """Relay until the client closes stdin or the agent its stdout."""
    to_client: Connection

    async def from_agent(method: str, params: Any, is_notification: bool) -> Any:  # noqa: FBT001
        return await passed_on(to_client, method, params, is_notification=is_notification)

    async def from_client(method: str, params: Any, is_notification: bool) -> Any:  # noqa: FBT001
        return await passed_on(to_agent, method, params, is_notification=is_notification)

    reader, writer = await acp.stdio_streams(limit=LINE_LIMIT_BYTES)
    async with spawn_stdio_connection(
        from_agent, *command, env=dict(os.environ), stderr=None, limit=LINE_LIMIT_BYTES
    ) as (to_agent, _):
        to_client = Connection(from_client, writer, reader, listening=False)
        await to_client.main_loop()


async def passed_on(
    other: Connection, method: str, params: Any, *, is_notification: bool
) -> Any | None:
    """Send it to the other side, and give that side's answer where there is one."""
    if is_notification:
        await other.send_notification(method, params)
        return None
    return await other.send_request(method, params)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
