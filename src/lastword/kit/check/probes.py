"""Probes: acts that give the checks something to judge, each played with a fresh process.

Owns the acts, by name. An act only plays and records; the checks (`checks`) judge it, and several
may look at the same act.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lastword.core.protocol import acp
from lastword.kit.check.stage import (
    FUTURE_VERSION,
    QUIET_SECONDS,
    Conversation,
    NotApplicableError,
    Transcript,
    UnreachedError,
    capabilities,
)
from lastword.kit.provider.server import ProviderScenario
from lastword.platform.signals import SIGKILL

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from lastword.kit.check.hooks import Hooks
    from lastword.kit.check.stage import ObservedTurn, WaitLimits
    from lastword.kit.peer import Frame, PeerEvent, StrictClient


LIST = "session/list"
DELETE = "session/delete"
LARGE_IDS = (2**31, 2**32 + 7, 2**53 - 1)
"""Ids over 32 bits, up to the largest that every JSON reader represents exactly."""

BURST = 4
MAX_PAGES = 50
PROBE_SECONDS = 10.0
"""How long an initialized agent may take for an answer that needs no model."""

_CAPABILITIES = {
    LIST: "list",
    acp.LOAD: "load",
    acp.RESUME: "resume",
    acp.CLOSE: "close",
    DELETE: "delete",
}
OPTIONAL = tuple(_CAPABILITIES)
"""Methods that an agent must advertise if it has them."""

NO_METHOD = "session/no_such_method"
"""Without the `_` of an extension, since an agent may accept every extension."""
PLAIN_ID = 7
TEXT_ID = "a text"
LONG_BYTES = 1 << 20
PAUSE_SECONDS = 0.05

NEGOTIATED: dict[str, Any] = {"_meta": {"agent_error": {"version": 1}}}
CONSENTING: dict[str, Any] = {
    "_meta": {"agent_error": {"version": 1, "stop_reason": True, "retry": True}}
}
MALFORMED: dict[str, Any] = {"_meta": {"agent_error": {"version": "1"}}}

LASTING_SECONDS = 1.0
"""A turn that takes this long can be disturbed well before its end."""

SETTLE_SECONDS = 0.25
"""An agent may die a little later, and still answer in between."""

JUNK: dict[str, tuple[bytes, ...]] = {
    "text": (b"Hello, are you there?\n",),
    "scalars": (b"42\n", b'"text"\n', b"null\n", b"[1, 2]\n", b"[]\n"),
    "blank": (b"\n", b"   \n", b"\r\n"),
    "utf8": (b'{"jsonrpc":"2.0","method":"_lastword/bytes","params":{"text":"\xff\xfe"}}\n',),
}
"""Lines that are not messages, by kind; they are sent one at a time, to know which one kills."""

FRAMINGS = (
    "a line that comes in pieces",
    "two lines that come at once",
    "a line that ends in CR LF",
    "a line of 1 MiB",
)
"""The ways in which requests are written, in the words of a finding."""

FAILURES = (
    ProviderScenario.UNAUTHORIZED,
    ProviderScenario.RATE_LIMITED,
    ProviderScenario.BAD_GATEWAY,
    ProviderScenario.CONTEXT_OVERFLOW,
    ProviderScenario.CUT,
    ProviderScenario.CUT_IN_TOOL,
    ProviderScenario.EMPTY,
)


def advertises(welcome: Frame, method: str) -> bool:
    """Return whether an agent's answer to `initialize` advertises a method."""
    own = capabilities(welcome)
    if acp.dialect(welcome.get("protocolVersion")) is acp.V2:
        sessions = own.get("session")
        if method == DELETE:
            return isinstance(sessions, dict) and sessions.get("delete") is not None
        return method != acp.LOAD and sessions is not None  # the rest comes with sessions
    if method == acp.LOAD:
        return own.get("loadSession") is True
    sessions = own.get("sessionCapabilities")
    return isinstance(sessions, dict) and sessions.get(_CAPABILITIES[method]) is not None


def _need_method(talk: Conversation, method: str) -> None:
    if not advertises(talk.transcript.welcome, method):
        raise NotApplicableError(f"it does not advertise {method}")


