"""The extension on the wire: the schema, the examples, and reading what others got wrong."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import ValidationError

from lastword.client import model
from lastword.client.model import (
    Advertisement,
    AgentErrorPayload,
    AgentErrorUpdate,
    AgentRetryUpdate,
)
from lastword.core.failure import wording
from lastword.core.failure.members import MEMBERS, PayloadMember, ValueForm
from lastword.core.failure.taxonomy import (
    DEFAULTS,
    MAX_DETAIL_BYTES,
    MAX_MESSAGE_CHARS,
    MAX_TEXT_CHARS,
    AgentError,
    ErrorType,
)
from lastword.core.protocol import jsonrpc
from tests.kit.places import ROOT
from tests.kit.rows import every

if TYPE_CHECKING:
    from collections.abc import Iterator

SCHEMA = json.loads((ROOT / "protocol" / "schema.json").read_text())
TEXT = (ROOT / "protocol" / "README.md").read_text()

VALUES: dict[ValueForm, Any] = {
    ValueForm.SENTENCE: "The model provider is limiting requests. Try again in 20 seconds.",
    ValueForm.DETAIL: {"text": "429 Too Many Requests", "nothing": None},
    ValueForm.FLAG: True,
    ValueForm.COUNT: 20,
    ValueForm.WHOLE: 429,
    ValueForm.TEXT: "requests_per_minute",
}
FULL = AgentError(**{m.name: next(iter(m.words)) if m.words else VALUES[m.form] for m in MEMBERS})


def validator(definition: str) -> Draft202012Validator:
    return Draft202012Validator({**SCHEMA, "anyOf": [{"$ref": f"#/$defs/{definition}"}]})


# --- the schema --------------------------------------------------------------------------------


def test_the_checked_in_schema_is_the_one_of_the_models() -> None:
    assert model.json_schema() == SCHEMA


def test_the_schema_is_valid_and_refers_to_nothing_that_must_be_fetched() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$id"].startswith("urn:")
    references = re.findall(r'"\$ref": "([^"]+)"', json.dumps(SCHEMA))
    assert all(reference.startswith("#/$defs/") for reference in references)


def test_every_failure_of_the_core_satisfies_the_schema() -> None:
    payloads = [FULL.payload()]
    for each in ErrorType:
        error = AgentError(type=each, message="It failed.", retryable=DEFAULTS[each].retryable)
        payloads.append(error.payload())
    for payload in payloads:
        validator("AgentErrorPayload").validate(payload)
    assert list(FULL.payload()) == list(SCHEMA["$defs"]["AgentErrorPayload"]["properties"])


GONE = "gone"


@every(
    "change",
    [
        {"type": "quota"},
        {"message": ""},
        {"message": "x" * 501},
        {"message": "a [link]"},
        {"message": None},
        {"retryable": "yes"},
        {"retry_after_seconds": 1.5},
        {"retry_after_seconds": -1},
        {"retry_after_seconds": None},
        {"phase": "later"},
        {"origin": "weather"},
        {"action": "pray"},
        {"retry_safety": "perhaps"},
        {"detail": "text"},
        {"source": "x" * 501},
        {"provider_code": 429},
        {"exit_code": 1.5},
        *({required: GONE} for required in ("type", "message", "retryable")),
    ],
)
def test_the_schema_refuses_a_payload_that_strays(change: dict[str, Any]) -> None:
    payload = {name: value for name, value in (FULL.payload() | change).items() if value != GONE}
    assert not validator("AgentErrorPayload").is_valid(payload)


# --- the examples of the contract --------------------------------------------------------------


def example_frames() -> Iterator[dict[str, Any]]:
    for block in re.findall(r"^```json\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL):
        yield json.loads(block)
    for line in re.findall(r"^[→←] (.*)$", TEXT, re.MULTILINE):
        yield json.loads(line)


def messages(value: Any, *, greeting: bool = False) -> Iterator[tuple[str, Any]]:
    """Every message of the extension within a frame, with the definition that it must keep."""
    if isinstance(value, list):
        for item in value:
            yield from messages(item, greeting=greeting)
    if not isinstance(value, dict):
        return
    greeting = greeting or value.get("method") == "initialize" or "protocolVersion" in value
    kind = str(value.get("sessionUpdate", ""))
    if kind in {"agent_error", "_agent_error"}:
        yield "AgentErrorUpdate", value
    elif kind in {"agent_retry", "_agent_retry"}:
        yield "AgentRetryUpdate", value
    for key, item in value.items():
        if key == "agent_error":
            yield ("Advertisement" if greeting else "AgentErrorPayload"), item
        yield from messages(item, greeting=greeting)


def test_every_example_of_the_contract_satisfies_the_schema() -> None:
    seen: dict[str, int] = {}
    for frame in example_frames():
        found = [("AgentErrorPayload", frame)] if "jsonrpc" not in frame else []
        for definition, value in [*found, *messages(frame)]:
            validator(definition).validate(value)
            getattr(model, definition).model_validate(value)
            seen[definition] = seen.get(definition, 0) + 1
        for definition, value in messages(frame):  # outside of a typed update
            assert definition != "AgentErrorPayload" or value["stopReason"] == "error"
    assert seen == {
        "AgentErrorPayload": 4,
        "AgentErrorUpdate": 3,
        "AgentRetryUpdate": 1,
        "Advertisement": 4,
    }


# --- between the core's value and the wire -----------------------------------------------------

MESSAGES = st.text(max_size=MAX_MESSAGE_CHARS).map(wording.on_one_line).filter(bool)
DETAILS = st.dictionaries(st.text(), st.none() | st.booleans() | st.text()).filter(
    lambda detail: len(jsonrpc.dumps(detail)) <= MAX_DETAIL_BYTES
)
STRATEGIES: dict[ValueForm, Any] = {
    ValueForm.SENTENCE: MESSAGES,
    ValueForm.DETAIL: DETAILS,
    ValueForm.FLAG: st.booleans(),
    ValueForm.COUNT: st.integers(0, 2**53),
    ValueForm.WHOLE: st.integers(-255, 599),
    ValueForm.TEXT: st.text(max_size=MAX_TEXT_CHARS),
}


def values_of(member: PayloadMember) -> st.SearchStrategy[Any]:
    values = st.sampled_from(member.words) if member.words else STRATEGIES[member.form]
    return values if member.required else st.none() | values


ERRORS = st.builds(AgentError, **{member.name: values_of(member) for member in MEMBERS})


@given(ERRORS)
def test_a_failure_survives_the_way_to_the_wire_and_back(error: AgentError) -> None:
    payload = AgentErrorPayload.from_error(error)
    assert (payload.to_wire(), payload.to_error()) == (error.payload(), error)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
FIELDS = st.sampled_from([*AgentErrorPayload.model_fields, "other"])


@given(st.dictionaries(FIELDS, JSON_VALUES))
def test_a_broken_payload_never_loses_the_failure(payload: dict[str, Any]) -> None:
    read = AgentErrorPayload.model_validate(payload)
    assert read.message.strip()
    assert len(read.message) <= 500
    error = read.to_error()
    assert AgentErrorPayload.from_error(error).to_error() == error


# --- reading leniently -------------------------------------------------------------------------


def read(**payload: Any) -> AgentErrorPayload:
    return AgentErrorPayload.model_validate(payload)


@pytest.mark.parametrize("version_2", [False, True])
def test_the_typed_update_is_read_and_written(version_2: bool) -> None:
    kind = "_agent_error" if version_2 else "agent_error"
    update = {"sessionUpdate": kind, "stopReason": "error", "error": FULL.payload()}
    assert AgentErrorUpdate.model_validate(update).to_wire() == update
    validator("AgentErrorUpdate").validate(update)


def test_a_retry_is_read_with_whatever_members_it_has() -> None:
    bare = AgentRetryUpdate.model_validate({"sessionUpdate": "agent_retry"})
    assert bare.to_wire() == {"sessionUpdate": "agent_retry"}
    told = AgentRetryUpdate.model_validate(
        {"sessionUpdate": "_agent_retry", "attempt": 3, "max_attempts": 6, "wait_seconds": 3.5}
    )
    assert (told.attempt, told.max_attempts, told.wait_seconds) == (3, 6, 4)


def test_an_advertisement_of_either_side_is_read() -> None:
    for value in (
        {"version": 1, "stop_reason": True, "future": [1]},
        {"version": 1, "types": ["auth"], "implementation": "lastword/0.1.0"},
    ):
        assert Advertisement.model_validate(value).to_wire() == value


@pytest.mark.parametrize("value", ["yes", 1, False, None])
def test_consent_is_true_and_nothing_else(value: Any) -> None:
    client = Advertisement.model_validate({"version": 1, "stop_reason": value, "retry": value})
    assert client.to_wire() == {"version": 1}


def test_an_advertisement_without_a_version_and_another_kind_of_update_are_refused() -> None:
    for version in (0, "1", True, 1.5, None):
        with pytest.raises(ValidationError):
            Advertisement.model_validate({"version": version})
    for update in ({"sessionUpdate": "notice", "error": FULL.payload()}, "agent_error"):
        with pytest.raises(ValidationError):
            AgentErrorUpdate.model_validate(update)
