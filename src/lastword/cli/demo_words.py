"""The demo's sentences: what users see without lastword, and what a typed client can say.

Owns only the sentences. What Zed does was read in its source of autumn 2026: an agent's exit ends
the thread with a load error, and a prompt has no time limit. That the SDKs 0.7.1 for Python and
0.4 to 0.14 for TypeScript leave a prompt open when its agent exits was measured.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lastword.client.display import view
from lastword.core.failure.phrases import short_duration
from lastword.core.failure.taxonomy import AgentError, Origin, RetrySafety
from lastword.kit.demo.client import PATIENCE_SECONDS

if TYPE_CHECKING:
    from lastword.kit.demo.client import DemoTurn

SAFE: dict[RetrySafety, str] = {
    RetrySafety.AUTO: "yes, nothing was shown or done",
    RetrySafety.OFFER_CONTINUE: "by continuing, not repeating",
    RetrySafety.ASK: "ask first, it may have acted",
    RetrySafety.NEVER: "no",
}
FAULT: dict[Origin, str] = {
    Origin.PROVIDER: "the model provider's",
    Origin.NETWORK: "the network's",
    Origin.AGENT: "the agent's",
    Origin.PROCESS: "the agent's",
    Origin.CLIENT: "the editor's",
    Origin.LASTWORD: "lastword's",
}


def left_with(turn: DemoTurn, patience_seconds: float) -> list[str]:
    """Return what a user sees of a turn that failed silently."""
    if turn.answer is not None:
        return ["Done. Nothing is shown, not even an error."]
    if not turn.ended and (not turn.started or patience_seconds >= PATIENCE_SECONDS):
        return [
            "This machine was too slow to tell.",
            f"Nothing had come after {PATIENCE_SECONDS:g} s. Try again when it is less busy.",
        ]
    if not turn.ended:
        waited = f"A spinner, after {patience_seconds:g} s and for ever."
        return [waited, "None of the measured clients gives up on a turn."]
    others = "Clients on older SDKs wait for ever."
    zed = "Zed ends the thread: the agent has exited."
    return ["The agent is gone, and the turn has no answer.", f"{zed} {others}"]


def facts(error: AgentError) -> list[tuple[str, str]]:
    """Return what a typed client can show beside the sentence, as labels and values."""
    shown = view(error, now=0.0)
    retry = "yes" if shown.can_retry else "no"
    if shown.wait_seconds is not None:
        retry += f", after {short_duration(shown.wait_seconds)}"
    rows = [("Retry", retry)]
    if error.retry_safety is not None:
        rows.append(("Safe to retry", SAFE[error.retry_safety]))
    if error.origin is not None:
        by = f", ended by {error.exit_signal}" if error.exit_signal else ""
        rows.append(("Whose fault", f"{FAULT[error.origin]}{by}"))
    return rows
