"""An agent on `lastword.serve` whose prompts say what to do: `served_agent.py asyncio|trio [own]`.

Each `do_…` is one way to take a turn, called by a prompt with its name. A handler that waits to be
told goes on with the notification `_test/go`. With `own` it has a `session/cancel` of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import json
import logging
import os
import sys
from typing import Any

import anyio
import jsonrpcserver

import lastword
from lastword.errors import ClientError

if sys.argv[1] == "trio":
    import trio

END = {"stopReason": "end_turn"}
BACKEND = sys.argv[1]


class Odd(BaseException):
    """No Exception."""


class RateLimitError(Exception):
    """As a provider's."""

    status_code = 429


class Signal:
    """Whoever waits goes on when the client says so."""

    def __init__(self) -> None:
        self.event = anyio.Event()

    async def wait(self) -> None:
        await self.event.wait()

    def go(self) -> None:
        self.event.set()
        self.event = anyio.Event()


GO = Signal()


async def do_say(client: Any, session_id: str, words: str) -> Any:
    await client.say(session_id, words or "Hello.")
    return END


async def do_nothing(*_: Any) -> Any:
    return None


async def do_a_string(*_: Any) -> Any:
    return "end_turn"


async def do_no_json(*_: Any) -> Any:
    return {"stopReason": object()}


async def do_a_new_reason(*_: Any) -> Any:
    return {"stopReason": "tired"}


async def do_throttled(*_: Any) -> Any:
    raise RateLimitError("429 Too Many Requests")


async def do_group(*_: Any) -> Any:
    raise ExceptionGroup("several", [RateLimitError("429"), RateLimitError("429 too")])


async def do_nested_group(*_: Any) -> Any:
    raise ExceptionGroup("one", [ExceptionGroup("two", [RateLimitError("429")])])


async def do_base_exception(*_: Any) -> Any:
    raise Odd("not to be seen")


async def do_cancel_itself(*_: Any) -> Any:
    raise asyncio.CancelledError


async def do_fail_and_catch(*_: Any) -> Any:
    try:
        lastword.current_turn().fail("budget", "The team's money is gone. Ask for more.")
    except Exception:  # noqa: BLE001  (what it is about)
        return END


async def do_tell_a_secret(*_: Any) -> Any:
    raise RuntimeError(f"the key {os.environ['TEST_API_KEY']} is wrong")


async def do_exit(*_: Any) -> Any:
    sys.exit(3)


async def do_exit_deep_down(*_: Any) -> Any:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(do_exit)


async def do_error_of_its_own(*_: Any) -> Any:
    raise jsonrpcserver.JsonRpcError(-32001, "Nothing by that name", {"name": "x"})


async def do_print(client: Any, session_id: str, _: str) -> Any:
    print("printed noise")
    await anyio.run_process("echo noise of a child; cat", stdin=None, stdout=None, stderr=None)
    await client.say(session_id, f"read {sys.stdin.readline()!r}")
    return END


async def do_wait(client: Any, session_id: str, words: str) -> Any:
    await client.say(session_id, f"waiting{words}")
    try:
        await GO.wait()
    finally:
        print(f"wait is over{words}", flush=True)
    return END


async def do_swallow(client: Any, session_id: str, _: str) -> Any:
    await client.say(session_id, "waiting")
    try:
        await anyio.sleep_forever()
    except BaseException:  # noqa: BLE001  (what it is about)
        with anyio.CancelScope(shield=True):
            await GO.wait()
            await client.say(session_id, "late")
    return END


async def do_speak_later(client: Any, session_id: str, _: str) -> Any:
    async def later() -> None:
        await GO.wait()
        await client.say(session_id, "later")

    if BACKEND == "trio":
        trio.lowlevel.spawn_system_task(later, context=contextvars.copy_context())
    else:
        KEPT.append(asyncio.create_task(later()))
    return await do_say(client, session_id, "now")


KEPT: list[Any] = []


async def do_ask(client: Any, session_id: str, words: str) -> Any:
    try:
        answer = await client.request("_test/ask", {"question": words})
    except ClientError as error:
        answer = [error.code, error.message, error.data]
    await client.say(session_id, json.dumps(answer))
    return END


async def do_flood(client: Any, session_id: str, words: str) -> Any:
    for number in range(int(words)):
        await client.say(session_id, f"{number:06}" + "x" * 1018)
    return END


async def do_update_without_kind(client: Any, session_id: str, _: str) -> Any:
    await client.update(session_id, title="x")


async def do_thread(client: Any, session_id: str, _: str) -> Any:
    def speak() -> str:
        turn = lastword.current_turn()
        turn.tool_started("shell", side_effects=True)
        return str(turn.session_id)

    await client.say(session_id, await anyio.to_thread.run_sync(speak))
    raise RateLimitError("429")


async def do_introduce(client: Any, session_id: str, _: str) -> Any:
    await client.say(session_id, json.dumps([client.capabilities, client.info]))
    return END


async def prompt(client: Any, session_id: str, prompt: list[dict[str, str]]) -> Any:
    name, _, words = prompt[0]["text"].partition(" ")
    return await globals()[f"do_{name}"](client, session_id, words)


async def new_session(_client: Any, cwd: str, mcp_servers: list[Any]) -> Any:
    try:
        lastword.current_turn()
    except lastword.errors.NotInTurn:
        return {"sessionId": f"{cwd}{mcp_servers}"}


async def go(_: Any) -> None:
    GO.go()


async def everything(_: Any, **params: Any) -> Any:
    return {"params": params}


async def two(_: Any, *, first_name: str, second: str = "none") -> Any:
    return [first_name, second]


async def odd_error(*_: Any) -> Any:
    raise jsonrpcserver.JsonRpcError(-32099, "Odd", object())


async def failing_note(_: Any) -> None:
    raise ValueError("the note's own failure")


async def own_cancel(_: Any, session_id: str) -> None:
    print(f"own cancel of {session_id}", flush=True)
    if "slow" in sys.argv:
        await anyio.sleep_forever()
    GO.go()


METHODS: dict[str, Any] = {
    "session/new": new_session,
    "session/prompt": prompt,
    "_test/go": go,
    "_test/everything": everything,
    "_test/two": two,
    "_test/nothing": do_nothing,
    "_test/no_json": do_no_json,
    "_test/raises": do_throttled,
    "_test/error": do_error_of_its_own,
    "_test/odd_error": odd_error,
    "_test/wait": lambda *_: None,
    "_test/note": failing_note,
}


async def wait(_: Any) -> Any:
    await GO.wait()
    return {"waited": True}


METHODS["_test/wait"] = wait
if "own" in sys.argv:
    METHODS["session/cancel"] = own_cancel
if "debug" in sys.argv:
    logging.basicConfig(level=logging.DEBUG)


async def main() -> None:
    await lastword.serve(METHODS)


if __name__ == "__main__":
    anyio.run(main, backend=BACKEND)
    blocking = [os.get_blocking(0), os.get_blocking(1)]
    left = {"method": "_test/served", "params": {"blocking": blocking}}
    with contextlib.suppress(BrokenPipeError):
        os.write(1, json.dumps(left).encode() + b"\n")
