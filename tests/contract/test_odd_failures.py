"""No failure is too odd for the readers of clients, whatever JSON it is made of."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from lastword.client import read_error, reading
from lastword.core.failure.taxonomy import AgentError

SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20),
    st.sampled_from(["agent_error", "_agent_retry", "notice", "state_update", "idle", "error",
                     "session_info_update", "session/update", "end_turn", "warning"]),
)  # fmt: skip


NAMES = st.one_of(
    st.text(max_size=8),
    st.sampled_from(
        ["jsonrpc", "id", "method", "params", "update", "sessionUpdate", "stopReason", "error",
         "result", "code", "message", "data", "agent_error", "_meta", "jetbrains", "air",
         "sessionFailure", "severity", "category", "codex", "type", "retryable", "detail", "state",
         "retry_after_seconds", "opencode/retry", "title", "raw", "text", "attempt", "version"]
    ),
)  # fmt: skip


JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=6),
    max_leaves=25,
)


# `_read` is without the last net, for hostile objects: no JSON may fall into it.


@given(JSON)
def test_any_json_value_can_be_read(value: Any) -> None:
    told = reading._read(value)
    assert told is None or isinstance(told, AgentError)
    assert told is None or (told.message and json.loads(json.dumps(told.payload())))
    assert told is None or read_error(told.payload()) is not None
    if isinstance(value, dict):
        reading._read_notice(value)
        reading._read_notice({**value, "sessionUpdate": "agent_retry"})


@given(JSON, st.integers() | st.text(max_size=5) | st.none())
def test_any_typed_update_and_any_error_answer_is_read_as_a_failure(value: Any, code: Any) -> None:
    answer = {"jsonrpc": "2.0", "id": 2, "error": {"code": code, "message": value, "data": value}}
    for kind in ("agent_error", "_agent_error"):
        told = reading._read({"sessionUpdate": kind, "error": value})
        assert told is not None
        assert told.message
    for message in (answer, {"error": value or 1}):
        assert reading._read(message) is not None
