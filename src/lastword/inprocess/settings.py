"""An agent's settings in its own process, and the log of its author.

Settings of an agent that lastword runs, from its author or, in the environment, from a user. Owns
reading the environment: the same variables as for `lastword run`, so that a user learns them only
once. An unusable value is reported and ignored: it must not stop an agent.

What lastword writes to the log of an agent's author, on the logger `lastword`. Owns that a logging
handler that raises does not keep a turn from its answer (the standard library's own handlers never
raise out of a call, but others do), and the warnings to authors whose handlers break the rules,
with how to fix that. The core informs the client in its own words.
"""

from __future__ import annotations

import contextlib
import logging
import os
import traceback
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from lastword.core.link.option_table import BY_KEY, OPTIONS
from lastword.core.link.options import LinkOptions, Options
from lastword.core.redact.environment_secrets import secrets_of
from lastword.core.timeline.entry import Entry, Kind
from lastword.errors import MisuseError
from lastword.platform.identity import IMPLEMENTATION, RUN_ID_CHARS, local_time, run_id, zone_of
from lastword.record.paths import named_folder, state_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


_INSTEAD = {
    "stderr_limit_bytes": "stderr is this process's own; leave it out",
    "evidence": "only inside has one here; the rest is for `lastword run`: leave it out",
    "restart": "leave it to whatever starts this process, or start it with `lastword run`",
    "retry": "decorate the call of the model with lastword.retry instead",
    "retry_wait_limit_seconds": "use max_wait_seconds of lastword.retry instead",
    "continue_at_reset_seconds": "use until_reset_seconds of lastword.retry instead",
    "spend_limit": "add up what its model calls cost where they are made; leave it out",
    "fallback_model": "catch the failure of the call, and call another model",
    "fallback_stays": "catch the failure of the call, and call another model",
    "continue_with": "catch the failure that lastword.retry raises, and call the model anew",
    "ask_reminder_seconds": "wait for the user's answer with your own timeout, and say so",
    "ask_timeout": "put asyncio.timeout around the request to the user instead",
}
"""The settings without a meaning for an agent in this process, each with what to do instead."""

_ALLOWED = {"evidence": ("inside",)}
"""Values of these settings that do have a meaning here."""

_READ = frozenset(Options.__struct_fields__) - {*_INSTEAD, "record"}
"""The settings that are read from the environment. Variables without a meaning here are for
`lastword run`, and the record has its own rules (`record_folder`)."""


_DEFAULTS = Options()

IN_TEST: ContextVar[bool] = ContextVar("lastword_in_test", default=False)
"""Whether the agent runs in a test's process, which must continue, and has its own settings."""


@contextlib.contextmanager
def in_test() -> Iterator[None]:
    """Let neither the `SystemExit` of a handler nor the environment affect a test."""
    before = IN_TEST.get()
    IN_TEST.set(True)
    try:
        yield
    finally:
        IN_TEST.set(before)  # not by a token, as in `waits.skipped`


def check(options: Options | None) -> None:
    """Raise MisuseError for a setting that cannot apply to an agent in this process."""
    for name, instead in _INSTEAD.items() if options is not None else ():
        value = getattr(options, name)
        if value not in {getattr(_DEFAULTS, name), *_ALLOWED.get(name, ())}:
            raise MisuseError(
                f"{name}={value!r} has no effect on an agent that runs in this process: {instead}"
            )


def complete(options: Options | None) -> LinkOptions:
    """Return the given options or the environment's, completed with this process's own values.

    Raises:
        MisuseError: One of them cannot apply here.
    """
    check(options)
    chosen = options or from_environment(os.environ)
    shared: dict[str, Any] = {name: getattr(chosen, name) for name in Options.__struct_fields__}
    return LinkOptions(
        **shared
        | {
            "in_process": True,
            "implementation": IMPLEMENTATION,
            "incident_prefix": chosen.incident_prefix or f"{run_id()}-",
            "secrets": (*chosen.secrets, *secrets_of(os.environ)),
            "wall_clock": chosen.wall_clock or local_time,
            "zone_of": zone_of,
        }
    )


