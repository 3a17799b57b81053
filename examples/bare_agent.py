"""An agent without an SDK: functions by the names of ACP's methods. Its provider limits it.

Run it behind a client: `python examples/typed_client.py -- python examples/bare_agent.py`. It needs
no key and no network. What its handler raises reaches the client typed; nothing here catches it.
"""

import asyncio

import lastword


class RateLimitError(Exception):
    """What a model provider's package raises."""

    status_code = 429
    body = {"error": {"type": "rate_limit_error", "message": "Slow down."}}  # noqa: RUF012
    headers = {"retry-after": "20"}  # noqa: RUF012


async def new_session(_client):
    return {"sessionId": "1"}


async def prompt(client, session_id, prompt):
    await client.say(session_id, f"You asked: {prompt[0]['text']} ")
    raise RateLimitError("429 Too Many Requests")


asyncio.run(lastword.serve({"session/new": new_session, "session/prompt": prompt}))
