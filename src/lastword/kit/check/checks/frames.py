"""Checks of every line that an agent writes, in any act."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from lastword.kit.check.checks.connection import IN_FRONT
from lastword.kit.check.checks.model import EVERY_ACT, Finding, check, failed, passed
from lastword.kit.check.stage import UnreachedError
from lastword.kit.peer import read
from lastword.kit.provider.server import API_KEY

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lastword.kit.check.stage import Transcript
    from lastword.kit.peer import PeerEvent


def _counted(count: int, what: str) -> Finding:
    if not count:
        raise UnreachedError(f"no {what} was observed")
    return passed(f"{count} {what}s")


def _received(acts: Sequence[Transcript]) -> Iterator[tuple[Transcript, PeerEvent]]:
    for act in acts:
        for event in act.events:
            if not event.sent:
                yield act, event


@check(
    "stdout",
    "AGT-10",
    "stdout carries nothing but JSON-RPC 2.0 messages, one a line, in UTF-8",
    acts=EVERY_ACT,
    partial=True,
    mend="Strict clients close the connection at such a line; write to stderr.",
    in_front=IN_FRONT,
)
def stdout(acts: Sequence[Transcript]) -> Finding:
    count = 0
    for act, event in _received(acts):
        count += 1
        if event.problem and not _answers_an_array(act, event):
            return failed(f"a line on stdout: {event.problem} (act {act.name})", event)
    return _counted(count, "line")


def _answers_an_array(act: Transcript, event: PeerEvent) -> bool:
    """Return whether it is a batch of errors, the answer to an array without a message."""
    sent_array = any(e.sent and e.raw.startswith(b"[") and e.at <= event.at for e in act.events)
    if not sent_array or not event.raw.lstrip().startswith(b"["):
        return False
    try:
        members = json.loads(event.raw)
    except ValueError:
        return False
    return bool(members) and all(_refuses_nobody(member) for member in members)


def _refuses_nobody(member: object) -> bool:
    """Return whether it is the answer to a request without a readable id."""
    error, problem = read(json.dumps(member).encode())
    return not problem and error is not None and error.get("id", ...) is None and "error" in error


@check(
    "error-shape",
    "AGT-11",
    "an error has an integer code, a message, and data that is not null",
    acts=EVERY_ACT,
    partial=True,
    mend="Some clients hang or crash on another shape: leave data out, say something.",
    in_front=IN_FRONT,
)
def error_shape(acts: Sequence[Transcript]) -> Finding:
    count = 0
    for act, event in _received(acts):
        if not event.is_answer or event.frame is None or "error" not in event.frame:
            continue
        count += 1
        wrong = _wrong_with(event.frame["error"], to_nobody=event.frame.get("id") is None)
        if wrong:
            return failed(f"an error's {wrong} (act {act.name})", event)
    return _counted(count, "error")


def _wrong_with(error: object, *, to_nobody: bool) -> str:
    """Return what is wrong with an error; `data` may be null where no request waits for it."""
    if not isinstance(error, dict):
        return "value is not an object"
    if type(error.get("code")) is not int:
        return f"code is {error.get('code')!r}"
    if not isinstance(error.get("message"), str) or not error["message"].strip():
        return f"message is {error.get('message')!r}"
    if "data" in error and error["data"] is None and not to_nobody:
        return "data is null"
    return ""


@check(
    "one-answer",
    "G1",
    "every request, every prompt above all, is answered exactly once",
    acts=EVERY_ACT,
    partial=True,
    mend="A second answer is taken for another request's by some clients.",
    in_front=IN_FRONT,
)
def one_answer(acts: Sequence[Transcript]) -> Finding:
    count = 0
    for act in acts:
        for event in act.events:
            if not event.sent or event.frame is None or "method" not in event.frame:
                continue
            if "id" not in event.frame:
                continue
            answers = act.answers(event.frame["id"])
            count += bool(answers)
            if len(answers) > 1:
                what = f"{event.frame['method']} was answered {len(answers)} times"
                return failed(f"{what} (act {act.name})", *answers[:3])
        unanswered = [t for t in act.turns if t.answer is None and act.name in _MUST_ANSWER]
        if unanswered:
            return failed(f"session/prompt was not answered (act {act.name})")
    return _counted(count, "answered request")


_MUST_ANSWER = {"healthy", "sessions", "tool"}
"""Acts in which nothing stands in the way of an answer; the others have checks of their own."""


@check(
    "secrets",
    "AGT-12",
    "the provider's key is in no frame, and not on stderr",
    acts=EVERY_ACT,
    partial=True,
    mend="The user's key ends up in chats, logs and bug reports: redact what a provider echoes.",
)
def secrets(acts: Sequence[Transcript]) -> Finding:
    key = API_KEY.encode()
    for act in acts:
        for event in act.events:
            if not event.sent and key in event.raw:
                return failed(f"the key is in a frame (act {act.name})", event)
        if key in act.stderr_tail:
            return failed(f"the key is on stderr (act {act.name})")
    return passed()
