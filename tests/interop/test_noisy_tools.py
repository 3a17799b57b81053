"""Healthy turns whose tools fail loudly: nothing is reported to the client but the agent's words.

Each agent runs three commands in sessions of one process: a package that cannot be installed, a
test suite that fails, an image that cannot be pulled. What they print names statuses, keys and
limits that are none of the model provider's. The model takes seconds to answer afterwards, time
in which everything that an agent writes beside its frames is read.
"""

from __future__ import annotations

import json
import sys
import time
import uuid
from typing import TYPE_CHECKING

import pytest

from lastword.kit.peer import MARK, StrictClient
from lastword.kit.provider import dialects
from lastword.kit.provider.server import Call, Provider, ProviderScenario
from lastword.kit.provider.target import Target
from tests.interop.agents_cells import CAPABILITIES, record_sources
from tests.interop.agents_registry import AGENTS
from tests.interop.selection import in_ci
from tests.kit.patience import FUSE_SECONDS

if TYPE_CHECKING:
    from pathlib import Path

    from lastword.kit.peer import Frame, PeerEvent

FUSE = 4 * FUSE_SECONDS
HESITATION_SECONDS = 2.5
"""An agent's own files are read once a turn has been silent for a second."""

LATE_SECONDS = 0.5
AGENTS_WITH_A_SHELL = ("opencode", "codex", "claude", "gemini", "qwen")
FAILING_TESTS = """\
import sys
import unittest


class Api(unittest.TestCase):
    def test_login(self):
        print("HTTP 429 Too Many Requests: rate limit reached, retrying in 20s", file=sys.stderr)
        print("openai.AuthenticationError: Error code: 401 - Unauthorized", file=sys.stderr)
        print("429 Too Many Requests")
        print("Unauthorized")
        self.assertEqual(429, 200, "Unauthorized: invalid API key")
"""
DOCKER = """\
#!/bin/sh
echo "Using default tag: latest"
echo "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. \
Is the docker daemon running?" >&2
echo "Error response from daemon: toomanyrequests: You have reached your pull rate limit. \
You may increase the limit by authenticating and upgrading" >&2
echo "unauthorized: authentication required" >&2
exit 1
"""
COMMANDS = {
    "npm": "npm install --fetch-retries=0 --no-audit lastword-no-such-package",
    "unittest": f"{sys.executable} -m unittest test_api",
    "docker": 'PATH="$PWD/bin:$PATH" docker pull lastword/no-such-image',
}


PRINTED = ("npm error", "429 Too Many Requests", "toomanyrequests")


class HesitantProvider(Provider):
    """A healthy model that takes its time once it has a tool's result.

    Attributes:
        results: The requests that brought one, as text.
    """

    results = ""

    def scenario_of(self, body: dialects.Json) -> ProviderScenario:
        """Return what a call gets, and keep a tool's result."""
        if dialects.has_tool_result(body):
            self.results += json.dumps(body)
        return super().scenario_of(body)

    def record(self, call: Call) -> None:
        """Count the call, and let a tool's result wait."""
        super().record(call)
        if call.has_tool_result:
            time.sleep(HESITATION_SECONDS)


def _files(folder: Path) -> None:
    """Put what the commands need where they run."""
    (folder / "bin").mkdir(parents=True)
    (folder / "test_api.py").write_text(FAILING_TESTS)
    docker = folder / "bin" / "docker"
    docker.write_text(DOCKER)
    docker.chmod(0o755)
    (folder / "package.json").write_text('{"name": "noisy", "private": true}')


def _result(event: PeerEvent | None) -> Frame:
    assert event is not None, "no answer"
    assert event.frame is not None
    assert "result" in event.frame, event.frame
    result: Frame = event.frame["result"]
    return result


@pytest.mark.parametrize("key", in_ci(AGENTS_WITH_A_SHELL, lambda key: key == "opencode"))
def test_a_tool_that_fails_loudly_is_reported_as_nobodys_failure(key: str, tmp_path: Path) -> None:
    program = AGENTS[key]
    home, cwd, state = tmp_path / "home", tmp_path / "work", tmp_path / "state"
    for folder in (home, state):
        folder.mkdir()
    _files(cwd)
    with HesitantProvider(ProviderScenario.HEALTHY_TOOL) as provider:
        environment = program.environment(Target(provider.url, provider.openai_url), home)
        environment |= {MARK: uuid.uuid4().hex, "LASTWORD_STATE_DIR": str(state)}
        environment |= {"PYTHONPATH": ""}
        command = [sys.executable, "-m", "lastword", "run", "--record", str(state), "--"]
        with StrictClient([*command, *program.command(cwd)], environment) as client:
            hello = client.initialize(CAPABILITIES, info={"name": "noisy", "version": "1"})
            _result(client.answer_to(hello, FUSE))
            since = len(client.events)
            ends = {}
            for name, text in COMMANDS.items():
                provider.command = text
                opened = client.answer_to(client.new_session(str(cwd)), FUSE)
                prompt = client.prompt(_result(opened)["sessionId"], f"Run it: {name}.")
                ends[name] = _result(client.answer_to(prompt, FUSE))["stopReason"]
            client.listen(LATE_SECONDS)
            received = [event for event in client.events[since:] if not event.sent]
    assert ends == dict.fromkeys(COMMANDS, "end_turn")
    assert [event.raw for event in received if b'"agent_error"' in event.raw] == []
    assert [event.raw for event in received if event.kind in {"agent_retry", "notice"}] == []
    thoughts = [event.raw for event in received if event.kind == "agent_thought_chunk"]
    assert [thought for thought in thoughts if b"provider" in thought] == []
    assert record_sources(state) == ()
    # The commands ran: the model was given what they printed.
    assert [word for word in PRINTED if word not in provider.results] == []
