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


def by_name(spans: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {span["span"]: span for span in spans}


def test_one_trace_leads_from_the_clients_span_to_the_tool_calls(
    take_turns: Callable[..., Any], receiver: Receiver, command: list[str], door: str
) -> None:
    frames = take_turns("work", command=command)
    spans = receiver.expect_spans(4)
    assert [span["span"] for span in spans] == [
        *("send work", "invoke_agent plain", "execute_tool read", "execute_tool execute")
    ]
    sent, turn, *tools = spans
    assert len({span["trace"] for span in spans}) == 1
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
    assert known["jsonrpc.request.id"] == "2"
    assert known["lastword.outcome"] == "ok"
    assert [tool["failed"] for tool in tools] == [False, True]
    assert tools[0]["attributes"]["gen_ai.tool.call.id"] == "c1"
    # What the client sent arrived as it was.
    given = f"given 00-{sent['trace']}-{sent['id']}-"
    assert any(given in str(frame) for frame in frames)


def test_a_turn_that_failed_is_a_span_with_our_type(
    take_turns: Callable[..., Any], receiver: Receiver, command: list[str], door: str
) -> None:
    take_turns("limit", "work", command=command)
    turn = by_name(receiver.expect_spans(6)[:2])["invoke_agent plain"]
    assert turn["failed"]
    assert turn["attributes"]["error.type"] == "rate_limit"
    assert turn["attributes"]["lastword.origin"] == "provider"
    assert turn["attributes"]["lastword.incident_id"].endswith("-1")
    failed = receiver.expect_point("lastword.turns", error_type="rate_limit")
    assert (failed["value"], failed["unit"]) == (1, "{turn}")
    assert failed["attributes"]["lastword.outcome"] == "failed"
    assert receiver.expect_point("lastword.errors", error_type="rate_limit")["value"] == 1
    assert receiver.expect_point("lastword.turn.duration")["unit"] == "s"
    assert receiver.expect_point("lastword.turn.time_to_first_output")["value"] == 1


def test_disabling_the_sdk_drops_the_spans_and_keeps_the_record(
    take_turns: Callable[..., Any], receiver: Receiver, command: list[str], tmp_path: Path
) -> None:
    take_turns("work", command=command, OTEL_SDK_DISABLED="true")
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


def test_no_secret_reaches_the_receiver(
    take_turns: Callable[..., Any], receiver: Receiver, command: list[str]
) -> None:
    secret = CANARIES["openai"]
    asked = {"LEAKED_TOKEN": secret, "LASTWORD_RECORD_TEXT": "1"}
    take_turns("leak", "work", command=command, **asked)
    receiver.expect_spans(7)
    receiver.expect_point("lastword.errors")
    assert "401 for" not in receiver.text
    assert secret[6:-2] not in receiver.text


def test_an_absent_receiver_delays_nothing(
    take_turns: Callable[..., Any], command: list[str], door: str, tmp_path: Path
) -> None:
    # The author's own exporter is another's: only what is ours is looked at.
    changes = {"OTEL_EXPORTER_OTLP_TIMEOUT": "2"}
    changes |= {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}
    frames = take_turns("work", command=command, **changes)
    assert frames[-1]["result"] == {"stopReason": "end_turn"}
    until("it is recorded", lambda: is_recorded(tmp_path / "state"))


def test_an_agent_without_opentelemetry_loads_none_of_it(
    take_turns: Callable[..., Any], request: pytest.FixtureRequest
) -> None:
    agent = str(request.path.parent / "traced_agent.py")
    frames = take_turns("work", "work", command=[agent, "without"])
    said = [str(frame) for frame in frames if "loaded" in str(frame)]
    assert len(said) == 2
    assert all("loaded False" in words for words in said)