def _note_answer(
    talk: Conversation, method: str, params: Frame, seconds: float | None = None
) -> Any:
    """Send a request, and note its answer by the method's name; return the result, if any."""
    request_id = talk.peer.request(method, params)
    answer = talk.answer_to(request_id, seconds)
    talk.transcript.notes[method] = answer
    return (answer.frame or {}).get("result") if answer else None


def _session_params(talk: Conversation, method: str, session: str) -> Frame:
    if method == LIST:
        return {}
    if method in {acp.CLOSE, DELETE}:
        return {"sessionId": session}
    return {"sessionId": session, "cwd": str(talk.cwd), "mcpServers": []}


def _optional(talk: Conversation) -> None:
    talk.initialize()
    try:
        session = talk.new_session()
    except UnreachedError:
        session = "no-such-session"  # these methods should be refused anyway
    for method in OPTIONAL:
        if advertises(talk.transcript.welcome, method):
            continue
        _note_answer(talk, method, _session_params(talk, method, session), PROBE_SECONDS)
        if talk.transcript.notes[method] is None:
            break  # one that hangs is enough


def _large_ids(talk: Conversation) -> None:
    talk.initialize()
    params = {"cwd": str(talk.cwd), "mcpServers": []}
    for request_id in LARGE_IDS:
        talk.peer.request("session/new", params, request_id)
        if talk.answer_to(request_id, PROBE_SECONDS) is None:
            break


def _burst(talk: Conversation) -> None:
    talk.initialize()
    ids = [f"burst-{number}" for number in range(BURST)]
    params = {"cwd": str(talk.cwd), "mcpServers": []}
    message = {"jsonrpc": "2.0", "method": "session/new", "params": params}
    lines = [json.dumps(message | {"id": request_id}).encode() for request_id in ids]
    talk.peer.send_bytes(b"".join(line + b"\n" for line in lines))
    answers = [talk.answer_to(request_id) for request_id in ids]
    talk.transcript.notes["burst"] = answers
    results = [(answer.frame or {}).get("result") for answer in answers if answer]
    given = [result.get("sessionId") for result in results if isinstance(result, dict)]
    opened = [session for session in given if isinstance(session, str)]
    if not opened:
        talk.new_session()  # says why there is none
    talk.transcript.notes["opened"] = opened
    if len(set(opened)) < BURST:
        return
    for session in opened:
        turn = talk.prompt(session, ProviderScenario.HEALTHY)
        talk.finish(turn)
        if turn.failed and session == opened[0] and not talk.hooks.can_play(turn.scenario):
            return  # as those without a model do


def _list(talk: Conversation) -> None:
    talk.initialize()
    _need_method(talk, LIST)
    session = talk.new_session()
    talk.finish(talk.prompt(session, ProviderScenario.HEALTHY))
    talk.transcript.notes["session"] = session
    listed: list[object] = []
    params: Frame = {}
    for _ in range(MAX_PAGES):
        result = _note_answer(talk, LIST, params)
        if not isinstance(result, dict) or not isinstance(result.get("sessions"), list):
            return
        listed += [each.get("sessionId") for each in result["sessions"] if isinstance(each, dict)]
        talk.transcript.notes["listed"] = listed
        if not isinstance(result.get("nextCursor"), str) or session in listed:
            return
        params = {"cursor": result["nextCursor"]}


def _returning(method: str) -> Callable[[Conversation], None]:
    """Return the act in which a second process of the agent brings a session back."""

    def act(talk: Conversation) -> None:
        talk.initialize()
        _need_method(talk, method)
        session = talk.new_session()
        turn = talk.prompt(session, ProviderScenario.HEALTHY)
        talk.finish(turn)
        notes = talk.transcript.notes
        notes["shown"] = not turn.failed and bool(_of(talk, session, 0))
        talk.restart()
        talk.initialize()
        begin = len(talk.peer.events)
        result = _note_answer(talk, method, _session_params(talk, method, session))
        if notes[method] is None or "error" in (notes[method].frame or {}):
            return
        notes["result"] = result
        talk.wait(0.3)
        at = talk.peer.events.index(notes[method])
        notes["replayed"] = _of(talk, session, begin, at)
        notes["replayed_late"] = _of(talk, session, at)
        if notes["shown"]:
            talk.finish(talk.prompt(session, ProviderScenario.HEALTHY))

    return act


