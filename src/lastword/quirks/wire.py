"""Wire dialects: how agents report a failed model call without an error in answer to the prompt.

A failure, or a retry, may be in `_meta`, in a notification of the agent's own, or in a line of
text. Types are given as words (`core.failure.taxonomy`). `core.classify.agents` reads frames by
these rows.
"""

from __future__ import annotations

from lastword.quirks import Quirk


class MetaError(Quirk, frozen=True, kw_only=True):
    """An error object in `_meta`.

    Attributes:
        mark: bytes in every frame that uses it to announce a retry.
        path: the path to it, starting at `_meta`.
        will_retry: the member that says whether the agent continues by itself; empty if it always
            does.
        attempt: the member that counts the tries; empty if none does.
        counts: its message counts the retries, as in `1/5`.
    """

    mark: bytes
    path: tuple[str, ...]
    will_retry: str = ""
    attempt: str = ""
    counts: bool = False


class MetaState(Quirk, frozen=True, kw_only=True):
    """A state in `_meta` of updates and results that means a failure without describing it.

    Attributes:
        mark: bytes in every frame that has it.
        path: the path to it, starting at `_meta`.
        value: the value that means a failure.
        reason: the failure's reason.
    """

    mark: bytes
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
        wish: its value.
        event: the members of its `message` that identify an announcement of a retry.
        status: the member with the HTTP status, null if there was no response.
        code: the member with a machine-readable word.
        attempt: the member that counts the retries.
        max_retries: the member with the most retries that there will be.
        wait_ms: the member with the wait until the next one.
        no_response: the member that is there only if the provider had not answered at all.
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


class FailureConvention(Quirk, frozen=True, kw_only=True):
    """A way of reporting failures that several agents share.

    Attributes:
        mark: bytes in every frame that uses it.
        categories: its words for what failed: our type, and whether a retry helps if that is not
            the type's own value.
    """

    mark: bytes
    categories: dict[str, tuple[str, bool | None]]


AIR = FailureConvention(
    name="air",
    mark=b'"sessionFailure"',
    # Coarse and at times wrong, so that they count only after the text.
    categories={
        "connection": ("network", None),
        "access": ("auth", None),
        "limit": ("rate_limit", False),
        "service": ("provider_unavailable", None),
        "request": ("invalid_request", None),
    },
    evidence=(
        "JetBrains AIR's sessionFailure, as claude-agent-acp writes it "
        "(src/session-failure-extension.ts); codex-acp calls a 402 a `connection`"
    ),
    version="version 1 of the convention: claude-agent-acp 0.100.0, codex-acp 2.6.0",
)

AIR_RETRY = RetryText(
    name="air:retrying",
    agent="claude",
    pattern=r"attempt (\d{1,4}) of (\d{1,4})\b",
    evidence="the title of its AIR warnings: `Retrying Claude, attempt 2 of 10.`",
    version="claude-agent-acp 0.100.0",
)

META_ERRORS = (
    MetaError(
        name="codex",
        mark=b'"willRetry"',
        path=("codex", "error"),
        will_retry="willRetry",
        counts=True,
        evidence=(
            "one at each try: message `Reconnecting... 1/5`, codexErrorInfo "
            "`{responseStreamDisconnected: {httpStatusCode: 429}}`, willRetry true; 0.1 s after a "
            "429, 3.3 s after a 502"
        ),
        version="codex-acp 2.6.0",
    ),
    MetaError(
        name="opencode",
        mark=b'"opencode/retry"',
        path=("opencode/retry",),
        attempt="attempt",
        evidence=(
            "`RetryMeta` of its ACP translation, a session_info_update once a retry is scheduled, "
            "null once it begins; the version that was run sends none"
        ),
        version="opencode's source after 1.18.33",
    ),
)

META_STATES = (
    MetaState(
        name="codex:systemError",
        mark=b'"systemError"',
        path=("codex", "threadStatus", "type"),
        value="systemError",
        reason="system_error",
        evidence="in an update before `end_turn`, where the error itself is a chunk of text",
        version="codex-acp 2.6.0",
    ),
)

