"""Labelled failures of real providers, SDKs, agents and processes, one a line in samples.jsonl.

The rules may not be fitted to a row: what is asserted for the whole is the share that is right.
A row that a change of rules breaks shows up by its name. `rules.jsonl`, beside this file, has
evidence that was made up for a rule, under a sentence that says the rule.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from lastword.core.classify import Verdict, classify, classify_rpc_error, classify_text
from tests.kit import places
from tests.kit.rows import every

SAMPLES = [json.loads(line) for line in places.SAMPLES.read_text(encoding="utf-8").splitlines()]
RULES = [
    json.loads(line)
    for line in Path(__file__).with_name("rules.jsonl").read_text(encoding="utf-8").splitlines()
]
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


class Judged(NamedTuple):
    """A sample, the verdict on it, and the processor's time for that: others may be busy."""

    sample: dict[str, Any]
    verdict: Verdict

    def departure(self) -> str:
        """What is not as its label has it; empty where all is."""
        verdict, sample = self.verdict, self.sample
        given = (verdict.type, verdict.retryable)
        labelled = (sample["type"], sample["retryable"])
        if not sample["name"].startswith("own "):
            given += (verdict.retry_after_seconds, verdict.reset_at_epoch_ms)
            labelled += (sample.get("wait_seconds"), sample.get("reset_ms"))
        if given == labelled:
            return ""
        return f"{sample['name']}: {given} by the rule {verdict.rule}, not {labelled}"


@cache
def judged() -> tuple[Judged, ...]:
    """Every sample, judged once."""
    return tuple(Judged(sample, verdict_on(sample)) for sample in SAMPLES)


@every("error_type", sorted({sample["type"] for sample in SAMPLES}))
def test_a_labelled_failure_gets_its_type_retryability_and_waits(error_type: str) -> None:
    found = [each.departure() for each in judged() if each.sample["type"] == error_type]
    assert found, "no sample"
    assert not any(found), "\n".join(filter(None, found))


def test_terminal_failures_are_never_called_retryable() -> None:
    wrong = [
        each.sample["name"]
        for each in judged()
        if each.verdict.retryable and not each.sample["retryable"]
    ]
    assert wrong == []


@pytest.mark.no_cover
def test_most_failures_are_recognised_by_their_message_alone() -> None:
    told = [s for s in SAMPLES if s.get("message") and "process" not in s and "rpc_error" not in s]
    right = sum(classify_text(s["message"]).type == s["type"] for s in told)
    assert right / len(told) > 0.85


@every("rule", dict.fromkeys(row["rule"] for row in RULES))
def test_evidence_for_a_rule_gets_that_rules_verdict(rule: str) -> None:
    for row in (row for row in RULES if row["rule"] == rule):
        verdict = verdict_on(row)
        shown = {
            "type": verdict.type,
            "retryable": verdict.retryable,
            "reason": verdict.reason,
            "wait_seconds": verdict.retry_after_seconds,
            "reset_ms": verdict.reset_at_epoch_ms,
        }
        assert shown == {name: row.get(name) for name in shown}, (row, verdict.rule)
