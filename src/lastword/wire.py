"""The `agent_error` extension as pydantic models, and the source of `protocol/schema.json`.

Owns how a failure is read from the wire (leniently: what a peer got wrong never hides that there
was a failure) and the JSON Schema that a writer is held to. Does not decide what went wrong
(`core.classify`) nor which frames carry it (`core.fallback`); no healthy turn imports this module.

`python -m lastword.wire` prints the schema.
"""

from __future__ import annotations

import math
from enum import StrEnum
from typing import Annotated, Any, Literal, Self, TypeVar, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from lastword.core.taxonomy import (
    DEFAULTS,
    Action,
    AgentError,
    ErrorType,
    Origin,
    Phase,
    RetrySafety,
)

VERSION = 1
"""The version of the extension that this module reads and writes."""

MAX_MESSAGE_CHARACTERS = 500
MAX_WHOLE = 2**53
"""A larger number is no number to every client in JavaScript."""
SCHEMA_ID = "urn:x-lastword:agent-error:1"
NO_MESSAGE = "The agent reported a failure without saying which."

_Member = TypeVar("_Member", bound=StrEnum)


def _member_or_none(members: type[_Member]) -> BeforeValidator:
    """A reader for one closed set: a word that is not in it counts as absent."""

    def read(value: Any) -> _Member | None:
        try:
            return members(value)
        except ValueError:
            return None

    return BeforeValidator(read)


def _read_type(value: Any) -> ErrorType:
    try:
        return ErrorType(value)
    except ValueError:
        return ErrorType.UNKNOWN


