"""What of a session that is left alone this agent and this client can do.

Owns the sentences. The agent's part is in its answers to `initialize` and `session/new`; the
client's is in what it says in `initialize` (`doctor.clients`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lastword.core.link.choices import Models
from lastword.core.link.handshake import read_agent
from lastword.kit.doctor.findings import Observation, note, ok

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lastword.kit.doctor.clients import ClientRow
    from lastword.kit.doctor.conversation import ConversationResult

STEP = "overnight"
STATE_LIMITS = ("claude", "codex")
"""Agents that state when a limit of their plan ends (`core.link.limits`)."""


def examine(result: ConversationResult, command: Sequence[str]) -> Observation:
    """Report which of the options of `lastword setup --overnight`, and of its own, can act."""
    members = (result.hello or {}).get("result")
    agent = read_agent(members)
    words = f"{agent.name or ''} {' '.join(command)}".lower()
    states_limits = any(name in words for name in STATE_LIMITS)
    answer = (result.session or {}).get("result")
    others = max(len(Models(answer).offered) - 1, 0)
    comes_back = agent.can_load or agent.can_resume
    limits = "its own notices and its errors" if states_limits else "its errors"
    sentences = [
        f"When a limit ends is read from {limits}.",
        f"{_counted(others)} can stand in (--fallback-model)."
        if others
        else "It offers no other model, so --fallback-model cannot act.",
        "Its sessions come back after a crash, so that a wait goes on."
        if comes_back
        else "Its sessions do not come back after a crash, which ends a wait.",
        "--spend-limit acts if the first turn states a cost.",
    ]
    facts = {"states_limits": states_limits, "other_models": others, "comes_back": comes_back}
    report = ok if comes_back else note
    return report(STEP, " ".join(sentences), **facts)


def shown_by(row: ClientRow) -> Observation:
    """Report how one client shows waits and reminders."""
    how = {
        "retry": "as retries of its own",
        "notice": "as notices",
        "thought": "as the agent's thoughts, in the conversation",
    }[row.waits]
    return ok(STEP, f"{row.client} shows waits and reminders {how}.", shows=row.waits)


def _counted(models: int) -> str:
    return "One other model" if models == 1 else f"{models} other models"
