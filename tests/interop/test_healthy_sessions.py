"""A healthy session is the same with lastword as without it, byte for byte.

Twice over: on both sides of the sidecar in one run, where nothing is normalised; and against a run
without it, where only ids and times that the agent itself makes anew are levelled.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from lastword.kit.provider.server import Provider, ProviderScenario
from tests.interop import real_agents
from tests.interop.matrix import sidecar
from tests.interop.recorder import Recording, record
from tests.interop.runs import clear_leftovers
from tests.kit.patience import FUSE_SECONDS
from tests.kit.places import TESTS

if TYPE_CHECKING:
    from collections.abc import Sequence

TEE = Path(__file__).resolve().parent / "tee.py"
PATIENT = [sys.executable, str(TESTS / "kit" / "hurried.py")]
PATIENT += [f"sidecar.session.CLOSED_GRACE_SECONDS={FUSE_SECONDS}"]
"""In front of `lastword run`: the agent may take its time to end by itself."""
INITIALIZE_ID = 70
WISH = (
    b',"_meta":{"claudeCode":{"emitRawSDKMessages":'
    b'[{"type":"system","subtype":"api_retry"},{"type":"rate_limit_event"}]}}'
)

OWN_TO_A_RUN = [
    (rb"ses_[0-9A-Za-z]+", b"<session>"),
    (rb"msg_[0-9a-f]{12}[0-9A-Za-z]+", b"<message>"),
    (rb"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", b"<uuid>"),
    (rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z", b"<time>"),
]


def lines_without_handshake(received: bytes) -> tuple[list[bytes], bytes]:
    """Every line but the answer to `initialize`, and that answer."""
    handshakes: list[bytes] = []
    rest: list[bytes] = []
    for line in received.splitlines(keepends=True):
        message = json.loads(line)
        is_handshake = "method" not in message and message.get("id") == INITIALIZE_ID
        (handshakes if is_handshake else rest).append(line)
    (handshake,) = handshakes
    return rest, handshake


def without_extension(handshake: bytes) -> dict[str, Any]:
    """The answer to `initialize` with what the sidecar adds taken out again."""
    message: dict[str, Any] = json.loads(handshake)
    capabilities = message["result"]["agentCapabilities"]
    assert capabilities["_meta"].pop("agent_error")["version"] == 1
    if not capabilities["_meta"]:
        del capabilities["_meta"]
    return message


def session(
    name: str, provider: Provider, folder: Path, wrap: Sequence[str] = (), tee: Path | None = None
) -> Recording:
    """Record one session in `folder/run`, so that two runs see the same paths."""
    mark = uuid.uuid4().hex
    if (folder / "run").exists():
        shutil.rmtree(folder / "run")
    agent = real_agents.prepare(name, provider, folder / "run", mark)
    env = {**agent.env, "LASTWORD_STATE_DIR": str(folder / "run" / "state")}
    teed = [sys.executable, str(TEE), str(tee), "--", *agent.argv] if tee else agent.argv
    recording = record([*wrap, *teed], env, agent.cwd, folder / "stderr")
    assert clear_leftovers(mark) == []
    return recording


def test_both_sides_of_the_sidecar_carry_the_same_bytes(agent_name: str, tmp_path: Path) -> None:
    with Provider(ProviderScenario.HEALTHY_TOOL) as provider:
        recording = session(
            agent_name, provider, tmp_path, [*PATIENT, *sidecar([])], tmp_path / "agent"
        )
    heard = (tmp_path / "agent.in").read_bytes()
    if agent_name == "claude":
        # It is asked for its retries where a session is opened (HNT-5), and for nothing else.
        assert heard.count(WISH) == 1
        heard = heard.replace(WISH, b"")
    assert recording.sent == heard
    theirs, their_handshake = lines_without_handshake((tmp_path / "agent.out").read_bytes())
    ours, our_handshake = lines_without_handshake(recording.received)
    assert ours == theirs
    assert json.dumps(without_extension(our_handshake)) == json.dumps(json.loads(their_handshake))
    assert b"session/request_permission" in recording.received, "the session used a tool"
    assert recording.returncode == 0


def levelled(lines: list[bytes]) -> list[bytes]:
    """The lines with an agent's own ids and times replaced by their names."""
    whole = b"".join(lines)
    for pattern, name in OWN_TO_A_RUN:
        whole = re.sub(pattern, name, whole)
    return whole.splitlines()


@pytest.mark.parametrize(
    "agent_name", ["opencode", pytest.param("claude", marks=pytest.mark.matrix)], indirect=True
)
def test_a_session_with_the_sidecar_reads_like_one_without_it(
    agent_name: str, tmp_path: Path
) -> None:
    with Provider(ProviderScenario.HEALTHY_TOOL) as provider:
        bare = session(agent_name, provider, tmp_path)
        wrapped = session(agent_name, provider, tmp_path, [*PATIENT, *sidecar([])])
    their_lines, their_handshake = lines_without_handshake(bare.received)
    our_lines, our_handshake = lines_without_handshake(wrapped.received)
    assert levelled(our_lines) == levelled(their_lines)
    assert without_extension(our_handshake) == json.loads(their_handshake)
    assert levelled(wrapped.sent.splitlines()) == levelled(bare.sent.splitlines())
    assert wrapped.returncode == bare.returncode == 0
