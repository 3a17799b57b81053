"""An agent that streams text and runs tools, some of which its client never sees.

Run it: `python examples/typed_client.py -- python examples/streaming_tools_agent.py`. It needs no
key and no network. Its model fails after a tool has changed something, so that the client is told
to ask before the prompt is sent again.
"""

import asyncio
import contextlib

import acp

import lastword


@contextlib.contextmanager
def tool(name: str, *, side_effects: bool):
    """A tool that no update tells the client of; lastword has to know of it all the same."""
    turn = lastword.current_turn()
    turn.tool_started(name, side_effects=side_effects)
    try:
        yield
    finally:
        turn.tool_finished(name)


class Agent:
    def on_connect(self, conn: acp.Client) -> None:
        self.client = conn

    async def initialize(self, **_: object) -> acp.InitializeResponse:
        return acp.InitializeResponse(protocol_version=1)

    async def new_session(self, **_: object) -> acp.NewSessionResponse:
        return acp.NewSessionResponse(session_id="1")

    async def prompt(self, session_id: str, **_: object) -> acp.PromptResponse:
        async def show(update) -> None:
            await self.client.session_update(session_id, update)

        for word in ("Let me ", "look. "):
            await show(acp.update_agent_message_text(word))
        # A tool call that the client sees is seen by lastword, too: `read` changes nothing.
        await show(acp.start_tool_call("1", "Read parser.py", kind="read", status="in_progress"))
        await show(acp.update_tool_call("1", status="completed"))
        with tool("write the cache", side_effects=True):
            await asyncio.sleep(0)
        raise TimeoutError("The model did not answer within 60 s")


asyncio.run(lastword.run_agent(Agent()))
