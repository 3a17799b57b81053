"""The official Python server on uvicorn, with an agent in it that answers at once: `PORT`."""

import sys
from typing import Any

import acp
import uvicorn
from acp.http.asgi import create_asgi_app


class Agent:
    """Says as much in a turn as its prompt asks for."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    async def initialize(self, protocol_version: int, **_: Any) -> acp.InitializeResponse:
        """Greet."""
        return acp.InitializeResponse(protocol_version=protocol_version)

    async def new_session(self, **_: Any) -> acp.NewSessionResponse:
        """Open the session that everything is measured in."""
        return acp.NewSessionResponse(session_id="bench")

    async def prompt(self, prompt: list[Any], session_id: str, **_: Any) -> acp.PromptResponse:
        """Play a turn."""
        update = acp.update_agent_message_text("x" * 160)
        for _number in range(int(prompt[0].text.split()[0])):
            await self._connection.session_update(session_id=session_id, update=update)
        return acp.PromptResponse(stop_reason="end_turn")


uvicorn.run(create_asgi_app(Agent), host="127.0.0.1", port=int(sys.argv[1]), log_level="critical")