RETRY_METHODS = (
    RetryMethod(
        name="_session/retrying",
        code="category",
        message="detail",
        evidence=(
            "category `rate_limited`, `server_error` or `connection`, detail `HTTP 429` or "
            "`RemoteProtocolError`, 0.2 to 1.1 s after the failure; RETRYING_EXT_METHOD in its "
            "source"
        ),
        version="mistral-vibe 3.0.2",
    ),
)

RETRY_TEXTS = (
    RetryText(
        name="pi:retrying",
        agent="pi",
        pattern=r"Retrying \(attempt (\d{1,4})/(\d{1,4}), waiting (\d{1,6})(?:\.\d+)?s\)",
        openings=("Retrying (attempt ", "Retry finished, resuming"),
        evidence=(
            "a chunk of text, `Retrying (attempt 1/3, waiting 2s)...`; never with the cause, and "
            "in the end a success"
        ),
        version="pi-acp 0.0.34",
    ),
)

REMARKS = (
    Remark(
        name="codex:metadata",
        agent="codex",
        openings=("Warning: Model metadata for ",),
        evidence=(
            "runs: a chunk of its own before all else, where the model is none of codex's list; "
            "after it came the error as the turn's only other text"
        ),
        version="codex-acp 2.6.0",
    ),
    Remark(
        name="kimi-code:compaction",
        agent="kimi-code",
        openings=(
            "Compacting conversation context\u2026",
            "Compaction is blocked by the current turn; retry when the turn is idle.",
            "Compaction cancelled.",
            "Compaction completed.\n- Messages compacted: ",
        ),
        evidence=(
            "runs: three chunks, the first three of these, and `end_turn` are all that is seen of "
            "a context overflow; in its bundle each is a chunk of its own, sent at an event of "
            "the compaction's"
        ),
        version="kimi-code 2.1.0",
    ),
)

OPT_IN_EVENTS = (
    OptInEvent(
        name="claude:api_retry",
        agent="claude",
        method="_claude/sdkMessage",
        path=("claudeCode", "emitRawSDKMessages"),
        request=({"type": "system", "subtype": "api_retry"}, {"type": "rate_limit_event"}),
        event={"type": "system", "subtype": "api_retry"},
        status="error_status",
        code="error",
        attempt="attempt",
        max_retries="max_retries",
        wait_ms="retry_delay_ms",
        no_response="no_response",
        silence=("timeout", "provider_silent"),
        limit_event={"type": "rate_limit_event"},
        evidence=(
            "`shouldEmitRawMessage` in its acp-agent.js takes a list of types and subtypes; runs: "
            "0.3 s after a 429 or 502, 0.7 s after a 401, 1.1 s after a cut (status null). Without "
            "a body, so that a used-up quota reads as a rate limit. `no_response {waited_ms, "
            "retry_wait_ms}` is in the SDK's types since 0.3.261. A limit of a subscription is in "
            "a `rate_limit_event` 0.3 to 1.6 s before the error; `_claude/rateLimit` is missing "
            "in a session's first turn"
        ),
        version="claude-agent-acp 0.100.0",
    ),
)

ROWS = (
    *(AIR, AIR_RETRY),
    *(*META_ERRORS, *META_STATES, *RETRY_METHODS, *RETRY_TEXTS, *REMARKS, *OPT_IN_EVENTS),
)

EVENTS = {row.method: row for row in OPT_IN_EVENTS}

RETRY_MARKS = (AIR.mark, *(row.mark for row in META_ERRORS))
"""One of them stands in every update that announces a retry, but for texts."""

FAILURE_MARKS = (AIR.mark, *(row.mark for row in META_STATES))
"""Every frame that reports a failure beside an ordinary stop reason contains one of them."""

RETRY_TEXT_OPENINGS = tuple(opening for row in RETRY_TEXTS for opening in row.openings)
"""One of them begins every text that announces a retry."""

REMARK_OPENINGS = tuple(opening for row in REMARKS for opening in row.openings)
"""One of them begins every remark."""

METHODS = {row.name: row for row in RETRY_METHODS}
