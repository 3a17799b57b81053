"""The `agent_error` extension as pydantic models, and the source of `protocol/schema.json`.

Owns the public models and the JSON Schema that writers must follow. `core.failure.payload` reads
payloads that break either, and the models are built from its result. No healthy turn imports this
module.

`python -m lastword.client.model` prints the schema.
"""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any, ClassVar, Literal, Self, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from lastword.core.failure.payload import STOP_REASON, payload_of, read_payload, read_retry
from lastword.core.failure.taxonomy import (
    MAX_MESSAGE_CHARS,
    MAX_TEXT_CHARS,
    Action,
    AgentError,
    ErrorType,
    Origin,
    Phase,
    RetrySafety,
)

__all__ = [
    "Advertisement",
    "AgentErrorPayload",
    "AgentErrorUpdate",
    "AgentRetryUpdate",
    "json_schema",
]

VERSION = 1
"""The version of the extension that these models are of."""

SCHEMA_ID = "urn:x-lastword:agent-error:1"

_Count = Annotated[int, Field(ge=0)] | None
_Text = Annotated[str, Field(max_length=MAX_TEXT_CHARS)] | None
_Sentence = Annotated[
    str,
    Field(min_length=1, max_length=MAX_MESSAGE_CHARS, json_schema_extra={"pattern": r"^[^\[]*$"}),
]
_Consent = Annotated[bool | None, BeforeValidator(lambda value: True if value is True else None)]


def _without_null(schema: dict[str, Any]) -> None:
    """Drop `null` and the default from each property: absent means unknown, null is never sent."""
    for name, member in schema.get("properties", {}).items():
        member.pop("default", None)
        member.pop("title", None)
        branches = [branch for branch in member.get("anyOf", []) if branch != {"type": "null"}]
        if len(branches) == 1:
            del member["anyOf"]
            schema["properties"][name] = {**branches[0], **member}