def _of(talk: Conversation, session: str, since: int, until: int | None = None) -> list[PeerEvent]:
    """Return the shown updates of a session."""
    events = talk.peer.events[since:until]
    return [e for e in events if e.session == session and e.kind in acp.TEXT_KINDS | acp.TOOL_KINDS]


def _close(talk: Conversation) -> None:
    talk.initialize()
    _need_method(talk, acp.CLOSE)
    session = talk.new_session()
    turn = None
    if talk.hooks.can_play(ProviderScenario.HANG_AFTER_TEXT):
        turn = talk.prompt(session, ProviderScenario.HANG_AFTER_TEXT)
        turn.cancelled = talk.wait_for_update(turn, talk.limits.answer_seconds)
    _note_answer(talk, acp.CLOSE, {"sessionId": session})
    if turn is not None and turn.cancelled:
        talk.transcript.notes["closed_turn"] = turn
        talk.finish(turn, PROBE_SECONDS)
    talk.transcript.notes["again"] = talk.answer_to(talk.request_session())


def _begin(talk: Conversation, session: str) -> ObservedTurn:
    return talk.prompt(session, ProviderScenario.HEALTHY_TOOL, talk.hooks.permission_prompt)


def _begin_question(talk: Conversation, session: str) -> ObservedTurn:
    """Begin a turn, and wait for its permission request.

    Raises:
        UnreachedError: It sends none.
    """
    turn = _begin(talk, session)
    if not talk.wait_for_question(turn, talk.limits.answer_seconds):
        raise UnreachedError(
            "the agent requested no permission; give it a prompt for which it does (--prompt)"
        )
    return turn


def _cancel_in_question(talk: Conversation) -> None:
    talk.initialize()
    talk.peer.ponders = True
    session = talk.new_session()
    turn = _begin_question(talk, session)
    talk.cancel(turn)
    talk.peer.leave_dialogs()
    if talk.finish(turn) is not None:
        talk.finish(talk.prompt(session, ProviderScenario.HEALTHY))


def _two_questions(talk: Conversation) -> None:
    talk.initialize()
    talk.peer.ponders = True
    one, other = talk.new_session(), talk.new_session()
    if one == other:
        raise UnreachedError("both sessions have the same id")
    first, second = _begin_question(talk, one), _begin(talk, other)
    at_once = talk.wait_for_question(second, talk.limits.answer_seconds)
    talk.transcript.notes["at_once"] = at_once
    talk.wait(QUIET_SECONDS)  # a turn may ask for more than one permission
    for turn in (second, first) if at_once else (first, second):
        talk.peer.allow_dialogs(turn.session)
        talk.finish(turn)


@dataclass(frozen=True, slots=True)
class Played:
    """A finished act.

    Attributes:
        transcript: What was observed, even if the act was not completed.
        unreached: Why it was not completed.
        not_applicable: Why it does not apply.
    """

    transcript: Transcript
    unreached: str = ""
    not_applicable: str = ""

    @property
    def is_complete(self) -> bool:
        return not self.unreached and not self.not_applicable


def play(
    name: str,
    command: Sequence[str],
    hooks: Hooks,
    limits: WaitLimits,
    *,
    started: Callable[[StrictClient], None],
) -> Played:
    """Play an act.

    Args:
        name: The act's name.
        command: The agent's command.
        hooks: How the agent is driven.
        limits: The timeouts.
        started: Called with the agent's peer, so that a run that is cancelled can kill it.
    """
    talk = Conversation(name, command, hooks, limits, started)
    try:
        with talk:
            ACTS[name](talk)
    except UnreachedError as error:
        talk.transcript.notes["unreached"] = str(error)
        return Played(talk.transcript, unreached=str(error))
    except NotApplicableError as error:
        return Played(talk.transcript, not_applicable=str(error))
    return Played(talk.transcript)


