"""Wire dialects: how agents and providers report a failed model call without an error.

An agent's failure, or a retry, may be in `_meta`, in a notification of the agent's own, or in a
line of text; or a turn that claims success has a message that is nothing but an error. Types are
given as words (`core.failure.taxonomy`). `core.classify.agents` reads frames by these rows, and
`core.failure.signs` decides which turns to check. A provider's stream has items that begin, end or
fail an answer; `inprocess.streams` reads streams by these rows, and also owns what depends on an
item's shape rather than on a word.
"""

from __future__ import annotations

from lastword.quirks import AGENT_GROUPS, Quirk, rows


class MetaError(Quirk, frozen=True, kw_only=True):
    """An error object in `_meta`.

    Attributes:
        mark: a text in every frame that uses it to announce a retry.
        path: the path to it, starting at `_meta`.
        will_retry: the member that says whether the agent continues by itself; empty if it always
            does.
        attempt: the member that counts the tries; empty if none does.
        counts: its message counts the retries, as in `1/5`.
    """

    mark: str
    path: tuple[str, ...]
    will_retry: str = ""
    attempt: str = ""
    counts: bool = False


class MetaState(Quirk, frozen=True, kw_only=True):
    """A state in `_meta` of updates and results that means a failure without describing it.

    Attributes:
        mark: a text in every frame that has it.
        path: the path to it, starting at `_meta`.
        value: the value that means a failure.
        reason: the failure's reason.
    """

    mark: str
    path: tuple[str, ...]
    value: str
    reason: str


class RetryMethod(Quirk, frozen=True, kw_only=True):
    """A notification of an agent's own that announces a retry; `name` is its method.

    Attributes:
        code: the member of its params with a machine-readable word.
        message: the member with a text for people.
    """

    code: str
    message: str


class RetryText(Quirk, frozen=True, kw_only=True):
    """Text from the agent that announces a retry.

    Attributes:
        agent: the key of the agent that writes it (`quirks.agents`).
        openings: how such texts begin, including those about the end of a wait, which are not
            output either.
        pattern: a regular expression for it, with groups for the attempt, for the most attempts,
            and for the wait in seconds if it states one.
    """

    agent: str
    pattern: str
    openings: tuple[str, ...] = ()


class Remark(Quirk, frozen=True, kw_only=True):
    """Text from the agent about its upkeep of the session, which is not output.

    Attributes:
        agent: the key of the agent that writes it (`quirks.agents`).
        openings: how such texts begin.
    """

    agent: str
    openings: tuple[str, ...]


class OptInEvent(Quirk, frozen=True, kw_only=True):
    """A notification that an agent sends only for sessions whose client requested it.

    Attributes:
        agent: the key of the agent that sends it (`quirks.agents`).
        method: its method.
        path: where the request is in the `_meta` of a request that opens a session.
        request: its value.
        event: the members of its `message` that identify an announcement of a retry.
        status: the member with the HTTP status, null if there was no response.
        code: the member with a machine-readable word.
        attempt: the member that counts the retries.
        max_retries: the member with the largest number of retries.
        wait_ms: the member with the wait until the next one.
        no_response: the member that exists only if the provider had not answered at all.
        silence: the type and the reason of such a failure.
        limit_event: the members of its `message` that identify a statement of the account's limit.
    """

    agent: str
    method: str
    path: tuple[str, str]
    request: tuple[dict[str, str], ...]
    event: dict[str, str]
    status: str
    code: str
    attempt: str
    max_retries: str
    wait_ms: str
    no_response: str
    silence: tuple[str, str]
    limit_event: dict[str, str]


class ErrorProse(Quirk, frozen=True, kw_only=True):
    """The errors of one agent; `name` is its key (`quirks.agents`).

    Attributes:
        openings: how they begin: lower case, single spaces, straight quotes.
    """

    openings: tuple[str, ...]


