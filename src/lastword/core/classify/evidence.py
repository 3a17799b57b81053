"""Evidence and verdict: what a failure left behind, and the conclusion, as frozen values.

`Evidence` is gathered once (`gather`) from a failure of any shape; the rules (`decide`) see nothing
else. `Verdict` is what the rules concluded; `core.failure.wording` puts it into words.
"""

from __future__ import annotations

import msgspec

from lastword.core.failure.taxonomy import (  # noqa: TC001 - a struct's types, at runtime
    Action,
    ErrorType,
    Origin,
)


class ProcessEnding(msgspec.Struct, frozen=True):
    """The meaning of a process's end. `cancelled` is Ctrl-C; `signal` a name such as `SIGKILL`."""

    reason: str
    retryable: bool
    exit_code: int | None = None
    signal: str | None = None
    cancelled: bool = False


class Conclusion(msgspec.Struct, frozen=True):
    """The conclusion of one rule, before waits, ids and the type's defaults are filled in."""

    type: ErrorType
    rule: str
    reason: str | None = None
    retryable: bool | None = None
    origin: Origin | None = None
    ending: ProcessEnding | None = None


class ProcessEvidence(msgspec.Struct, frozen=True, kw_only=True):
    """The end of an agent's process, or the fact that it still runs.

    `exit_signal` is a signal number. `alive` means that it still runs but makes no progress.
    """

    exit_code: int | None = None
    exit_signal: int | None = None
    stderr_tail: str = ""
    alive: bool = False
    in_turn: bool = True


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """The facts that the rules look at. Nothing here is redacted; every text is clipped.

    Attributes:
        classes: Class names, last component only, the outermost first, then the causes.
        modules: The class names' leading components ("openai", "builtins"), in the same order.
        text: Every distinct message as it was written, one per line.
        folded: `text` in lower case, with typographic and escaped quotes replaced by plain ones.
        tokens: Machine-readable words of the body (`code`, `type`, `status`, ...), normalised.
        words: Identifiers in the prose (`insufficient_quota`, `RateLimitError`), normalised.
        raw_code: The most informative of the tokens, as the provider spelled it.
        status: HTTP status, 400 to 599. `status_stated` is false if it was found in prose.
        rpc_code: JSON-RPC error code, if the failure was a JSON-RPC error.
        headers: Response headers, with lower-case names.
        fields: The body's first scalar under each (normalised) key, for waits and ids.
        wait_seconds: A wait that the exception itself stated (`exc.retry_after`).
        sdk_phase: How far the transport had come: connect, headers, body, stream, spawn.
        process: Process evidence, if a process ended.
        raiser: Who raised the exception, by its traceback: "agent", or "provider" if one of its
            packages is in the traceback.
        agent: The agent's own name for itself.
    """

    classes: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    text: str = ""
    folded: str = ""
    tokens: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    raw_code: str | None = None
    status: int | None = None
    status_stated: bool = True
    rpc_code: int | None = None
    headers: dict[str, str] = {}
    fields: dict[str, str | float] = {}
    wait_seconds: float | None = None
    sdk_phase: str | None = None
    process: ProcessEvidence | None = None
    raiser: str | None = None
    agent: str | None = None


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """The classification of a failure, and the rule that decided it.

    `retry_after_seconds` is rounded up. `detail` is the evidence's own text, not yet redacted:
    `core.failure.wording.compose` redacts and cuts it. `action` is what a person can do, if the
    source of the failure said so too. `refused` means that no wait, however long, makes it
    retryable: the server says so, or the row that matched its words.
    """

    type: ErrorType
    rule: str
    retryable: bool
    refused: bool = False
    reason: str | None = None
    origin: Origin | None = None
    retry_after_seconds: int | None = None
    reset_at_epoch_ms: int | None = None
    http_status: int | None = None
    provider_code: str | None = None
    source: str | None = None
    request_id: str | None = None
    exit_code: int | None = None
    exit_signal: str | None = None
    detail: str | None = None
    action: Action | None = None