def _healthy(talk: Conversation) -> None:
    talk.initialize()
    try:
        session = talk.new_session()
        talk.healthy_turn(session)
        talk.peer.cancel(session)
        talk.healthy_turn(session)
    except UnreachedError:
        # Its exit can still be observed.
        if talk.peer.exit_code is None:
            talk.leave()
        raise
    talk.leave()


def _tool(talk: Conversation) -> None:
    _need(talk, ProviderScenario.HEALTHY_TOOL)
    talk.initialize()
    talk.finish(talk.prompt(talk.new_session(), ProviderScenario.HEALTHY_TOOL))


def _strangers(talk: Conversation) -> None:
    talk.initialize()
    talk.answer_to(talk.peer.request(NO_METHOD, {}, PLAIN_ID), PROBE_SECONDS)
    begin = len(talk.peer.events)
    talk.peer.send(method="_lastword/no_such_notification", params={})
    talk.peer.send(method="$/lastword_no_such_notification", params={})
    _note_life(talk)
    talk.transcript.notes["after_notifications"] = talk.peer.events[begin:]
    # Last, since an agent that only accepts numbers may crash.
    talk.answer_to(talk.peer.request(NO_METHOD, {}, TEXT_ID), PROBE_SECONDS)


def _params(talk: Conversation) -> None:
    talk.initialize()
    try:
        session = talk.new_session()
    except UnreachedError:
        session = ""  # only one of the requests needs one
    block = [{"type": "text", "text": talk.hooks.prompt}]
    bad: dict[str, tuple[str, object]] = {
        "session/new without a cwd": ("session/new", {}),
        "session/new whose params are text": ("session/new", "text"),
        "a prompt that is not a list": ("session/prompt", {"sessionId": session, "prompt": 7}),
        "a prompt to no session": ("session/prompt", {"sessionId": "no-such", "prompt": block}),
    }
    if not session:
        del bad["a prompt that is not a list"]
    answers: dict[str, PeerEvent | None] = {}
    for what, (method, params) in bad.items():
        begin = len(talk.peer.events)
        request_id = talk.peer.request(method, params)
        answers[what] = talk.answer_to(request_id, QUIET_SECONDS)
        if answers[what] is None and isinstance(params, str):
            # JSON-RPC allows no such params, so the error may have no id.
            answers[what] = talk.peer.find(
                lambda event: (
                    event.is_answer
                    and (event.frame or {}).get("id", ...) is None
                    and "error" in (event.frame or {})
                ),
                PAUSE_SECONDS,
                since=begin,
            )
        if answers[what] is None:
            answers[what] = talk.answer_to(request_id, PROBE_SECONDS)
    talk.transcript.notes["bad_params"] = answers
    _note_life(talk)


def _early(talk: Conversation) -> None:
    early = talk.request_session()
    talk.transcript.notes["early"] = talk.answer_to(early, PROBE_SECONDS)
    talk.initialize()
    talk.transcript.notes["alive"] = True
    # It may have postponed the request until it was initialized.
    talk.transcript.notes["early"] = talk.answer_to(early, PAUSE_SECONDS)


def _future(talk: Conversation) -> None:
    talk.initialize(version=FUTURE_VERSION)


def _framing(talk: Conversation) -> None:
    talk.initialize()
    answered: dict[str, bool] = {}
    for number, what in enumerate(FRAMINGS):
        filling = "x" * LONG_BYTES if what == "a line of 1 MiB" else ""
        params = {"cwd": str(talk.cwd), "mcpServers": [], "_meta": {"filling": filling}}
        request_ids = [f"{number}-{part}" for part in "ab"]
        messages = [
            {"jsonrpc": "2.0", "id": request_id, "method": "session/new", "params": params}
            for request_id in request_ids
        ]
        lines = [json.dumps(message).encode() + b"\n" for message in messages]
        match what:
            case "a line that comes in pieces":
                for line in lines:
                    for piece in (line[:7], line[7:30], line[30:]):
                        talk.peer.queue(piece)
                        talk.wait(PAUSE_SECONDS)
            case "two lines that come at once":
                talk.peer.send_bytes(b"".join(lines))
            case "a line that ends in CR LF":
                for line in lines:
                    talk.peer.send_bytes(line.replace(b"\n", b"\r\n"))
            case _:
                for line in lines:
                    talk.peer.queue(line)
        answers = [talk.answer_to(request_id) for request_id in request_ids]
        answered[what] = all(answers)
        if not answered[what]:
            break  # the next ones would fail for the same reason
    talk.transcript.notes["answered"] = answered