class StreamDialect(Quirk, frozen=True, kw_only=True):
    """One way of streaming an answer.

    Attributes:
        packages: packages whose streams always have an item: an empty one was truncated.
        generators: those whose streams are plain generators. For other packages, an empty generator
            proves nothing: Anthropic's `text_stream` is empty if the answer is a tool call alone.
        first_events: prefixes of the names of its first events.
        beginnings: the events that begin an answer.
        endings: the events after which an answer is complete.
        failures: the events that are failures.
        first_keys: keys, one of which is the only key of a first item.
        unset_reasons: finish reasons which mean that nothing is finished.
    """

    packages: tuple[str, ...] = ()
    generators: bool = False
    first_events: tuple[str, ...] = ()
    beginnings: tuple[str, ...] = ()
    endings: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
    first_keys: tuple[str, ...] = ()
    unset_reasons: tuple[str, ...] = ()


AIR_CATEGORIES: dict[str, tuple[str, bool | None]] = {
    row["match"]: (row["type"], row.get("retryable"))
    for group in AGENT_GROUPS
    if group.tier == "failure_conventions"
    for row in group.rows
}
"""Our type, and whether a retry helps if that is not the type's own value.

Coarse and at times wrong, so that they count only after the text.
"""

AIR_RETRY, *_RETRIES = rows("retry_texts", RetryText)
META_ERRORS = rows("meta_errors", MetaError)
META_STATES = rows("meta_states", MetaState)
RETRY_METHODS = rows("retry_methods", RetryMethod)
RETRY_TEXTS = tuple(_RETRIES)
REMARKS = rows("remarks", Remark)
OPT_IN_EVENTS = rows("opt_in_events", OptInEvent)
ERROR_PROSE = rows("error_prose", ErrorProse)
STREAMS = rows("stream_dialects", StreamDialect)

ROWS: tuple[Quirk, ...] = (
    *(AIR_RETRY, *META_ERRORS, *META_STATES, *RETRY_METHODS, *RETRY_TEXTS, *REMARKS),
    *(*OPT_IN_EVENTS, *ERROR_PROSE, *STREAMS),
)

AIR_MARK = b'"sessionFailure"'
"""In every frame that uses JetBrains AIR's convention."""

EVENTS = {row.method: row for row in OPT_IN_EVENTS}

RETRY_MARKS = (AIR_MARK, *(row.mark.encode() for row in META_ERRORS))
"""Every update that announces a retry, other than a text, contains one of them."""

FAILURE_MARKS = (AIR_MARK, *(row.mark.encode() for row in META_STATES))
"""Every frame that reports a failure beside an ordinary stop reason contains one of them."""

RETRY_TEXT_OPENINGS = tuple(opening for row in RETRY_TEXTS for opening in row.openings)
"""Every text that announces a retry begins with one of them."""

REMARK_OPENINGS = tuple(opening for row in REMARKS for opening in row.openings)
"""Every remark begins with one of them."""

METHODS = {row.name: row for row in RETRY_METHODS}

LAST_LINES = tuple(
    opening for group in AGENT_GROUPS if group.tier == "last_line" for opening in group.matches
)
"""Beginnings of errors that agents write as the last line of a turn's text, also after work."""

OPENINGS: dict[str, tuple[str, ...]] = {row.name: row.openings for row in ERROR_PROSE}
"""By the agent's key."""

ALL_OPENINGS = tuple({opening for row in ERROR_PROSE for opening in row.openings})

# --- provider streams

PACKAGES = tuple(package for row in STREAMS for package in row.packages)
GENERATORS = tuple(package for row in STREAMS if row.generators for package in row.packages)
FIRST_EVENTS = tuple((event, row.name) for row in STREAMS for event in row.first_events)
"""The dialect of a stream, by the beginning of its first event's name."""
BEGINNINGS = frozenset(event for row in STREAMS for event in row.beginnings)
ENDINGS = frozenset(event for row in STREAMS for event in row.endings)
FAILURES = frozenset(event for row in STREAMS for event in row.failures)
FIRST_KEYS = frozenset(key for row in STREAMS for key in row.first_keys)
UNSET_REASONS = frozenset(reason for row in STREAMS for reason in row.unset_reasons)
