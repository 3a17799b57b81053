"""What rows of the record become for OpenTelemetry, as plain values."""

from __future__ import annotations

from typing import Any

import pytest

from lastword.core.timeline.entry import Kind
from lastword.otel import conventions as names
from lastword.otel import enabled
from lastword.otel.spans import MAX_EVENTS, MAX_TURNS, Measured, Span, SpanBuilder, TelemetryItem
from lastword.record.run import Row, this_run

RUN = this_run("01RUN", door="serve", program="agent.py")


def row(kind: Kind, at: float, turn: int | None = 1, **facts: Any) -> Row:
    """A row at this second of the run, which began at 1,000,000 s since 1970."""
    session = None if turn is None else "s1"
    epoch_ms = int((1_000_000 + at) * 1000)
    return Row(kind.value, "info", epoch_ms, at, session, turn, "7", facts)


def told_of(*rows: Row) -> list[TelemetryItem]:
    builder = SpanBuilder(RUN, 1_000_000)
    return [told for each in rows for told in builder.receive(each)] + builder.rest()


def spans_of(*rows: Row) -> list[Span]:
    return [told for told in told_of(*rows) if isinstance(told, Span)]


def measured(metric: str, *rows: Row) -> list[Measured]:
    return [t for t in told_of(*rows) if isinstance(t, Measured) and t.metric == metric]


def test_a_turn_is_a_span_from_prompt_to_end_below_the_clients_span() -> None:
    end = row(Kind.ANSWER, 3.5, stop_reason="end_turn", by="agent")
    (span,) = spans_of(
        row(Kind.AGENT_READY, 0, None, name="coder", version="2"),
        row(Kind.PROMPT, 1, traceparent="00-a-b-01"),
        # A clock that is set meanwhile moves nothing.
        Row(end.kind, "info", 5_000_000_000, end.at_seconds, "s1", 1, "7", end.facts),
    )
    assert span.name == "invoke_agent coder"
    assert (span.started_seconds, span.ended_seconds) == (1_000_001, 1_000_003.5)
    assert span.traceparent == "00-a-b-01"
    assert not span.failed
    assert span.attributes[names.AGENT_VERSION] == "2"
    assert span.attributes["lastword.stop_reason"] == "end_turn"


@pytest.mark.parametrize(
    ("end", "outcome"),
    [
        (row(Kind.ANSWER, 2, stop_reason="cancelled"), "cancelled"),
        (row(Kind.ANSWER, 2, stop_reason="refusal"), "ok"),
        (row(Kind.ERROR, 2, type="budget"), "failed"),
        (row(Kind.RETRY, 2, type="overloaded"), "open"),
    ],
)
def test_the_end_of_a_turn_is_an_attribute_and_counted(end: Row, outcome: str) -> None:
    (span,) = spans_of(row(Kind.PROMPT, 1), end)
    assert span.attributes[names.OUTCOME] == outcome
    assert span.failed is (outcome == "failed")
    (count,) = measured(names.TURNS, row(Kind.PROMPT, 1), end)
    assert count.attributes[names.OUTCOME] == outcome
    (took,) = measured(names.TURN_SECONDS, row(Kind.PROMPT, 1), end)
    assert took.value == 1


def test_tool_calls_are_distinguished_by_id_and_without_one_the_last_ends_first() -> None:
    (span,) = spans_of(
        row(Kind.PROMPT, 0),
        row(Kind.TOOL_STARTED, 1, call="a", tool="read"),
        row(Kind.TOOL_STARTED, 2, call="b", tool="edit"),
        row(Kind.TOOL_STARTED, 3, side_effects=True),
        row(Kind.TOOL_ENDED, 4, call="a", status="failed"),
        row(Kind.TOOL_ENDED, 5),
        row(Kind.ANSWER, 6, stop_reason="end_turn"),
    )
    found = [(c.name, c.ended_seconds - c.started_seconds, c.failed) for c in span.children]
    assert found == [
        ("execute_tool read", 3, True),
        ("execute_tool other", 2, False),
        ("execute_tool edit", 4, False),
    ]
    assert span.children[2].attributes["lastword.status"] == "open"


def test_restarts_silences_retries_and_dropped_frames_are_counted() -> None:
    rows = (
        row(Kind.PROMPT, 0),
        row(Kind.AGENT_RESTARTED, 1, None, attempt=2),
        row(Kind.SILENCE, 2, silent_seconds=45),
        row(Kind.RETRY, 3, type="rate_limit", attempt=1, wait_seconds=20),
        row(Kind.FRAME_DROPPED, 4, side="agent", reason="quarantine"),
        row(Kind.OMITTED, 5, count=9, kinds={"frame_dropped": 7, "retry": 2}),
    )
    counted = {
        metric: sum(m.value for m in measured(metric, *rows))
        for metric in (names.RESTARTS, names.SILENCES, names.RETRIES, names.DROPPED)
    }
    assert list(counted.values()) == [1, 1, 3, 8]
    (span,) = spans_of(*rows)
    assert [event.name for event in span.events] == [
        *("lastword.silence", "lastword.retry", "lastword.frame_dropped")
    ]
    assert span.events[1].attributes[names.ERROR_TYPE] == "rate_limit"


