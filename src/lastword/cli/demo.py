"""`lastword demo`: turns that fail, without and with lastword, side by side.

Owns the two clients, with what each receives and shows. One uses Zed's name and shows errors as
Zed's own code does; the other advertises `agent_error`. What Zed did was read in its source of
autumn 2026: an agent's exit ends the thread with a load error, and a prompt has no time limit. That
the SDKs 0.7.1 for Python and 0.4 to 0.14 for TypeScript leave a prompt open when its agent exits
was measured.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
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
from lastword.core.protocol import acp
from lastword.core.redact.redactor import redact_text
from lastword.kit.peer import StrictClient
from lastword.kit.provider.server import Provider, ProviderFailure
from lastword.platform.terminal import command_line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


PATIENCE_SECONDS = 60.0
"""How long a client of the demo waits for a start, a turn's end or an exit. A longer wait means
only that the machine is busy."""

PROMPT = "Why does the parser fail?"
TYPED = {"_meta": {"agent_error": {"version": 1}}}
ZED = {"name": "zed", "version": "1.18.1"}


class DemoTurn(msgspec.Struct, frozen=True, kw_only=True):
    """One turn as a client saw it.

    Attributes:
        answer: the answer to the prompt; `None` if there was none.
        typed: the `error` of the typed update, if there was one.
        text: the agent's text before the answer.
        frames: every received line, in order.
        seconds: from the prompt to its answer, or to the end of the wait.
        ended: whether the process exited without an answer.
        started: whether there was a session to send the prompt to.
    """

    answer: dict[str, Any] | None
    typed: dict[str, Any] | None
    text: str
    frames: list[str]
    seconds: float
    ended: bool
    started: bool = True


class DemoClient(StrictClient):
    """A client that stops waiting when the user stops the demo."""

    def __init__(self, command: Sequence[str], stopped: threading.Event) -> None:
        # The demo shows what the defaults do, without the user's own options. It is neither
        # recorded nor traced: its failures would look like the user's own.
        own = {"LASTWORD_NO_CONFIG": "1", "LASTWORD_NO_RECORD": "1", "OTEL_SDK_DISABLED": "true"}
        inherited = {
            name: value for name, value in os.environ.items() if not name.startswith("LASTWORD_")
        }
        super().__init__(command, inherited | own)
        self._stopped = stopped

    def wait(self, done: Callable[[], bool], seconds: float) -> bool:
        """Wait until something holds, the demo is stopped, or the time has passed."""
        return super().wait(lambda: done() or self._stopped.is_set(), seconds) and done()


def run_turn(
    command: Sequence[str],
    stopped: threading.Event,
    *,
    typed: bool,
    patience_seconds: float = PATIENCE_SECONDS,
) -> DemoTurn:
    """Start the command, send one prompt, and return the turn."""
    with DemoClient(command, stopped) as client:
        greeting = client.initialize(TYPED) if typed else client.initialize({}, info=ZED)
        client.answer_to(greeting, PATIENCE_SECONDS)
        started = client.answer_to(client.new_session(os.getcwd()), PATIENCE_SECONDS) is not None
        begin = time.monotonic()
        prompt = client.prompt("demo", PROMPT)
        answer = client.answer_to(prompt, patience_seconds) if started else None
        seconds = time.monotonic() - begin
        received = [event for event in client.events if not event.sent]
        if answer:
            received = received[: received.index(answer) + 1]
        error, text = None, ""
        ended = answer is None and not client.stdout.open and client.wait_for_exit(PATIENCE_SECONDS)
    for event in received:
        if event.kind == acp.V1.error_kind:
            error = event.update["error"]
        elif event.kind == "agent_message_chunk":
            text += event.update["content"]["text"]
    return DemoTurn(
        answer=answer.frame if answer else None,
        typed=error,
        text=text,
        frames=[event.raw.decode() for event in received],
        seconds=seconds,
        ended=ended,
        started=started,
    )


def shown_by_zed(error: dict[str, Any]) -> str:
    """Return the text that Zed makes of a prompt's error.

    As `crates/agent_servers/src/acp.rs` and the `Display` of the protocol library's `Error` had it
    in autumn 2026: an internal error's `data.details` where it is the only key, else the message
    with `data` as JSON behind it.
    """
    data = error.get("data")
    is_internal = error["code"] == acp.INTERNAL_ERROR
    if is_internal and isinstance(data, dict) and set(data) == {"details"}:
        return str(data["details"])
    suffix = "" if data is None else f": {json.dumps(data, indent=2, ensure_ascii=False)}"
    return f"{error['message']}{suffix}"


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
    """Return what a user sees when a turn fails silently."""
    if turn.answer is not None:
        return ["Done. Nothing is shown, not even an error."]
    if not turn.ended and (not turn.started or patience_seconds >= PATIENCE_SECONDS):
        return [
            "This machine was too slow to tell.",
            f"No output after {PATIENCE_SECONDS:g} s. Try again when it is less busy.",
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
"""Words to type after `lastword`, and their purpose."""


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
        alone: Without lastword, in a client like Zed. A typed client gets no more.
        zed: With lastword, in the same client.
        typed: With lastword, in a client that knows `agent_error`.
    """

    alone: DemoTurn
    zed: DemoTurn
    typed: DemoTurn


def main(arguments: Sequence[str]) -> int:
    """Run the demo; return 0 if lastword ended every turn with a typed error, else 1."""
    options = parser().read(arguments)
    page = Page(terminal_columns(otherwise=WIDE_COLUMNS), least=MIN_COLUMNS, most=MAX_COLUMNS)
    with Progress("Three agents fail, without and with lastword", after_seconds=0):
        results = run_all()
    typed = redact_text(command_line(programs.typed_command(os.environ)))
    show(page, results, frames=options.frames, typed=typed)
    sys.stdout.write(page.drain())
    ended = all(each.zed.answer is not None and each.typed.typed is not None for each in results)
    return 0 if ended else 1


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
        # After Ctrl-C, before the pool waits for its running turns.
        stack.callback(stopped.set)
        runs = []
        for scenario, provider in zip(SCENARIOS, providers, strict=True):
            agent = _python("lastword.kit.demo", scenario.failure, provider.openai_url)
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
    """Write the turns to a page, then what to do next; `typed` is how the user calls lastword."""
    page.line(INTRODUCTION)
    page.line()
    for number, (scenario, turns) in enumerate(zip(SCENARIOS, results, strict=True), 1):
        page.line(f"{number}. {scenario.title}", "bold", hang=3)
        page.line()
        side_by_side = page.columns >= NARROW_COLUMNS
        width = (page.columns - 6) // 2 if side_by_side else page.columns - 4
        without, behind = Page(width, least=width), Page(width, least=width)
        without.line("Without lastword, a client like Zed shows:", "dim")
        _show_turn(without, turns.alone, scenario.patience_seconds)
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
        if scenario.note:
            page.line(scenario.note, "dim", indent=2)
            page.line()
        if frames:
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
    page.line("Next", "bold")
    commands = [(f"{typed} {words}", what) for words, what in NEXT]
    widest = max(len(command) for command, _ in commands)
    has_room = page.columns >= max(NARROW_COLUMNS, widest + MIN_COLUMNS)
    for command, what in commands:
        if has_room:
            page.row([("  ", ""), (command.ljust(widest), "bold"), ("  ", "")], what)
        else:
            page.verbatim(("  ", ""), (command, "bold"))
            page.line(what, "dim", indent=4)


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
