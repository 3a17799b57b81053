"""The Python examples of README and `docs/` are run, and do what their page says of them.

Those that call a model's provider are run in `tests/interop/providers`, where its package is.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.kit.client import TYPED, Client, clean_environment
from tests.kit.doc_blocks import Block, blocks, calls_a_model, given
from tests.kit.patience import FUSE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FAILED = (
    '{"jsonrpc": "2.0", "id": 1, "error": {"code": -32000, "message": "x", "data": {"agent_error": '
    '{"version": 1, "type": "rate_limit", "message": "The provider is limiting requests.", '
    '"retryable": True, "retry_after_seconds": 20, "retry_safety": "auto", "action": "wait"}}}}'
)
NOW = "arrived = time.time() + 60"
"""By a clock that went back: all of the wait is left, however long the example's imports take."""


def python(program: str, folder: Path) -> list[str]:
    """Return the command that runs a program."""
    file = folder / "shown.py"
    file.write_text(program)
    return [sys.executable, str(file)]


def printed(block: Block, folder: Path, *, before: str = "", after: str = "") -> str:
    """Run an example between two lines of our own; return what it printed."""
    source = given(block).replace(block.text, f"{before}\n{block.text}\n{after}")
    done = subprocess.run(
        python(source, folder),
        capture_output=True,
        text=True,
        timeout=FUSE_SECONDS,
        check=False,
        env=clean_environment(),
    )
    assert done.returncode == 0, f"{block.name}\n{done.stderr}"
    return done.stdout


def a_limit_is_typed(block: Block, folder: Path) -> None:
    client = Client(python(given(block), folder), environment=clean_environment())
    client.open(**TYPED)
    assert client.turn("Hi").error["type"] == "rate_limit"
    assert client.end() == 0


def the_timeline_is_collected(block: Block, folder: Path) -> None:
    client = Client(python(given(block), folder), environment=clean_environment())
    client.open(**TYPED)
    client.turn("Hi")
    client.peer.takes_noise = True  # stdout is the program's own again
    assert client.end() == 0
    assert client.stdout.data.endswith(b"\nfailed rate_limit\n")


def an_agent_says_hello(block: Block, folder: Path) -> None:
    client = Client(python(given(block), folder), environment=clean_environment())
    client.open(**TYPED)
    turn = client.turn("Hi")
    assert (turn.text, turn.answer["result"]["stopReason"]) == ("Hello.", "end_turn")
    assert client.end() == 0


def a_connection_is_guarded(block: Block, folder: Path) -> None:
    serve = """
async def main() -> None:
    server = await asyncio.start_server(serve_one, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""
    asked = [
        ("initialize", {"protocolVersion": 1, "clientCapabilities": TYPED}),
        ("session/new", {"cwd": "/", "mcpServers": []}),
        ("session/prompt", {"sessionId": "1", "prompt": [{"type": "text", "text": "Hi"}]}),
    ]
    with subprocess.Popen(
        python(given(block) + serve, folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=clean_environment(),
    ) as agent:
        try:
            assert agent.stdout is not None
            there = ("127.0.0.1", int(agent.stdout.readline()))
            with socket.create_connection(there, timeout=FUSE_SECONDS) as link:
                for number, (method, params) in enumerate(asked):
                    frame = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
                    link.sendall(json.dumps(frame).encode() + b"\n")
                answers = link.makefile("rb")
                last = next(line for line in map(json.loads, answers) if line.get("id") == 2)
        finally:
            agent.kill()
    assert last["error"]["data"]["agent_error"]["type"] == "rate_limit"


def a_failure_is_shown(block: Block, folder: Path) -> None:
    told = printed(block, folder, before=f"message = {FAILED}\n{NOW}")
    assert "limiting requests." in told
    assert "retry in 20 s" in told
    assert ("20\n" in told) == ("retry_after_seconds" in block.text)


def nothing_is_shown_where_nothing_failed(block: Block, folder: Path) -> None:
    well = '{"jsonrpc": "2.0", "id": 1, "result": {"stopReason": "end_turn"}}'
    assert printed(block, folder, before=f"message = {well}\n{NOW}") == ""


def a_client_is_read(block: Block, folder: Path) -> None:
    a_failure_is_shown(block, folder)
    nothing_is_shown_where_nothing_failed(block, folder)


def the_names_are_there(block: Block, folder: Path) -> None:
    shown = "print(callable(connect_to_agent), callable(spawn_agent_process))"
    assert printed(block, folder, after=shown) == "True True\n"


def an_exception_is_classified(block: Block, folder: Path) -> None:
    told = printed(
        block,
        folder,
        before="exception = LimitError('Too many requests')",
        after="print(error.type, error.retryable, error.retry_safety)",
    )
    assert told == "rate_limit True offer_continue\n"


def a_handler_fails_in_its_own_words(block: Block, folder: Path) -> None:
    told = printed(
        block,
        folder,
        after="""
from lastword.testing import take_turn

class Answering(MyAgent):
    async def prompt(self, session_id: str, **_: object) -> acp.PromptResponse:
        await fill_cache()

turn = asyncio.run(take_turn(Answering(), "Hi"))
print(turn.error_type, turn.error.message, turn.error.action, turn.error.retry_safety)
""",
    )
    assert told == "budget Your team's budget is used up. Ask Ada. report never\n"


DOES: dict[tuple[str, str], Callable[[Block, Path], None]] = {
    ("README.md", "asyncio.run(lastword.run_agent(MyAgent()))"): a_limit_is_typed,
    ("README.md", "from lastword import client"): a_client_is_read,
    ("docs/agent.md", "asyncio.run(lastword.run_agent(MyAgent()))"): a_limit_is_typed,
    ("docs/agent.md", "async def serve_one"): a_connection_is_guarded,
    ("docs/agent.md", "async def new_session"): an_agent_says_hello,
    ("docs/agent.md", "async def fill_cache"): a_handler_fails_in_its_own_words,
    ("docs/agent.md", "options = lastword.Options"): a_limit_is_typed,
    ("docs/client.md", "from lastword import client, errors"): a_client_is_read,
    ("docs/client.md", "from lastword.client.acp"): the_names_are_there,
    ("docs/explain.md", "error = lastword.classify"): an_exception_is_classified,
    ("docs/testing.md", "from lastword.testing import capture"): the_timeline_is_collected,
}
"""What an example does, by its page and how it begins."""

SHOWN = [block for block in blocks("python") if not calls_a_model(block)]
TESTS = [block for block in SHOWN if "\ndef test_" in block.text]
"""Those are run by pytest, in `test_snippets`."""


def what_it_does(block: Block) -> list[tuple[str, str]]:
    """Return the rows for an example."""
    return [row for row in DOES if row[0] == block.page and block.text.startswith(row[1])]


def test_every_example_has_its_row_and_every_row_its_example() -> None:
    rows = [row for block in SHOWN if block not in TESTS for row in what_it_does(block)]
    assert sorted(rows) == sorted(DOES)
    assert len(rows) == len(SHOWN) - len(TESTS)


@pytest.mark.parametrize(
    "block", [block for block in SHOWN if block not in TESTS], ids=lambda block: block.name
)
def test_an_example_does_what_its_page_says(block: Block, tmp_path: Path) -> None:
    (row,) = what_it_does(block)
    DOES[row](block, tmp_path)
