"""Codes that answer one question: what they stand for, and what they may answer.

Owns the choices of a question, by their places, and the answer to the agent for one of them. The
front signs and reads codes (`front.tokens`); the holder that asked has the question.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from lastword.core.link.waits import stands_for
from lastword.core.protocol import acp, jsonrpc
from lastword.core.protocol.tolerant import object_of

if TYPE_CHECKING:
    from collections.abc import Iterator

VIEWER = "notification"
"""The viewer that answers by a code, in a session's log."""


class AnswerCode(msgspec.Struct, frozen=True, array_like=True):
    """What a code is for.

    Attributes:
        session: the session.
        run: the run of the holder that has the question: no later one has.
        question: the question's number.
        option: the place of the chosen option among those of the question.
        expires: in seconds since 1970 UTC.
        kind: the option's kind, which the page for one answer reads to say what is sent.
    """

    session: str
    run: str
    question: int
    option: int
    expires: int
    kind: str = ""


class Choice(msgspec.Struct, frozen=True):
    """An option of a question.

    Attributes:
        place: its place among them, from 0.
        option_id: the agent's id of it.
        kind: such as `allow_once`.
        name: the agent's name of it, which is content.
    """

    place: int
    option_id: str
    kind: str
    name: str


def choices_of(question: bytes) -> Iterator[Choice]:
    """Return the options of a permission, as far as they can be chosen."""
    params = object_of(object_of(jsonrpc.loads(question)).get("params"))
    options = params.get("options")
    for place, option in enumerate(options if isinstance(options, list) else ()):
        members = object_of(option)
        option_id, kind, name = (members.get(each) for each in ("optionId", "kind", "name"))
        if isinstance(option_id, str) and isinstance(kind, str):
            yield Choice(place, option_id, kind, name if isinstance(name, str) else "")


def title_of(question: bytes) -> str:
    """Return what a question is about, which is content."""
    params = object_of(object_of(jsonrpc.loads(question)).get("params"))
    title = object_of(params.get("toolCall")).get("title") or params.get("message")
    return title if isinstance(title, str) else ""


def answer_to(method: str, question: bytes, place: int) -> bytes | None:
    """Return the answer to the agent for one option; `None` if the question has it not.

    Where the option's id is also that of an option of another kind, the question is cancelled.
    """
    if method != acp.PERMISSION:
        return None
    chosen = next((each for each in choices_of(question) if each.place == place), None)
    if chosen is None:
        return None
    outcome: dict[str, Any] = {"outcome": "selected", "optionId": chosen.option_id}
    options = object_of(object_of(jsonrpc.loads(question)).get("params")).get("options")
    if not stands_for(options, chosen.option_id, chosen.kind):
        outcome = {"outcome": acp.CANCELLED}
    return jsonrpc.result(b"0", {"outcome": outcome})
