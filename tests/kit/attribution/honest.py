"""Honest turns: the provider fails nowhere, and words about failures stand beside the answer.

Owns the shapes of such turns, and which sample is played in which of them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import chain, cycle
from typing import TypeAlias

from tests.kit.attribution.rows import (
    AGENTS,
    LINE,
    Event,
    Row,
    Sample,
    result,
    samples,
    stderr,
    text,
    thought,
    tool,
    tool_done,
)

Shape: TypeAlias = Callable[[Sample], list[Event]]

ANSWER = "The orders are sorted now, and all 12 tests pass."
PIECES = ("The orders are sorted now,", " and all", " 12 tests pass.")
PROMPTS = (
    "Sort the orders by date.",
    "Fix the failing test.",
    "Run the build and tell me what it prints.",
    "Why does the deployment not work?",
    "Füge eine Anmeldeseite hinzu.",
    "テストを直してください。",
)


def one_chunk(sample: Sample) -> list[Event]:
    return [stderr(1, sample.text), text(3, ANSWER), result(3.1, usage=True)]


def long_silence(sample: Sample) -> list[Event]:
    return [stderr(1, sample.text), text(21, ANSWER), result(21.1)]


def three_chunks(sample: Sample) -> list[Event]:
    texts = [text(2 + 2 * at, piece) for at, piece in enumerate(PIECES)]
    return [texts[0], stderr(2.5, sample.text), *texts[1:], result(6.5)]


def in_a_tool(sample: Sample) -> list[Event]:
    begun = [text(0.5, "I run it."), tool(1), stderr(2, sample.text)]
    ended = [tool_done(6, sample.text, failed=True), text(9, ANSWER), result(9.1, usage=True)]
    return begun + ended


def after_a_tool(sample: Sample) -> list[Event]:
    """The tool's end is sent first, and the model then takes its time."""
    begun = [tool(1), tool_done(2, sample.text), stderr(2.05, sample.text)]
    return [*begun, text(22, ANSWER), result(22.1, usage=True)]


def before_a_tool(sample: Sample) -> list[Event]:
    """The tool's output comes sooner than the agent says that there is a tool."""
    return [stderr(1, sample.text), tool(1.1), tool_done(4), text(6, ANSWER), result(6.1)]


def after_a_thought(sample: Sample) -> list[Event]:
    return [thought(1), stderr(2, sample.text), text(12, ANSWER), result(12.1)]


def twice(sample: Sample) -> list[Event]:
    lines = [stderr(at, sample.text) for at in (1, 3, 7)]
    return [*lines, text(20, ANSWER), result(20.1, usage=True)]


def in_pieces(sample: Sample) -> list[Event]:
    """A line that a pipe delivers in two parts."""
    middle = len(sample.text) // 2
    first = Event(1, "stderr", sample.text[:middle])
    return [first, stderr(1.1, sample.text[middle:]), text(15, ANSWER), result(15.1)]


def with_stamp(sample: Sample) -> list[Event]:
    """The agent passes the lines on with its own prefix."""
    lines = sample.text.splitlines()
    stamped = "\n".join(f"2026-11-20T09:00:00.000Z ERROR bash {line}" for line in lines)
    return [stderr(1, stamped), text(18, ANSWER), result(18.1)]


def tool_alone(sample: Sample) -> list[Event]:
    """The last that the turn does is a tool; there is nothing to say about it."""
    begun = [text(0.5, "I run it."), tool(1), stderr(2, sample.text), tool_done(3, sample.text)]
    return [*begun, result(3.2, usage=True)]


def tool_and_no_word(sample: Sample) -> list[Event]:
    """Not a word is said in the whole turn: a tool was all that it was about."""
    return [tool(1), stderr(2, sample.text), tool_done(3, sample.text), result(3.2, usage=True)]


def quoted_result(sample: Sample) -> list[Event]:
    """The user asked for the tool's output, and gets it."""
    begun = [tool(1), stderr(2, sample.text), tool_done(3, sample.text, failed=True)]
    return [*begun, text(5, sample.text.strip()), result(5.1, usage=True)]


def before_the_turn(sample: Sample) -> list[Event]:
    return [stderr(-3, sample.text), text(20, ANSWER), result(20.1)]


def after_the_answer(sample: Sample) -> list[Event]:
    """More comes between the last word and the answer."""
    return [text(2, ANSWER), stderr(2.2, sample.text), result(6, usage=True)]


def coloured(sample: Sample) -> list[Event]:
    lines = "\n".join(f"\x1b[31m{line}\x1b[0m" for line in sample.text.splitlines())
    return [stderr(1, lines), text(17, ANSWER), result(17.1)]


def with_label(sample: Sample) -> list[Event]:
    """The agent says which of its tools writes."""
    lines = "\n".join(f"[bash] {line}" for line in sample.text.splitlines())
    return [stderr(1, lines), text(17, ANSWER), result(17.1, usage=True)]