def from_environment(environment: Mapping[str, str]) -> Options:
    """Read `LASTWORD_IDLE_TIMEOUT` and the other variables."""
    values: dict[str, Any] = {}
    for option in OPTIONS:
        text = environment.get(option.variable)
        if not text or option.field not in _READ:
            continue
        value = option.read(text)
        if value is None:
            expected = f"it takes {option.expects}, not {text!r}"
            logger.warning("Ignoring %s: %s.", option.variable, expected)
        else:
            values[option.field] = value
    return Options(**values)


def passthrough(environment: Mapping[str, str]) -> bool:
    """Return whether the user wants lastword disabled."""
    return _is_set(environment, "passthrough") and not IN_TEST.get()


def record_folder(options: Options, environment: Mapping[str, str]) -> str | None:
    """Return the record's folder, or `None` for no record.

    A user's `LASTWORD_NO_RECORD` takes precedence over the author's choice, and a folder that the
    author named over the user's own.
    """
    if _is_set(environment, "no_record") or options.record in (False, ""):
        return None
    if isinstance(options.record, str):
        return named_folder(options.record)
    named = environment.get(BY_KEY["record"].variable)
    return named_folder(named) if named else state_folder(environment)


def reports() -> bool:
    """Return whether the environment asks for reports of failures."""
    return bool(os.environ.get(BY_KEY["report_to"].variable))


def run_of(options: Options) -> str:
    """Return the run's id, the prefix of incident ids unless the author chose another."""
    own, _, rest = options.incident_prefix.partition("-")
    return own if len(own) == RUN_ID_CHARS and not rest else run_id()


def _is_set(environment: Mapping[str, str], key: str) -> bool:
    option = BY_KEY[key]
    return option.read(environment.get(option.variable, "")) is True


class AuthorLog(logging.LoggerAdapter[logging.Logger]):
    """A logger that never raises."""

    def log(self, level: int, msg: object, *args: object, **kwargs: Any) -> None:
        """Log as `Logger.log` does, and print what the author's logging handler raises."""
        try:
            self.logger.log(level, msg, *args, **kwargs)
        except Exception:  # noqa: BLE001 - whatever an author's handler raises
            if logging.raiseExceptions:
                with contextlib.suppress(Exception):
                    traceback.print_exc()


logger: AuthorLog = AuthorLog(logging.getLogger("lastword"), {})
timeline: AuthorLog = AuthorLog(logging.getLogger("lastword.timeline"), {})
"""The record's entries, as `docs/agent.md` describes them."""


_MENDED_BY = {
    "no_stop_reason": "the handler of session/prompt returned no stop reason: return "
    'acp.PromptResponse(stop_reason="end_turn"), or {"stopReason": "end_turn"} under serve',
    "unknown_stop_reason": "the handler of session/prompt returned a stop reason that the "
    "protocol does not know",
    "silent_success": "the handler of session/prompt returned without an answer: send an update, "
    "raise what went wrong (do not send it as text), or call current_turn().output() if the user "
    "did see something",
    "runaway": "the handler sends the same update endlessly",
    "first_update_timeout": "the handler showed nothing within %g s "
    "(first_update_timeout_seconds): send updates, or call current_turn().progress() while it "
    "works",
    "idle_timeout": "the handler was silent for %g s (idle_timeout_seconds): send updates, or call "
    "current_turn().progress() while it works",
    "agent_cancelled": "the handler cancelled itself, or the agent cancelled its task: it raised "
    "CancelledError although no user cancelled",
    "no_answer": "the handler did not stop when it was cancelled: let the cancellation pass "
    "(do not catch BaseException around an await), and do not block the event loop",
    "busy_with_ended_turn": "a prompt could not be accepted: the handler of an earlier turn "
    "is still running although it was cancelled",
}

