"""OTLP: a report as the JSON of one log record (`ExportLogsServiceRequest`).

Owns its shape. Field names, and 64-bit numbers as strings, follow OTLP 1.x's JSON encoding;
attributes that OpenTelemetry defines have their conventional names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from lastword.core.failure.members import MEMBERS

if TYPE_CHECKING:
    from lastword.outbox.report import FailureReport, Value

SEVERITY_ERROR = 17
EVENT_NAME = "lastword.failure"
_NS_OF_MS = 1_000_000

_CONVENTIONAL = {member.name: member.convention for member in MEMBERS if member.convention}


def body_of(report: FailureReport) -> bytes:
    """Return the body of a request that exports it."""
    resource = {"service.name": report.program, "service.instance.id": report.run_id}
    resource |= {"os.type": report.platform, "lastword.door": report.door}
    scope = {"name": "lastword", "version": report.lastword_version}
    logs = {
        "resource": {"attributes": _attributes(resource)},
        "scopeLogs": [{"scope": scope, "logRecords": [_record(report)]}],
    }
    return msgspec.json.encode({"resourceLogs": [logs]})


def _record(report: FailureReport) -> dict[str, Any]:
    moment = str(report.at_epoch_ms * _NS_OF_MS)
    record: dict[str, Any] = {
        "timeUnixNano": moment,
        "observedTimeUnixNano": moment,
        "severityNumber": SEVERITY_ERROR,
        "severityText": "ERROR",
        "eventName": EVENT_NAME,
        "body": {"stringValue": _sentence(report)},
        "attributes": _attributes(_facts(report)),
    }
    if report.traceparent:
        _, trace_id, span_id, flags = report.traceparent.split("-")
        record |= {"traceId": trace_id, "spanId": span_id, "flags": int(flags, 16)}
    return record


def _sentence(report: FailureReport) -> str:
    """Return lastword's own sentence: which kind of thing failed, and why."""
    words = [str(report.facts[name]) for name in ("type", "reason") if name in report.facts]
    return f"{report.what} failed: {', '.join(words) or 'unknown'}"


def _facts(report: FailureReport) -> dict[str, Value]:
    named: dict[str, Value | None] = {
        "lastword.report_id": report.report_id,
        "lastword.what": report.what,
        "lastword.session": report.session,
        "lastword.turn": report.turn,
        "gen_ai.agent.name": report.agent,
        "gen_ai.agent.version": report.agent_version,
        "lastword.client.name": report.client,
        "lastword.client.version": report.client_version,
    }
    found = {name: value for name, value in named.items() if value not in ("", None)}
    told = {_CONVENTIONAL.get(name, f"lastword.{name}"): v for name, v in report.facts.items()}
    return {name: value for name, value in (found | told).items() if value is not None}


def _attributes(values: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": name, "value": _any_value(value)} for name, value in values.items()]


def _any_value(value: Value) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    return {"stringValue": value}
