"""Options of a link: what the user set (`lastword.Options`), and what its shell adds.

Owns the values and the messages for invalid ones. Names, units and defaults are in the table
(`option_table`); each shell decides where the values come from, and one that has not all of it to
offer refuses the rest (`lastword.inprocess.settings`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping  # noqa: TC003
from datetime import (
    datetime,  # noqa: TC003
    tzinfo,  # noqa: TC003 - as above
)
from typing import Any, TypeVar

import msgspec

from lastword.core.failure.retry_policy import RetryBucket  # noqa: TC001 - as above
from lastword.core.link.option_table import BY_KEY, OPTIONS, read_ids

# The types of a struct's members are needed at runtime, by `inspect.signature` and its users.


_Value = TypeVar("_Value", float, int, str)


def _default(key: str, kind: type[_Value]) -> _Value:
    return kind(BY_KEY[key].default)


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """Limits and choices for an agent. Times are seconds; 0 disables a limit.

    A setting that cannot apply to an agent in this process raises a `MisuseError`, which says what
    to do instead.

    Attributes:
        first_update_timeout_seconds: silence allowed between a prompt and its first update.
        idle_timeout_seconds: silence allowed within a turn.
        tool_timeout_seconds: silence allowed while a tool call is in progress.
        turn_timeout_seconds: how long a turn may take in all.
        warn_after_seconds: silence after which clients that can show a warning get one.
        cancel_grace_seconds: how long the agent may take to answer a cancel.
        stderr_limit_bytes: how much the agent may write to stderr without a frame in between. Only
            for `lastword run`.
        fallback: `auto`, or the rung to use whatever the client said. An earlier name of a rung is
            accepted and reads back as today's name.
        restart: `on-crash` restarts an agent that died when it is next needed; `never` does not.
            Only for `lastword run`.
        retry: how often to resend a prompt that failed before anything happened. Only for
            `lastword run`; a handler in this process has `lastword.retry`.
        retry_wait_limit_seconds: the longest wait before resending. Only for `lastword run`.
        continue_at_reset_seconds: the longest total wait of a turn for limits to reset, after which
            it continues. Only for `lastword run`; a handler in this process has `lastword.retry`.
        continue_with: the prompt that continues the turn if the user's own may not be sent again.
        spend_limit: how much may be spent, such as `5USD`, `2USD/turn` or `20EUR/day`; an empty
            text sets none. Only for `lastword run`, whose agents state what a session costs.
        ask_reminder_seconds: how long the agent's question stays open before each reminder. Only
            for `lastword run`.
        ask_timeout: when to answer an open question in the user's place: with no, such as
            `30m=reject`, or as cancelled, `30m=cancel`; empty for never. Only for `lastword run`.
        fallback_model: the agent's model ids, separated by commas: if the model or its provider
            fails, the turn continues with the next one. Only for `lastword run`.
        fallback_stays: keep that model in later turns.
        silent_success: `error` treats a success that shows nothing as a failure; `pass` does not.
        evidence: `wire` looks for the cause of a failure in the agent's output alone, `beside` also
            in its logs and events, `inside` also in its runtime; `auto` chooses by the agent. Only
            for `lastword run`.
        show_retries: `auto` reports retries as a thought in the conversation to a client that
            shows them in no other way; `off` does not.
        record: `False` keeps no record; a text keeps it in that folder. Only for agents in process.
        record_text: keep text in the record, with secrets removed: messages, details, stderr.
        secrets: exact values to redact from lastword's messages, besides the secrets in the
            environment.
        incident_prefix: the prefix of incident ids, unique to this run; by default its own id.
        wall_clock: returns the local time, so that a sentence can say "at 14:05"; by default the
            system's.
    """

    first_update_timeout_seconds: float = _default("first_update_timeout", float)
    idle_timeout_seconds: float = _default("idle_timeout", float)
    tool_timeout_seconds: float = _default("tool_timeout", float)
    turn_timeout_seconds: float = _default("turn_timeout", float)
    warn_after_seconds: float = _default("warn_after", float)
    cancel_grace_seconds: float = _default("cancel_grace", float)
    stderr_limit_bytes: int = _default("stderr_limit", int)
    fallback: str = _default("fallback", str)
    silent_success: str = _default("silent_success", str)
    evidence: str = _default("evidence", str)
    show_retries: str = _default("show_retries", str)
    restart: str = "never"
    retry: int = _default("retry", int)
    retry_wait_limit_seconds: float = _default("retry_wait_limit", float)
    continue_at_reset_seconds: float = _default("continue_at_reset", float)
    continue_with: str = _default("continue_with", str)
    spend_limit: str = _default("spend_limit", str)
    ask_reminder_seconds: float = _default("ask_reminder", float)
    ask_timeout: str = _default("ask_timeout", str)
    fallback_model: str = _default("fallback_model", str)
    fallback_stays: bool = False
    record: bool | str = True
    record_text: bool = False
    secrets: tuple[str, ...] = ()
    incident_prefix: str = ""
    wall_clock: Callable[[], datetime] | None = None

    def __post_init__(self) -> None:
        """Raise ValueError for a limit that is not a number from 0 up, and for an unknown word."""
        for name in LIMITS:
            value = getattr(self, name)
            known = isinstance(value, int | float) and not isinstance(value, bool)
            if not known or not 0 <= value < float("inf"):
                unit = name.rpartition("_")[2]
                said = f"{name} takes a number of {unit} from 0 (which switches it off) up"
                raise ValueError(f"{said}, not {value!r}")
        if not isinstance(self.retry, int) or isinstance(self.retry, bool) or self.retry < 0:
            raise ValueError(f"retry takes a whole number from 0 up, not {self.retry!r}")
        if not isinstance(self.continue_with, str) or not self.continue_with.strip():
            raise ValueError(
                f"continue_with takes a text that is not empty, not {self.continue_with!r}"
            )
        option = BY_KEY["spend_limit"]
        limit = option.read(self.spend_limit) if isinstance(self.spend_limit, str) else None
        if limit is None:
            raise ValueError(f"spend_limit takes {option.expects}, not {self.spend_limit!r}")
        msgspec.structs.force_setattr(self, "spend_limit", limit)
        timeout = self.ask_timeout
        if not isinstance(timeout, str) or BY_KEY["ask_timeout"].read(timeout or "0") is None:
            raise ValueError(f"ask_timeout takes a text such as 30m=reject, not {timeout!r}")
        if not isinstance(self.fallback_model, str) or read_ids(self.fallback_model) is None:
            expected = BY_KEY["fallback_model"].expects
            raise ValueError(f"fallback_model takes {expected}, not {self.fallback_model!r}")
        if not isinstance(self.record, bool | str):
            said = "record takes True, False, or a folder's path as text"
            raise ValueError(f"{said}, not {self.record!r}")  # noqa: TRY004 - as for the others
        for name, words in WORDS.items():
            value = getattr(self, name)
            if value not in words:
                raise ValueError(f"{name} takes one of {', '.join(words)}, not {value!r}")

    @property
    def fallback_models(self) -> tuple[str, ...]:
        """The ids in `fallback_model`."""
        return tuple(self.fallback_model.split(",")) if self.fallback_model else ()


LIMITS = tuple(
    option.field
    for option in OPTIONS
    if option.kind in {"seconds", "bytes"} and option.field in Options.__struct_fields__
)
WORDS = {
    option.field: option.words
    for option in OPTIONS
    if option.words and option.field in Options.__struct_fields__
}


class LinkOptions(Options, frozen=True, kw_only=True):
    """Options of a link, complete.

    Attributes:
        in_process: the handler runs in this process: it can be cancelled, and needs no restart.
        implementation: the name and version that are reported to the client.
        roll: returns random numbers from 0 to 1, for the jitter of waits before a prompt is sent
            again. The core draws none itself; without it, each wait is as long as it can be.
        notify_content: entries of questions and failures carry their texts, for notifications.
        zone_of: returns the time zone of a name (`Europe/Berlin`), or `None` if it knows none.
        retry_bucket: the process's bound on prompts that are sent again; without it, the link has
            one of its own.
        answers_questions: the link itself answers a question that `ask_timeout` ends. A gateway's
            holder does so for its viewers.
    """

    in_process: bool = False
    implementation: str = "lastword"
    roll: Callable[[], float] | None = None
    notify_content: bool = False
    zone_of: Callable[[str], tzinfo | None] | None = None
    retry_bucket: RetryBucket | None = None
    answers_questions: bool = True

    @classmethod
    def of_values(cls, values: Mapping[str, Any], **shell: Any) -> LinkOptions:
        """Return options from the values of the table's, by their keys, and what the shell adds."""
        # Where the record is kept is for doors in process alone.
        fields = {*cls.__struct_fields__} - {"record"}
        return cls(
            **{each.field: values[each.key] for each in OPTIONS if each.field in fields}, **shell
        )

    def local_time(self) -> datetime | None:
        """Return the local time, if there is a clock for it."""
        return self.wall_clock() if self.wall_clock is not None else None

    @property
    def watches_questions(self) -> bool:
        """Whether a question that nobody answers is to be noticed."""
        return bool(self.ask_reminder_seconds or self.ask_timeout)

    @property
    def tries_again(self) -> bool:
        """Whether a turn that failed may be worked on once more before it is answered."""
        return bool(self.retry or self.continue_at_reset_seconds or self.fallback_model)
