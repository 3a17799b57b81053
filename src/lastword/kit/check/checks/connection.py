"""Checks of a connection: `initialize`, odd input, every line and its schema, and the process.

They cover unknown and malformed input; the agent's output in every act; and its exit, the
processes that it leaves behind, and its stderr.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from lastword.core.protocol import acp
from lastword.kit.check.checks.model import (
    Finding,
    failed,
    judges,
    passed,
    payload_in_answer,
    warned,
)
from lastword.kit.check.probes import JUNK, NO_METHOD, PLAIN_ID, TEXT_ID
from lastword.kit.check.schema import Departure, Weight, official
from lastword.kit.check.stage import FUTURE_VERSION, UnreachedError
from lastword.kit.peer import read
from lastword.kit.provider.server import API_KEY

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lastword.kit.check.schema import OfficialSchema
    from lastword.kit.check.stage import Transcript
    from lastword.kit.peer import PeerEvent


def _version(act: Transcript) -> object:
    return act.welcome.get("protocolVersion")


def _is_version(version: object, limit: int) -> bool:
    return type(version) is int and 0 <= version <= limit


@judges("initialize")
def initialize(acts: Sequence[Transcript]) -> Finding:
    (act,) = acts
    answer = act.notes.get("initialized")
    if not act.welcome:
        return failed(str(act.notes.get("unreached", "there was no result")), answer)
    requested = act.notes["requested_version"]
    if not _is_version(_version(act), requested):
        return failed(f"asked for {requested}, got protocolVersion {_version(act)!r}", answer)
    return passed(f"protocolVersion {_version(act)}")


@judges("future-version")
def future_version(acts: Sequence[Transcript]) -> Finding:
    (act,) = acts
    answer = act.notes.get("initialized")
    if not act.welcome:
        return failed(f"version {FUTURE_VERSION} was not answered with a result", answer)
    if not _is_version(_version(act), FUTURE_VERSION - 1):
        return failed(f"asked for {FUTURE_VERSION}, got protocolVersion {_version(act)!r}", answer)
    return passed(f"asked for {FUTURE_VERSION}, got {_version(act)}")


@judges("before-initialize")
def before_initialize(acts: Sequence[Transcript]) -> Finding:
    act, usual = acts
    if not usual.welcome:
        raise UnreachedError("initialize does not work without an early request either")
    early = act.notes.get("early")
    if early is None:
        return failed("session/new before initialize was not answered")
    if not act.notes.get("alive"):
        return failed("initialize did not work after an early session/new", early)
    return passed("answered with " + ("an error" if "error" in early.frame else "a result"))


@judges("ids")
def ids(acts: Sequence[Transcript]) -> Finding:
    count = 0
    for act in acts:
        if act.name == "strangers" and act.answers(PLAIN_ID):
            requests = [e for e in act.events if e.sent and (e.frame or {}).get("id") == TEXT_ID]
            if requests and not act.answers(TEXT_ID):
                return failed(f"a request with the id {TEXT_ID!r} was not answered", *requests)
        # The act `framing` sends some lines that are not recorded, so their ids are unknown.
        sent = {repr(e.frame["id"]) for e in act.events if e.sent and e.frame and "id" in e.frame}
        for event in act.events if act.name != "framing" else ():
            given = (event.frame or {}).get("id")
            if not event.is_answer or given is None:
                continue
            count += 1
            if repr(given) not in sent:
                return failed(f"an answer has the id {given!r}, which no request had", event)
    if not count:
        raise UnreachedError("no answer was observed")
    return passed(f"{count} answers")


@judges("unknown-method")
def unknown_method(acts: Sequence[Transcript]) -> Finding:
    (act,) = acts
    answers = act.answers(PLAIN_ID)
    if not answers:
        return failed(f"{NO_METHOD} was not answered")
    error = (answers[0].frame or {}).get("error")
    code = error.get("code") if isinstance(error, dict) else None
    if code != acp.METHOD_NOT_FOUND:
        return failed(f"answered with code {code!r}", answers[0])
    return passed()


@judges("unknown-notification")
def unknown_notification(acts: Sequence[Transcript]) -> Finding:
    (act,) = acts
    life = act.notes.get("life")
    for event in act.notes.get("after_notifications", ()):
        if event.is_answer and not event.answers(life):
            return failed("a notification was answered", event)
    if not act.notes.get("alive"):
        return failed("after unknown notifications, session/new was not answered")
    return passed()


@judges("bad-params")
def bad_params(acts: Sequence[Transcript]) -> Finding:
    (act,) = acts
    answers: dict[str, PeerEvent | None] = act.notes.get("bad_params", {})
    for what, answer in answers.items():
        if answer is None:
            return failed(f"{what} was not answered")
    if not act.notes.get("alive"):
        return failed("after bad params, session/new was not answered")
    for what, answer in answers.items():
        if answer is not None and "result" in (answer.frame or {}):
            return warned(f"{what} was answered as if nothing were wrong", answer)
    return passed(f"{len(answers)} mistakes, each answered with an error")


@judges("framing")
def framing(acts: Sequence[Transcript]) -> Finding:
    (act,) = acts
    for what, answered in act.notes.get("answered", {}).items():
        if not answered:
            return failed(f"{what} was not answered")
    return passed()


_JUNK_WORDS = {
    "junk:text": "a line that is not JSON",
    "junk:scalars": "a JSON scalar or array",
    "junk:blank": "a blank line",
    "junk:utf8": "a line that is not UTF-8",
}


@judges(*(f"junk-{kind}" for kind in JUNK))
def junk(acts: Sequence[Transcript]) -> Finding:
    (act,) = acts
    if act.notes.get("alive"):
        return passed()
    line = act.notes["deadly"].decode("utf-8", "backslashreplace")
    end = "session/new was not answered"
    if act.exit_code is not None:
        end = f"it exited with status {act.exit_code}"
    return failed(f"after {_JUNK_WORDS[act.name]}, {line!r}: {end}", *act.events[-2:])


def _counted(count: int, what: str) -> Finding:
    if not count:
        raise UnreachedError(f"no {what} was observed")
    return passed(f"{count} {what}s")


def _received(acts: Sequence[Transcript]) -> Iterator[tuple[Transcript, PeerEvent]]:
    for act in acts:
        for event in act.events:
            if not event.sent:
                yield act, event


@judges("stdout")
def stdout(acts: Sequence[Transcript]) -> Finding:
    count = 0
    for act, event in _received(acts):
        count += 1
        if event.problem and not _answers_an_array(act, event):
            return failed(f"a line on stdout: {event.problem} (act {act.name})", event)
    return _counted(count, "line")


def _answers_an_array(act: Transcript, event: PeerEvent) -> bool:
    """Return whether a line is a batch of errors without ids, the answer to an array of values."""
    sent_array = any(e.sent and e.raw.startswith(b"[") and e.at <= event.at for e in act.events)
    if not sent_array or not event.raw.lstrip().startswith(b"["):
        return False
    try:
        members = json.loads(event.raw)
    except ValueError:
        return False
    for member in members:
        error, problem = read(json.dumps(member).encode())
        if problem or error is None or error.get("id", ...) is not None or "error" not in error:
            return False
    return bool(members)


@judges("error-shape")
def error_shape(acts: Sequence[Transcript]) -> Finding:
    count = 0
    for act, event in _received(acts):
        if not event.is_answer or event.frame is None or "error" not in event.frame:
            continue
        count += 1
        error = event.frame["error"]
        wrong = ""
        if not isinstance(error, dict):
            wrong = "value is not an object"
        elif type(error.get("code")) is not int:
            wrong = f"code is {error.get('code')!r}"
        elif not isinstance(error.get("message"), str) or not error["message"].strip():
            wrong = f"message is {error.get('message')!r}"
        elif error.get("data", ...) is None and event.frame.get("id") is not None:
            # Without an id, no client waits for this error.
            wrong = "data is null"
        if wrong:
            return failed(f"an error's {wrong} (act {act.name})", event)
    return _counted(count, "error")


@judges("one-answer")
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
"""Acts in which every prompt has to be answered; the others have their own checks."""


@judges("secrets")
def secrets(acts: Sequence[Transcript]) -> Finding:
    key, count = API_KEY.encode(), 0
    for act, event in _received(acts):
        count += 1
        if key in event.raw:
            return failed(f"the key is in a frame (act {act.name})", event)
    for act in acts:
        if key in act.stderr_tail:
            return failed(f"the key is on stderr (act {act.name})")
    return _counted(count, "line")


_OWN = acp.AGENT_ERROR_KINDS | acp.AGENT_RETRY_KINDS


@judges("schema")
def keeps_schema(acts: Sequence[Transcript]) -> Finding:
    count = 0
    slight: tuple[Departure, Transcript, PeerEvent] | None = None
    source = ""
    for act in acts:
        if act.name == "optional":
            continue  # methods that are not advertised have their own check
        version = act.welcome.get("protocolVersion", acp.V1.version)
        if version not in {acp.V1.version, acp.V2.version}:
            continue  # it has no schema; the check `initialize` refuses it
        schema = official(version)
        for event, name, value in _validated(act, schema):
            count += 1
            wrong = _worst(schema.departures(name, value))
            if wrong is None:
                continue
            source = schema.source
            if wrong.weight is Weight.WRONG:
                return failed(f"{wrong} ({name}; {source}; act {act.name})", event)
            if slight is None or wrong.weight > slight[0].weight:
                slight = wrong, act, event
    if slight is not None:
        wrong, act, event = slight
        return warned(f"{wrong} ({source}; act {act.name})", event)
    if not count:
        raise UnreachedError("no message that the schema knows was seen")
    return passed(f"{count} messages")


def _validated(act: Transcript, schema: OfficialSchema) -> Iterator[tuple[PeerEvent, str, object]]:
    """Yield the values that the schema defines: the line, the definition's name, the value."""
    methods: dict[str, object] = {}
    for event in act.events:
        frame = event.frame or {}
        method = frame.get("method")
        if event.sent:
            if "id" in frame and method:
                methods[repr(frame["id"])] = method
        elif isinstance(method, str):
            update = event.kind in _OWN or event.kind in schema.unstable_updates
            if method in schema.calls and not update:
                yield event, schema.calls[method], frame.get("params")
        elif "result" in frame:
            name = schema.answers.get(str(methods.get(repr(frame.get("id")))))
            # The specification's own example answers session/load with null.
            is_example = name == "LoadSessionResponse" and frame["result"] is None
            if name is not None and not is_example and payload_in_answer(event) is None:
                yield event, name, frame["result"]


