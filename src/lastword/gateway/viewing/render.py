"""The frames that one viewer is sent for an entry of the log.

Owns what each kind of viewer is shown of the agent and of other viewers. The frames depend only on
the entry and on the attachment, so a replay shows what was shown live.

Events of a session's stream over HTTP: their ids, which are positions in its log. Owns the form of
an id, `EPOCH:SEQ`, and how a holder passes frames with their positions to a front. If an entry is
sent as several frames, all but the last have the id `EPOCH:SEQ.PART`, so that a stream that breaks
between them resumes with the next frame.

The agent's retries, for viewers that do not know `agent_retry`. Owns when a wait is long enough for
a line, by the sidecar's own rule, and the text of the line. The line is an entry of the log, so all
such viewers see the same.
"""

from __future__ import annotations

import math
import re
from collections import OrderedDict
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec import Raw

from lastword.core.classify.evidence import Verdict
from lastword.core.failure import ladder, phrases, sentences, wording
from lastword.core.failure.ladder import SentError, outage_update, typed_payload
from lastword.core.failure.payload import read_payload, read_retry
from lastword.core.failure.taxonomy import MAX_AUTO_WAIT_SECONDS, ErrorType, RetrySafety
from lastword.core.link import waits
from lastword.core.link.evidence import ReportedRetries, Retrying
from lastword.core.protocol import acp, jsonrpc
from lastword.core.protocol.acp import object_of, raw_members
from lastword.core.redact.redactor import Redactor
from lastword.core.timeline.entry import Kind
from lastword.core.timeline.session_events import WORDS
from lastword.gateway import wire
from lastword.gateway.log.entries import LogKind, Numbered
from lastword.gateway.viewing.frames import question_id, session_key, text_frames
from lastword.gateway.viewing.reader import CursorError, cursor_of
from lastword.platform.identity import local_time

if TYPE_CHECKING:
    from lastword.core.protocol.jsonrpc import Frame
    from lastword.gateway.log.entries import Cursor, LogEntry
    from lastword.gateway.viewing.reader import Attachment, Pulled


GAP = "_lastword/gap"
LIFE = "_lastword/life"
ENDED = "_lastword/ended"
AT = "_lastword/at"
"""The gateway's own notifications, for viewers that negotiated cursors."""

SESSION_ENDED = WORDS[Kind.SESSION_ENDED]
"""The word of a session's last entry, and the reason why a viewer's connection ends."""

TIMED_OUT = "timed_out"
"""Why lastword answered a question in its viewers' place: `--ask-timeout`."""

EXPIRED = "Nobody answered the agent's question in time, so lastword did. Nothing was allowed."

ACTIVITY = WORDS[Kind.ACTIVITY]
"""The word of an agent's work without a turn."""

META = "lastword"
"""The key of the gateway's own facts in `_meta`."""


def _is_opt_in(entry: LogEntry) -> bool:
    """Return whether an entry may have a kind of update for clients that ask for it alone."""
    frame = entry.frame
    return not entry.is_text and (
        b'agent_retry"' in frame or b'agent_error"' in frame or b'"notice"' in frame
    )


class Form(StrEnum):
    """The form in which frames are encoded for a viewer."""

    LINES = "lines"
    """A frame a line."""
    FRAMED = "framed"
    """Blocks of WebSocket frames, each behind its control line (`wire.BLOCK`)."""
    EVENTS = "events"
    """Control lines of frames with their places (`wire.EVENTS`)."""


class PulledStretch(msgspec.Struct):
    """A stretch of the log, as viewers pull it.

    Attributes:
        is_for_all: all of it comes from the agent, and every viewer is shown it unchanged.
        ready: the encoded frames in that case, by whether they are numbered, and by form.
    """

    is_for_all: bool
    ready: dict[tuple[bool, Form], list[bytes]] = {}


RECENT_STRETCHES = 8
"""The most stretches that are kept, of 256 KiB at most: viewers may be at different positions."""


class Placed(NamedTuple):
    """A frame, and the viewer's position once it has applied it.

    Attributes:
        seq: the entry's number; 0 if a link that breaks here resumes at an earlier entry.
        part: which of several frames of that entry this is, from 1; 0 for the last.
        frame: the frame.
    """

    seq: int
    part: int
    frame: bytes


