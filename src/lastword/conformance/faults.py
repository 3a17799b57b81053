"""What befalls a whole process: nothing within it can answer any more.

The turns of the scripted agent that only something in front of it can end.
"""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING, Any

import anyio

from lastword.conformance import turns

if TYPE_CHECKING:
    from lastword.serving.peer import Client

FLOOD_LINE = b"DEBUG provider.stream: chunk without data, trying again\n"
FLOOD_BYTES = 256 * 1024
HANG_SECONDS = 24 * 3600.0


async def kill_itself(_client: Client, _session_id: str) -> Any:
    """As the kernel does to a process that takes too much memory."""
    os.kill(os.getpid(), signal.SIGKILL)


async def kill_itself_after_text(client: Client, session_id: str) -> Any:
    """As above, in the middle of something."""
    await client.say(session_id, "Let me run the tests first. ")
    await turns.tool(
        client, session_id, kind="execute", title="Run the tests", status="in_progress"
    )
    os.write(2, b"fatal: allocation of 3221225472 bytes failed\n")
    os.kill(os.getpid(), signal.SIGKILL)


async def flood_stderr(client: Client, session_id: str) -> Any:
    """As an agent does that logs within a loop which does not end."""
    await client.say(session_id, "Look at stderr. ")
    flood = FLOOD_LINE * (FLOOD_BYTES // len(FLOOD_LINE))
    while True:
        # In a thread: where nobody reads stderr, the turn can still be cancelled.
        await anyio.to_thread.run_sync(os.write, 2, flood, abandon_on_cancel=True)


async def hang(client: Client, session_id: str) -> Any:
    """As an agent does that waits for a lock which nobody lets go."""
    await client.say(session_id, "From here on nothing moves.")
    time.sleep(HANG_SECONDS)  # noqa: ASYNC251  (blocking the event loop is what it is about)
