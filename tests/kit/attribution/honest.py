"""Honest turns: the provider fails nowhere, and words about failures stand beside the answer.

Owns the shapes of such turns, and which sample is played in which of them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator
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
    turn,
)

Shape: TypeAlias = Callable[[str], list[Event]]

ANSWER = "The orders are sorted now, and all 12 tests pass."
PIECES = ("The orders are sorted now,", " and all", " 12 tests pass.")


def _each(form: str, text: str) -> str:
    return "\n".join(form.replace("{}", line) for line in text.splitlines())


def _as_json(said: str) -> str:
    line = {"level": "error", "logger": "tool.bash"}
    lines = [json.dumps(line | {"msg": each}, ensure_ascii=False) for each in said.splitlines()]
    return "\n".join(lines)


def _used(at: float) -> Event:
    return result(at, usage=True)


_STEPS = "\n".join(f"step {number}: done" for number in range(60))
_TOLD = text(0.5, "I run it.")

SHAPES: dict[str, Shape] = {
    "one_chunk": lambda said: [stderr(1, said), text(3, ANSWER), _used(3.1)],
    "long_silence": lambda said: [stderr(1, said), text(21, ANSWER), result(21.1)],
    "three_chunks": lambda said: [
        *(text(2 + 2 * at, piece) for at, piece in enumerate(PIECES)),
        *(stderr(2.5, said), result(6.5)),
    ],
    "in_a_tool": lambda said: [
        *(_TOLD, tool(1), stderr(2, said), tool_done(6, said, failed=True)),
        *(text(9, ANSWER), _used(9.1)),
    ],
    # The tool's end is sent first, and the model then takes its time.
    "after_a_tool": lambda said: [
        *(tool(1), tool_done(2, said), stderr(2.05, said), text(22, ANSWER), _used(22.1)),
    ],
    # The tool's output comes sooner than the agent says that there is a tool.
    "before_a_tool": lambda said: [
        *(stderr(1, said), tool(1.1), tool_done(4), text(6, ANSWER), result(6.1)),
    ],
    "after_a_thought": lambda said: [
        *(thought(1), stderr(2, said), text(12, ANSWER), result(12.1)),
    ],
    "twice": lambda said: [
        *(stderr(1, said), stderr(3, said), stderr(7, said), text(20, ANSWER), _used(20.1)),
    ],
    # A pipe delivers a line in two parts.
    "in_pieces": lambda said: [
        Event(1, "stderr", said[: len(said) // 2]),
        *(stderr(1.1, said[len(said) // 2 :]), text(15, ANSWER), result(15.1)),
    ],
    # The agent passes the lines on with its own prefix.
    "with_stamp": lambda said: [
        stderr(1, _each("2026-11-20T09:00:00.000Z ERROR bash {}", said)),
        *(text(18, ANSWER), result(18.1)),
    ],
    # The last that the turn does is a tool; there is nothing to say about it.
    "tool_alone": lambda said: [
        *(_TOLD, tool(1), stderr(2, said), tool_done(3, said), _used(3.2)),
    ],
    # Not a word is said in the whole turn: a tool was all that it was about.
    "tool_and_no_word": lambda said: [
        *(tool(1), stderr(2, said), tool_done(3, said), _used(3.2)),
    ],
    # The user asked for the tool's output, and gets it.
    "quoted_result": lambda said: [
        *(tool(1), stderr(2, said), tool_done(3, said, failed=True)),
        *(text(5, said.strip()), _used(5.1)),
    ],
    "before_the_turn": lambda said: [stderr(-3, said), text(20, ANSWER), result(20.1)],
    # More comes between the last word and the answer.
    "after_the_answer": lambda said: [text(2, ANSWER), stderr(2.2, said), _used(6)],
    "coloured": lambda said: [
        *(stderr(1, _each("\x1b[31m{}\x1b[0m", said)), text(17, ANSWER), result(17.1)),
    ],
    # The agent says which of its tools writes.
    "with_label": lambda said: [
        *(stderr(1, _each("[bash] {}", said)), text(17, ANSWER), _used(17.1)),
    ],
    # The agent logs what its tool writes.
    "as_json": lambda said: [stderr(1, _as_json(said)), text(17, ANSWER), result(17.1)],
    # A long output that the failure is a part of.
    "amid_output": lambda said: [
        *(stderr(1, f"{_STEPS}\n{said}\nexit status 1"), text(19, ANSWER), result(19.1)),
    ],
}
SHAPES_EACH = 5
"""In how many shapes each sample is played."""


IN_TOOLS = (
    *("in_a_tool", "after_a_tool", "tool_alone", "tool_and_no_word"),
    *("quoted_result", "before_the_turn"),
)
"""Where another program's own model call may stand: its words alone are no different."""


def _beside(
    group: str, found: list[Sample], shapes: Collection[str] = SHAPES, each: int = SHAPES_EACH
) -> Iterator[Row]:
    """Each sample on stderr in some of the shapes, so that all shapes are played equally often."""
    endless = cycle(shapes)
    for number in range(len(found) * each):
        sample, shape = found[number // each], next(endless)
        yield turn(group, f"{sample.id}, {shape}", number, SHAPES[shape](sample.text))


def _in_logs() -> Iterator[Row]:
    lines = [*samples("log_lines.txt"), *samples("services.txt")]
    for number, sample in enumerate(lines):
        begun = [] if number % 2 else [tool(0.5), tool_done(0.9)]
        events = [*begun, Event(1, LINE, f"{sample.text}\n"), text(14, ANSWER), result(14.1)]
        yield turn("log", sample.id, number, events)


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
        prompt = "Run it again. What does it print?"
        yield turn("quoted", quote.id, number, events, prompt=prompt)


OPENERS = {"codex": "codex-acp", "claude": "claude-agent-acp", "gemini": "gemini-cli"}
OPENERS |= {"qwen": "qwen-code", "goose": "goose"}


def _opening() -> Iterator[Row]:
    """Answers that begin as an agent's errors do, as that agent and as others."""
    for number, sample in enumerate(samples("openings.txt")):
        split = sample.text.find(" ", 24)
        for agent, pieces in (
            (OPENERS.get(sample.source, ""), [sample.text]),
            (AGENTS[(number + 5) % len(AGENTS)], [sample.text[:split], sample.text[split:]]),
        ):
            texts = [text(4 + at / 10, piece) for at, piece in enumerate(pieces) if piece]
            events = [*texts, result(5, usage=(number + len(pieces)) % 2 > 0)]
            yield turn("opening", f"{sample.id} in {len(pieces)}", number, events, agent=agent)


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