class Renderer:
    """The frames for one session's viewers."""

    def __init__(self, session_id: str, *, is_renamed: bool = False) -> None:
        """Render for a session, which the agent may know by another id."""
        self._session_id = session_id
        self._is_renamed = is_renamed
        self._key = session_key(session_id)
        self._stretches: OrderedDict[tuple[int, int], PulledStretch] = OrderedDict()
        """The stretches of the log that were pulled last."""
        self._last: tuple[Numbered | None, bytes] = (None, b"")
        """The last frame that was numbered: several viewers are sent the same."""

    def pulled(self, pulled: Pulled, attachment: Attachment) -> list[bytes]:
        """Return the frames of one pull."""
        return [frame for _, _, frame in self.placed(pulled, attachment)]

    def placed(self, pulled: Pulled, attachment: Attachment) -> list[Placed]:
        """Return the frames of one pull, each with its position.

        The replacement of a gap has no numbers: a link that breaks in it resumes at the gap. With
        each of its own answers in the gap, a viewer is past that. A viewer that negotiated
        positions is sent its position wherever the last frame cannot carry it, and before an
        answer: if its link breaks between the two, it knows that it has no answer yet, and sends
        its request again.
        """
        frames: list[Placed] = []
        if pulled.gap is not None:
            gap = {"from": pulled.gap.first, "to": pulled.gap.last, "reason": pulled.gap.reason}
            if attachment.viewer.replay:
                frame = jsonrpc.notification(GAP, {"sessionId": self._session_id} | gap)
            else:
                update = {"sessionUpdate": "session_info_update", "_meta": {META: {"gap": gap}}}
                frame = ladder.session_update(self._session_id, update)
            frames.append(Placed(0, 0, frame))
        for numbered in pulled.pinned:
            if numbered.entry.kind is not LogKind.END:
                frames += [Placed(0, 0, frame) for frame in self._frames(numbered, attachment)]
            elif numbered.entry.about.viewer == attachment.viewer.id:
                attachment.owed.append(numbered)  # the ends of others' turns no longer matter
        if pulled.passed:
            if attachment.viewer.replay:
                frames.append(Placed(0, 0, self.position(pulled.passed)))
            for numbered in attachment.pop_owed():
                own_frames = self._frames(numbered, attachment)
                frames += [Placed(0, 0, frame) for frame in own_frames[:-1]]
                frames += [Placed(numbered.seq, 0, frame) for frame in own_frames[-1:]]
            frames[-1:] = [last._replace(seq=pulled.passed) for last in frames[-1:]]
        at = pulled.passed
        first, had = attachment.parts
        is_unchanged = not (attachment.viewer.replay or self._is_renamed)
        for numbered in pulled.entries:
            seq, entry = numbered
            if entry.is_text and is_unchanged:  # as most are
                frames.append(Placed(seq, 0, entry.frame))
                at = seq
                continue
            shown = self._entry(numbered, attachment)
            parts = [Placed(seq, part, frame) for part, frame in enumerate(shown[:-1], 1)]
            parts += [Placed(seq, 0, frame) for frame in shown[-1:]]
            # A viewer that resumes within an entry has its first frames already.
            frames += parts[had:] if first == seq and had < len(parts) else parts
            at = seq if shown else at
        last_seq = pulled.entries[-1].seq if pulled.entries else at
        if attachment.viewer.replay and at < last_seq:
            frames.append(Placed(last_seq, 0, self.position(last_seq)))
        return frames

    def for_all(self, pulled: Pulled, attachment: Attachment, form: Form) -> list[bytes] | None:
        """Return the frames of a pull shown to every viewer unchanged; else `None`.

        For `Form.FRAMED` they are encoded, in blocks.

        That is the usual case while an agent is writing. Viewers that keep up with it pull the
        same stretch, which is encoded once for each form.
        """
        entries = pulled.entries
        if not entries or pulled.is_own or self._is_renamed:
            return None
        ends = (entries[0].seq, entries[-1].seq)
        stretch = self._stretches.get(ends)
        if stretch is None:
            is_for_all = all(
                entry.is_text or (entry.kind is LogKind.OUT and not _is_opt_in(entry))
                for _, entry in entries
            )
            stretch = self._stretches[ends] = PulledStretch(is_for_all=is_for_all)
            if len(self._stretches) > RECENT_STRETCHES:
                self._stretches.popitem(last=False)
        if not stretch.is_for_all:
            return None
        kind = (attachment.viewer.replay, form)
        ready = stretch.ready.get(kind)
        if ready is None:
            frames = [
                _with_seq(entry.frame, seq) if attachment.viewer.replay else entry.frame
                for seq, entry in entries
            ]
            ready = list(text_frames(frames)) if form is Form.FRAMED else frames
            if len(entries) > 1:  # one may be of any size
                stretch.ready[kind] = ready
        return ready

    def _frames(self, numbered: Numbered, attachment: Attachment) -> list[bytes]:
        """Return the frames of one entry; none if the viewer is not shown it."""
        frames = _RENDERED[numbered.entry.kind](self, numbered.seq, numbered.entry, attachment)
        if self._is_renamed:
            return [with_session(frame, self._session_id) for frame in frames]
        return frames

    def _entry(self, numbered: Numbered, attachment: Attachment) -> list[bytes]:
        """Return the frames of one entry, numbered for viewers that negotiated that."""
        seq, entry = numbered
        frames = self._frames(numbered, attachment)
        if not frames or not attachment.viewer.replay:
            return frames
        if entry.kind is LogKind.END and entry.about.viewer == attachment.viewer.id:
            return [self.position(seq), *frames]
        if entry.kind is LogKind.OUT:
            last = self._last[0]
            if last is None or last.seq != seq or last.entry is not entry:
                self._last = (numbered, _with_seq(frames[0], seq))
            return [self._last[1]]
        # A link may break between them: the parts before the last are recognised by their places.
        parts = [_with_ours(frame, of=seq, part=at) for at, frame in enumerate(frames[:-1], 1)]
        return [*parts, _with_seq(frames[-1], seq)]

    def again(self, end: Numbered, attachment: Attachment) -> list[bytes]:
        """Return the frames that repeat the outcome of a viewer's own request."""
        attachment.answered.add(end.entry.about.number)
        return self._own_end(end.entry, attachment)

    def position(self, seq: int) -> bytes:
        """Return the frame with a viewer's position."""
        return _with_seq(jsonrpc.notification(AT, {"sessionId": self._session_id}), seq)

    def beginning(self, epoch: str, first: int) -> bytes:
        """Return the frame that says where an attach begins, and in which log."""
        meta = {META: {"epoch": epoch, "from": first}}
        return jsonrpc.notification(AT, {"sessionId": self._session_id, "_meta": meta})

    def reset(self, attachment: Attachment, epoch: str) -> bytes:
        """Return the frame that says that a viewer restarts at the oldest entry of an epoch."""
        meta = {META: {"epoch": epoch, "from": 1, "reset": "epoch"}}
        if attachment.viewer.replay:
            return jsonrpc.notification(AT, {"sessionId": self._session_id, "_meta": meta})
        update = {"sessionUpdate": "session_info_update", "_meta": meta}
        return ladder.session_update(self._session_id, update)

    def lag(self, behind: int, attachment: Attachment) -> list[bytes]:
        """Return the frame that says that a viewer lags, if it shows notices.

        It is sent outside the log, where a lagging viewer would reach it too late. A stock client
        gets none: it could show it only as a line that stays in the transcript, although nothing
        is lost and its user can do nothing about it.
        """
        title = f"The connection is slow: {behind} updates are still to come. None is lost."
        return self.notice(title, attachment)

    def notice(self, title: str, attachment: Attachment) -> list[bytes]:
        """Return the frame of a notice outside the log, if the viewer shows notices."""
        profile = attachment.viewer.profile
        if profile.notices or not profile.dialect.notice_needs_capability:
            return [ladder.notice(self._session_id, severity="info", title=title)]
        return []

    def outage(self, line: str, attempt: int, attachment: Attachment) -> bytes:
        """Return the frame that tells the user of an open turn what it waits for."""
        profile = attachment.viewer.profile
        return outage_update(
            self._session_id, profile, line=line, attempt=attempt, reason="fleet_away"
        )

    def _out(self, _: int, entry: LogEntry, attachment: Attachment) -> list[bytes]:
        if not _is_opt_in(entry):
            return [entry.frame]
        profile = attachment.viewer.profile
        frame = jsonrpc.decode(entry.frame)
        update = frame.message.update if isinstance(frame, jsonrpc.Frame) else None
        kind = update.session_update if update is not None else ""
        if kind in acp.AGENT_RETRY_KINDS and not profile.retry:
            return self._retry(entry, attachment)
        if kind in acp.AGENT_ERROR_KINDS:
            return [entry.frame] if profile.typed else []
        if kind != "notice" or profile.notices or not profile.dialect.notice_needs_capability:
            return [entry.frame]
        if not self._by_thought(attachment):
            return []
        # A reminder of a question is shown as a thought; no other notice needs one.
        params = object_of(object_of(jsonrpc.loads(entry.frame)).get("params"))
        title = str(object_of(params.get("update")).get("title"))
        return [self._thought(title)] if title.startswith(waits.WAITING) else []

    def _retry(self, entry: LogEntry, attachment: Attachment) -> list[bytes]:
        """Return a retry for a viewer without `agent_retry`: a notice, AIR's warning, or none."""
        profile = attachment.viewer.profile
        title = sentence(retrying(entry.frame))
        if profile.notices or not profile.dialect.notice_needs_capability:
            return [ladder.notice(self._session_id, severity="warning", title=title)]
        if not profile.air:
            return []
        warning = ladder.warning_meta(None, title=title, failure_id=self._session_id, revision=1)
        update = {"sessionUpdate": "session_info_update", "_meta": warning}
        return [ladder.session_update(self._session_id, update)]

    def _question(self, seq: int, entry: LogEntry, attachment: Attachment) -> list[bytes]:
        number = entry.about.number
        if seq <= attachment.live_from and number not in attachment.open_at_start:
            return []  # it has been answered
        frame = jsonrpc.decode(entry.frame)
        if not attachment.viewer.controls or not isinstance(frame, jsonrpc.Frame):
            return []
        attachment.questions.add(number)
        return [jsonrpc.with_id(frame, question_id(self._key, number))]

    def _outcome(self, seq: int, entry: LogEntry, attachment: Attachment) -> list[bytes]:
        number = entry.about.number
        how = str(entry.about.facts.get("why", ""))
        profile = attachment.viewer.profile
        line: list[bytes] = []
        if how == TIMED_OUT:  # lastword answered
            if profile.notices or not profile.dialect.notice_needs_capability:
                line = [ladder.notice(self._session_id, severity="warning", title=EXPIRED)]
            elif self._by_thought(attachment):
                line = [self._thought(EXPIRED)]
        # A viewer with a cursor still shows the questions from before it.
        has_it_open = number in attachment.questions or attachment.from_cursor
        if not has_it_open and seq > attachment.again_until:
            return line
        attachment.questions.discard(number)
        if entry.about.viewer == attachment.viewer.id and seq > attachment.live_from:
            return []  # it has just answered; in a replay it is shown the question again
        params: dict[str, Any] = {"requestId": Raw(question_id(self._key, number))}
        if how == TIMED_OUT:
            params["_meta"] = {META: {"how": how, "text": EXPIRED}}
        return [jsonrpc.notification(acp.CANCEL_REQUEST, params), *line]

    def _thought(self, text: str) -> bytes:
        content = {"type": "text", "text": f"{text}\n\n"}
        update = {"sessionUpdate": "agent_thought_chunk", "content": content}
        return ladder.session_update(self._session_id, update)

    def _in(self, seq: int, entry: LogEntry, attachment: Attachment) -> list[bytes]:
        about = entry.about
        viewer = attachment.viewer
        if about.method != acp.PROMPT or viewer.profile.dialect.turn_ends_by_state:
            return []
        if about.viewer == viewer.id and (seq > attachment.live_from or attachment.from_cursor):
            return []  # it knows what it said
        params = object_of(object_of(jsonrpc.loads(entry.frame)).get("params"))
        blocks = params.get("prompt")
        return [
            ladder.session_update(
                self._session_id, {"sessionUpdate": "user_message_chunk", "content": block}
            )
            for block in (blocks if isinstance(blocks, list) else ())
            if isinstance(block, dict)
        ]

    def _end(self, seq: int, entry: LogEntry, attachment: Attachment) -> list[bytes]:
        about = entry.about
        profile = attachment.viewer.profile
        if about.viewer == attachment.viewer.id:
            if attachment.waits_for(Numbered(seq, entry)):
                attachment.answered.add(about.number)
                return self._own_end(entry, attachment)
            # Its turn ended while it was away, which is told to a viewer that did not ask again. It
            # may have given the turn up, or may still repeat its request: this is not the answer.
            is_news = attachment.viewer.replay and attachment.from_cursor
            if about.method != acp.PROMPT or not is_news or about.number in attachment.answered:
                return []
            return [self._ended(entry, request=Raw(about.request))]
        if about.method != acp.PROMPT:
            return []
        frames: list[bytes] = []
        # Another viewer's turn failed: that is news. In version 2, the agent's idle state says it.
        if about.failure and not profile.dialect.turn_ends_by_state:
            error = read_payload(about.failure)
            if profile.typed:
                frames = [ladder.typed_update(error, self._session_id, profile.dialect)]
            else:
                meta = {"agent_error": typed_payload(error)}
                update = {"sessionUpdate": "session_info_update", "_meta": meta}
                frames = [ladder.session_update(self._session_id, update)]
        if attachment.viewer.replay:
            frames.append(self._ended(entry))
        return frames

    def _ended(self, entry: LogEntry, **more: Any) -> bytes:
        """Return the frame that says how a turn ended, for a viewer that does not wait for it."""
        frame = jsonrpc.decode(entry.frame)
        result = jsonrpc.loads(frame.message.result) if isinstance(frame, jsonrpc.Frame) else None
        facts = {"sessionId": self._session_id, "viewer": entry.about.viewer} | more
        facts |= {"stopReason": object_of(result).get("stopReason"), "error": entry.about.failure}
        given = {key: value for key, value in facts.items() if value is not None}
        return jsonrpc.notification(ENDED, given)

    def _own_end(self, entry: LogEntry, attachment: Attachment) -> list[bytes]:
        about = entry.about
        frame = jsonrpc.decode(entry.frame)
        if not isinstance(frame, jsonrpc.Frame):
            return []
        profile = attachment.viewer.profile
        if about.failure is None or profile.dialect.turn_ends_by_state:
            return [jsonrpc.with_id(frame, about.request)]
        rung = ladder.rung_for(ladder.AUTO, profile, profile.dialect)
        error = read_payload(about.failure)
        # The agent's original error, without the payload that the sidecar added.
        original = dict(object_of(jsonrpc.loads(frame.message.error)))
        data = object_of(original.get("data")).items()
        original["data"] = {
            key: value for key, value in data if key not in {"agent_error", "errorKind"}
        }
        ending = ladder.Ending(
            error=error,
            session_id=self._session_id,
            prompts=(about.request,),
            sent=SentError(original, Redactor()),
            had_output=error.retry_safety is not RetrySafety.AUTO,
        )
        frames = ladder.frames_for(ending, rung=rung, client=profile, dialect=profile.dialect)
        return [out.frame for out in frames]

    @staticmethod
    def _by_thought(attachment: Attachment) -> bool:
        """Return whether this viewer could be shown a wait only as a thought."""
        profile = attachment.viewer.profile
        has_other_way = profile.retry or profile.notices or profile.air
        return not has_other_way and not profile.dialect.turn_ends_by_state

    def _life(self, seq: int, entry: LogEntry, attachment: Attachment) -> list[bytes]:
        about = entry.about
        if about.word == WAITS and self._by_thought(attachment):
            return [self._thought(str(about.facts.get("text", "")))]
        if about.word == ACTIVITY:
            own = {"session": about.facts.get("what")}
        elif attachment.viewer.replay:
            params = {"sessionId": self._session_id, "word": about.word, "at": entry.at_ms}
            viewer = {"viewer": about.viewer} if about.viewer else {}
            return [jsonrpc.notification(LIFE, params | viewer | {"facts": about.facts})]
        elif about.word == SESSION_ENDED and seq > attachment.live_from:
            own = {SESSION_ENDED: about.facts}
        else:
            return []
        update = {"sessionUpdate": "session_info_update", "_meta": {META: own}}
        return [ladder.session_update(self._session_id, update)]


