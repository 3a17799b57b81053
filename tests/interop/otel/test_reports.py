"""Reports of failures, read by OpenTelemetry's own messages."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import msgspec

from lastword.outbox import sender
from tests.interop.otel.conftest import HERE
from tests.kit.patience import FUSE_SECONDS
from tests.kit.reports_made import a_report

if TYPE_CHECKING:
    from pathlib import Path

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


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
    done = subprocess.run(
        [str(packages_python), str(HERE / "parse_reports.py")],
        input=b"".join(sender.body_of(report) + b"\n" for report in (plain, traced)),
        capture_output=True,
        check=False,
        timeout=FUSE_SECONDS,
    )
    assert done.returncode == 0, done.stderr.decode()
    first, second = map(json.loads, done.stdout.splitlines())
    assert first["event"] == "lastword.failure"
    assert first["severity"] == 17
    assert first["resource"]["service.name"] == "agent-x"
    assert first["kinds"]["error.type"] == "string_value"
    assert first["kinds"]["lastword.retryable"] == "bool_value"
    assert first["kinds"]["http.response.status_code"] == "int_value"
    assert first["kinds"]["process.exit.code"] == "int_value"
    assert first["kinds"]["lastword.attempts"] == "double_value"
    assert (first["trace"], first["flags"]) == ("", 0)
    assert (second["trace"], second["span"], second["flags"]) == (TRACE, SPAN, 1)
    assert second["time"] == 1_795_000_000_123_000_000
