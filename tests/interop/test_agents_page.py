"""The agents' page: made from what was seen, read without a script, and sorted by one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.interop.agents_cells import FAILURES, Cell, End, Mode, Passed, Seen, Told
from tests.interop.agents_page import page, verdict
from tests.interop.agents_registry import AGENTS
from tests.interop.agents_table import PAGE
from tests.interop.reconnect.chromium import FLAGS, require_chromium
from tests.kit.programs import run_program
from tests.kit.rows import every

if TYPE_CHECKING:
    from pathlib import Path

FRAMES = tuple(Passed(number / 10, number == 0, f'{{"n": {number}}}') for number in range(14))


def one(agent: str, failure: str, mode: Mode, **facts: object) -> Seen:
    known = {"version": "1.2.3", "waited_seconds": 75.0, "end": End.NONE, "date": "2026-11-27"}
    return Seen(agent=agent, failure=failure, mode=mode, **known | facts)  # type: ignore[arg-type]


def made(*seen: Seen) -> dict[Cell, Seen]:
    return {each.cell: each for each in seen}


SOME = made(
    one("claude", "unauthorized", Mode.BARE, frames=FRAMES, left_out=3),
    one("claude", "unauthorized", Mode.BEHIND, retries=(Told(2.5, "auth"),)),
    one("codex", "quota", Mode.BARE, end=End.ANSWER, prose="<b>no money</b>"),
    one("codex", "quota", Mode.BEHIND, end=End.ERROR, type="budget", seconds=0.25),
    one("opencode", "hang", Mode.BEHIND, end=End.ERROR, type="network", seconds=60.5),
)


@every(
    ("facts", "expected"),
    [
        ({"end": End.ERROR, "type": "auth", "seconds": 1.0}, "right"),
        ({"retries": (Told(1.0, "auth"),)}, "retrying"),
        ({"end": End.ERROR, "code": -32603}, "untyped"),
        ({"end": End.ERROR, "type": "network"}, "wrong"),
        ({"end": End.ANSWER}, "silent"),
        ({"end": End.NONE}, "waiting"),
        ({"end": End.GONE}, "gone"),
        ({"end": End.UNREADY}, "gone"),
    ],
)
def test_a_turn_has_the_verdict_that_its_user_would_give(
    facts: dict[str, object], expected: str
) -> None:
    assert verdict(one("claude", "unauthorized", Mode.BEHIND, **facts)) == expected
    assert not verdict(None)


def test_the_page_loads_nothing_and_has_every_row_without_a_script() -> None:
    text = page(SOME)
    assert text.count("<tbody id=") == 3
    assert "auth, while it retries" in text
    assert "{&quot;n&quot;: 13}" in text
    assert "<b>" not in text
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    assert policy[1].startswith("default-src 'none'; style-src 'sha256-")
    assert not re.search(r'src=|href="[^#]', text)


def dom(tmp_path: Path, view: str) -> str:
    file = tmp_path / "agents.html"
    file.write_text(page(SOME), "utf-8")
    profile = f"--user-data-dir={tmp_path / 'profile'}"
    done = run_program([require_chromium(), *FLAGS, profile, "--dump-dom", f"file://{file}#{view}"])
    return done.stdout


def test_the_address_sorts_filters_and_opens_a_rows_messages(tmp_path: Path) -> None:
    def shown(view: str) -> list[str]:
        rows = re.findall(r"<tbody ([^>]*)><tr><td>(\w+)", dom(tmp_path, view))
        return [agent for attributes, agent in rows if "hidden" not in attributes]

    assert shown("sort=4-ascending") == ["codex", "claude", "opencode"]
    assert shown("bare=silent&q=quota+budget") == ["codex"]
    assert re.findall(
        r'<tbody id="([^"]*)"[^>]*>(?:(?!<tbody).)*<details open', dom(tmp_path, "codex-quota")
    ) == ["codex-quota"]


def test_the_page_of_the_repository_has_every_agent_and_every_failure() -> None:
    text = PAGE.read_text("utf-8")
    rows = re.findall(r'<tbody id="([\w-]+)"', text)
    assert rows == [f"{agent}-{failure}" for agent in AGENTS for failure in FAILURES]
    assert not re.search(r'src=|href="[^#]|/(?:tmp|root)/', text)