def with_session(line: bytes, session_id: str) -> bytes:
    """Return the frame with another session's id, if it names one."""
    try:
        members = msgspec.json.decode(line, type=dict[str, Raw])
        params = raw_members(members.get("params"))
    except (msgspec.MsgspecError, ValueError, RecursionError):
        message = _decoded(line)
        named = object_of(message.get("params"))
        renamed = message | {"params": named | {"sessionId": session_id}}
        return jsonrpc.dumps(renamed) if "sessionId" in named else line
    if "sessionId" not in params:
        return line
    params["sessionId"] = Raw(msgspec.json.encode(session_id))
    members["params"] = Raw(msgspec.json.encode(params))
    return msgspec.json.encode(members)


_UPDATE = b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":'
_BEFORE_SESSION = len(_UPDATE) - len(b'"sessionId":')
_SEQ = _UPDATE[:_BEFORE_SESSION] + b'"_meta":{"%b":{"seq":%%d}},%%b' % META.encode()


def _with_seq(line: bytes, seq: int) -> bytes:
    """Return the frame with its number in `params._meta`, otherwise unchanged."""
    # Most frames begin like this, and have neither `_meta` nor a key that could be one in disguise.
    if line.startswith(_UPDATE) and b"_meta" not in line and b"\\u" not in line:
        return _SEQ % (seq, line[_BEFORE_SESSION:])
    return _with_ours(line, seq=seq)


