"""`lastword demo`: turns that fail, without and with lastword, side by side.

What Zed does was read in its source of autumn 2026: an agent's exit ends the thread with a load
error, and a prompt has no time limit. That the SDKs 0.7.1 for Python and 0.4 to 0.14 for TypeScript
leave a prompt open when its agent exits was measured.
"""

from __future__ import annotations

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from lastword.cli.page import Page, Progress, terminal_columns
from lastword.cli.parser import CommandParser, add_arguments
from lastword.cli.setup import programs
from lastword.client.display import describe
from lastword.core.failure.phrases import short_duration
from lastword.core.failure.taxonomy import AgentError, Origin, RetrySafety
from lastword.core.redact.redactor import redact_text
from lastword.kit.demo.client import PATIENCE_SECONDS, DemoTurn, run_turn, shown_by_zed
from lastword.kit.provider.server import Provider, ProviderFailure
from lastword.platform.terminal import command_line

if TYPE_CHECKING:
    from collections.abc import Sequence


SAFE: dict[RetrySafety, str] = {
    RetrySafety.AUTO: "yes, nothing was shown or done",
    RetrySafety.OFFER_CONTINUE: "by continuing, not repeating",
    RetrySafety.ASK: "ask first, it may have acted",
    RetrySafety.NEVER: "no",
}
FAULT: dict[Origin, str] = {
    Origin.PROVIDER: "the model provider's",
    Origin.NETWORK: "the network's",
    Origin.AGENT: "the agent's",
    Origin.PROCESS: "the agent's",
    Origin.CLIENT: "the editor's",
    Origin.LASTWORD: "lastword's",
}


def left_with(turn: DemoTurn, patience_seconds: float) -> list[str]:
    """Return what a user sees of a turn that failed silently."""
    if turn.answer is not None:
        return ["Done. Nothing is shown, not even an error."]
    if not turn.ended and (not turn.started or patience_seconds >= PATIENCE_SECONDS):
        return [
            "This machine was too slow to tell.",
            f"Nothing had come after {PATIENCE_SECONDS:g} s. Try again when it is less busy.",
        ]
    if not turn.ended:
        waited = f"A spinner, after {patience_seconds:g} s and for ever."
        return [waited, "None of the measured clients gives up on a turn."]
    others = "Clients on older SDKs wait for ever."
    zed = "Zed ends the thread: the agent has exited."
    return ["The agent is gone, and the turn has no answer.", f"{zed} {others}"]


def facts(error: AgentError) -> list[tuple[str, str]]:
    """Return what a typed client can show beside the sentence, as labels and values."""
    shown = describe(error, now=0.0)
    retry = "yes" if shown.can_retry else "no"
    if shown.wait_seconds is not None:
        retry += f", after {short_duration(shown.wait_seconds)}"
    rows = [("Retry", retry)]
    if error.retry_safety is not None:
        rows.append(("Safe to retry", SAFE[error.retry_safety]))
    if error.origin is not None:
        by = f", ended by {error.exit_signal}" if error.exit_signal else ""
        rows.append(("Whose fault", f"{FAULT[error.origin]}{by}"))
    return rows


MIN_COLUMNS = 24
NARROW_COLUMNS = 88
MAX_COLUMNS = 128
WIDE_COLUMNS = 100
SPINNER_SECONDS = 1.5
LIMITED = ProviderFailure(
    429,
    b'{"error": {"type": "requests", "code": "rate_limit_exceeded", "message": '
    b'"Rate limit reached for requests per minute. Please try again in 20s."}}',
    headers={"Retry-After": "20"},
)
OVERLOADED = ProviderFailure(
    503,
    b'{"error": {"type": "service_unavailable_error", "message": '
    b'"The server is overloaded. Please try again later."}}',
)
INTRODUCTION = (
    "Three failing turns, without and with lastword, run just now with a scripted agent, a model "
    "provider on this machine that refuses requests, and a client that shows what Zed would."
)
NEXT = (
    ("doctor -- YOUR-AGENT", "check that it starts here, and what your editor would show"),
    ("setup EDITOR -- YOUR-AGENT", "add lastword to your editor's settings"),
    ("log", "afterwards: what happened in each session"),
)
"""What to type after `lastword`, and what it is for."""


@dataclass(frozen=True, slots=True)
class DemoScenario:
    """One kind of failure.

    Attributes:
        failure: The scripted agent's name for it.
        title: What happens.
        provider: What the model provider answers.
        options: Options of `lastword run`, where a default takes too long to watch.
        patience_seconds: How long the client waits for the agent alone.
        note: What differs from the usual settings.
    """

    failure: str
    title: str
    provider: ProviderFailure
    options: tuple[str, ...] = ()
    patience_seconds: float = PATIENCE_SECONDS
    note: str = ""


SCENARIOS = (
    DemoScenario(
        "retries",
        "The provider limits requests, and the agent retries without saying so",
        LIMITED,
        ("--first-update-timeout", "1", "--cancel-grace", "0.2"),
        SPINNER_SECONDS,
        "lastword waits 1 s here. By default it waits 15 minutes, and shows the retries after 5 s.",
    ),
    DemoScenario("empty", 'The provider is overloaded, and the agent says "done"', OVERLOADED),
    DemoScenario("crash", "The agent is killed in the middle of its answer", LIMITED),
)


@dataclass(frozen=True, slots=True)
class ScenarioTurns:
    """The turns of one scenario.

    Attributes:
        alone: Without lastword, in a client like Zed. A typed client would learn no more.
        zed: With lastword, in the same client.
        typed: With lastword, in a client that knows `agent_error`.
    """

    alone: DemoTurn
    zed: DemoTurn
    typed: DemoTurn

    @property
    def is_as_promised(self) -> bool:
        """Return whether every turn behind lastword ended, with a typed error where one is due."""
        return self.zed.answer is not None and self.typed.typed is not None


