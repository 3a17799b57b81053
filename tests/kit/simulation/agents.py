"""Agents of every kind: what each does about a prompt, from the healthy to the mad.

Owns their behaviour, as a table of deeds with weights. Each deed deals with one prompt, or begins
to; a deed that gives `False` leaves the prompt open.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.kit.simulation import frames
from tests.kit.simulation.frames import (
    ANSWER,
    ERRORS,
    JUNK,
    KEY,
    ODD_RESULTS,
    OTHER,
    PASSING,
    REQUEST,
    STDERR,
    TYPED,
    chunk,
    spoiled,
    tool,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.kit.simulation.world import World

    Deed = Callable[[World, bytes, bytes], bool]

TEXTS = (b"I look at it.", b"Done: the tests pass.", b"\\u00e9\\ud83d", b"x", b"")
SAME = b"I will now run the tests again."
STATES = (b"usage_update", b"available_commands_update", b"session_info_update")
MODES = (b"ask", b"plan", b"yolo")
_LONG_LINE = 70_000


def healthy(w: World, prompt: bytes, session: bytes) -> bool:
    """Text, tools, a plan, and the answer."""
    out = w.opening(prompt, session)
    dice = w.roll()
    if dice < 0.25:
        out.append(chunk(session, b"Hm.", b"agent_thought_chunk"))
    if dice > 0.7:
        out += [
            tool(session, b"t1", b"in_progress"),
            tool(session, b"t1", b"completed", b"tool_call_update"),
        ]
    if dice > 0.9:
        out += [frames.update(session, b"plan", b',"entries":[]'), tool(session, b"t2", b"pending")]
        out.append(tool(session, b"t2", b"failed", b"tool_call_update"))
    out += [chunk(session, w.pick(TEXTS[:2])), chunk(session, b"And so on.")]
    w.agent(*out, *w.ending(prompt, session, b"end_turn" if dice < 0.95 else b"max_tokens"))
    return True


def begins(w: World, prompt: bytes, session: bytes) -> bool:
    """It says something, and goes on later."""
    out = w.opening(prompt, session)
    dice = w.roll()
    if dice < 0.4:
        out.append(chunk(session, w.pick(TEXTS)))
    elif dice < 0.7:
        out.append(tool(session, b"t%d" % int(dice * 100), w.pick((b"pending", b"in_progress"))))
    elif dice < 0.8:
        out.append(chunk(b"sub", b"from below"))
    else:
        out.append(frames.update(session, w.pick(STATES)))
    w.agent(*out)
    return False


OPTIONS = (
    b'{"optionId":"allow","kind":"allow_once"},{"optionId":"always","kind":"allow_always"},'
    b'{"optionId":"no","kind":"reject_once"}'
)
"""What the user can choose."""


def asks(w: World, prompt: bytes, session: bytes) -> bool:
    w.agent(*w.opening(prompt, session))
    dice = w.roll()
    about = b"sub" if dice > 0.95 else session
    permission = b',"toolCall":{"toolCallId":"t1"},"options":[%b]' % OPTIONS
    questions = (
        (0.5, b"session/request_permission", about, permission),
        (0.6, b"elicitation/create", session, b""),
        (0.7, b"fs/read_text_file", session, b',"path":"/a"'),
        (0.8, b"fs/write_text_file", session, b',"path":"/a","content":"b"'),
        (0.9, b"terminal/create", session, b',"command":"ls"'),
        (1.0, b"terminal/release", about, b',"terminalId":"term1"'),
    )
    question = next(rest for below, *rest in questions if dice < below)
    w.agent(frames.request(w.agent_id(), *question))
    return False


def ends_though_cancelled(w: World, prompt: bytes, session: bytes) -> bool:
    """It asks, the user cancels, and it says that all went well."""
    more = b',"toolCall":{"toolCallId":"t1"},"options":[]'
    ask = frames.request(w.agent_id(), b"session/request_permission", session, more)
    w.agent(*w.opening(prompt, session), ask)
    w.client(frames.cancel(session))
    w.agent(*w.ending(prompt, session))
    return True


def withdraws(w: World, prompt: bytes, session: bytes) -> bool:
    w.agent(frames.withdraw(w.pick((b"0", *w.asked))))
    return False


def silent_success(w: World, prompt: bytes, session: bytes) -> bool:
    """It says that all is done, and nothing was."""
    if w.chance(0.3):
        w.do("stderr", w.pick(STDERR))
    w.agent(*w.opening(prompt, session), *w.ending(prompt, session))
    dice = w.roll()
    if dice < 0.3:
        w.agent(chunk(session, b"Late, but here."))
    elif dice < 0.5:
        w.agent(frames.update(session, w.pick(STATES)))
    elif dice < 0.7:
        w.do("time", 0.3)
    return True


def late_output(w: World, prompt: bytes, session: bytes) -> bool:
    healthy(w, prompt, session)
    w.agent(frames.update(session, w.pick(STATES)), chunk(session, b"One thing more."))
    return True


def errs(w: World, prompt: bytes, session: bytes) -> bool:
    """It answers with an error of some shape."""
    if w.chance(0.3):
        w.agent(*w.opening(prompt, session), chunk(session, b"I begin."))
    if w.v2 and prompt in w.begun:
        error = w.pick(ERRORS)
        more = b',"stopReason":"error","error":' + error
        w.agent(frames.state(session, b"idle", more))
    else:
        w.agent(frames.error(prompt, w.pick(ERRORS)))
    return True


def fails_early(w: World, prompt: bytes, session: bytes) -> bool:
    """It fails of what passes, before it has done anything; or it dies of it."""
    dice = w.roll()
    if dice < 0.1:
        w.agent(frames.update(session, w.pick(STATES)))
    elif dice < 0.2:
        retries(w, prompt, session)
    elif dice < 0.3:
        told = b',"stopReason":"error","error":' + w.pick(TYPED)
        w.agent(frames.update(session, b"_agent_error" if w.v2 else b"agent_error", told))
    elif dice < 0.4:
        return dies(w, prompt, session)
    w.agent(frames.error(prompt, w.pick(PASSING)))
    if dice > 0.95:
        w.agent(w.pick((chunk(session, b"Late."), frames.stopped(prompt), frames.cancel(session))))
    return True


def answers_oddly(w: World, prompt: bytes, session: bytes) -> bool:
    """Its result is none that ends a prompt well."""
    if w.chance(0.5):
        w.agent(chunk(session, b"I begin."))
    if w.v2:
        w.agent(*w.opening(prompt, session))
        w.agent(*w.ending(prompt, session, w.pick((b"error", b"exploded", b"refusal"))))
    else:
        w.agent(frames.result(prompt, w.pick(ODD_RESULTS)))
    return True


def misnames(w: World, prompt: bytes, session: bytes) -> bool:
    """Its answer has a wrong id, or none."""
    plain = prompt.strip(b'"')
    wrong = (
        *(b'"%b"' % plain, b"null", b"9999", b'"%b "' % plain, b'"%b.0"' % plain),
        plain + b".0" if prompt.isdigit() else b'"v%b"' % plain,
    )
    if w.chance(0.5):
        w.agent(chunk(session, b"I begin."))
    value = w.pick(wrong)
    if w.chance(0.6):
        w.agent(frames.error(value, w.pick(ERRORS)))
    else:
        w.agent(frames.stopped(value))
    return w.chance(0.5)


def repeats_answer(w: World, prompt: bytes, session: bytes) -> bool:
    if w.chance(0.5):
        healthy(w, prompt, session)
    else:
        errs(w, prompt, session)
    again = (frames.stopped(prompt), frames.error(prompt, ERRORS[1]))
    w.agent(w.pick(again))
    return True


def speaks_typed(w: World, prompt: bytes, session: bytes) -> bool:
    """It announces its failure itself, in our words or in its own."""
    told = w.pick(
        (
            b',"stopReason":"error","error":' + w.pick(TYPED),
            b',"message":"it [broke] %b"' % KEY.encode(),
            b',"type":"error","text":"it broke"',
            b"",
        )
    )
    w.agent(*w.opening(prompt, session))
    w.agent(frames.update(session, b"_agent_error" if w.v2 else b"agent_error", told))
    dice = w.roll()
    if dice < 0.4:
        meta = b'{"stopReason":"error","_meta":{"agent_error":%b}}' % w.pick(TYPED)
        w.agent(*(w.ending(prompt, session, b"error") if w.v2 else [frames.result(prompt, meta)]))
    elif dice < 0.6:
        w.agent(*w.ending(prompt, session))
    elif dice < 0.8:
        more = b'{"code":-32603,"message":"x","data":{"agent_error":%b}}' % w.pick(TYPED)
        w.agent(frames.error(prompt, more))
    else:
        return False
    return True


def retries(w: World, prompt: bytes, session: bytes) -> bool:
    """It tries its model call again, and says so."""
    dice = w.roll()
    if dice < 0.4:
        more = b'{"sessionId":"%b","attempt":2,"message":"429 %b"}' % (session, KEY.encode())
        w.agent(frames.notification(b"_session/retrying", more))
    elif dice < 0.7:
        meta = b',"_meta":{"opencode/retry":{"attempt":2,"message":"overloaded","next":1}}'
        w.agent(frames.update(session, b"session_info_update", meta))
    else:
        w.agent(frames.update(session, b"agent_retry", b',"attempt":2'))
    return False


def hides_failure(w: World, prompt: bytes, session: bytes) -> bool:
    """It tells its failure in prose, or in the margin."""
    text = b"exceeded retry limit, last status: 429 Too Many Requests, request id: r1"
    meta = b',"_meta":{"codex":{"threadStatus":{"type":"systemError"}}}'
    w.agent(*w.opening(prompt, session), chunk(session, text))
    if w.chance(0.5):
        w.agent(frames.update(session, b"session_info_update", meta))
    w.agent(*w.ending(prompt, session))
    return True


def runs_away(w: World, prompt: bytes, session: bytes) -> bool:
    w.agent(*w.opening(prompt, session))
    if w.chance(0.6):
        w.do("block", b"\n".join([chunk(session, SAME)] * 54))
    else:
        for number in range(54):
            again = b',"toolCallId":"r%d","title":"Run","rawInput":{"a":1}' % number
            w.do("agent", frames.update(session, b"tool_call", again))
    return False


def floods_stderr(w: World, prompt: bytes, session: bytes) -> bool:
    """It writes to stderr, too much where the limit is low."""
    w.do("stderr", w.pick(STDERR) * (1 + int(w.roll() * 60)))
    return False


def writes_junk(w: World, prompt: bytes, session: bytes) -> bool:
    """It writes what is no frame, or two frames on a line."""
    line = w.pick(JUNK)
    glued = chunk(session, b"one") + chunk(session, b"two")
    w.agent(glued if w.chance(0.2) else line)
    return False


def spoils(w: World, prompt: bytes, session: bytes) -> bool:
    """One of its lines cannot be read: it is no JSON, or over the limit."""
    if w.chance(0.4):
        w.agent(*w.opening(prompt, session), chunk(session, b"I begin."))
    what = w.pick((ANSWER, ANSWER, REQUEST, OTHER))
    own = prompt if what == ANSWER else w.agent_id()
    decoy = w.pick([b"7", *w.waiting])
    line = spoiled(w.pick, side="agent", what=what, own=own, decoy=decoy, session=session)
    w.do(*line)
    return what == ANSWER


def repeats_honestly(w: World, prompt: bytes, session: bytes) -> bool:
    """It says the same before each of its tools, which are different ones."""
    lines = w.opening(prompt, session)
    for number in range(54):
        call = b',"toolCallId":"h%d","title":"Run","rawInput":{"a":%d}' % (number, number)
        lines += [chunk(session, SAME), frames.update(session, b"tool_call", call)]
        done = b',"toolCallId":"h%d","status":"completed"' % number
        lines.append(frames.update(session, b"tool_call_update", done))
    w.agent(*lines)
    return False


def changes_mode(w: World, prompt: bytes, session: bytes) -> bool:
    """It goes over to another mode of itself."""
    mode = b',"currentModeId":"%b"' % w.pick(MODES)
    w.agent(*w.opening(prompt, session), frames.update(session, b"current_mode_update", mode))
    return False


def switches_model(w: World, request_id: bytes, session: bytes) -> None:
    """It switches to the model that it is asked for, and may say so before it answers, or not."""
    listed = frames.models(w.chosen.pop(request_id, b"big"))
    dice = w.roll()
    if dice < 0.3:
        w.agent(frames.update(session, b"config_option_update", b"," + listed))
    w.agent(frames.result(request_id, b"{}" if dice > 0.8 else b"{%b}" % listed))


def no_text(w: World, prompt: bytes, session: bytes) -> bool:
    """What it says is no UTF-8, in a line or in a burst."""
    bad = w.pick((b"\xff\xfe", b"\xc3(", b"\xed\xa0\x80", b"cut \xe2\x82"))
    lines = [chunk(session, b"well: \xc3\xa9 %d" % at) for at in range(int(w.roll() * 60))]
    lines.insert(int(w.roll() * len(lines)), chunk(session, bad))
    w.agent(*w.opening(prompt, session), *lines)
    return False


def long_frame(w: World, prompt: bytes, session: bytes) -> bool:
    w.agent(chunk(session, b"y" * _LONG_LINE))
    return False


def echoes(w: World, prompt: bytes, session: bytes) -> bool:
    """It is no agent: it writes back what it reads."""
    w.agent(frames.prompt(prompt, session))
    return True


def dies(w: World, prompt: bytes, session: bytes) -> bool:
    """It crashes, in the middle of anything."""
    if w.chance(0.4):
        w.agent(*w.opening(prompt, session), chunk(session, b"I begin."))
    if w.chance(0.3):
        w.do("stderr", w.pick(STDERR))
    dice = w.roll()
    if dice < 0.1:
        w.do("hang_up")
    elif dice < 0.5:
        w.do("die", None, w.pick((9, 11, 6, 15)))
    else:
        w.do("die", w.pick((0, 1, 2, 137)), None)
    w.forget_agent()
    return True


def says_word(w: World, prompt: bytes, session: bytes) -> bool:
    """A handler in the client's process says something of its turn."""
    word = w.pick(("progress", "output", "safe_tool", "unsafe_tool", "tool_finished", "retrying"))
    w.do("word", prompt, word)
    return False


