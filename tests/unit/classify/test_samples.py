"""Labelled failures of real providers, SDKs, agents and processes, one a line in samples.jsonl.

The rules may not be fitted to a row: what is asserted for the whole is the share that is right.
A row that a change of rules breaks shows up by its name.
"""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from lastword.core.classify import Verdict, classify, classify_rpc_error, classify_text
from tests.kit import places

SAMPLES = [json.loads(line) for line in places.SAMPLES.read_text(encoding="utf-8").splitlines()]
RECORD_KEYS = {
    "status": "http_status",
    "headers": "headers",
    "body": "body",
    "class": "exception_class",
    "message": "message",
    "phase": "phase",
    "code": "code",
    "attributes": "attrs",
    "causes": "cause_chain",
    "process": "process",
}


def verdict_on(sample: dict[str, Any]) -> Verdict:
    if "text" in sample:
        return classify_text(sample["text"])
    if "rpc_error" in sample:
        return classify_rpc_error(sample["rpc_error"])
    if set(sample) & set(RECORD_KEYS) == {"body"}:
        return classify(sample["body"])
    record: dict[str, Any] = {"exception_class": None, "http_status": None}
    record |= {RECORD_KEYS[key]: value for key, value in sample.items() if key in RECORD_KEYS}
    return classify(record)


@pytest.mark.parametrize("sample", SAMPLES, ids=[sample["name"] for sample in SAMPLES])
def test_a_labelled_failure_gets_its_type_retryability_and_waits(sample: dict[str, Any]) -> None:
    verdict = verdict_on(sample)
    assert (verdict.type, verdict.retryable) == (sample["type"], sample["retryable"]), verdict.rule
    if not sample["name"].startswith("own "):
        assert verdict.retry_after_seconds == sample.get("wait_seconds")
        assert verdict.reset_at_epoch_ms == sample.get("reset_ms")


def test_no_terminal_failure_is_called_retryable() -> None:
    wrong = [
        sample["name"]
        for sample in SAMPLES
        if verdict_on(sample).retryable and not sample["retryable"]
    ]
    assert wrong == []


def test_no_failure_takes_its_verdict_long() -> None:
    # A fuse: what a verdict takes is measured by benchmarks/classify.py.
    assert max(seconds_for(sample) for sample in SAMPLES) < 2


def seconds_for(sample: dict[str, Any]) -> float:
    """Of the processor's time: others may be busy as well."""
    start = time.process_time()
    verdict_on(sample)
    return time.process_time() - start


def test_most_failures_are_still_recognised_by_their_message_alone() -> None:
    told = [s for s in SAMPLES if s.get("message") and "process" not in s and "rpc_error" not in s]
    right = sum(classify_text(s["message"]).type == s["type"] for s in told)
    assert right / len(told) > 0.85
