"""The user cancels while an agent waits before it tries again, or while its model is silent."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest

from tests.interop.providers.model_provider import Step
from tests.kit.client import RETRY, Frame

if TYPE_CHECKING:
    from tests.interop.providers.cases import Case

AT_ONCE_SECONDS = 20.0
"""The usual figure is 2 ms, what it must not wait for takes minutes, and machines are shared."""


def is_retry(frame: Frame) -> bool:
    update = frame.get("params", {}).get("update", {})
    return bool(update.get("sessionUpdate") == "agent_retry")


@pytest.mark.parametrize("kind", ["plain", "own-cancel"])
def test_a_cancel_ends_a_wait_at_once(case: Case, kind: str) -> None:
    case.script(Step("rate_limited", retry_after_seconds=120))
    client = case.client_for(RETRY, kind)
    since = len(client.frames)
    prompt = client.prompt(json.dumps(case.plan))
    client.expect(is_retry, since=since)
    asked_at = time.monotonic()
    client.cancel()
    answer = client.answer(prompt)
    answered_at = client.when(answer)
    print(f"cancelled after {(answered_at - asked_at) * 1000:.1f} ms")
    assert answer["result"] == {"stopReason": "cancelled"}
    assert answered_at - asked_at < AT_ONCE_SECONDS
    assert case.made == 1


@pytest.mark.parametrize("kind", ["plain", "own-cancel"])
def test_a_cancel_ends_a_model_call_and_does_not_begin_another(case: Case, kind: str) -> None:
    case.script(Step("hang"))
    client = case.client_for(RETRY, kind)
    prompt = client.prompt(json.dumps(case.plan))
    case.provider.wait_for(case.model, 1)
    asked_at = time.monotonic()
    client.cancel()
    answer = client.answer(prompt)
    answered_at = client.when(answer)
    print(f"cancelled after {(answered_at - asked_at) * 1000:.1f} ms")
    assert answer["result"] == {"stopReason": "cancelled"}
    assert answered_at - asked_at < AT_ONCE_SECONDS
    assert case.made == 1