def raises(w: World, prompt: bytes, session: bytes) -> bool:
    """A handler in the client's process raises."""
    w.do("word", prompt, w.pick(("limited", "raised", "sent")))
    return True


def idles(w: World, prompt: bytes, session: bytes) -> bool:
    """Version 2: the work's state changes as it likes."""
    if w.v2:
        w.agent(frames.state(session, w.pick((b"running", b"idle", b"requires_action", b"paused"))))
    return False


def ignores(w: World, prompt: bytes, session: bytes) -> bool:
    """It never says a word about it."""
    return True


WILD: tuple[tuple[float, Deed], ...] = (
    (10, healthy),
    (12, begins),
    (12, asks),
    (1, ends_though_cancelled),
    (2, withdraws),
    (5, silent_success),
    (5, late_output),
    (5, errs),
    (3, answers_oddly),
    (3, misnames),
    (2, repeats_answer),
    (3, speaks_typed),
    (3, retries),
    (1, hides_failure),
    (0.3, runs_away),
    (2, floods_stderr),
    (3, writes_junk),
    (4, spoils),
    (0.6, repeats_honestly),
    (2, changes_mode),
    (0.5, no_text),
    (0.2, long_frame),
    (0.5, echoes),
    (3, dies),
    (2, idles),
    (4, ignores),
)
"""How likely each deed is in a link where anything may happen."""

WORDS: tuple[tuple[float, Deed], ...] = ((30, says_word), (15, raises))
"""The same for what only a handler in this process can do."""
