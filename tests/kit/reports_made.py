"""Reports and targets for tests."""

from __future__ import annotations

import secrets
from typing import Any

from lastword.outbox.report import FailureReport, ReportTarget, TargetOptions, target_of
from lastword.outbox.store import now_ms


def a_report(number: int | None = None, **facts: Any) -> FailureReport:
    return FailureReport(
        report_id=secrets.token_hex(16) if number is None else f"{number:032x}",
        at_epoch_ms=now_ms(),
        what="turn",
        run_id="01RUNA",
        door="run",
        program="agent-x",
        lastword_version="0.1.0",
        platform="linux",
        facts={"type": "rate_limit", "retryable": True} | facts,
    )


def a_target(url: str = "http://127.0.0.1:9", form: str = "otlp", **variables: str) -> ReportTarget:
    return target_of(TargetOptions(url, form), variables)
