"""A receiver of OTLP over HTTP on the loopback interface: what it got, a JSON line each, on stdout.

Run as ``python receiver.py``; its first line is its port. Has no lastword.
"""

from __future__ import annotations

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

TALKING = threading.Lock()


def plain(attributes: Iterable[Any]) -> dict[str, Any]:
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in attributes}


def spans(body: bytes) -> Iterator[dict[str, Any]]:
    for sent in ExportTraceServiceRequest.FromString(body).resource_spans:
        for scope in sent.scope_spans:
            for span in scope.spans:
                yield {
                    "span": span.name,
                    "scope": scope.scope.name,
                    "schema": scope.schema_url,
                    "resource": plain(sent.resource.attributes),
                    "trace": span.trace_id.hex(),
                    "id": span.span_id.hex(),
                    "parent": span.parent_span_id.hex(),
                    "kind": span.kind,
                    "started": span.start_time_unix_nano,
                    "ended": span.end_time_unix_nano,
                    "failed": span.status.code == 2,
                    "attributes": plain(span.attributes),
                    "events": [[e.name, plain(e.attributes)] for e in span.events],
                }


def points(body: bytes) -> Iterator[dict[str, Any]]:
    for sent in ExportMetricsServiceRequest.FromString(body).resource_metrics:
        for metric in (each for scope in sent.scope_metrics for each in scope.metrics):
            data = getattr(metric, metric.WhichOneof("data"))
            for point in data.data_points:
                is_histogram = hasattr(point, "bucket_counts")
                value = point.count if is_histogram else getattr(point, point.WhichOneof("value"))
                known = {"metric": metric.name, "unit": metric.unit, "value": value}
                yield known | {"attributes": plain(point.attributes)}


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        traces = self.path == "/v1/traces"
        with TALKING:
            for told in spans(body) if traces else points(body):
                sys.stdout.write(json.dumps(told) + "\n")
            sys.stdout.flush()
        answer = ExportTraceServiceResponse() if traces else ExportMetricsServiceResponse()
        self.send_response(200)
        self.send_header("content-type", "application/x-protobuf")
        self.end_headers()
        self.wfile.write(answer.SerializeToString())

    def log_message(self, *_: object) -> None:
        """Say nothing."""


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    sys.stdout.write(f"{server.server_port}\n")
    sys.stdout.flush()
    server.serve_forever()
