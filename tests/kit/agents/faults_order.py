"""Agents that ask, answer and tell too late, twice, or in the wrong order."""

from __future__ import annotations

import signal

from tests.kit.agents.faults_turn import ignores_cancel
from tests.kit.agents.modes import at_prompt, at_start

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tests.kit.agents.acp_agent import Agent


@at_prompt
def permission(agent: Agent, prompt: object) -> None:
    """Asks for a permission, and ends the turn well when it has it."""
    agent.await_answer(ask_permission(agent))
    agent.serve(prompt)


@at_prompt
def permission_then_silence(agent: Agent, _prompt: object) -> None:
    """Asks for a permission, and does nothing more when it has it; confirms a cancel."""
    agent.await_answer(ask_permission(agent))


def ask_permission(agent: Agent) -> int:
    option = {"optionId": "yes", "name": "Yes", "kind": "allow_once"}
    return agent.ask("session/request_permission", toolCall={"toolCallId": "t1"}, options=[option])


@at_prompt
def asks_twice_by_one_id(agent: Agent, prompt: object) -> None:
    """Asks for two permissions under one id, and ends the turn well at the first answer."""
    request_id = ask_permission(agent)
    params = {"sessionId": agent.session_id, "toolCall": {"toolCallId": "t2"}, "options": []}
    agent.wire.frame(id=request_id, method="session/request_permission", params=params)
    agent.await_answer(request_id)
    agent.serve(prompt)


@at_start
def answers_backwards(agent: Agent) -> None:
    """Says nothing to a prompt that says fail until the next, and then answers that one first."""
    waiting: list[object] = []
    serve = agent.serve

    def serve_both(prompt: object) -> None:
        serve(prompt)
        for earlier in waiting:
            serve(earlier)
        waiting.clear()

    agent.on_fail = lambda _agent, prompt: waiting.append(prompt)
    agent.serve = serve_both  # type: ignore[method-assign]


@at_prompt
def unordered(agent: Agent, prompt: object) -> None:
    """Ends a tool call, then goes on with it, and begins it after the turn's answer."""
    call = {"toolCallId": "t1", "title": "read", "kind": "read"}
    agent.update("tool_call_update", toolCallId="t1", status="completed")
    agent.update("tool_call_update", toolCallId="t1", status="in_progress")
    agent.serve(prompt)
    agent.update("tool_call", **call, status="pending")


@at_start
def ignores_cancel_and_sigterm(agent: Agent) -> None:
    """Shows some text, then nothing more, and reacts neither to a cancel nor to SIGTERM."""
    ignores_cancel(agent)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