def test_a_failure_is_told_without_its_words_and_outside_of_a_turn_without_a_span() -> None:
    end = row(Kind.ERROR, 2, type="budget", message="Ask Ada.", detail={"text": "Ada"})
    assert "Ada" not in repr(told_of(row(Kind.PROMPT, 1), end))
    failed = row(Kind.ERROR, 1, None, type="agent_crash", origin="agent")
    assert spans_of(failed) == []
    assert measured(names.ERRORS, failed)[0].attributes[names.ERROR_TYPE] == "agent_crash"


def test_events_and_open_turns_are_bounded() -> None:
    retries = [row(Kind.RETRY, 1, type="overloaded") for _ in range(MAX_EVENTS + 9)]
    (span,) = spans_of(row(Kind.PROMPT, 0), *retries)
    assert len(span.events) == MAX_EVENTS
    builder = SpanBuilder(RUN, 1_000_000)
    prompts = [row(Kind.PROMPT, 0, number) for number in range(1, MAX_TURNS + 10)]
    early = [told for each in prompts for told in builder.receive(each)]
    assert len([told for told in early if isinstance(told, Span)]) == 9
    # A session without an end is exported at last with the latest events.
    rows = [of_gateway(Kind.VIEWER_CAME, number) for number in range(MAX_EVENTS + 9)]
    (span,) = spans_of(HELD, *rows)
    assert len(span.events) == MAX_EVENTS
    assert span.events[-1].at_seconds == 1_000_000 + MAX_EVENTS + 8


@pytest.mark.parametrize(
    ("environment", "is_requested"),
    [
        ({}, False),
        ({"OTEL_SERVICE_NAME": "x"}, False),
        ({"OTEL_TRACES_EXPORTER": "none"}, False),
        ({"OTEL_TRACES_EXPORTER": "otlp"}, True),
        ({"OTEL_METRICS_EXPORTER": "otlp"}, True),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:4318"}, True),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "x", "OTEL_SDK_DISABLED": "true"}, False),
    ],
)
def test_the_standard_variables_decide_whether_telemetry_is_enabled(
    environment: dict[str, str], is_requested: bool
) -> None:
    assert enabled.is_requested(environment) is is_requested


HELD = Row(Kind.SESSION_HELD.value, "info", 0, 1.0, "s1", None, None, {"name": "s1-4af0"})


def of_gateway(kind: Kind, at: float, level: str = "info", **facts: Any) -> Row:
    return Row(kind.value, level, 0, at, "s1", None, None, facts)


def test_a_session_behind_a_gateway_is_a_span_with_its_events() -> None:
    (span,) = spans_of(
        HELD,
        of_gateway(Kind.VIEWER_CAME, 2, viewer="v1", role="controller"),
        of_gateway(Kind.VIEWER_LEFT, 3, viewer="v1", code=1006, cause="link_cut"),
        of_gateway(Kind.SESSION_ENDED, 9, cause="idle"),
    )
    assert (span.name, span.failed) == ("hold_session", False)
    assert (span.started_seconds, span.ended_seconds) == (1_000_001, 1_000_009)
    assert span.attributes[names.CONVERSATION] == "s1"
    assert span.attributes["lastword.name"] == "s1-4af0"
    assert span.attributes[names.RUN] == "01RUN"
    assert [event.name for event in span.events] == [
        *("lastword.viewer_came", "lastword.viewer_left", "lastword.session_ended")
    ]
    assert span.events[1].at_seconds == 1_000_003
    assert span.events[1].attributes == {
        "lastword.viewer": "v1",
        "lastword.code": 1006,
        "lastword.cause": "link_cut",
    }


def test_a_died_process_makes_its_session_an_error_with_the_incident() -> None:
    (span,) = spans_of(HELD, of_gateway(Kind.HOLDER_DIED, 2, "error", incident_id="01RUN-h1"))
    assert span.failed
    assert span.attributes["lastword.incident_id"] == "01RUN-h1"
    assert span.attributes[names.ERROR_TYPE] == "agent_crash"


def test_a_sessions_events_are_counted_although_its_holder_is_unknown() -> None:
    left = of_gateway(Kind.VIEWER_LEFT, 3, code=4408, cause="stalled", viewer="v1")
    (count,) = measured(names.VIEWERS_LEFT, left)
    assert count.attributes == {
        "lastword.code": 4408,
        "lastword.cause": "stalled",
        names.DOOR: "serve",
    }
    assert spans_of(left) == []
    (failed,) = measured(names.RESTORED, of_gateway(Kind.SESSION_NOT_RESTORED, 3, "error"))
    assert failed.attributes["lastword.history"] == "failed"


def test_a_question_counts_as_the_first_output_and_is_measured_once() -> None:
    (seen,) = measured(
        names.FIRST_OUTPUT_SECONDS,
        row(Kind.PROMPT, 1),
        row(Kind.ASKED, 3, what="permission"),
        row(Kind.USER_ANSWERED, 105),
        row(Kind.FIRST_OUTPUT, 106),
        row(Kind.ANSWER, 107, stop_reason="end_turn"),
    )
    assert seen.value == 2
