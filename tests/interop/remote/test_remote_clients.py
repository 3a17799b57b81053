"""Official clients, unmodified, at a gateway: over WebSocket and over HTTP."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.interop import toolchain_native
from tests.interop.selection import in_ci
from tests.interop.toolchain import require_node
from tests.kit.gateway.fault_proxy import FaultProxy, Plan
from tests.kit.gateway.serving import Gateway, agent
from tests.kit.installs import require_packages
from tests.kit.patience import FUSE_SECONDS, patient

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HERE = Path(__file__).resolve().parent
LINE_LIMIT_BYTES = 1 << 20
SECOND_QUESTION = "And now?"
TURNS = {
    "turns": [
        [
            {"say": "First."},
            {"ask_permission": "May I?"},
            {"say": " Done."},
            {"result": "end_turn"},
        ],
        [
            {"say": "Half of it."},
            {"ask_permission": SECOND_QUESTION},
            {"say": " The other half."},
            {"result": "end_turn"},
        ],
        [{"say": "Again."}, {"result": "end_turn"}],
    ]
}
SAID = ["Prompt 1", "First.", " Done.", "Prompt 2", "Half of it."]
"""What there is to load when the link is cut, without the tools that permission is asked for."""


def typescript() -> list[str]:
    require_node()
    return ["node", "--experimental-websocket", str(HERE / "client_ts.mjs")]


def python() -> list[str]:
    return [str(require_packages(HERE)), str(HERE / "client_py.py")]


SDKS: dict[str, Callable[[], list[str]]] = {
    "typescript": typescript,
    "python": python,
    "rust": toolchain_native.require_rust_remote,
    "kotlin": lambda: toolchain_native.require_kotlin("Remote"),
}
CLIENTS = [
    *((sdk, transport) for sdk in ("typescript", "python", "rust") for transport in ("ws", "http")),
    ("kotlin", "ws"),  # its SDK has no other
]
PLAYED = in_ci(CLIENTS, lambda client: client[0] == "typescript")


@pytest.fixture
def gateway(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Gateway]:
    """A gateway in front of the scripted agent that a test names, or of the turns above."""
    turns = tmp_path / "turns.json"
    turns.write_text(json.dumps(TURNS))
    words = getattr(request, "param", ["--file", str(turns)])
    gateway = Gateway(tmp_path, agent(*words))
    yield gateway
    gateway.close()


async def converse(gateway: Gateway, sdk: str, transport: str, scenes: str) -> list[dict[str, Any]]:
    """What a client was given, in order; its link is cut as the second question reaches it."""
    events: list[dict[str, Any]] = []
    client = SDKS[sdk]()  # installed and built where it is not: no fuse is so long
    async with (
        asyncio.timeout(patient(FUSE_SECONDS)),
        FaultProxy(gateway.port, lambda _: Plan()) as link,
    ):
        url = f"{transport}://127.0.0.1:{link.port}/acp"
        command = [*client, transport, url, gateway.token(), str(gateway.root), scenes]
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            limit=LINE_LIMIT_BYTES,
        )
        try:
            assert process.stdout is not None
            async for line in process.stdout:
                events.append(json.loads(line))
                asked = of(events[-1:], "permission", "first")
                if asked and asked[0]["title"] == SECOND_QUESTION:
                    link.cut()
            assert await process.wait() == 0, events
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
    return events


def of(events: list[dict[str, Any]], event: str, name: str | None = None) -> list[dict[str, Any]]:
    return [each for each in events if each["event"] == event and name in {None, each.get("name")}]


def chunks(events: list[dict[str, Any]], name: str) -> list[str]:
    told = [each["update"] for each in of(events, "update", name)]
    return [each["content"]["text"] for each in told if each["sessionUpdate"].endswith("_chunk")]


@pytest.mark.parametrize("client", PLAYED, ids="-".join)
def test_a_session_cut_in_mid_turn_is_loaded_again_and_continues(
    gateway: Gateway, client: tuple[str, str]
) -> None:
    sdk, transport = client
    events = asyncio.run(converse(gateway, sdk, transport, "all"))
    first, third = (each for each in of(events, "answer") if each["result"])
    assert [each["n"] for each in (first, third)] == [1, 3]
    assert {each["result"]["stopReason"] for each in (first, third)} == {"end_turn"}
    asked = {name: [each["title"] for each in of(events, "permission", name)] for name in NAMES}
    # Who loads is asked what is open, and not what has been answered.
    assert asked == {"first": ["May I?", SECOND_QUESTION], "second": [SECOND_QUESTION]}
    # Nothing is lost and nothing comes twice.
    assert chunks(events, "first") == [text for text in SAID if not text.startswith("Prompt")]
    assert chunks(events, "second") == [*SAID, " The other half.", "Again."]
    if transport == "ws":  # over HTTP, the answer and what it follows are on two streams
        [loaded] = of(events, "loaded")
        assert chunks(events[: events.index(loaded)], "second") == SAID
    # What the SDK made of the cut is the client's affair, but it was no answer of the turn's.
    assert not [each for each in of(events, "answer") if each["n"] == 2]


NAMES = ("first", "second")


@pytest.mark.parametrize("gateway", [["rate_limit"]], indirect=True)
@pytest.mark.parametrize("client", PLAYED, ids="-".join)
def test_a_failure_is_typed(gateway: Gateway, client: tuple[str, str]) -> None:
    events = asyncio.run(converse(gateway, *client, "one"))
    (refused,) = of(events, "refused")
    assert refused["data"]["agent_error"]["type"] == "rate_limit"
    assert refused["data"]["agent_error"]["retryable"] is True
