"""The rows of `protocol/failures`: each example gets what its row says, no answer does."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any, NamedTuple

import jsonschema
import pytest

from lastword.core.classify import (
    agents,
    classify,
    classify_exit,
    classify_rpc_error,
    classify_text,
)
from lastword.core.failure.signs import is_retry_report, stated_reset
from lastword.core.failure.taxonomy import DEFAULTS, ErrorType
from tests.kit.honest_answers import honest_answers
from tests.kit.places import PROTOCOL
from tests.kit.wire import chunk
from tests.unit.link.test_decision_prose_by_form import AGENTS, passes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lastword.core.classify import Verdict

FOLDER = PROTOCOL / "failures"
SCHEMA = json.loads((FOLDER / "schema.json").read_text(encoding="utf-8"))
FILES: dict[str, dict[str, Any]] = {
    path.stem: json.loads(path.read_text(encoding="utf-8"))
    for path in sorted(FOLDER.glob("*.json"))
    if path.name != "schema.json"
}
WORDED = {"words", "messages", "transport", "process", "endings"}
RESETS = ("wait_seconds", "reset_at_epoch_ms", "reset_text")


class Row(NamedTuple):
    """A row of a file, with what its group says for it."""

    kind: str
    group: dict[str, Any]
    own: dict[str, Any]

    def fact(self, name: str) -> Any:
        return self.own[name] if name in self.own else self.group.get(name)

    def example(self) -> Any:
        if "example" in self.own:
            return self.own["example"]
        return filled(self.group.get("example"), self.own["match"])

    def reset(self) -> dict[str, Any]:
        """What a row of resets says of its example."""
        said = {name: self.fact(name) for name in RESETS if self.fact(name) is not None}
        return said or {"wait_seconds": math.ceil(self.own["seconds"])}


def rows() -> Iterator[Row]:
    for kind, file in FILES.items():
        for group in file["groups"]:
            for row in group["rows"]:
                yield Row(kind, group, row if isinstance(row, dict) else {"match": row})


def filled(template: Any, row: Any) -> Any:
    """The template with the row in it, as the README says."""
    if template == "{row}" and not isinstance(row, str):
        return row
    if isinstance(template, str):
        return template.replace("{row}", str(row).replace(" .. ", " xyz "))
    if isinstance(template, dict):
        return {filled(name, str(row)): filled(value, row) for name, value in template.items()}
    return [filled(value, row) for value in template] if isinstance(template, list) else template


def name_of(agent: str | None) -> str | None:
    """What an agent calls itself, if that is not its key."""
    return "pi-acp" if agent == "pi" else agent


def verdict_on(example: Any, agent: str | None) -> Verdict:
    if isinstance(example, str):
        return classify_text(example)
    if "prose" in example:
        verdict = agents.read_prose(example["prose"], agent=agent)
        assert verdict is not None, example
        return verdict
    if "update" in example:
        sign = agents.read_update(example["update"], agent=agent)
        assert sign is not None, example
        return sign.verdict
    if "notification" in example:
        method, params = example["notification"]["method"], example["notification"]["params"]
        sign = agents.read_event(method, params) or agents.read_notification(method, params)
        assert sign is not None, example
        return sign.verdict
    if "error" in example:
        return classify_rpc_error(example["error"], agent=agent)
    if "exception" in example:
        record = {"exception_class": example["exception"], "message": example.get("message")}
        return classify(record)
    if example.keys() & {"exit_code", "exit_signal"}:
        stderr = example.get("stderr", "")
        code, signal = example.get("exit_code"), example.get("exit_signal")
        return classify_exit(exit_code=code, exit_signal=signal, stderr_tail=stderr)
    names = {"http_status": "status", "headers": "headers", "body": "body"}
    return classify({name: example.get(member) for name, member in names.items()}, agent=agent)


@pytest.mark.no_cover
def test_every_file_is_valid_and_has_the_same_version() -> None:
    assert len({file["version"] for file in FILES.values()}) == 1
    for kind, file in FILES.items():
        jsonschema.Draft202012Validator(SCHEMA).validate(file)
        assert file["kind"] == kind
    types = SCHEMA["$defs"]["type"]["enum"]
    assert types == list(ErrorType)


@pytest.mark.no_cover
def test_each_rows_example_gets_the_rows_verdict() -> None:
    wrong = []
    for row in rows():
        kind = row.fact("type")
        if kind is None:
            assert "example" not in row.group or row.kind == "resets", row
            continue
        default = DEFAULTS[ErrorType(kind)].retryable
        retryable = row.fact("retryable")
        expected = (kind, default if retryable is None else retryable, row.fact("reason"))
        verdict = verdict_on(row.example(), name_of(row.group.get("agent")))
        reason = verdict.reason if row.fact("reason") else None
        if (verdict.type.value, verdict.retryable, reason) != expected:
            wrong.append((row.own, expected, verdict))
    assert not wrong


def test_each_resets_example_gives_the_wait_or_the_moment_of_its_row() -> None:
    for row in rows():
        if row.kind == "resets":
            example, expected = row.example(), row.reset()
            verdict = verdict_on(example, None)
            stated = {
                "wait_seconds": verdict.retry_after_seconds,
                "reset_at_epoch_ms": verdict.reset_at_epoch_ms,
                "reset_text": stated_reset(example) if isinstance(example, str) else None,
            }
            assert {name: stated[name] for name in expected} == expected, row.own


UNPORTABLE = re.compile(r"\(\?(?![:!])|[*+?}]\+|\\[AZ]")
"""What JavaScript has not, or has had only since a short time."""


def test_a_pattern_is_linear_and_reads_the_same_in_javascript() -> None:
    patterns = [row.own["pattern"] for row in rows() if "pattern" in row.own]
    assert patterns
    for pattern in patterns:
        assert not UNPORTABLE.search(pattern), pattern
        plain = re.sub(r"\[[^]]+\]", "x", re.sub(r"\\.", "x", pattern))
        assert not re.search(r"[*+]|\{\d+,\}", plain), "Each repeat has a limit."
        assert re.compile(pattern).groups == 1, "The group is what is stated."


def test_the_example_of_a_row_has_what_the_row_matches_in_it() -> None:
    for row in rows():
        match = row.own.get("match")
        if not isinstance(match, str) or match == "other" or row.kind not in WORDED:
            continue
        if "example" in row.own:
            text = json.dumps(row.own["example"], ensure_ascii=False).lower()
            parts = match.lower().strip().split(" .. ")
            squeezed = re.sub(r"[^a-z0-9]", "", text)
            # A word is compared without punctuation.
            assert all(
                part in " ".join(text.replace("\u2019", "'").replace("\\", "").split())
                or re.sub(r"[^a-z0-9]", "", part) in squeezed
                for part in parts
            ), row.own


@pytest.mark.no_cover
def test_no_row_matches_an_honest_answer() -> None:
    keys = {group.get("agent") for file in FILES.values() for group in file["groups"]}
    names = sorted(str(name_of(key)) for key in keys if key)
    for question, answer in honest_answers():
        for agent in names:
            # What no row of an agent reads: tests/unit/link/test_decision_prose_by_form.py.
            is_read = agents.read_prose(answer, agent=agent) or agents.read_update(
                chunk(answer)["params"]["update"], agent=agent
            )
            # One of the answers is what pi writes of a retry, word for word.
            if is_read and not is_retry_report(answer, agent):
                assert passes(answer, question, agent), (agent, answer)


# Each answer from one agent: tests/unit/link/test_decision_prose_by_form.py.
@pytest.mark.matrix
@pytest.mark.parametrize("name", AGENTS)
def test_every_honest_answer_of_every_agent_passes(name: str) -> None:
    for question, answer in honest_answers():
        assert passes(answer, question, name), answer


def test_no_two_rows_of_a_tier_match_the_same_text() -> None:
    seen: set[str] = set()
    for row in rows():
        group = row.group
        of_reason = (group["type"], group["reason"]) if group["tier"] == "reason" else ()
        where = (row.kind, group["tier"], group.get("agent"), group.get("name"), of_reason)
        key = json.dumps([where, row.own.get("match", row.own.get("pattern"))])
        assert key not in seen, key
        seen.add(key)