_DROPPED = {
    "answer_to_nobody": "an answer was sent without an open request: answer once, by returning "
    "from the handler",
    "late_answer": "a handler returned after its turn was ended: it swallowed its cancellation, "
    "or blocked the event loop",
    "quarantine": "an update of a turn that has been ended was dropped: its handler is still "
    "running although it was cancelled",
    "not_json": "a frame that is not JSON was not sent to the client",
}


def note(entry: Entry, options: Options = _DEFAULTS) -> None:
    """Warn if an entry shows something that the author can fix; limits are those of the options."""
    if entry.kind is Kind.ERROR:
        reason = str(entry.facts.get("reason"))
        advice = _MENDED_BY.get(reason)
        if advice:
            if reason.endswith("_timeout"):
                advice %= getattr(options, f"{reason}_seconds")
            what = f"Session {entry.session_id}" if entry.session_id else "A request"
            logger.warning("%s failed: %s.", what, advice)
    elif entry.kind is Kind.FRAME_DROPPED and entry.facts.get("side") == "agent":
        advice = _DROPPED.get(str(entry.facts.get("reason")))
        if advice:
            logger.warning("lastword: %s.", advice)
    elif entry.kind is Kind.QUARANTINED:
        logger.warning("Session %s: %s.", entry.session_id, _MENDED_BY["no_answer"])


def after_its_answer(method: str, of: str, *, dropped: bool) -> None:
    """Warn that `method` was sent after the answer to its own request, whose method is `of`."""
    logger.warning(
        "%s was sent after the answer to its own %s, and is %s: await what you send, and every "
        "task that sends, before the handler returns.",
        method,
        of,
        "dropped" if dropped else "sent, out of turn",
    )


def before_initialize() -> None:
    """Warn that a prompt came before `initialize`."""
    logger.warning(
        "The client sent session/prompt before initialize: the handler is called as for a client "
        "of protocol version 1 without capabilities."
    )


def printed() -> None:
    """Warn that something was printed while stdout is reserved for the client."""
    logger.warning(
        "Printed output goes to stderr, because stdout is reserved for messages to the client: "
        "print to sys.stderr, or use logging. This warning is shown once."
    )


def raised(method: str, error: BaseException) -> None:
    """Warn that a handler raised something that is not an `Exception`."""
    logger.error(
        "The handler of %s raised %s, which is not an Exception, so its turn fails. Raise an "
        "Exception, or call current_turn().fail().",
        method,
        type(error).__name__,
    )


def unprintable(method: str, error: BaseException) -> None:
    """Warn that a handler raised an exception whose own methods raise."""
    logger.error(
        "The handler of %s raised %s, which cannot be printed: its __str__, its __repr__ or one of "
        "its attributes raises in turn. Its turn fails; look at that class.",
        method,
        type(error).__name__,
    )


def unusable(method: str, error: BaseException) -> None:
    """Warn that a handler returned something that is not JSON."""
    logger.error(
        "The handler of %s returned a value that cannot be sent as JSON (%s): return plain values "
        "or the SDK's own models.",
        method,
        error,
    )


def reused(error: BaseException) -> None:
    """Warn that an attempt of a model call got a stream or coroutine that was already used."""
    logger.warning(
        "A model call was not retried, because its stream or coroutine was made before the "
        "attempts began (%s): make the call itself within `with attempt:`.",
        error,
    )


def unguarded(stream: str, item: str) -> None:
    """Warn that a stream passed unchecked."""
    logger.warning(
        "current_turn().watch() does not know this stream (%s, of %s): it passes the items on and "
        "guards nothing, so a truncated stream looks complete. Pass the stream of the provider's "
        "package itself, or say which item is the last: watch(stream, finished=...). This warning "
        "is shown once for each type.",
        stream,
        item,
    )
