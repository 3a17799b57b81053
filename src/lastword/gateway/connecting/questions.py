"""The agent's questions that are open in the editor, and answers that may have to be repeated.

Owns the rule that a question is shown once, whatever the gateway repeats over a new link. Its id
is the gateway's, the same over every link.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lastword.gateway.connecting.effects import ConnectEffect, ToEditor, ToGateway
from lastword.gateway.connecting.positions import Item

if TYPE_CHECKING:
    from lastword.core.protocol.jsonrpc import Frame
    from lastword.gateway.connecting.positions import Items

MAX_ANSWERS = 256
"""Answers that are said again over the next link."""


class Questions:
    """The questions in one editor."""

    def __init__(self, items: Items) -> None:
        self._items = items
        self._open: dict[bytes, str | None] = {}

    def receive(self, frame: Frame, line: bytes, question: bytes) -> list[ConnectEffect]:
        """Take in a question: the editor has seen it, has answered it, or is shown it now."""
        answer = self._answer_to(question)
        if answer is not None:
            return [ToGateway(answer.line)]
        if question in self._open:
            return []
        self._open[question] = frame.message.session_id
        return [ToEditor(line)]

    def answered(self, frame: Frame) -> bool:
        """Take in the editor's answer; return whether it answers a question."""
        question = frame.message.request_id or b""
        if question not in self._open:
            return False
        session_id = self._open.pop(question)
        repeated = [item for item in self._items if item.answers is not None and item.was_sent]
        if len(repeated) >= MAX_ANSWERS:
            self._items.done(repeated[0])
        number = self._items.next_number()
        self._items.add(Item(number, frame.line, session_id=session_id, answers=question))
        return True

    def withdrawn(self, line: bytes, question: bytes) -> list[ConnectEffect]:
        """Note that the question needs no answer any more."""
        answer = self._answer_to(question)
        if answer is not None:
            self._items.done(answer)
        if question not in self._open:
            return []
        del self._open[question]
        return [ToEditor(line)]

    def _answer_to(self, question: bytes) -> Item | None:
        return next((item for item in self._items if item.answers == question), None)
