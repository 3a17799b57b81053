"""Facts about what an agent does: in a turn, repeatedly, outside its turns, or in silence.

Owns the counting. Every fact of a turn is read from frames that passed; whatever is not known to be
harmless counts as unsafe. `core.failure.taxonomy` draws the conclusions. Also owns when a
repetition is too much, the words `active` and `quiet`, and the sentences for the cause of a
silence, which `lastword.sidecar.silence` finds; it never ends a turn.
"""

from __future__ import annotations

import math
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, Raw

from lastword.core.failure.taxonomy import ErrorType, TurnFacts
from lastword.core.link import late
from lastword.core.protocol import acp, jsonrpc

if TYPE_CHECKING:
    from lastword.core.failure.taxonomy import Phase, RetrySafety
    from lastword.core.protocol.jsonrpc import Envelope, Update

MAX_TITLE_CHARS = 200
"""A longer title of a tool call is cut."""

MAX_OPEN_TOOLS = 4096
"""Tool calls that are remembered as open in one session; real turns have a few."""

_FORBIDS = frozenset({"cancelled", "reject_once", "reject_always"})
"""Outcomes of a request for permission after which a tool does not run."""


def text_of(update: Update) -> str | None:
    """Return the text of a chunk, if it has one."""
    return _text_in(jsonrpc.loads(update.content))


def purpose_of(message: Envelope) -> str:
    """Return a message's method; for an MCP server's message, with the method within it."""
    method = message.method or ""
    if method != acp.MCP_MESSAGE or message.params is UNSET:
        return method
    return f"{method} {jsonrpc.loads(message.params.method)}"


def content_text(content: object) -> str:
    """Return the text of a chunk's content, given as JSON; empty if it has none."""
    return _text_in(jsonrpc.loads(content) if isinstance(content, Raw) else None) or ""


def _text_in(content: Any) -> str | None:
    text = content.get("text") if isinstance(content, dict) else None
    return text if isinstance(text, str) else None


class RunningTool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool call that is running.

    Attributes:
        call_id: its id.
        kind: its kind; empty if unknown.
        title: its title, which may be cut.
        since: since when it has been running.
    """

    call_id: str
    kind: str
    title: str | None
    since: float


class OpenTools:
    """A session's unfinished tool calls, by id, with their kinds."""

    __slots__ = ("_began", "_kinds", "_titles", "ended_at")

    def __init__(self) -> None:
        self._kinds: dict[str, str] = {}
        self._began: dict[str, float] = {}
        """The start times of those that the model is no longer writing."""
        self._titles: dict[str, str] = {}
        self.ended_at: float = -math.inf
        """When the last of them ended."""

    def __bool__(self) -> bool:
        return bool(self._kinds)

    @property
    def running(self) -> bool:
        """Return whether any of them runs, rather than being written by the model."""
        return bool(self._began)

    def longest(self) -> RunningTool | None:
        """Return the call that has been running longest, if any is."""
        if not self._began:
            return None
        call_id = min(self._began, key=self._began.__getitem__)
        return RunningTool(
            call_id=call_id,
            kind=self._kinds[call_id],
            title=self._titles.get(call_id),
            since=self._began[call_id],
        )

    def title_of(self, tool_call_id: object) -> str | None:
        return self._titles.get(tool_call_id) if isinstance(tool_call_id, str) else None

    def knows(self, update: Update) -> bool:
        """Return whether this update is about an open call."""
        return update.tool_call_id in self._kinds

    def note(self, update: Update, now: float = -math.inf) -> str:
        """Receive the update of a tool call; return the call's kind (`""` if unknown)."""
        tool_call_id = update.tool_call_id
        if tool_call_id is None:
            return update.kind or ""
        kind = update.kind or self._kinds.get(tool_call_id, "")
        if update.status is not None and update.status not in acp.OPEN_TOOL:
            self._kinds.pop(tool_call_id, None)
            self._began.pop(tool_call_id, None)
            self._titles.pop(tool_call_id, None)
            self.ended_at = now
        elif len(self._kinds) < MAX_OPEN_TOOLS:
            self._kinds[tool_call_id] = kind
            if update.title:
                self._titles[tool_call_id] = update.title[:MAX_TITLE_CHARS]
            if update.status == "pending":
                self._began.pop(tool_call_id, None)
            elif update.status is not None:
                self._began.setdefault(tool_call_id, now)
        return kind

    def drain(self) -> list[str]:
        """Return the ids of the open calls, and forget them."""
        ids = list(self._kinds)
        self._kinds.clear()
        self._began.clear()
        self._titles.clear()
        return ids


