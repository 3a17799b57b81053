"""Reports of failures, read by OpenTelemetry's own messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from lastword.outbox import sender
from tests.kit.programs import run_program
from tests.kit.reports_made import a_report

if TYPE_CHECKING:
    from pathlib import Path

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"

READ = """
import base64, json, sys
from google.protobuf import json_format
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

def read(line):
    body = json.loads(line)
    [record] = body["resourceLogs"][0]["scopeLogs"][0]["logRecords"]
    for name in {"traceId", "spanId"} & set(record):
        # They are hexadecimal in OTLP's JSON, which is its one departure from Protobuf's.
        record[name] = base64.b64encode(bytes.fromhex(record[name])).decode()
    # What the messages do not know is an error here.
    [logs] = json_format.ParseDict(body, ExportLogsServiceRequest()).resource_logs
    return logs.resource.attributes, logs.scope_logs[0].log_records[0]

(about, plain), (_, traced) = map(read, sys.stdin)
assert {each.key: each.value.string_value for each in about}["service.name"] == "agent-x"
assert (plain.event_name, plain.severity_number) == ("lastword.failure", 17)
kinds = {each.key: each.value.WhichOneof("value") for each in plain.attributes}
assert kinds["error.type"] == "string_value"
assert kinds["lastword.retryable"] == "bool_value"
assert kinds["http.response.status_code"] == "int_value"
assert kinds["process.exit.code"] == "int_value"
assert kinds["lastword.attempts"] == "double_value"
assert (plain.trace_id, plain.flags) == (b"", 0)
assert [traced.trace_id.hex(), traced.span_id.hex(), traced.flags] == [*sys.argv[1:], 1]
assert traced.time_unix_nano == 1_795_000_000_123_000_000
"""


def test_the_official_messages_accept_a_report(packages_python: Path) -> None:
    plain = a_report(1, http_status=429, attempts=2.5, exit_code=-9)
    traced = msgspec.structs.replace(
        plain,
        at_epoch_ms=1_795_000_000_123,
        turn=3,
        session="abc",
        agent="An Agent",
        traceparent=f"00-{TRACE}-{SPAN}-01",
    )
    reports = "".join(sender.body_of(report).decode() + "\n" for report in (plain, traced))
    command = [str(packages_python), "-c", READ, TRACE, SPAN]
    done = run_program(command, stdin=reports, check=False)
    assert done.returncode == 0, done.stderr
