"""`lastword connect` over links that are cut, reset and swallowed: nothing lost, nothing twice."""

from __future__ import annotations

import asyncio
import os
import random
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.kit.gateway.editor import Editor, connected, counting
from tests.kit.gateway.fault_proxy import Fault, FaultProxy, Plan
from tests.kit.gateway.serving import until
from tests.kit.patience import fused

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.kit.gateway.serving import Gateway

CUTS = int(os.environ.get("LASTWORD_CUTS", "30"))
"""How often the link is cut in the long test."""


def _counted(turn: int, count: int, *, asks: bool = False) -> list[str]:
    words = [f"{turn}.{number}" for number in range(count)]
    if asks:
        words.insert(count // 2 + 1, f"{turn}.answer=True")
    return words


def _is_sound(editor: Editor) -> None:
    """Each request has one answer, no question was shown twice, and stdout had frames alone."""
    answers = Counter(each["id"] for each in editor.frames if "id" in each and "method" not in each)
    questions = Counter(each["id"] for each in editor.frames if "id" in each and "method" in each)
    assert set(answers.values()) <= {1}
    assert set(questions.values()) <= {1}
    assert not editor.noise
    assert not any(
        "lastword" in (each.get("params") or {}).get("_meta", {}) for each in editor.frames
    )


@fused
async def test_a_link_cut_at_random_bytes_loses_and_duplicates_nothing(
    tmp_path: Path, serve: Callable[..., Gateway]
) -> None:
    dice = random.Random(4409)
    plans = [
        Plan(dice.choice([Fault.CUT, Fault.RESET]), 800 + dice.randrange(6000)) for _ in range(CUTS)
    ]

    gateway = serve("", command=counting(str(tmp_path / "prompts")))

    def plan(number: int) -> Plan:
        return plans[number % CUTS] if proxy.struck < CUTS else Plan()

    async with (
        FaultProxy(gateway.port, plan) as proxy,
        connected(f"http://127.0.0.1:{proxy.port}", gateway.token(), hasty=True) as editor,
    ):
        session_id = await editor.begin(gateway.root)
        turns = 0
        expected: list[str] = []
        while proxy.struck < CUTS:  # a report's connection is too short to be
            turns += 1
            asks = turns % 2 == 0
            request = editor.prompt(session_id, "60 10 ask" if asks else "60 10")
            expected += _counted(turns, 60, asks=asks)
            answer = await editor.answer(request)
            assert answer.get("result") == {"stopReason": "end_turn"}, answer
            assert editor.words() == expected
        _is_sound(editor)
        sent = (tmp_path / "prompts").read_text(encoding="utf-8").splitlines()
        assert len(sent) == turns
        status, said = await editor.close()
        assert status == 0
        assert session_id in said


@pytest.mark.processes
@fused
async def test_a_gateway_that_is_replaced_in_a_turn_is_not_noticed(
    tmp_path: Path, serve: Callable[..., Gateway]
) -> None:
    gateway = serve("", command=counting(str(tmp_path / "prompts")))
    async with (
        connected(gateway.url, gateway.token()) as editor,
    ):
        session_id = await editor.begin(gateway.root)
        request = editor.prompt(session_id, "200 10 ask")
        for seen in (20, 80):
            await editor.wait_for(lambda _, seen=seen: len(editor.words()) > seen)
            await asyncio.to_thread(gateway.reload)
        answer = await editor.answer(request)
        assert answer["result"] == {"stopReason": "end_turn"}
        assert editor.words() == _counted(1, 200, asks=True)
        _is_sound(editor)


@pytest.mark.processes
@fused
async def test_a_gateway_that_is_killed_ends_the_turn_with_a_typed_failure(
    tmp_path: Path, serve: Callable[..., Gateway]
) -> None:
    gateway = serve("", command=counting(str(tmp_path / "prompts")))
    async with (
        connected(gateway.url, gateway.token()) as editor,
    ):
        session_id = await editor.begin(gateway.root)
        request = editor.prompt(session_id, "20000 10")
        await editor.wait_for(lambda _: len(editor.words()) > 20)
        await asyncio.to_thread(gateway.crash)
        answer = await editor.answer(request)
        payload = answer["error"]["data"]["agent_error"]
        assert payload["type"] == "agent_crash"
        words = editor.words()
        assert words == _counted(1, len(words))
        again = await editor.answer(editor.prompt(session_id, "3 1"))
        assert again["result"] == {"stopReason": "end_turn"}
        _is_sound(editor)


@pytest.mark.processes
@fused
async def test_a_link_that_goes_silent_is_given_up_and_the_turn_continues(
    tmp_path: Path, serve: Callable[..., Gateway]
) -> None:
    plans = [Plan(Fault.HALF_OPEN, 3000), Plan(Fault.NONE, delay_seconds=0.02)]

    gateway = serve("", command=counting(str(tmp_path / "prompts")))
    async with (
        FaultProxy(gateway.port, lambda number: plans[min(number, 1)]) as proxy,
        connected(f"http://127.0.0.1:{proxy.port}", gateway.token(), hasty=True) as editor,
    ):
        session_id = await editor.begin(gateway.root)
        answer = await editor.answer(editor.prompt(session_id, "100 10"))
        assert answer["result"] == {"stopReason": "end_turn"}
        assert editor.words() == _counted(1, 100)
        # Two links, and the report of the first.
        await asyncio.to_thread(until, "the report comes", lambda: proxy.connections >= 3)
        _is_sound(editor)
