"""Retry safety: how far a turn had come when it failed, and whether to send its prompt again.

Owns what follows from the facts. The facts themselves come from an author (`lastword.classify`) or
from the frames that passed (`core.link.facts`).
"""

from __future__ import annotations

import msgspec

from lastword.core.failure.taxonomy import Phase, RetrySafety


class TurnFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The events of a turn before it failed, as far as they are known.

    The default, `TurnFacts()`, says that the request was sent and nothing came back.

    Attributes:
        request_sent: A request had been sent to the model provider.
        thought: Reasoning had arrived.
        text: Text that the user sees had arrived.
        tool_called: The model had begun to call a tool, which had not run.
        tool_ran: A tool that only reads, searches or fetches had run.
        unsafe_tool: A tool that changes something, or whose effect is unknown, had been started.
        tool_running: A tool was still running.
        provider_tools: The provider runs tools by itself, so it is not known what ran.
    """

    request_sent: bool = True
    thought: bool = False
    text: bool = False
    tool_called: bool = False
    tool_ran: bool = False
    unsafe_tool: bool = False
    tool_running: bool = False
    provider_tools: bool = False

    @property
    def phase(self) -> Phase:
        """Return the progress of the turn."""
        if self.tool_running:
            return Phase.TOOL_RUNNING
        if self.tool_ran or self.unsafe_tool:
            return Phase.AFTER_TOOL
        if self.text or self.tool_called:
            return Phase.MID_OUTPUT
        if self.request_sent or self.thought or self.provider_tools:
            return Phase.BEFORE_OUTPUT
        return Phase.BEFORE_REQUEST

    def retry_safety(self, *, retryable: bool) -> RetrySafety:
        """Return whether sending the prompt again would do harm."""
        if not retryable:
            return RetrySafety.NEVER
        if self.tool_ran or self.unsafe_tool or self.tool_running or self.provider_tools:
            return RetrySafety.ASK
        if self.text or self.thought or self.tool_called:
            return RetrySafety.OFFER_CONTINUE
        return RetrySafety.AUTO


def safety_of(facts: TurnFacts | None, *, retryable: bool) -> RetrySafety:
    """Return whether a retry would do harm; if nothing is known of the turn, it may."""
    if facts is not None:
        return facts.retry_safety(retryable=retryable)
    return RetrySafety.ASK if retryable else RetrySafety.NEVER