def _decoded(line: bytes) -> dict[str, Any]:
    """Return a message whose members msgspec cannot keep as they are.

    A lone surrogate stays; what is nested too deeply for a parser becomes `null`.
    """
    message = jsonrpc.loads(line)
    if message is None:
        message = jsonrpc.loads(jsonrpc.without_depths(line) or b"")
    return object_of(message)


def _with_ours(line: bytes, **numbers: int) -> bytes:
    """Return the frame with lastword's numbers in `params._meta`."""
    try:
        members = msgspec.json.decode(line, type=dict[str, Raw])
        params = raw_members(members.get("params"))
        meta = raw_members(params.get("_meta"))
        ours = raw_members(meta.get(META))
    except (msgspec.MsgspecError, ValueError, RecursionError):
        message = _decoded(line)
        params_decoded = object_of(message.get("params"))
        others = object_of(params_decoded.get("_meta"))
        numbered = others | {META: object_of(others.get(META)) | numbers}
        return jsonrpc.dumps(message | {"params": params_decoded | {"_meta": numbered}})
    ours.update((name, Raw(b"%d" % number)) for name, number in numbers.items())
    meta[META] = Raw(msgspec.json.encode(ours))
    params["_meta"] = Raw(msgspec.json.encode(meta))
    members["params"] = Raw(msgspec.json.encode(params))
    return msgspec.json.encode(members)


