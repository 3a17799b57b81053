"""The promise that every attack is held to once it is over, whatever it was."""

from __future__ import annotations

import itertools
import sys
from typing import TYPE_CHECKING, Any

from tests.kit import left_behind

if TYPE_CHECKING:
    from pathlib import Path

    from tests.process.attacks.client import AttackClient

KEY = "sk-proj-Wm4kT8vQ2xLr7NpZ9cJdY6sB"
"""A key that no provider gave, in the environment of each of them."""

END_TURN = {"stopReason": "end_turn"}
CANCELLED = {"stopReason": "cancelled"}


_NUMBERS = itertools.count()


def environment() -> dict[str, str]:
    """What each of them is started with: a key, a short grace, and a mark to find it by."""
    mark = {left_behind.VARIABLE: left_behind.new_mark()}
    return {"PROVIDER_API_KEY": KEY, "LASTWORD_CANCEL_GRACE": "0.5", **mark}


def scoped(door: str) -> list[str]:
    """The command of an agent on structured concurrency, behind an in-process door."""
    return [sys.executable, "-m", "tests.process.attacks.scoped", door]


def serves_on(client: AttackClient, session: str) -> bool:
    """Hold that the next turn of a session is an ordinary one."""
    answer = client.turn("say", session=session)
    assert answer.get("result") == END_TURN, client.story("it does not serve on")
    return True


def leave(client: AttackClient, status: int | None = 0, *, tells_its_author: bool = False) -> None:
    """Leave as a client does, and judge what the run was.

    Args:
        client: The client.
        status: The exit status that is right, `None` for any.
        tells_its_author: May a traceback of the author's own code be on stderr?
    """
    client.close_stdin()
    ended = client.wait()
    client.read_until_true(lambda: not client.peer.stdout.open, "the end of stdout")
    assert status is None or ended == status, client.story(f"it ended with {ended}")
    whole = not client.stdout.data or client.stdout.data.endswith(b"\n")
    assert whole, client.story("half a frame")
    assert KEY.encode() not in client.stdout.data, client.story("the key reached the client")
    if not tells_its_author:
        assert b"Traceback" not in client.stderr.data, client.story("a traceback")
        assert KEY.encode() not in client.stderr.data, client.story("the key is on stderr")


def ask(client: AttackClient, method: str, params: Any, *, request_id: Any = None) -> Any:
    """Send a request whose params may be anything; gives its id."""
    request_id = f"asked-{next(_NUMBERS)}" if request_id is None else request_id
    client.expect_answer_to(request_id)
    client.send(id=request_id, method=method, params=params)
    return request_id


def nothing_left(mark: str) -> None:
    """Hold that no process with this mark lives."""
    left = left_behind.wait_for_none(mark)
    left_behind.kill_all(mark)
    assert not left


def no_key_in(folder: Path) -> None:
    """Hold that no file has the key."""
    for file in folder.rglob("*"):
        if file.is_file() and not file.is_symlink():
            assert KEY.encode() not in file.read_bytes(), file