class Facts(msgspec.Struct):
    """One turn's facts.

    Attributes:
        shown: something that a person sees arrived.
        had_question: the user was asked something, and may have ended the turn by the answer.
        text: a piece of the agent's message arrived.
        thought: a piece of its thoughts arrived.
        tool_called: a tool call was reported.
        tool_ran: a tool was started.
        unsafe_tool: a tool that may have side effects was started.
        own_tools: running tools that the handler itself reported, besides those on the wire.
        begun: something besides this session's tool calls may have happened: a message that is not
            known to be harmless, a tool that the user allowed, or work in a session that the client
            never opened.
    """

    shown: bool = False
    had_question: bool = False
    text: bool = False
    thought: bool = False
    tool_called: bool = False
    tool_ran: bool = False
    unsafe_tool: bool = False
    own_tools: int = 0
    begun: bool = False

    @property
    def output(self) -> bool:
        """Return whether the turn produced output: text, or a tool call."""
        return self.text or self.tool_called

    def note(self, update: Update, tool_kind: str = "") -> None:
        """Receive an update; `tool_kind` is the known kind of its tool call."""
        kind = update.session_update
        if kind in acp.SHOWN_KINDS:
            self.shown = True
        if kind in acp.TEXT_KINDS:
            self.text = True
        elif kind in acp.THOUGHT_KINDS:
            self.thought = True
        elif kind in acp.TOOL_KINDS:
            self.tool_called = True
            if update.status not in acp.NOT_STARTED_TOOL:
                self._tool_started(safe=tool_kind in acp.READ_ONLY_TOOLS)
        elif kind not in acp.HARMLESS_KINDS:
            self.begun = True

    def note_message(self, method: str | None) -> None:
        """Receive the purpose of the agent's request or notification, except an update.

        It is `None` if the message could not be read.
        """
        if method in acp.USER_REQUESTS or method in acp.HAS_SIDE_EFFECTS:
            self.shown = True
        if method in acp.USER_REQUESTS:
            self.had_question = True
        if method in acp.HAS_SIDE_EFFECTS:
            self.tool_called = True
            self._tool_started(safe=False)
        elif method not in acp.HARMLESS_METHODS:
            self.begun = True

    def note_elsewhere(self, update: Update) -> None:
        """Receive an update of a session that the client never opened, such as a sub-agent's."""
        kind = update.session_update
        if kind not in acp.HARMLESS_KINDS or (kind in acp.SHOWN_KINDS and text_of(update) != ""):
            self.begun = True

    def note_permission(self, outcome: str) -> None:
        """Receive how the user answered a request for permission, after which a tool may run."""
        if outcome not in _FORBIDS:
            self.begun = True

    def note_output(self) -> None:
        """Note that the user saw something that did not pass through this link."""
        self.shown = self.text = True

    def note_tool(self, *, safe: bool) -> None:
        """Note that a tool was started that did not pass through this link."""
        self.tool_called = True
        self.own_tools += 1
        self._tool_started(safe=safe)

    def note_tool_finished(self) -> None:
        """Note that such a tool has finished."""
        self.own_tools = max(self.own_tools - 1, 0)

    def _tool_started(self, *, safe: bool) -> None:
        self.tool_ran = True
        if not safe:
            self.unsafe_tool = True

    def after(self, earlier: Facts) -> Facts:
        """Return these facts combined with those of earlier work on the same turn."""
        either = {
            name: getattr(self, name) or getattr(earlier, name)
            for name in self.__struct_fields__
            if name != "own_tools"
        }
        return msgspec.structs.replace(self, **either)

    def phase(self, *, tool_running: bool) -> Phase:
        """Return how far the turn has come."""
        return self._summary(tool_running=tool_running or self.own_tools > 0).phase

    def retry_safety(self, *, retryable: bool) -> RetrySafety:
        """Return whether sending the prompt again would do harm."""
        return self._summary().retry_safety(retryable=retryable)

    def _summary(self, *, tool_running: bool = False) -> TurnFacts:
        """Return the facts as values, assuming that a request was sent to a provider."""
        return TurnFacts(
            text=self.text,
            thought=self.thought,
            tool_called=self.tool_called,
            tool_ran=self.tool_ran,
            unsafe_tool=self.unsafe_tool,
            tool_running=tool_running,
            provider_tools=self.begun,
        )


# --- what it does again and again -----------------------------------------------------------------

MAX_REPEATS = 50
"""An agent that repeats a chunk, or a tool call with its input, this often in a row is in a loop.
One was measured to send the same request 966 times in two minutes."""

MIN_REPEATED_CHARS = 20
"""Shorter chunks repeat in honest output (a table's cells, a ruler of dashes)."""

NEAR_REPEATS = MAX_REPEATS - 2
"""From this count on, every repetition is examined."""