_RENDERED = {
    LogKind.OUT: Renderer._out,  # noqa: SLF001 - the class's own table
    LogKind.ASK: Renderer._question,  # noqa: SLF001
    LogKind.TOLD: Renderer._outcome,  # noqa: SLF001
    LogKind.IN: Renderer._in,  # noqa: SLF001
    LogKind.END: Renderer._end,  # noqa: SLF001
    LogKind.LIFE: Renderer._life,  # noqa: SLF001
}


WAITS = WORDS[Kind.WAITS]
"""The word of an entry about a wait; its fact `text` is the line."""


class WaitLines:
    """The waits of one session's turn."""

    def __init__(self) -> None:
        self._reported = ReportedRetries()

    def note(self, frame: Frame, now: float) -> None:
        """Note a frame from the agent: a retry, or output, which ends its wait."""
        update = frame.message.update
        if update is None:
            return
        kind = update.session_update
        if kind in acp.AGENT_RETRY_KINDS:
            word = retrying(frame.line)
            self._reported.note(word, None, now, since=now)
        elif kind in acp.TEXT_KINDS | acp.THOUGHT_KINDS | acp.TOOL_KINDS:
            self._reported.forget_wait()

    def end(self) -> None:
        """Note the end of the turn."""
        self._reported = ReportedRetries()

    @property
    def due(self) -> float | None:
        """Return when a line is due."""
        return self._reported.due

    def due_line(self, now: float) -> str:
        """Return the line that is due; empty if none is."""
        retry = self._reported.pop_due(now)
        if retry is None:
            return ""
        return sentence(retry, passed_seconds=now - self._reported.last_at)