def _junk(kind: str) -> Callable[[Conversation], None]:
    def act(talk: Conversation) -> None:
        talk.initialize()
        for line in JUNK[kind]:
            talk.peer.send_bytes(line)
            talk.peer.wait_for_exit(SETTLE_SECONDS)
            _note_life(talk)
            if not talk.transcript.notes["alive"]:
                talk.transcript.notes["deadly"] = line
                return

    return act


def _sessions(talk: Conversation) -> None:
    talk.initialize()
    one, other = talk.new_session(), talk.new_session()
    talk.transcript.notes["sessions"] = (one, other)
    if one == other:
        return
    turns = [talk.prompt(session, ProviderScenario.HEALTHY) for session in (one, other)]
    for turn in turns:
        talk.finish(turn)
    if not talk.hooks.can_play(ProviderScenario.HEALTHY) and all(turn.failed for turn in turns):
        raise UnreachedError("the agent's turns failed, as those without a model do")


def _open_turn(
    talk: Conversation, scenario: ProviderScenario = ProviderScenario.HANG_AFTER_TEXT
) -> None:
    """Open a turn, and wait until it shows something or calls the provider.

    Raises:
        UnreachedError: It ends too soon.
    """
    if not talk.hooks.can_play(scenario):
        # A turn of the agent's own will do, if it takes long enough.
        alone = talk.healthy_turn(talk.new_session())
        if alone.answer is None:
            raise UnreachedError("its turns do not end by themselves")
        turn = talk.prompt(talk.new_session(), ProviderScenario.HEALTHY)
        if alone.seconds >= LASTING_SECONDS:
            talk.wait_for_update(turn, alone.seconds / 4)
        if alone.seconds < LASTING_SECONDS or talk.has_ended(turn):
            raise UnreachedError(
                "its turns end too soon to be disturbed; point it to the kit's provider "
                "(--preset, --provider-env), or give it a prompt that takes a while (--prompt)"
            )
        return
    turn = talk.prompt(talk.new_session(), scenario)
    if scenario is ProviderScenario.HANG and talk.hooks.calls_provider:
        if not talk.was_called(talk.limits.answer_seconds):
            raise UnreachedError("the agent did not call the provider that it was pointed to")
        return
    if not talk.wait_for_update(turn, talk.limits.answer_seconds):
        called = talk.hooks.calls_provider and talk.was_called(0)
        if not called or talk.has_ended(turn):
            raise UnreachedError(
                "no turn stayed open: the agent ended it before it could be disturbed; "
                "point it to the kit's provider (--preset, --provider-env)"
            )


def _cancel(scenario: ProviderScenario) -> Callable[[Conversation], None]:
    def act(talk: Conversation) -> None:
        if scenario is ProviderScenario.HANG:
            _need(talk, scenario)
        talk.initialize()
        _open_turn(talk, scenario)
        turn = talk.transcript.turns[-1]
        talk.cancel(turn)
        if talk.finish(turn) is not None:
            talk.finish(talk.prompt(turn.session, ProviderScenario.HEALTHY))

    return act


def _eof_in_turn(talk: Conversation) -> None:
    talk.initialize()
    _open_turn(talk)
    talk.leave()


def _deaf(talk: Conversation) -> None:
    talk.initialize()
    session = talk.new_session()
    talk.healthy_turn(session)
    if talk.hooks.can_play(ProviderScenario.UNAUTHORIZED):
        talk.finish(talk.prompt(session, ProviderScenario.UNAUTHORIZED), talk.limits.turn_seconds)
    _note_life(talk)


