"""Checks of `initialize`, and of what an agent does with unknown or malformed input."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lastword.core.protocol import acp
from lastword.kit.check.checks.model import EVERY_ACT, Finding, check, failed, passed, warned
from lastword.kit.check.probes import JUNK, NO_METHOD, PLAIN_ID, TEXT_ID
from lastword.kit.check.stage import FUTURE_VERSION, UnreachedError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lastword.kit.check.stage import Transcript
    from lastword.kit.peer import PeerEvent

IN_FRONT = "`lastword run --` in front corrects it"


def _version(act: Transcript) -> object:
    return act.welcome.get("protocolVersion")


def _is_version(version: object, limit: int) -> bool:
    return type(version) is int and 0 <= version <= limit


@check(
    "initialize",
    "AGT-1",
    "initialize is answered with a version that the client asked for, or an older one",
    acts=("healthy",),
    partial=True,
    mend="No client can connect: answer initialize with an integer protocolVersion.",
)
def initialize(acts: Sequence[Transcript]) -> Finding:
    (act,) = acts
    answer = act.notes.get("initialized")
    if not act.welcome:
        return failed(str(act.notes.get("unreached", "there was no result")), answer)
    requested = act.notes["requested_version"]
    if not _is_version(_version(act), requested):
        return failed(f"asked for {requested}, got protocolVersion {_version(act)!r}", answer)
    return passed(f"protocolVersion {_version(act)}")


@check(
    "future-version",
    "AGT-2",
    "a client with an unknown version gets the agent's own latest version",
    acts=("future",),
    partial=True,
    mend="A newer client cannot connect: answer with the latest version that the agent supports.",
)
def future_version(acts: Sequence[Transcript]) -> Finding:
    (act,) = acts
    answer = act.notes.get("initialized")
    if not act.welcome:
        return failed(f"version {FUTURE_VERSION} was not answered with a result", answer)
    if not _is_version(_version(act), FUTURE_VERSION - 1):
        return failed(f"asked for {FUTURE_VERSION}, got protocolVersion {_version(act)!r}", answer)
    return passed(f"asked for {FUTURE_VERSION}, got {_version(act)}")


@check(
    "before-initialize",
    "AGT-3",
    "a request before initialize is answered, and initialize still works afterwards",
    acts=("early", "healthy"),
    partial=True,
    mend="An early client hangs or loses the agent: answer with an error, and keep running.",
)
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


@check(
    "ids",
    "AGT-4",
    "an answer carries the request's id, value and type: a text, 0",
    acts=EVERY_ACT,
    partial=True,
    mend="A client waits for ever for an answer with its own id.",
    in_front=IN_FRONT,
)
def ids(acts: Sequence[Transcript]) -> Finding:
    count = 0
    for act in acts:
        if act.name == "strangers" and act.answers(PLAIN_ID):
            requests = [e for e in act.events if e.sent and (e.frame or {}).get("id") == TEXT_ID]
            if requests and not act.answers(TEXT_ID):
                return failed(f"a request with the id {TEXT_ID!r} was not answered", *requests)
        # Sent by hand and so not recorded: the ids of lines in pieces, and of those that are long.
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


@check(
    "unknown-method",
    "AGT-5",
    "a request for an unknown method is answered with -32601",
    acts=("strangers",),
    mend="A client that tries a newer method hangs or misreads the answer: answer -32601.",
)
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


@check(
    "unknown-notification",
    "AGT-6",
    "an unknown notification is ignored",
    acts=("strangers",),
    mend="A client gets unexpected answers, or loses the agent: ignore messages without an id.",
)
def unknown_notification(acts: Sequence[Transcript]) -> Finding:
    (act,) = acts
    life = act.notes.get("life")
    for event in act.notes.get("after_notifications", ()):
        if event.is_answer and not event.answers(life):
            return failed("a notification was answered", event)
    if not act.notes.get("alive"):
        return failed("after unknown notifications, session/new was not answered")
    return passed()


@check(
    "bad-params",
    "AGT-7",
    "a request with bad params is answered with an error, and the agent keeps running",
    acts=("params",),
    mend="A client's mistake becomes a hang: validate params, and answer -32602.",
)
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


@check(
    "framing",
    "AGT-8",
    "lines are read however they arrive: in pieces, two at once, with CR LF, of 1 MiB",
    acts=("framing",),
    mend="Requests get lost in the pipe: split the input at line feeds, not at reads.",
)
def framing(acts: Sequence[Transcript]) -> Finding:
    (act,) = acts
    for what, answered in act.notes.get("answered", {}).items():
        if not answered:
            return failed(f"{what} was not answered")
    return passed()


def _judge_junk(what: str) -> Callable[[Sequence[Transcript]], Finding]:
    def judge(acts: Sequence[Transcript]) -> Finding:
        (act,) = acts
        if not act.notes.get("alive"):
            line = act.notes["deadly"].decode("utf-8", "backslashreplace")
            end = "session/new was not answered"
            if act.exit_code is not None:
                end = f"it exited with status {act.exit_code}"
            return failed(f"after {what}, {line!r}: {end}", *act.events[-2:])
        return passed()

    return judge


_JUNK_WORDS = {
    "text": "a line that is not JSON",
    "scalars": "a JSON scalar or array",
    "blank": "a blank line",
    "utf8": "a line that is not UTF-8",
}

for _kind in JUNK:
    check(
        f"junk-{_kind}",
        "AGT-9",
        f"{_JUNK_WORDS[_kind]} on stdin does not stop the agent",
        acts=(f"junk:{_kind}",),
        mend="One bad line ends the connection for good: skip what is not a message.",
        in_front=IN_FRONT,
    )(_judge_junk(_JUNK_WORDS[_kind]))