class _WireModel(BaseModel):
    """What all messages of the extension share: unknown keys are kept, values do not change."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        extra="allow", frozen=True, json_schema_extra=_without_null
    )

    def to_wire(self) -> dict[str, Any]:
        """Return the JSON object that is sent, without absent fields and with unknown ones."""
        wire: dict[str, Any] = self.model_dump(mode="json", exclude_none=True)
        return wire


class AgentErrorPayload(_WireModel):
    """One failure: what happened, whose fault it was, and whether to try again."""

    # Generated from core/failure/members.py by protocol/generate_payload.py.
    type: Annotated[
        ErrorType,
        Field(description="What went wrong. A reader takes a word it does not know as `unknown`."),
    ]
    message: Annotated[
        _Sentence,
        Field(description="One plain sentence for the user, without markup; says what to do."),
    ]
    detail: Annotated[
        dict[str, Any] | None,
        Field(description="Redacted details of at most 4 KiB; `text` has the original words."),
    ] = None
    retryable: Annotated[
        bool,
        Field(description="Would the same prompt, sent again, have a chance to succeed?"),
    ]
    retry_after_seconds: Annotated[
        _Count,
        Field(description="The least time to wait before a retry, rounded up."),
    ] = None
    reset_at_epoch_ms: Annotated[
        _Count,
        Field(description="When the limit resets, in milliseconds since 1970 UTC."),
    ] = None
    source: Annotated[
        _Text,
        Field(description="Who reported it: a provider, a library or a program."),
    ] = None
    reason: Annotated[
        _Text,
        Field(description="A narrower name within `type`; an open set of few values."),
    ] = None
    origin: Annotated[
        Origin | None,
        Field(description="Whose fault it was."),
    ] = None
    phase: Annotated[
        Phase | None,
        Field(description="How far the turn had come."),
    ] = None
    retry_safety: Annotated[
        RetrySafety | None,
        Field(description="Would a retry do harm? Only `auto` may be retried by a machine."),
    ] = None
    action: Annotated[
        Action | None,
        Field(description="What the user can do about it."),
    ] = None
    http_status: Annotated[
        int | None,
        Field(description="The HTTP status that the provider answered with."),
    ] = None
    provider_code: Annotated[
        _Text,
        Field(description="The provider's or agent's own code, as text, unchanged."),
    ] = None
    request_id: Annotated[
        _Text,
        Field(description="The provider's name for the request, for its support."),
    ] = None
    attempts: Annotated[
        _Count,
        Field(description="How often the model was asked before giving up."),
    ] = None
    exit_code: Annotated[
        int | None,
        Field(description="The dead agent's exit status."),
    ] = None
    exit_signal: Annotated[
        _Text,
        Field(description="The signal that killed the agent, such as `SIGKILL`."),
    ] = None
    incident_id: Annotated[
        _Text,
        Field(description="Names the record of this failure."),
    ] = None
    # End of what is generated.

    @model_validator(mode="before")
    @classmethod
    def _read(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        payload = cast("dict[str, Any]", value)
        mark = payload.get(STOP_REASON)
        members = read_payload(payload).payload()
        return members if mark is None else members | {STOP_REASON: mark}

    @classmethod
    def from_error(cls, error: AgentError) -> Self:
        """Return the model of a core value."""
        return cls.model_validate(error.payload())

    def to_error(self) -> AgentError:
        """Return the plain value; keys that the contract does not name are in its `extra`."""
        named = {name: getattr(self, name) for name in type(self).model_fields}
        others = {k: v for k, v in (self.model_extra or {}).items() if k != STOP_REASON}
        return AgentError(**named, extra=others or None)


_AD_HOC_KEYS = frozenset({"message", "text", "raw", "type", "error"})
"""Members of the shapes before the contract, which became the payload."""


class AgentErrorUpdate(_WireModel):
    """The `update` that says why a turn failed, for a client that negotiated it."""

    session_update: Annotated[
        Literal["agent_error", "_agent_error"],
        Field(alias="sessionUpdate", description="`_agent_error` in protocol version 2."),
    ]
    stop_reason: Annotated[
        Literal["error"], Field(alias="stopReason", description="Always `error`.")
    ]
    error: AgentErrorPayload

    model_config: ClassVar[ConfigDict] = ConfigDict(serialize_by_alias=True)

    @model_validator(mode="before")
    @classmethod
    def _complete(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        update = cast("dict[str, Any]", value)
        payload = payload_of(update)
        dropped = frozenset() if payload is update.get("error") else _AD_HOC_KEYS
        others = {key: member for key, member in update.items() if key not in dropped}
        return {**others, "error": payload, STOP_REASON: "error"}


_RETRY_COUNTS = ("attempt", "max_attempts", "wait_seconds")


class AgentRetryUpdate(_WireModel):
    """The `update` that reports a retry to a client that asked for retries."""

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

    model_config: ClassVar[ConfigDict] = ConfigDict(serialize_by_alias=True)

    @model_validator(mode="before")
    @classmethod
    def _read(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        update = cast("dict[str, Any]", value)
        notice = read_retry(update)
        counts = {name: getattr(notice, name) for name in _RETRY_COUNTS}
        error = update.get("error")
        return {**update, **counts, "error": error if isinstance(error, dict) else None}


class Advertisement(_WireModel):
    """What each side advertises in `initialize`, under `_meta.agent_error`."""

    version: Annotated[int, Field(ge=1, strict=True, description="The extension's version.")]
    types: Annotated[list[str] | None, Field(description="Agent: the error types it may send.")] = (
        None
    )
    implementation: Annotated[
        str | None,
        Field(description="Agent: the name and version of its implementation, `name/version`."),
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
    """Return the JSON Schema (draft 2020-12) of all messages of the extension, for writers.

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


if __name__ == "__main__":
    sys.stdout.write(json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n")