def retrying(line: bytes) -> Retrying:
    """Return the text for an `agent_retry` update."""
    params = object_of(object_of(jsonrpc.loads(line)).get("params"))
    retry = read_retry(object_of(params.get("update")))
    error_type = retry.error.type if retry.error else ErrorType.UNKNOWN
    reset = retry.error.reset_at_epoch_ms if retry.error else None
    return Retrying(
        verdict=Verdict(type=error_type, rule="told", retryable=True, reset_at_epoch_ms=reset),
        attempt=retry.attempt or 2,
        max_attempts=retry.max_attempts,
        wait_seconds=retry.wait_seconds,
    )


def sentence(word: Retrying, *, passed_seconds: float = 0.0) -> str:
    """Return what failed, and when the agent tries again."""
    left, reset = None, word.verdict.reset_at_epoch_ms
    if (word.wait_seconds or 0) > MAX_AUTO_WAIT_SECONDS and reset is not None:
        # A moment stays true for later readers; a duration does not.
        when = phrases.plain_moment(reset, local_time()) or "now"
        return f"{sentences.what_of(word.verdict.type, None)} The turn continues {when}."
    if word.wait_seconds is not None:
        left = max(math.ceil(word.wait_seconds - passed_seconds), 0) or None
    return wording.of_retry(
        word.verdict, wait_seconds=left, attempt=word.attempt, max_attempts=word.max_attempts
    )


