"""How a handler is cancelled: by the user, by the client's leaving, and against its will."""

from __future__ import annotations

import fcntl
import sys
import termios
import time
from typing import TYPE_CHECKING

import pytest

from tests.kit.client import FUSE_SECONDS
from tests.kit.patience import patient

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.kit.serve_client import ServeClient

    Start = Callable[..., ServeClient]

NEARLY_FULL_BYTES = 48 * 1024
"""Of a pipe's 64 KiB, whose pages need not be full."""

CANCELLED = {"stopReason": "cancelled"}


def wait_until_full(client: ServeClient) -> None:
    """Wait until the agent can hardly write, since nobody reads."""
    fd, deadline = client.stdout.fd, time.monotonic() + FUSE_SECONDS
    waiting = b""
    while int.from_bytes(waiting, sys.byteorder) < NEARLY_FULL_BYTES:
        assert time.monotonic() < deadline
        waiting = fcntl.ioctl(fd, termios.FIONREAD, bytes(4))


def test_a_cancelled_prompt_stops_its_handler_and_is_answered_as_cancelled(start: Start) -> None:
    client = start()
    client.open()
    prompt = client.prompt("wait")
    client.expect_text("waiting")
    client.cancel()
    assert client.answer(prompt)["result"] == CANCELLED
    client.expect_stderr("wait is over")
    assert client.turn("say").text == "Hello."
    assert client.end() == 0


def test_a_cancel_in_the_same_breath_as_its_prompt_cancels_it(start: Start) -> None:
    client = start()
    client.open()
    prompt = client.prompt("wait")
    client.cancel()
    assert client.answer(prompt)["result"] == CANCELLED


def test_only_the_cancelled_sessions_turn_is_cancelled(start: Start) -> None:
    client = start()
    client.open()
    mine = client.prompt("wait")
    first, client.session = client.session, "other"
    other = client.prompt("wait")
    client.session = first
    client.cancel()
    assert client.answer(mine)["result"] == CANCELLED
    client.go_on()
    assert client.answer(other)["result"] == {"stopReason": "end_turn"}


def test_one_request_is_cancelled_by_its_id(start: Start) -> None:
    client = start()
    client.open()
    waiting = client.request("_test/wait")
    prompt = client.prompt("wait")
    client.expect_text("waiting")
    client.send(method="$/cancel_request", params={"requestId": prompt})
    assert client.answer(prompt)["result"] == CANCELLED
    client.go_on()
    assert client.answer(waiting)["result"] == {"waited": True}


def test_an_authors_own_cancel_runs_first_and_may_end_the_turn_by_itself(start: Start) -> None:
    client = start(arguments=["own"])
    client.open()
    prompt = client.prompt("wait")
    client.expect_text("waiting")
    client.cancel()
    assert "stopReason" in client.answer(prompt)["result"]
    client.expect_stderr(f"own cancel of {client.session}")


def test_an_authors_own_cancel_that_does_not_return_holds_nothing_up(start: Start) -> None:
    client = start(arguments=["own", "slow"])
    client.open()
    prompt = client.prompt("wait")
    client.expect_text("waiting")
    client.cancel()
    assert client.answer(prompt, fuse=patient(5))["result"] == CANCELLED


def test_a_question_of_a_cancelled_turn_is_taken_back_and_its_late_answer_is_nobodys(
    start: Start,
) -> None:
    client = start()
    client.open()
    prompt = client.prompt("ask why")
    asked = client.expect(lambda frame: frame.get("method") == "_test/ask")
    client.cancel()
    assert client.answer(prompt)["result"] == CANCELLED
    taken_back = client.expect(lambda frame: frame.get("method") == "$/cancel_request")
    assert taken_back["params"] == {"requestId": asked["id"]}
    client.send(id=asked["id"], result="too late")
    client.send(id="nobody's", result="to nobody")
    assert client.turn("say").text == "Hello."
    assert client.end() == 0
    assert client.said == ""


def test_a_handler_that_swallows_its_cancellation_does_not_hold_the_turn(start: Start) -> None:
    client = start(environment={"LASTWORD_CANCEL_GRACE": "0.2"})
    client.open()
    prompt = client.prompt("swallow")
    client.expect_text("waiting")
    client.cancel()
    assert client.answer(prompt)["result"] == CANCELLED
    client.expect_stderr("did not stop when it was cancelled")
    client.go_on()
    client.expect_stderr(
        "session/update was sent after the answer to its own session/prompt, and is dropped"
    )
    assert client.turn("say").text == "Hello."
    assert not any("late" in str(frame) for frame in client.frames)


@pytest.mark.parametrize("prompt", ["wait", "ask why"])
def test_a_client_that_leaves_cancels_its_prompts(start: Start, prompt: str) -> None:
    client = start()
    client.open()
    client.prompt(prompt)
    client.expect(lambda frame: frame.get("method") in {"session/update", "_test/ask"})
    started = time.monotonic()
    assert client.end() == 0
    assert time.monotonic() - started < patient(5)
    assert client.frames[-1]["method"] == "_test/served"
    assert "Traceback" not in client.said


def test_a_client_that_leaves_still_gets_the_answer_to_a_request_that_is_quick(
    start: Start,
) -> None:
    client = start()
    client.send(id=1, method="_test/nothing", params={})
    client.end()
    assert client.answer(1)["result"] == {}


def test_a_client_that_leaves_does_not_wait_for_a_request_that_never_ends(start: Start) -> None:
    client = start()
    client.request("_test/wait")
    assert client.end() == 0


def test_a_client_that_reads_no_more_ends_the_agent(start: Start) -> None:
    client = start(reads=False)
    client.send(id=1, method="session/new", params={"cwd": "/", "mcpServers": []})
    client.close(client.stdout)
    for number in range(3):
        if client.exit_status is None:
            try:
                client.send(id=number + 2, method="_test/nothing", params={})
            except BrokenPipeError:
                break
    assert client.wait(fuse=20) == 0


def test_a_client_that_closes_its_end_in_a_flood_ends_the_agent(start: Start) -> None:
    client = start(reads=False)
    client.session = "s"
    client.request("initialize", protocolVersion=1)
    client.prompt("flood 1000000")
    wait_until_full(client)
    client.close(client.stdout)
    assert client.wait(fuse=20) == 0


def test_a_client_that_leaves_without_reading_does_not_hold_the_agent(start: Start) -> None:
    client = start(reads=False)
    client.session = "s"
    client.request("initialize", protocolVersion=1)
    client.prompt("flood 1000000")
    wait_until_full(client)
    client.close_stdin()
    assert client.wait(fuse=20) == 0