def is_short(update: Update) -> bool:
    """Return whether this chunk is short enough to be repeated without limit."""
    return len(text_of(update) or "") < MIN_REPEATED_CHARS


class Repetition:
    """How often in a row one session's agent has done the same thing."""

    __slots__ = ("_tool_before", "_tool_last", "_tool_repeats", "_tool_shown", "content", "repeats")

    def __init__(self) -> None:
        self.content: object = None
        """The last chunk's content, as it came."""
        self.repeats: int = 0
        self._tool_last: tuple[str | None, object] = (None, None)
        self._tool_repeats = 0
        self._tool_before: tuple[object, int] = (None, 0)
        """The request of the call before the last, and how often it had been repeated in a row."""
        self._tool_shown: tuple[object, ...] = ()
        """What was last shown of a call without an input."""

    def note_run(self, content: object, repeats: int) -> None:
        """Receive the result of a run of chunks: the content of the last, and its count."""
        if content != self.content:
            self._other_than_tools()
        self.content, self.repeats = content, repeats

    def is_too_much(self, update: Update) -> bool:
        """Receive an update; return whether it is one repetition too many."""
        if update.session_update in acp.TOOL_KINDS:
            return self.is_tool_too_much(update)
        if update.content is UNSET:
            if update.session_update in acp.SHOWN_KINDS:
                self._other_than_text()
                self._other_than_tools()
            return False
        if update.content != self.content:
            self._other_than_tools()
            self.content, self.repeats = update.content, 0
            return False
        self.repeats += 1
        return self.repeats >= MAX_REPEATS - 1 and not is_short(update)

    @property
    def tool_near(self) -> bool:
        """Return whether the next call may be one too many."""
        return max(self._tool_repeats, self._tool_before[1]) >= NEAR_REPEATS

    def is_tool_too_much(self, update: Update) -> bool:
        """Receive a tool call; return whether too many in a row ask for the very same thing."""
        if update.raw_input is UNSET:
            # Its input is unknown: it may ask for anything.
            shown = (update.tool_call_id, update.title, update.status)
            if update.tool_call_id != self._tool_last[0] and shown != self._tool_shown:
                self.repeats = 0
            self._tool_shown = shown
            return False
        tool_call_id, last = self._tool_last
        if update.tool_call_id != tool_call_id:
            self._tool_before = (last, self._tool_repeats)
        # Agents open a call with an empty input and send the real one later: the latest counts.
        request = (update.title, bytes(update.raw_input))
        self._tool_last = (update.tool_call_id, request)
        before, repeats = self._tool_before
        self._tool_repeats = repeats + 1 if request == before else 0
        if self._tool_repeats == 0:
            self._other_than_text()
        return self._tool_repeats >= MAX_REPEATS - 1

    # "In a row" means with nothing new in between. A repetition is nothing new: an agent in a loop
    # may well say the same thing between two identical calls.

    def _other_than_text(self) -> None:
        self.content, self.repeats = None, 0

    def _other_than_tools(self) -> None:
        self._tool_repeats, self._tool_before = 0, (None, 0)

    def forget(self) -> None:
        """Forget the counts, since the turns are over."""
        self.repeats = self._tool_repeats = 0
        self._tool_before = (None, 0)


# --- what it does outside its turns ---------------------------------------------------------------

QUIET_SECONDS = 10.0
"""Without an update for this long, an active agent becomes quiet."""

ACTIVE, QUIET = "active", "quiet"


class Activity(msgspec.Struct, eq=False):
    """What a session's agent does outside its turns.

    Attributes:
        word: `active` or `quiet`; empty while there is nothing to say.
        due: when it becomes quiet unless it shows something; `None` for never.
    """

    word: str = ""
    due: float | None = None
    _in_turn: bool = False
    _had_turn: bool = False
    _speaks: bool = False

    def begin_turn(self) -> None:
        """Note that a turn begins, which already shows that the agent is at work."""
        self.word, self.due = "", None
        self._in_turn = self._had_turn = True
        self._speaks = False

    def end_turn(self) -> None:
        """Note that no turn is open any more."""
        self.word, self.due = "", None
        self._in_turn = False

    def note(self, kind: str, now: float) -> bool:
        """Receive an update of a kind; return whether the word has changed."""
        if kind == "usage_update":
            # In a turn, the usage follows the last words.
            if self._in_turn and self._speaks and not self.word:
                self.due = now + QUIET_SECONDS
            return False
        if kind not in acp.SHOWN_KINDS:
            return False
        self._speaks = kind in acp.TEXT_KINDS
        if self._in_turn and not self.word:
            self.due = None
            return False
        if not self._had_turn:
            return False
        self.due = now + QUIET_SECONDS
        changes, self.word = self.word != ACTIVE, ACTIVE
        return changes

    def time_out(self, now: float) -> bool:
        """Return whether the agent has become quiet."""
        if self.due is None or self.due > now:
            return False
        self.word, self.due = QUIET, None
        return True

    def shift(self, seconds: float) -> None:
        """Shift its clock by the time that it stood still."""
        if self.due is not None:
            self.due += seconds


