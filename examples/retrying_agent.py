"""An agent on the `openai` package whose model calls are tried again where that does no harm.

Run it behind a client: `python examples/typed_client.py -- python examples/retrying_agent.py`.
Without OPENAI_BASE_URL it asks a provider of its own, which is overloaded two times in three.
"""

import asyncio
import itertools
import os
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import acp
import openai

import lastword


class Agent:
    def on_connect(self, conn: acp.Client) -> None:
        self.client = conn

    async def initialize(self, **_: object) -> acp.InitializeResponse:
        return acp.InitializeResponse(protocol_version=1)

    async def new_session(self, **_: object) -> acp.NewSessionResponse:
        return acp.NewSessionResponse(session_id="1")

    async def prompt(self, session_id: str, **_: object) -> acp.PromptResponse:
        turn = lastword.current_turn()
        question = [{"role": "user", "content": "How is the parser?"}]
        # The package's own retries are off: nobody sees those, and nothing bounds their waits.
        async with openai.AsyncOpenAI(base_url=URL, api_key=KEY, max_retries=0) as model:
            async for attempt in turn.attempts(lastword.Retry(first_wait_seconds=0.1)):
                with attempt:
                    create = model.chat.completions.create
                    stream = await create(model="m", messages=question, stream=True)
                    async for chunk in turn.watch(stream):  # raises where the stream is cut
                        update = acp.update_agent_message_text(chunk.choices[0].delta.content)
                        await self.client.session_update(session_id, update)
        return acp.PromptResponse(stop_reason="end_turn")


class Overloaded(BaseHTTPRequestHandler):
    requests = itertools.count(1)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(503 if next(self.requests) % 3 else 200)
        self.end_headers()
        self.wfile.write(b'data: {"choices": [{"delta": {"content": "It is fine."},')
        self.wfile.write(b'"finish_reason": "stop"}]}\n\n')


server = HTTPServer(("127.0.0.1", 0), Overloaded)
threading.Thread(target=server.serve_forever, daemon=True).start()
URL = os.environ.get("OPENAI_BASE_URL", f"http://127.0.0.1:{server.server_port}")
KEY = os.environ.get("OPENAI_API_KEY", "none")
asyncio.run(lastword.run_agent(Agent()))
