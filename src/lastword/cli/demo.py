"""`lastword demo`: the same failing turn without and with lastword, side by side."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from lastword.cli.page import Page, terminal_columns
from lastword.cli.parser import CommandParser
from lastword.kit.demo.client import PATIENCE_SECONDS, SeenTurn, take_turn
from lastword.kit.provider.failures import ProviderFailure
from lastword.kit.provider.server import Provider

if TYPE_CHECKING:
    from collections.abc import Sequence

MIN_COLUMNS = 24
NARROW_COLUMNS = 88
MAX_COLUMNS = 128
LIMITED = ProviderFailure(
    429,
    b'{"error": {"type": "requests", "code": "rate_limit_exceeded", "message": '
    b'"Rate limit reached for requests per minute. Please try again in 20s."}}',
    headers={"Retry-After": "20"},
)
COMMAND = "lastword run -- YOUR-AGENT ITS-ARGUMENTS"


def main(arguments: Sequence[str]) -> int:
    """Run the demo; gives 0 when lastword ended every turn typed, 1 when it did not."""
    options = parser().read(arguments)
    page = Page(terminal_columns(otherwise=100), least=MIN_COLUMNS, most=MAX_COLUMNS)
    with Provider(failure=LIMITED) as provider, ThreadPoolExecutor(8) as pool:
        scenarios = [
            ("1", "The model provider says 429 until the agent's retries run out", "rate-limit"),
            ("2", "The agent's process is killed in mid-turn", "crash"),
        ]
        runs = {
            (failure, wrapped, typed): pool.submit(
                take_turn, _command(failure, provider.openai_url, wrapped=wrapped), typed=typed
            )
            for _, _, failure in scenarios
            for wrapped in (False, True)
            for typed in (False, True)
        }
        seen = {key: run.result() for key, run in runs.items()}
    for number, title, failure in scenarios:
        cells = {(w, t): seen[failure, w, t] for w in (False, True) for t in (False, True)}
        _show_scenario(page, f"{number}. {title}", cells)
        if options.frames:
            _show_frames(page, cells)
    page.verbatim(("Put it in front of your agent:  ", ""), (COMMAND, "bold"))
    sys.stdout.write(page.take())
    ended = all(run.answer is not None for (_, wrapped, _), run in seen.items() if wrapped)
    typed_came = all(run.typed is not None for key, run in seen.items() if key[1] and key[2])
    return 0 if ended and typed_came else 1


def parser() -> CommandParser:
    """Return the parser."""
    made = CommandParser(
        "demo",
        usage="[options]",
        about="Shows the same failing turns without and with lastword, as two kinds of client see "
        "them. Needs no key and no network, and takes a few seconds.",
        ends="examples:\n  lastword demo\n  lastword demo --frames",
    )
    made.add_argument("--frames", action="store_true", help="show every message that came, as JSON")
    return made


def _command(failure: str, url: str, *, wrapped: bool) -> list[str]:
    # -P: nothing in the folder where somebody tries the demo may stand in for a module.
    agent = [sys.executable, "-P", "-m", "lastword.kit.demo.agent", failure, url]
    return [sys.executable, "-P", "-m", "lastword", "run", "--", *agent] if wrapped else agent


def _show_scenario(page: Page, title: str, cells: dict[tuple[bool, bool], SeenTurn]) -> None:
    page.line(title, "bold")
    page.line()
    side_by_side = page.columns >= NARROW_COLUMNS
    width = (page.columns - 6) // 2 if side_by_side else page.columns - 4
    for typed, client in ((False, "a strict client"), (True, "a client that knows agent_error")):
        sides = []
        for wrapped, where in ((False, "without lastword"), (True, "with lastword")):
            side = Page(width, least=width)
            side.line(f"{where}, {client}:", "dim")
            _show_turn(side, cells[wrapped, typed])
            sides.append(side)
        if side_by_side:
            page.beside(*sides)
        else:
            for side in sides:
                page.beside(side)
        page.line()


def _show_turn(page: Page, seen: SeenTurn) -> None:
    """Show what this client can tell its user."""
    if seen.text:
        page.line(f"  the agent said: {seen.text}", "dim")
    if seen.answer is None:
        waited = f"after {PATIENCE_SECONDS:g} s the turn still runs, and always will"
        page.line(f"  no answer: {waited}", "red")
        return
    if seen.typed is not None:
        _show_typed(page, seen.typed)
        return
    error: dict[str, Any] = seen.answer.get("error", {})
    data = error.get("data") or {}
    payload = data.get("agent_error")
    style = "green" if payload else "red"
    page.line(f"  error {error.get('code')}: {error.get('message')}", style)
    if data.get("details") and data["details"] != error.get("message"):
        page.line(f"  {data['details']}", style)
    if not payload:
        page.line("  what kind of failure, whether to retry, and when: not said", "red")


def _show_typed(page: Page, error: dict[str, Any]) -> None:
    wait = error.get("retry_after_seconds")
    retry = "yes" if error["retryable"] else "no"
    if wait is not None:
        retry += f", after {wait} s"
    facts = {
        "type": error["type"],
        "retry": retry,
        "is a retry safe": error.get("retry_safety"),
        "what to do": error.get("action"),
        "whose fault": error.get("origin"),
        "where": error.get("phase"),
        "signal": error.get("exit_signal"),
    }
    page.line(f"  {error['message']}", "green")
    for name, fact in facts.items():
        if fact is not None:
            page.line(f"  {name}: {fact}", "green")


def _show_frames(page: Page, cells: dict[tuple[bool, bool], SeenTurn]) -> None:
    for (wrapped, typed), seen in cells.items():
        where = "with" if wrapped else "without"
        client = "typed" if typed else "strict"
        page.line(f"  frames {where} lastword, {client} client:", "dim")
        for frame in seen.frames:
            page.verbatim((f"    {frame}", ""))
    page.line()
