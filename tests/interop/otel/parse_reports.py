"""Read OTLP's JSON by the official messages; says what they hold, as JSON, a line a request.

Runs under the packages' own Python. Trace and span ids are hexadecimal in OTLP's JSON, which is
its one departure from Protobuf's.
"""

from __future__ import annotations

import base64
import json
import sys

from google.protobuf import json_format
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

for line in sys.stdin:
    body = json.loads(line)
    for logs in body["resourceLogs"]:
        for scope in logs["scopeLogs"]:
            for record in scope["logRecords"]:
                for name in ("traceId", "spanId"):
                    if name in record:
                        raw = bytes.fromhex(record[name])
                        record[name] = base64.b64encode(raw).decode()
    # What the messages do not know is an error here.
    request = json_format.ParseDict(body, ExportLogsServiceRequest())
    (logs,) = request.resource_logs
    (scope,) = logs.scope_logs
    (record,) = scope.log_records
    found = {
        "resource": {each.key: each.value.string_value for each in logs.resource.attributes},
        "scope": scope.scope.name,
        "time": record.time_unix_nano,
        "severity": record.severity_number,
        "event": record.event_name,
        "trace": record.trace_id.hex(),
        "span": record.span_id.hex(),
        "flags": record.flags,
        "kinds": {each.key: each.value.WhichOneof("value") for each in record.attributes},
    }
    sys.stdout.write(json.dumps(found) + "\n")