# --- why it is silent -----------------------------------------------------------------------------

MAX_PROGRAM_CHARS = 40
MAX_SHOWN_TITLE_CHARS = 120
_MINUTES_FROM_SECONDS = 120


class Cause(StrEnum):
    """What a silent agent waits for or does."""

    PROVIDER = "provider"
    """A request to the model provider has had no answer."""
    TRIES = "tries"
    """The same request was sent several times, and every answer had the size of an error."""
    UNREACHABLE = "unreachable"
    """A connection cannot be made, or no longer works."""
    TOOL = "tool"
    """A program that the agent started in this turn is running."""
    MCP_SERVER = "mcp_server"
    """A request to a server on this machine has had no answer."""
    BUSY = "busy"
    """The agent computes."""
    STOPPED = "stopped"
    """The agent's process is stopped, as by a debugger or Ctrl-Z."""
    DISK = "disk"
    """The agent's process waits for a disk."""
    STREAM = "stream"
    """The model provider has begun its answer and stopped sending it."""
    IDLE = "idle"
    """The agent's runtime has no open request to a model provider, and no tool is running."""
    DONE = "done"
    """Its last words and its usage have arrived, but not its answer."""


FACTS_OF_SILENCE: dict[Cause, str] = {
    Cause.PROVIDER: "provider_seconds",
    Cause.TRIES: "provider_seconds",
    Cause.UNREACHABLE: "provider_seconds",
    Cause.STREAM: "provider_seconds",
    Cause.TOOL: "tool_seconds",
    Cause.MCP_SERVER: "tool_seconds",
    Cause.BUSY: "agent_seconds",
    Cause.STOPPED: "agent_seconds",
    Cause.DISK: "agent_seconds",
    Cause.IDLE: "agent_seconds",
    Cause.DONE: "agent_seconds",
}
"""The fact of a turn's end that counts the time of a cause."""


TYPES_OF_SILENCE: dict[Cause, ErrorType] = {
    Cause.PROVIDER: ErrorType.TIMEOUT,
    Cause.STREAM: ErrorType.TIMEOUT,
    Cause.UNREACHABLE: ErrorType.NETWORK,
    Cause.TRIES: ErrorType.AGENT_STALLED,
    Cause.STOPPED: ErrorType.AGENT_STALLED,
    Cause.IDLE: ErrorType.AGENT_STALLED,
    Cause.DONE: ErrorType.AGENT_STALLED,
}
"""The error types of turns that are stopped in such a silence; other causes may be work."""


class SilenceCause(msgspec.Struct, frozen=True, kw_only=True):
    """Why an agent is silent.

    Attributes:
        cause: what it waits for or does.
        since: when that began, by the clock of `now`.
        program: for a tool, the program's name.
        tries: for silent tries, how many requests were sent.
        is_certain: whether the agent's runtime itself says so.
    """

    cause: Cause
    since: float
    program: str | None = None
    tries: int | None = None
    is_certain: bool = False


def sentence_of_silence(cause: SilenceCause, now: float) -> str:
    program = plain_program(cause.program)
    phrase = late.session_events.PHRASES["silences"][cause.cause].format(
        program=f'"{program}"' if program else "a program",
        tries=cause.tries,
        span=_span(now - cause.since),
    )
    return f"{phrase[0].upper()}{phrase[1:]}."


def sentence_of_tool(title: str, cause: SilenceCause, now: float) -> str:
    """Return how long a tool has been running, in a sentence.

    Args:
        title: Its title, redacted and on one line.
        cause: Since when it has been running, and its program if that is known.
        now: The time.
    """
    shown = title.replace('"', "'")
    if len(shown) > MAX_SHOWN_TITLE_CHARS:
        shown = f"{shown[:MAX_SHOWN_TITLE_CHARS].rstrip()}…"
    program = plain_program(cause.program)
    of = f' (program "{program}")' if program else ""
    return f'The tool "{shown}"{of} has been running for {_span(now - cause.since)}.'


def plain_program(name: str | None) -> str | None:
    """Return a program's name without anything that a client reads as markup."""
    if not name:
        return None
    return late.wording.on_one_line(name).replace('"', "'")[:MAX_PROGRAM_CHARS] or None


def _span(seconds: float) -> str:
    whole = max(round(seconds), 1)
    return f"{whole} s" if whole < _MINUTES_FROM_SECONDS else f"{whole // 60} min"
