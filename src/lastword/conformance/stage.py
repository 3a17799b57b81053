"""A conversation with a fresh agent, in the words of ACP.

Owns sessions, turns and what is waited for. A conversation that cannot come to its point says so
(`UnreachedError`). Does not own the agent's life (`exchange`), or what an act does (`acts`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lastword.conformance.exchange import QUIET_SECONDS, Exchange
from lastword.conformance.provider.server import Scenario
from lastword.conformance.transcript import Turn, UnreachedError, same
from lastword.core import acp

if TYPE_CHECKING:
    from lastword.conformance.link import Event, Frame


class Conversation(Exchange):
    """What a client says and hears."""

    def initialize(self, capabilities: Frame | None = None, version: int = 1) -> Frame:
        """Greet the agent; gives its result.

        Raises:
            UnreachedError: It does not answer well.
        """
        params = {
            "protocolVersion": version,
            "clientCapabilities": capabilities or {},
            "clientInfo": {"name": "lastword-check", "version": "1"},
        }
        answer = self.answer_to(self.request("initialize", params))
        self.transcript.notes["initialized"] = answer
        result = (answer.frame or {}).get("result") if answer else None
        if not isinstance(result, dict):
            raise UnreachedError(f"the agent did not answer initialize well{self.why()}")
        self.transcript.notes["initialize"] = result
        return result

    def new_session(self) -> str:
        """Open a session.

        Raises:
            UnreachedError: The agent opens none.
        """
        params = {"cwd": str(self.cwd), "mcpServers": []}
        answer = self.answer_to(self.request("session/new", params))
        frame = (answer.frame or {}) if answer else {}
        result = frame.get("result")
        if isinstance(result, dict) and isinstance(result.get("sessionId"), str):
            return str(result["sessionId"])
        error = frame.get("error")
        if isinstance(error, dict) and error.get("code") == acp.AUTH_REQUIRED:
            raise UnreachedError(
                "the agent wants a login before it opens a session; give it one by --preset, "
                "--provider-env or --keep-home"
            )
        raise UnreachedError(f"the agent opened no session{self.why()}")

    def prompt(self, session: str, scenario: Scenario) -> Turn:
        """Begin a turn."""
        self.provider.scenario = scenario
        begin = len(self.link.record.events)
        blocks = [{"type": "text", "text": self.hooks.prompt_for(scenario)}]
        request_id = self.request("session/prompt", {"sessionId": session, "prompt": blocks})
        turn = Turn(scenario, session, request_id, begin)
        self.transcript.turns.append(turn)
        return turn

    def finish(self, turn: Turn, seconds: float | None = None) -> Event | None:
        """Wait for a turn's answer, and for what follows it at once."""
        since = self.link.record.now
        turn.answer = self.answer_to(turn.request_id, seconds)
        turn.seconds = (turn.answer.at if turn.answer else self.link.record.now) - since
        if turn.answer is not None:
            # What a faulty agent sends too late, or again, is on its answer's heels.
            self.link.record.wait(QUIET_SECONDS, lambda: False)
        calls = self.provider.calls
        turn.called = not self.hooks.calls_provider or any(
            c.scenario is turn.scenario for c in calls
        )
        return turn.answer

    def healthy_turn(self, session: str) -> Turn:
        """A turn as it should be.

        Raises:
            UnreachedError: It failed, and nothing was said of a model for the agent to call.
        """
        turn = self.prompt(session, Scenario.HEALTHY)
        answer = self.finish(turn)
        if answer is not None and "error" in (answer.frame or {}):
            self._blame(turn)
        return turn

    def _blame(self, turn: Turn) -> None:
        if not self.hooks.can_play(turn.scenario):
            raise UnreachedError(
                "the agent's turn failed, as one without a model does; point it to the kit's "
                "provider (--preset, --provider-env)"
            )

    def wait_for_update(self, turn: Turn, seconds: float) -> bool:
        """Whether the turn shows something, or is heard of at the provider, while it is open."""
        found = self.find(
            lambda e: (
                (e.session == turn.session and e.kind in acp.SHOWN_KINDS)
                or (e.is_answer and same(e.frame or {}, turn.request_id))
            ),
            seconds,
        )
        return found is not None and not found.is_answer