_ID = re.compile(r"(?P<epoch>[0-9A-Za-z_-]{1,64}):(?P<seq>[0-9]{1,16})(?:\.(?P<part>[0-9]{1,6}))?")


class StreamEvent(NamedTuple):
    """A frame on a stream.

    Attributes:
        frame: the frame.
        id: the viewer's position once it has applied it; empty if an earlier id still holds.
        is_kept: it is in the log, and is sent again if the viewer goes back.
    """

    frame: bytes
    id: str = ""
    is_kept: bool = False

    @property
    def encoded(self) -> bytes:
        """Return the bytes on the stream."""
        head = f"id: {self.id}\n".encode() if self.id else b""
        return b"%bdata: %b\n\n" % (head, wire.one_line(self.frame))


class LogPlace(NamedTuple):
    """A viewer's position: a cursor, and how many frames of the next entry it has received."""

    cursor: Cursor
    parts: int = 0


def read_id(text: str) -> LogPlace:
    """Return the position that an event's id names.

    Raises:
        CursorError: It is not the id of an event.
    """
    match = _ID.fullmatch(text)
    if match is None:
        raise CursorError("Last-Event-ID is the id of an event of this session")
    seq, parts = int(match["seq"]), int(match["part"] or 0)
    # An entry that was received in part does not count as applied.
    cursor = cursor_of({"epoch": match["epoch"], "seq": seq - 1 if parts else seq})
    return LogPlace(cursor, parts)


def place_facts(place: LogPlace) -> dict[str, Any]:
    """Return a position as facts of a control line."""
    cursor, parts = place
    return {"epoch": cursor.epoch, "seq": cursor.seq, "parts": parts}


def place_of(facts: dict[str, Any]) -> LogPlace:
    """Return a position from the facts of a control line.

    Raises:
        CursorError: They do not name one.
    """
    parts = facts.get("parts")
    return LogPlace(cursor_of(facts), parts if isinstance(parts, int) else 0)


def stream_events(epoch: str, placed: list[Placed]) -> list[StreamEvent]:
    """Return frames with their places as events."""
    return [
        StreamEvent(
            frame, f"{epoch}:{seq}{f'.{part}' if part else ''}" if seq else "", is_kept=True
        )
        for seq, part, frame in placed
    ]


def events_facts(events: list[StreamEvent]) -> list[list[str]]:
    """Return events as a fact of a control line."""
    return [[event.frame.decode(), event.id] for event in events]


def events_of(facts: dict[str, Any]) -> list[StreamEvent]:
    """Return the events of such a line."""
    events = object_of(facts).get("events")
    return [
        StreamEvent(str(frame).encode(), str(name), is_kept=True)
        for frame, name in (events if isinstance(events, list) else ())
    ]
