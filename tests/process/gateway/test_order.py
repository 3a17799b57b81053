"""What an agent says reaches the viewers of its session, in its order, and no others."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.kit.gateway.viewing import ViewerClient

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.kit.gateway.inside import InsideGateway


@pytest.fixture(scope="module")
def gateway(
    serve_all: Callable[..., InsideGateway], tmp_path_factory: pytest.TempPathFactory
) -> InsideGateway:
    """A gateway whose agent forks, and speaks before it answers."""
    path = str(tmp_path_factory.mktemp("agent") / "noted")
    return serve_all(
        command=[sys.executable, "-m", "tests.kit.gateway.agents", "noting", path, "fork", "early"]
    )


def saying(text: str, session: str = "SESSION") -> str:
    """The prompt by which the agent says a text in a session."""
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    params = {"sessionId": session, "update": update}
    frame = {"jsonrpc": "2.0", "method": "session/update", "params": params}
    return f"say {json.dumps(frame)}"


def heard(viewer: ViewerClient) -> list[tuple[str, Any]]:
    """What a viewer was told by the agent: each session with a text's beginning."""
    told = [frame["params"] for frame in viewer.frames if frame.get("method") == "session/update"]
    return [
        (each["sessionId"], each["update"]["content"]["text"][:9])
        for each in told
        if each["update"]["sessionUpdate"] == "agent_message_chunk"
    ]


def test_an_update_sent_before_the_answer_begins_the_session(
    gateway: InsideGateway,
) -> None:
    with ViewerClient(gateway) as viewer:
        session = viewer.new(gateway.root)
        viewer.answer(viewer.prompt(session))
        assert heard(viewer) == [(session, "early"), (session, "Heard go")]


def test_frames_of_two_sessions_in_one_write_reach_their_own_viewers(
    gateway: InsideGateway,
) -> None:
    with ViewerClient(gateway) as one, ViewerClient(gateway) as other:
        session = one.new(gateway.root)
        fork = {"sessionId": session, "cwd": str(gateway.root), "mcpServers": []}
        forked = other.result("session/fork", fork)["sessionId"]
        one.answer(one.prompt(session, saying("elsewhere", forked)))
        other.answer(other.prompt(forked))
        assert heard(one)[-1] == (session, "Heard say")
        assert heard(other)[-2:] == [(forked, "elsewhere"), (forked, "Heard go")]
        assert not {"elsewhere", "Heard go"} & {text for _, text in heard(one)}


def test_a_load_is_answered_once_the_whole_past_has_arrived(gateway: InsideGateway) -> None:
    with ViewerClient(gateway) as one, ViewerClient(gateway) as other:
        session = one.new(gateway.root)
        for _ in range(20):
            one.answer(one.prompt(session, saying("x" * 60_000)))
        other.load(session, gateway.root)
        texts = [update["content"]["text"] for update in other.updates("agent_message_chunk")]
        assert "".join(texts).count("x" * 60_000) == 20  # some of them are joined