def worst(schema: OfficialSchema, method: str, result: object) -> Departure | None:
    """Return the gravest departure of a method's result, `None` without one."""
    name = schema.answers.get(method)
    return _worst(schema.departures(name, result)) if name else None


def _worst(departures: Sequence[Departure]) -> Departure | None:
    return max(departures, key=lambda departure: departure.weight, default=None)


MUCH_STDERR_BYTES = 1 << 20
_UNSEEN = "it was not seen to exit by itself"


@judges("exit", "exit-in-turn")
def exits(acts: Sequence[Transcript]) -> Finding:
    (act,) = acts
    if "left" not in act.notes:
        raise UnreachedError(str(act.notes.get("unreached", "its stdin was not closed")))
    if act.exit_seconds is None:
        return failed("it ran on after its stdin had ended")
    return passed(f"after {act.exit_seconds:.1f} s")


@judges("exit-status")
def exit_status(acts: Sequence[Transcript]) -> Finding:
    (act,) = acts
    if act.exit_seconds is None:
        raise UnreachedError(_UNSEEN)
    return passed() if act.exit_code == 0 else warned(f"exit status {act.exit_code}")


@judges("nothing-left")
def nothing_left(acts: Sequence[Transcript]) -> Finding:
    gone = [act for act in acts if act.exit_seconds is not None]
    if not gone:
        raise UnreachedError(_UNSEEN)
    for act in gone:
        if act.leftovers:
            return failed(f"left behind (act {act.name}): {act.leftovers[0][:120]}")
    return passed()


@judges("unread-stderr")
def unread_stderr(acts: Sequence[Transcript]) -> Finding:
    read, act = acts
    reason = str(read.notes.get("unreached", ""))
    if reason or any(turn.answer is None for turn in read.turns):
        raise UnreachedError(reason or "its turns do not end where stderr is read either")
    reason = str(act.notes.get("unreached", ""))
    if not act.notes.get("alive"):
        return failed(reason or "session/new was not answered while stderr was full")
    if any(turn.answer is None for turn in act.turns):
        return failed("a turn did not end while stderr was full")
    return passed(f"{len(act.turns)} turns")


@judges("stderr-amount")
def stderr_amount(acts: Sequence[Transcript]) -> Finding:
    most = max(acts, key=lambda act: act.stderr_bytes)
    evidence = f"at most {most.stderr_bytes} bytes (act {most.name})"
    if most.stderr_bytes > MUCH_STDERR_BYTES:
        return warned(evidence)
    if not any(act.turns for act in acts):
        raise UnreachedError("no turn was observed")
    return passed(evidence)
