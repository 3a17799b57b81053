"""Spans and metrics at a real OTLP receiver: one trace from the client's span to the tool calls."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from tests.kit.canaries import CANARIES
from tests.kit.gateway.serving import until
from tests.kit.recording import is_recorded

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.interop.otel.conftest import Receiver

HERE_AGENTS = {"run": "plain_agent.py", "serve": "traced_agent.py"}


@pytest.fixture(params=HERE_AGENTS)
def door(request: pytest.FixtureRequest) -> str:
    """The sidecar in front of an agent, and an agent on `serve`."""
    name: str = request.param
    return name


@pytest.fixture
def command(door: str, request: pytest.FixtureRequest) -> list[str]:
    agent = str(request.path.parent / HERE_AGENTS[door])
    if door == "serve":
        return [agent]
    python = str(request.getfixturevalue("packages_python"))
    return ["-m", "lastword", "run", "--", python, agent]


def test_one_trace_leads_from_the_clients_span_to_the_tool_calls_of_turns_that_end_well_or_not(
    take_turns: Callable[..., Any], receiver: Receiver, command: list[str], door: str
) -> None:
    secret = CANARIES["openai"]
    asked = {"LEAKED_TOKEN": secret, "LASTWORD_RECORD_TEXT": "1"}
    frames = take_turns("limit", "work", "leak", command=command, **asked)
    spans = receiver.expect_spans(9)
    # Two calls may begin in one millisecond, of which the first is over sooner.
    spans[4:6] = sorted(spans[4:6], key=lambda span: span["attributes"]["gen_ai.tool.call.id"])
    assert [span["span"] for span in spans] == [
        *("send limit", "invoke_agent plain"),
        *("send work", "invoke_agent plain", "execute_tool read", "execute_tool execute"),
        *("send leak", "invoke_agent plain", spans[-1]["span"]),
    ]
    limited, (sent, turn, *tools) = spans[1], spans[2:6]
    assert {span["trace"] for span in (turn, *tools)} == {sent["trace"]} != {limited["trace"]}
    assert turn["parent"] == sent["id"]
    assert {tool["parent"] for tool in tools} == {turn["id"]}
    assert all(turn["started"] <= tool["started"] <= tool["ended"] for tool in tools)
    assert all(tool["ended"] <= turn["ended"] for tool in tools)
    assert turn["ended"] - turn["started"] <= sent["ended"] - sent["started"]
    assert turn["scope"] == "lastword"
    known = turn["attributes"]
    assert known["lastword.door"] == door
    assert known["gen_ai.operation.name"] == "invoke_agent"
    assert known["gen_ai.conversation.id"] == "s1"
    assert (known["rpc.system.name"], known["rpc.method"]) == ("jsonrpc", "session/prompt")
    assert known["jsonrpc.request.id"] == "3"
    assert known["lastword.outcome"] == "ok"
    assert [tool["failed"] for tool in tools] == [False, True]
    assert tools[0]["attributes"]["gen_ai.tool.call.id"] == "c1"
    # What the client sent arrived as it was.
    given = f"given 00-{sent['trace']}-{sent['id']}-"
    assert any(given in str(frame) for frame in frames)

    # A turn that failed is a span with our type, and counted.
    assert limited["failed"]
    assert limited["attributes"]["error.type"] == "rate_limit"
    assert limited["attributes"]["lastword.origin"] == "provider"
    assert limited["attributes"]["lastword.incident_id"].endswith("-1")
    failed = receiver.expect_point("lastword.turns", error_type="rate_limit")
    assert (failed["value"], failed["unit"]) == (1, "{turn}")
    assert failed["attributes"]["lastword.outcome"] == "failed"
    assert receiver.expect_point("lastword.errors", error_type="rate_limit")["value"] == 1
    assert receiver.expect_point("lastword.turn.duration")["unit"] == "s"
    assert receiver.expect_point("lastword.turn.time_to_first_output")["value"] >= 1

    # No secret reached the receiver.
    assert "401 for" not in receiver.text
    assert secret[6:-2] not in receiver.text


@pytest.mark.parametrize(
    "changes",
    [
        {"OTEL_SDK_DISABLED": "true"},
        # The author's own exporter is another's: only what is ours is looked at.
        {"OTEL_EXPORTER_OTLP_TIMEOUT": "2", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"},
    ],
    ids=["disabled", "no receiver"],
)
def test_without_a_receiver_nothing_is_delayed_and_the_record_is_kept(
    take_turns: Callable[..., Any],
    receiver: Receiver,
    command: list[str],
    changes: dict[str, str],
    tmp_path: Path,
) -> None:
    frames = take_turns("work", command=command, **changes)
    assert frames[-1]["result"] == {"stopReason": "end_turn"}
    assert receiver.spans == []
    until("it is recorded", lambda: is_recorded(tmp_path / "state"))


_KNOWN = """
import sys
from opentelemetry.semconv.schemas import Schemas
from opentelemetry.semconv.attributes import error_attributes as error
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes as gen_ai
from opentelemetry.semconv._incubating.attributes import jsonrpc_attributes as jsonrpc
from opentelemetry.semconv._incubating.attributes import rpc_attributes as rpc
from lastword.otel import conventions as ours

known = {v for part in (error, gen_ai, jsonrpc, rpc) for v in vars(part).values() if type(v) is str}
said = {v for v in vars(ours).values() if type(v) is str}
others = {v for v in said if v.startswith(("error.", "gen_ai.", "jsonrpc.", "rpc."))}
assert len(others) == 11, others
assert others <= known, others - known
operations = {each.value for each in gen_ai.GenAiOperationNameValues}
assert {ours.INVOKE_AGENT, ours.EXECUTE_TOOL} <= operations
assert ours.SCHEMA_URL in {each.value for each in Schemas}
"""


def test_the_borrowed_names_are_those_of_the_named_semantic_conventions(
    packages_python: Path, environment: dict[str, str]
) -> None:
    subprocess.run([packages_python, "-c", _KNOWN], check=True, timeout=60, env=environment)
