"""The official SDK's door for `work`: an agent as the SDK takes it."""

from __future__ import annotations

import asyncio
from typing import Any

import acp
from acp.schema import PermissionOption, SessionNotification, ToolCallUpdate

import lastword
from tests.kit.doors.work import END_TURN, Work

authors_error = acp.RequestError
"""An error with a code of the author's own."""


class Turn:
    def __init__(self, connection: Any, session_id: str) -> None:
        self.connection = connection
        self.session_id = session_id

    async def say(self, text: str) -> None:
        await self.connection.session_update(self.session_id, acp.update_agent_message_text(text))

    async def show(self, update: dict[str, Any]) -> None:
        note = SessionNotification(session_id=self.session_id, update=update)  # type: ignore[arg-type]
        await self.connection.session_update(self.session_id, note.update)

    async def ask(self) -> str:
        option = PermissionOption(kind="allow_once", name="Allow", option_id="yes")
        call = ToolCallUpdate(tool_call_id="t1", title="Write")
        answer = await self.connection.request_permission(
            session_id=self.session_id, tool_call=call, options=[option]
        )
        return str(answer.outcome.outcome)


class Agent(acp.Agent):
    def __init__(self, work: Work) -> None:
        self.work = work
        self.connection: Any = None

    def on_connect(self, conn: Any) -> None:
        self.connection = conn

    async def initialize(self, protocol_version: int, **_: Any) -> acp.InitializeResponse:
        info = acp.schema.Implementation(name="recorded", version="1")
        return acp.InitializeResponse(protocol_version=protocol_version, agent_info=info)

    async def new_session(self, cwd: str, **_: Any) -> acp.NewSessionResponse:
        session_id = await self.work.open_session(cwd, lambda name: Turn(self.connection, name))
        return acp.NewSessionResponse(session_id=session_id)

    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> Any:
        result = await self.work.take(Turn(self.connection, session_id), prompt[0].text)
        return acp.PromptResponse(stop_reason="end_turn") if result is END_TURN else result

    async def ext_method(self, method: str, params: dict[str, Any]) -> Any:
        return await self.work.other(method, params)

    async def ext_notification(self, method: str, params: dict[str, Any]) -> None:
        await self.work.other(method, params)


class AgentWithCancel(Agent):
    async def cancel(self, **_: Any) -> None:
        await self.work.own_cancel()


async def second_door(work: Work) -> None:
    await lastword.run_agent(Agent(work))


def run(work: Work, options: lastword.Options | None) -> None:
    agent = (AgentWithCancel if work.on_cancel else Agent)(work)
    asyncio.run(lastword.run_agent(agent, options=options))