def _read_message(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        return NO_MESSAGE
    if len(value) <= MAX_MESSAGE_CHARACTERS:
        return value
    return value[: MAX_MESSAGE_CHARACTERS - 1] + "…"


def _read_count(value: Any) -> int | None:
    """A whole number, rounded up; anything but a number from 0 to 2^53 counts as absent."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return math.ceil(value) if 0 <= value <= MAX_WHOLE else None


def _read_integer(value: Any) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return None


def _read_text(value: Any) -> str | None:
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def _read_detail(value: Any) -> dict[str, Any] | None:
    if isinstance(value, dict):
        return cast("dict[str, Any]", value)
    return {"text": value} if isinstance(value, str) and value else None


_Count = Annotated[Annotated[int, Field(ge=0)] | None, BeforeValidator(_read_count)]
_Consent = Annotated[bool | None, BeforeValidator(lambda value: True if value is True else None)]
_Text = Annotated[str | None, BeforeValidator(_read_text)]


def _without_null(schema: dict[str, Any]) -> None:
    """Drop `null` and the default from each property: absent means unknown, null is never sent."""
    for name, found in schema.get("properties", {}).items():
        found.pop("default", None)
        found.pop("title", None)
        branches = [branch for branch in found.get("anyOf", []) if branch != {"type": "null"}]
        if len(branches) == 1:
            del found["anyOf"]
            schema["properties"][name] = {**branches[0], **found}


class _WireModel(BaseModel):
    """What all messages of the extension share: unknown keys are kept, values do not change."""

    model_config = ConfigDict(extra="allow", frozen=True, json_schema_extra=_without_null)

    def to_wire(self) -> dict[str, Any]:
        """The JSON object as it is sent: absent fields left out, unknown ones as they came."""
        wire: dict[str, Any] = self.model_dump(mode="json", exclude_none=True)
        return wire


class AgentErrorPayload(_WireModel):
    """One failure: what happened, whose fault it was, and whether to try again."""

    type: Annotated[
        ErrorType,
        BeforeValidator(_read_type),
        Field(description="What went wrong. A reader takes a word it does not know as `unknown`."),
    ]
    message: Annotated[
        str,
        BeforeValidator(_read_message),
        Field(
            min_length=1,
            max_length=MAX_MESSAGE_CHARACTERS,
            json_schema_extra={"pattern": r"^[^\[]*$"},
            description="One plain sentence for the user, without markup; says what to do.",
        ),
    ]
    detail: Annotated[
        dict[str, Any] | None,
        BeforeValidator(_read_detail),
        Field(description="More for the curious, redacted, at most 4 KiB; `text` is what was said"),
    ] = None
    retryable: Annotated[
        bool,
        BeforeValidator(lambda value: value is True),
        Field(description="Would the same prompt, sent again, have a chance to succeed?"),
    ]
    retry_after_seconds: Annotated[
        _Count, Field(description="The least time to wait before a retry, rounded up.")
    ] = None
    reset_at_epoch_ms: Annotated[
        _Count, Field(description="When the limit resets, in milliseconds since 1970 UTC.")
    ] = None
    source: Annotated[
        _Text, Field(description="Who reported it: a provider, a library or a program.")
    ] = None
    reason: Annotated[
        _Text, Field(description="A narrower name within `type`; an open set of few values.")
    ] = None
    origin: Annotated[
        Origin | None, _member_or_none(Origin), Field(description="Whose fault it was.")
    ] = None
    phase: Annotated[
        Phase | None, _member_or_none(Phase), Field(description="How far the turn had come.")
    ] = None
    retry_safety: Annotated[
        RetrySafety | None,
        _member_or_none(RetrySafety),
        Field(description="Would a retry do harm? Only `auto` may be retried by a machine."),
    ] = None
    action: Annotated[
        Action | None, _member_or_none(Action), Field(description="What the user can do about it.")
    ] = None
    http_status: Annotated[
        int | None,
        BeforeValidator(_read_integer),
        Field(description="The HTTP status that the provider answered with."),
    ] = None
    provider_code: Annotated[
        _Text, Field(description="The provider's or agent's own code, as text, unchanged.")
    ] = None
    request_id: Annotated[
        _Text, Field(description="The provider's name for the request, for its support.")
    ] = None
    attempts: Annotated[
        _Count, Field(description="How often the model was asked before giving up.")
    ] = None
    exit_code: Annotated[
        int | None,
        BeforeValidator(_read_integer),
        Field(description="The dead agent's exit status."),
    ] = None
    exit_signal: Annotated[
        _Text, Field(description="The signal that killed the agent, such as `SIGKILL`.")
    ] = None
    incident_id: Annotated[_Text, Field(description="Names the record of this failure.")] = None

    @model_validator(mode="before")
    @classmethod
    def _complete(cls, value: Any) -> Any:
        """The required fields, where a sender left one out: unknown, unsaid, the type's default."""
        if not isinstance(value, dict):
            return value
        given = {k: v for k, v in cast("dict[str, Any]", value).items() if v is not None}
        usual = DEFAULTS[_read_type(given.get("type"))].retryable
        return {"type": None, "message": None, "retryable": usual, **given}

    @classmethod
    def from_error(cls, error: AgentError) -> Self:
        """The wire's view of a value of the core."""
        return cls.model_validate(error.payload())

    def to_error(self) -> AgentError:
        """The plain value; keys that the contract does not name are its `extra`."""
        known = {name: getattr(self, name) for name in type(self).model_fields}
        return AgentError(**known, extra=self.model_extra or None)


_AD_HOC_KEYS = frozenset({"message", "text", "raw", "type", "error"})


def _from_ad_hoc(update: dict[str, Any]) -> dict[str, Any]:
    """Read the two shapes that were on the wire before the contract as if they kept to it.

    `{"sessionUpdate": "agent_error", "message": …, "raw": …}` and
    `{"sessionUpdate": "agent_error", "type": "error", "text": …}` carry no `error` object.
    """
    if isinstance(update.get("error"), dict):
        return update
    said = next((update[key] for key in ("message", "text", "error") if update.get(key)), None)
    raw = update.get("raw")
    error: dict[str, Any] = {
        "type": update.get("type"),
        "message": said,
        "detail": raw if raw is None or isinstance(raw, dict) else {"text": str(raw)},
    }
    kept = {key: value for key, value in update.items() if key not in _AD_HOC_KEYS}
    return {**kept, "error": error}


class AgentErrorUpdate(_WireModel):
    """The `update` of the `session/update` that tells a negotiating client why a turn failed."""

    session_update: Annotated[
        Literal["agent_error", "_agent_error"],
        Field(alias="sessionUpdate", description="`_agent_error` in protocol version 2."),
    ]
    stop_reason: Annotated[
        Literal["error"], Field(alias="stopReason", description="Always `error`.")
    ]
    error: AgentErrorPayload

    model_config = ConfigDict(serialize_by_alias=True)

    @model_validator(mode="before")
    @classmethod
    def _complete(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {**_from_ad_hoc(cast("dict[str, Any]", value)), "stopReason": "error"}


class AgentRetryUpdate(_WireModel):
    """The `update` that tells a client which asked for it that the agent is trying again."""

    session_update: Annotated[
        Literal["agent_retry", "_agent_retry"],
        Field(alias="sessionUpdate", description="`_agent_retry` in protocol version 2."),
    ]
    attempt: Annotated[_Count, Field(description="The attempt that comes next, from 1.")] = None
    max_attempts: Annotated[_Count, Field(description="After how many the agent gives up.")] = None
    wait_seconds: Annotated[_Count, Field(description="How long it waits before, rounded up.")] = (
        None
    )
    error: Annotated[
        AgentErrorPayload | None, Field(description="What the attempt before failed with.")
    ] = None

    model_config = ConfigDict(serialize_by_alias=True)


class Advertisement(_WireModel):
    """What either side says of itself in `initialize`, under `_meta.agent_error`."""

    version: Annotated[int, Field(ge=1, strict=True, description="The extension's version.")]
    types: Annotated[list[str] | None, Field(description="Agent: the error types it may send.")] = (
        None
    )
    implementation: Annotated[
        str | None, Field(description="Agent: name and version of what speaks, `name/version`.")
    ] = None
    stop_reason: Annotated[
        _Consent,
        Field(description='Client: it accepts `stopReason: "error"` in a prompt result.'),
    ] = None
    retry: Annotated[_Consent, Field(description="Client: it wants `agent_retry`.")] = None


_MESSAGES: tuple[type[_WireModel], ...] = (
    AgentErrorPayload,
    AgentErrorUpdate,
    AgentRetryUpdate,
    Advertisement,
)


def json_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of all messages of the extension, for writers.

    It is stricter than the models: closed sets are enums and required fields are required.
    """
    definitions: dict[str, Any] = {}
    for model in _MESSAGES:
        schema = model.model_json_schema(ref_template="#/$defs/{model}")
        definitions.update(schema.pop("$defs", {}))
        definitions[model.__name__] = schema
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA_ID,
        "title": f"The agent_error extension of the Agent Client Protocol, version {VERSION}",
        "anyOf": [{"$ref": f"#/$defs/{model.__name__}"} for model in _MESSAGES],
        "$defs": dict(sorted(definitions.items())),
    }


def _print_schema() -> None:
    import json  # noqa: PLC0415 - only the command needs it
    import sys  # noqa: PLC0415

    sys.stdout.write(json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    _print_schema()
