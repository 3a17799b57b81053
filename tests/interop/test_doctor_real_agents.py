"""`lastword doctor` and real agents, each with a home of its own and nothing but loopback."""

from __future__ import annotations

import json
import subprocess
import sys
import uuid
from typing import TYPE_CHECKING

import pytest

from lastword.kit.provider.server import Provider, ProviderScenario
from tests.interop import real_agents

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.matrix

FUSE_SECONDS = 120


@pytest.mark.parametrize("name", ["opencode", "claude"])
def test_a_real_agent_is_examined_without_a_prompt(name: str, tmp_path: Path) -> None:
    with Provider(ProviderScenario.HEALTHY) as provider:
        agent = real_agents.prepare(name, provider, tmp_path, uuid.uuid4().hex)
        done = subprocess.run(
            [sys.executable, "-m", "lastword", "doctor", "--json", "--", *agent.argv],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=FUSE_SECONDS,
            check=False,
            env=agent.env,
            cwd=agent.cwd,
        )
        assert provider.calls == []
    told = json.loads(done.stdout)
    found = {finding["step"]: finding for finding in told["findings"]}
    assert (done.returncode, told["ok"], done.stderr) == (0, True, "")
    assert found["initialize"]["facts"]["protocol_version"] == 1
    assert found["session"]["says"] == "It opens a session."
    assert found["capabilities"]["facts"]["load"] is True
    assert found["agent_error"]["facts"] == {"speaks": False}
    assert {row["client"] for row in told["clients"]} >= {"zed", "typed", "older"}