def main(arguments: Sequence[str]) -> int:
    """Run the demo; return 0 if lastword ended every turn with a typed error, else 1."""
    options = parser().read(arguments)
    page = Page(terminal_columns(otherwise=WIDE_COLUMNS), least=MIN_COLUMNS, most=MAX_COLUMNS)
    with Progress("Three agents fail, without and with lastword", after_seconds=0):
        results = run_all()
    typed = redact_text(command_line(programs.typed_command(os.environ)))
    show(page, results, frames=options.frames, typed=typed)
    sys.stdout.write(page.drain())
    return 0 if all(turns.is_as_promised for turns in results) else 1


def parser() -> CommandParser:
    made = CommandParser(
        "demo",
        usage="[options]",
        about="Shows turns that fail silently, without and with lastword, as a client like Zed "
        "displays them. Needs no key and no network, and takes a few seconds.",
        ends="examples:\n  lastword demo\n  lastword demo --frames\n\n"
        "exit status: 0 if lastword ended every turn with an error, 1 if it did not, "
        "130 after Ctrl-C.",
    )
    add_arguments(made, "--frames  also show every received message as JSON")
    return made


def run_all() -> list[ScenarioTurns]:
    """Run every turn, all at the same time."""
    stopped = threading.Event()
    with ExitStack() as stack:
        providers = [stack.enter_context(Provider(failure=each.provider)) for each in SCENARIOS]
        pool = stack.enter_context(ThreadPoolExecutor(3 * len(SCENARIOS)))
        # After Ctrl-C, before the pool waits for what is under way.
        stack.callback(stopped.set)
        runs = []
        for scenario, provider in zip(SCENARIOS, providers, strict=True):
            agent = _python("lastword.kit.demo.agent", scenario.failure, provider.openai_url)
            wrapped = [*_python("lastword", "run", *scenario.options), "--", *agent]
            patience = scenario.patience_seconds
            runs.append(
                (
                    pool.submit(run_turn, agent, stopped, typed=False, patience_seconds=patience),
                    pool.submit(run_turn, wrapped, stopped, typed=False),
                    pool.submit(run_turn, wrapped, stopped, typed=True),
                )
            )
        return [ScenarioTurns(*(run.result() for run in three)) for three in runs]


def _python(*arguments: str) -> list[str]:
    # -P: no file in the working directory may replace a module.
    return [sys.executable, "-P", "-m", *arguments]


def show(
    page: Page, results: Sequence[ScenarioTurns], *, frames: bool, typed: str = "lastword"
) -> None:
    """Write the turns to a page, and what to do next, with lastword called as it was `typed`."""
    page.line(INTRODUCTION)
    page.line()
    for number, (scenario, turns) in enumerate(zip(SCENARIOS, results, strict=True), 1):
        page.line(f"{number}. {scenario.title}", "bold", hang=3)
        page.line()
        _show_scenario(page, turns, scenario.patience_seconds)
        if scenario.note:
            page.line(scenario.note, "dim", indent=2)
            page.line()
        if frames:
            _show_frames(page, turns)
    page.line("Next", "bold")
    _show_next(page, typed)


def _show_scenario(page: Page, turns: ScenarioTurns, patience_seconds: float) -> None:
    side_by_side = page.columns >= NARROW_COLUMNS
    width = (page.columns - 6) // 2 if side_by_side else page.columns - 4
    without, behind = Page(width, least=width), Page(width, least=width)
    without.line("Without lastword, a client like Zed shows:", "dim")
    _show_turn(without, turns.alone, patience_seconds)
    behind.line("With lastword, the same client shows:", "dim")
    _show_turn(behind, turns.zed, PATIENCE_SECONDS)
    if turns.typed.typed is not None:
        behind.line("A client that reads lastword's errors knows:", "dim")
        for name, fact in facts(msgspec.convert(turns.typed.typed, AgentError)):
            behind.row(f"  {name}: ", fact, "green")
    if side_by_side:
        page.beside(without, behind)
    else:
        page.beside(without)
        page.line()
        page.beside(behind)
    page.line()


def _show_turn(page: Page, turn: DemoTurn, patience_seconds: float) -> None:
    if turn.text:
        page.line(f"  {turn.text}")
    error: dict[str, Any] | None = (turn.answer or {}).get("error")
    if error is not None:
        page.line(f"  {shown_by_zed(error)}", "green")
        return
    first, *more = left_with(turn, patience_seconds)
    page.line(f"  {first}", "red")
    for sentence in more:
        page.line(f"  {sentence}", "dim")


def _show_next(page: Page, typed: str) -> None:
    commands = [(f"{typed} {words}", what) for words, what in NEXT]
    widest = max(len(command) for command, _ in commands)
    if page.columns >= max(NARROW_COLUMNS, widest + MIN_COLUMNS):
        for command, what in commands:
            page.row([("  ", ""), (command.ljust(widest), "bold"), ("  ", "")], what)
        return
    for command, what in commands:
        page.verbatim(("  ", ""), (command, "bold"))
        page.line(what, "dim", indent=4)


def _show_frames(page: Page, turns: ScenarioTurns) -> None:
    named = (
        ("without lastword", turns.alone),
        ("with lastword", turns.zed),
        ("with lastword, to a client that reads its errors", turns.typed),
    )
    for name, turn in named:
        page.line(f"  Frames {name}:", "dim")
        for frame in turn.frames:
            page.verbatim((f"    {frame}", ""))
    page.line()
