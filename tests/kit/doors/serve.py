"""The door without an SDK for `work`: handlers by the names of ACP's methods."""

from __future__ import annotations

import functools
from typing import Any

import anyio

import lastword
from tests.kit.doors.work import OTHERS, Work


def authors_error(code: int, message: str, data: Any = None) -> Exception:
    import jsonrpcserver  # noqa: PLC0415 - it warns as it is loaded, and warnings may be errors

    return jsonrpcserver.JsonRpcError(code, message, data)


class Turn:
    def __init__(self, client: Any, session_id: str) -> None:
        self.client = client
        self.session_id = session_id

    async def say(self, text: str) -> None:
        await self.client.say(self.session_id, text)

    async def show(self, update: dict[str, Any]) -> None:
        await self.client.update(self.session_id, update)

    async def ask(self) -> str:
        asked = {
            "sessionId": self.session_id,
            "toolCall": {"toolCallId": "t1", "title": "Write"},
            "options": [{"kind": "allow_once", "name": "Allow", "optionId": "yes"}],
        }
        answer = await self.client.request("session/request_permission", asked)
        return str(answer["outcome"]["outcome"])


def methods(work: Work) -> dict[str, Any]:
    async def initialize(_client: Any) -> Any:
        return {"protocolVersion": 1, "agentInfo": {"name": "recorded", "version": "1"}}

    async def new_session(client: Any, cwd: str) -> Any:
        return {"sessionId": await work.open_session(cwd, functools.partial(Turn, client))}

    async def prompt(client: Any, session_id: str, prompt: list[dict[str, str]]) -> Any:
        return await work.take(Turn(client, session_id), prompt[0]["text"])

    async def cancel(_client: Any) -> None:
        await work.own_cancel()

    def other(name: str) -> Any:
        async def handler(_client: Any, /, **params: Any) -> Any:
            return await work.other(name, params)

        return handler

    known = {
        "initialize": initialize,
        "session/new": new_session,
        "session/prompt": prompt,
        **{f"_{name}": other(name) for name in OTHERS},
    }
    return known | {"session/cancel": cancel} if work.on_cancel else known


async def second_door(work: Work) -> None:
    await lastword.serve(methods(work))


def run(work: Work, options: lastword.Options | None) -> None:
    serve = functools.partial(lastword.serve, methods(work), options=options)
    anyio.run(serve, backend=work.door)