def as_json(sample: Sample) -> list[Event]:
    """The agent logs what its tool writes."""
    lines = [
        json.dumps({"level": "error", "logger": "tool.bash", "msg": line}, ensure_ascii=False)
        for line in sample.text.splitlines()
    ]
    return [stderr(1, "\n".join(lines)), text(17, ANSWER), result(17.1)]


def amid_output(sample: Sample) -> list[Event]:
    """A long output that the failure is a part of."""
    before = "\n".join(f"step {number}: done" for number in range(60))
    return [stderr(1, f"{before}\n{sample.text}\nexit status 1"), text(19, ANSWER), result(19.1)]


SHAPES: tuple[Shape, ...] = (
    one_chunk,
    long_silence,
    three_chunks,
    in_a_tool,
    after_a_tool,
    before_a_tool,
    after_a_thought,
    twice,
    in_pieces,
    with_stamp,
    tool_alone,
    tool_and_no_word,
    quoted_result,
    before_the_turn,
    after_the_answer,
    coloured,
    with_label,
    as_json,
    amid_output,
)
SHAPES_EACH = 5
"""In how many shapes each sample is played."""


def _row(group: str, name: str, number: int, events: list[Event], prompt: str = "") -> Row:
    agent = AGENTS[number % len(AGENTS)]
    return Row(
        id=f"{group} {number}: {name}, {agent}",
        group=group,
        agent=agent,
        prompt=prompt or PROMPTS[number % len(PROMPTS)],
        events=tuple(sorted(events, key=lambda event: event.at)),
        types={},
    )


IN_TOOLS: tuple[Shape, ...] = (
    in_a_tool,
    after_a_tool,
    tool_alone,
    tool_and_no_word,
    quoted_result,
    before_the_turn,
)
"""Where another program's own model call may stand: its words alone are no different."""


def _beside(
    group: str, found: list[Sample], shapes: tuple[Shape, ...] = SHAPES, each: int = SHAPES_EACH
) -> Iterator[Row]:
    """Each sample on stderr in some of the shapes, so that all shapes are played equally often."""
    endless = cycle(shapes)
    for number in range(len(found) * each):
        sample, shape = found[number // each], next(endless)
        yield _row(group, f"{sample.id}, {shape.__name__}", number, shape(sample))


def _in_logs() -> Iterator[Row]:
    """Lines in an agent's own log."""
    lines = [*samples("log_lines.txt"), *samples("services.txt")]
    for number, sample in enumerate(lines):
        begun = [] if number % 2 else [tool(0.5), tool_done(0.9)]
        events = [*begun, Event(1, LINE, f"{sample.text}\n"), text(14, ANSWER), result(14.1)]
        yield _row("log", sample.id, number, events)


def _quoted() -> Iterator[Row]:
    """Answers that quote a tool's error in ten languages."""
    lines = [s.first_line for s in samples("programs.txt")[::3]]
    quotes = samples("quotes.txt")
    for number, line in enumerate(lines):
        quote = quotes[number % len(quotes)]
        words = quote.text.replace("{line}", line)
        pieces = [words] if number % 3 else [words[:20], words[20:40], words[40:]]
        texts = [text(5 + at / 10, piece) for at, piece in enumerate(pieces) if piece]
        begun = [tool(1), tool_done(3, line, failed=True)] if number % 2 else [thought(1)]
        beside = [stderr(2, line)] if number % 4 < 2 else []
        events = [*begun, *beside, *texts, result(6, usage=number % 5 > 0)]
        yield _row("quoted", quote.id, number, events, "Run it again. What does it print?")


OPENERS = {"codex": "codex-acp", "claude": "claude-agent-acp", "gemini": "gemini-cli"}
OPENERS |= {"qwen": "qwen-code", "goose": "goose"}


def _opening() -> Iterator[Row]:
    """Answers that begin as an agent's errors do, as that agent and as others."""
    for number, sample in enumerate(samples("openings.txt")):
        own = OPENERS.get(sample.source, AGENTS[number % len(AGENTS)])
        others = (own, AGENTS[(number + 5) % len(AGENTS)])
        for at, agent in enumerate(others):
            split = sample.text.find(" ", 24)
            pieces = [sample.text] if at == 0 else [sample.text[:split], sample.text[split:]]
            texts = [text(4 + n / 10, piece) for n, piece in enumerate(pieces) if piece]
            events = [*texts, result(5, usage=(number + at) % 2 > 0)]
            row = _row("opening", sample.id, 2 * number + at, events)
            yield row._replace(agent=agent, id=f"opening {2 * number + at}: {sample.id}, {agent}")


def rows() -> list[Row]:
    return list(
        chain(
            _beside("program", samples("programs.txt")),
            _beside("service", samples("services.txt")),
            _beside("in a tool", samples("model_programs.txt"), IN_TOOLS, len(IN_TOOLS)),
            _in_logs(),
            _quoted(),
            _opening(),
        )
    )
