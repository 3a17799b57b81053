"""An agent of what only `serve` has: ``python -m tests.process.inprocess.serve.served_agent LOOP``.

Its turns are those of every door and those below. When `serve` is over, its last frame says whether
the standard streams block.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from typing import Any

import anyio
import jsonrpcserver

import lastword
from lastword.errors import ClientError
from tests.kit.doors import serve
from tests.kit.doors.work import Work


class ServesOwnWork(Work):
    """Turns that only this door can take."""

    async def do_print(self, turn: serve.Turn, _: str) -> None:
        print("printed noise")
        await anyio.run_process("echo noise of a child; cat", stdin=None, stdout=None, stderr=None)
        await turn.say(f"read {sys.stdin.readline()!r}")

    async def do_question(self, turn: serve.Turn, words: str) -> None:
        try:
            answer = await turn.client.request("_test/ask", {"question": words})
        except ClientError as error:
            answer = [error.code, error.message, error.data]
        await turn.say(json.dumps(answer))

    async def do_update_without_kind(self, turn: serve.Turn, _: str) -> None:
        await turn.client.update(turn.session_id, title="x")

    async def do_introduce(self, turn: serve.Turn, _: str) -> None:
        await turn.say(json.dumps([turn.client.capabilities, turn.client.info]))

    async def do_error_of_its_own(self, *_: Any) -> None:
        await error(None)


async def new_session(_client: Any, cwd: str, mcp_servers: list[Any]) -> Any:
    return {"sessionId": f"{cwd}{mcp_servers}"}


async def everything(_: Any, **params: Any) -> Any:
    return {"params": params}


async def two(_: Any, *, first_name: str, second: str = "none") -> Any:
    return [first_name, second]


async def nothing(_: Any) -> None:
    """Return an empty result."""


async def error(_: Any) -> None:
    raise jsonrpcserver.JsonRpcError(-32001, "Nothing by that name", {"name": "x"})


async def odd_error(_: Any) -> None:
    raise jsonrpcserver.JsonRpcError(-32099, "Odd", object())


async def main(loop: str) -> None:
    """Run the agent."""
    turns = serve.methods(ServesOwnWork(serve, loop, None))
    await lastword.serve(
        {
            "session/new": new_session,
            "session/prompt": turns["session/prompt"],
            "_mark": turns["_mark"],
            "_test/everything": everything,
            "_test/two": two,
            "_test/nothing": nothing,
            "_test/error": error,
            "_test/odd_error": odd_error,
        }
    )


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], backend=sys.argv[1])
    blocking = [os.get_blocking(0), os.get_blocking(1)]
    left = {"method": "_test/served", "params": {"blocking": blocking}}
    with contextlib.suppress(BrokenPipeError):
        os.write(1, json.dumps(left).encode() + b"\n")