def _failing(scenario: ProviderScenario) -> Callable[[Conversation], None]:
    def act(talk: Conversation) -> None:
        _need(talk, scenario)
        talk.initialize(NEGOTIATED)
        session = talk.new_session()
        turn = talk.prompt(session, scenario)
        answer = talk.finish(turn, talk.limits.turn_seconds)
        if not turn.called:
            raise UnreachedError("the agent did not call the provider that it was pointed to")
        if answer is not None:
            talk.finish(talk.prompt(session, ProviderScenario.HEALTHY))

    return act


def _as_speaker(
    capabilities: Mapping[str, object], scenario: ProviderScenario
) -> Callable[..., None]:
    def act(talk: Conversation) -> None:
        _need(talk, scenario)
        talk.initialize(dict(capabilities))
        if not talk.transcript.speaks:
            raise NotApplicableError("it does not say that it speaks agent_error")
        talk.finish(talk.prompt(talk.new_session(), scenario), talk.limits.turn_seconds)

    return act


def _crash(talk: Conversation) -> None:
    _need(talk, ProviderScenario.HANG_AFTER_TEXT)
    talk.initialize(NEGOTIATED)
    if not talk.transcript.speaks:
        raise NotApplicableError("it does not say that it speaks agent_error")
    # On Linux: the processes behind an intermediary, which may have forked copies of itself. One
    # that reads our pipe itself was started by a wrapper, such as npx, which relays nothing.
    parent = talk.peer.pid
    own = _command_line(parent)
    task = Path(f"/proc/{parent}/task/{parent}/children")
    children = [int(child) for child in task.read_text().split()] if task.exists() else []
    victims = [
        child
        for child in children
        if _command_line(child) != own and _stdin(child) != _stdin(parent)
    ]
    if not victims:
        raise NotApplicableError("nothing stands in front of the agent's process")
    _open_turn(talk)
    for pid in victims:
        with suppress(ProcessLookupError):
            os.kill(pid, SIGKILL)
    turn = talk.transcript.turns[-1]
    if talk.finish(turn) is not None:
        talk.transcript.notes["again"] = talk.answer_to(talk.request_session())


def _command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _stdin(pid: int) -> str:
    try:
        return os.readlink(f"/proc/{pid}/fd/0")
    except OSError:
        return ""


def _need(talk: Conversation, scenario: ProviderScenario) -> None:
    if not talk.hooks.can_play(scenario):
        raise UnreachedError(
            "a failing provider could not be played; point the agent to the kit's (--preset, "
            "--provider-env), or say which prompt makes it fail (--scenario-prompts)"
        )


def _note_life(talk: Conversation) -> None:
    """Note whether the agent still answers, and still runs a moment later."""
    request_id = talk.request_session()
    notes = talk.transcript.notes
    notes["life"] = request_id
    notes["alive"] = talk.answer_to(request_id) is not None
    if notes["alive"] and talk.peer.wait_for_exit(SETTLE_SECONDS):
        notes["alive"] = False


ACTS: dict[str, Callable[[Conversation], None]] = {
    # The longest first: most of their time is agents waiting between retries.
    **{f"fail:{scenario}": _failing(scenario) for scenario in reversed(FAILURES)},
    "healthy": _healthy,
    "strangers": _strangers,
    "params": _params,
    "early": _early,
    "future": _future,
    "optional": _optional,
    "large_ids": _large_ids,
    "burst": _burst,
    "list": _list,
    "load": _returning(acp.LOAD),
    "resume": _returning(acp.RESUME),
    "close": _close,
    "framing": _framing,
    **{f"junk:{kind}": _junk(kind) for kind in JUNK},
    "sessions": _sessions,
    "tool": _tool,
    "cancel": _cancel(ProviderScenario.HANG_AFTER_TEXT),
    "cancel_silent": _cancel(ProviderScenario.HANG),
    "cancel_in_question": _cancel_in_question,
    "two_questions": _two_questions,
    "eof_in_turn": _eof_in_turn,
    "deaf": _deaf,
    "plain": _as_speaker({}, ProviderScenario.UNAUTHORIZED),
    "odd": _as_speaker(MALFORMED, ProviderScenario.UNAUTHORIZED),
    "consenting": _as_speaker(CONSENTING, ProviderScenario.RATE_LIMITED),
    "crash": _crash,
}
