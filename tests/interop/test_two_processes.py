"""Two runs of one agent in one home: one fails, and the other is silent, healthy and left alone.

Both write to one log. What stands there about the first must not be reported of the second.
"""

from __future__ import annotations

import sys
import uuid
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from lastword.kit.peer import MARK, StrictClient
from lastword.kit.provider.server import Call, Provider, ProviderScenario
from lastword.kit.provider.target import Target
from tests.interop.agents_cells import CAPABILITIES, record_sources
from tests.interop.agents_registry import AGENTS
from tests.kit.patience import FUSE_SECONDS

if TYPE_CHECKING:
    from pathlib import Path

    from lastword.kit.peer import Frame, PeerEvent

pytestmark = pytest.mark.matrix

FUSE = 4 * FUSE_SECONDS
SILENT_SECONDS = 12.0
LATE_SECONDS = 0.5
FAILS = "SHALL-FAIL"


class SilentProvider(Provider):
    """A model that is silent for a while before it answers well."""

    def record(self, call: Call) -> None:
        """Count the call, and let it wait unless it is to fail."""
        super().record(call)
        if call.scenario is ProviderScenario.HEALTHY:
            self.closing.wait(SILENT_SECONDS)


def _result(event: PeerEvent | None) -> Frame:
    assert event is not None, "no answer"
    assert event.frame is not None
    assert "result" in event.frame, event.frame
    result: Frame = event.frame["result"]
    return result


@pytest.mark.parametrize("key", ["kimi", "vibe", "opencode"])
@pytest.mark.parametrize("failure", [ProviderScenario.QUOTA, ProviderScenario.BAD_GATEWAY])
def test_what_one_process_writes_is_not_reported_of_another(
    key: str, failure: ProviderScenario, tmp_path: Path
) -> None:
    program = AGENTS[key]
    home = tmp_path / "home"
    home.mkdir()
    with SilentProvider(marked={FAILS: failure}) as provider, ExitStack() as stack:
        environment = program.environment(Target(provider.url, provider.openai_url), home)
        clients, prompts = [], []
        for name in ("healthy", "failing"):
            cwd, state = tmp_path / name / "work", tmp_path / name / "state"
            for folder in (cwd, state):
                folder.mkdir(parents=True)
            own = {MARK: uuid.uuid4().hex, "LASTWORD_STATE_DIR": str(state), "PYTHONPATH": ""}
            run = [sys.executable, "-m", "lastword", "run", "--record", str(state), "--"]
            client = StrictClient([*run, *program.command(cwd)], environment | own)
            stack.enter_context(client)
            hello = client.initialize(CAPABILITIES, info={"name": "two", "version": "1"})
            _result(client.answer_to(hello, FUSE))
            session = _result(client.answer_to(client.new_session(str(cwd)), FUSE))["sessionId"]
            clients.append((client, session, len(client.events)))
        for (client, session, _since), text in zip(clients, ("The answer?", FAILS), strict=True):
            prompts.append(client.prompt(session, text))
        (healthy, session, since), (failing, _, failed_since) = clients
        ended = _result(healthy.answer_to(prompts[0], FUSE))
        healthy.listen(LATE_SECONDS)
        failing.listen(LATE_SECONDS)
        received = [event for event in healthy.events[since:] if not event.sent]
        reported = [event for event in failing.events[failed_since:] if not event.sent]
    assert any(b'"agent_error"' in e.raw or e.kind == "agent_retry" for e in reported), "no failure"
    assert ended["stopReason"] == "end_turn"
    assert [e.raw for e in received if e.kind in {"agent_retry", "notice"}] == []
    assert [e.raw for e in received if b'"agent_error"' in e.raw] == []
    shown = "".join(
        e.update["content"]["text"] for e in received if e.kind == "agent_message_chunk"
    )
    assert "model is 42" in shown
    assert record_sources(tmp_path / "healthy" / "state") == ()
