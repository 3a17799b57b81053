"""`lastword demo`: the same failing turn without and with lastword, side by side."""

from __future__ import annotations

import argparse
import shutil
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from lastword.cli.terminal import has_colours
from lastword.demo.client import PATIENCE_SECONDS, Seen, take_turn
from lastword.demo.provider import Provider

if TYPE_CHECKING:
    from collections.abc import Sequence

NARROW_COLUMNS = 88
MAX_COLUMNS = 128

_STYLES = {"title": "1", "bad": "31", "good": "32", "dim": "2"}


def main(arguments: Sequence[str]) -> int:
    """Run the demo; gives 0 when lastword ended every turn typed, 1 when it did not."""
    parser = argparse.ArgumentParser(
        prog="lastword demo",
        description="The same failing turns without and with lastword, as two kinds of client see "
        "them. Needs no key and no network, and takes a few seconds.",
    )
    parser.add_argument("--frames", action="store_true", help="show every frame that came")
    options = parser.parse_args(list(arguments))
    paint = Painter(colours=has_colours())
    with Provider() as provider, ThreadPoolExecutor(8) as pool:
        scenarios = [
            ("1", "The model provider says 429 until the agent's retries run out", "rate-limit"),
            ("2", "The agent's process is killed in mid-turn", "crash"),
        ]
        runs = {
            (failure, wrapped, typed): pool.submit(
                take_turn, _command(failure, provider.url, wrapped=wrapped), typed=typed
            )
            for _, _, failure in scenarios
            for wrapped in (False, True)
            for typed in (False, True)
        }
        seen = {key: run.result() for key, run in runs.items()}
    for number, title, failure in scenarios:
        cells = {(w, t): seen[failure, w, t] for w in (False, True) for t in (False, True)}
        sys.stdout.write(_scenario(f"{number}. {title}", cells, paint))
        if options.frames:
            sys.stdout.write(_frames(cells, paint))
    ended = all(run.answer is not None for (_, wrapped, _), run in seen.items() if wrapped)
    typed_came = all(run.typed is not None for key, run in seen.items() if key[1] and key[2])
    sys.stdout.write(
        "Put it in front of your agent:  "
        + paint("title", "lastword run -- YOUR-AGENT ITS-ARGUMENTS")
        + "\n"
    )
    return 0 if ended and typed_came else 1


def _command(failure: str, url: str, *, wrapped: bool) -> list[str]:
    # -P: nothing in the folder where somebody tries the demo may stand in for a module.
    agent = [sys.executable, "-P", "-m", "lastword.demo.agent", failure, url]
    return [sys.executable, "-P", "-m", "lastword", "run", "--", *agent] if wrapped else agent


class Painter:
    """Colours where the terminal has them, plain text otherwise."""

    def __init__(self, *, colours: bool) -> None:
        self._colours = colours

    def __call__(self, style: str, text: str) -> str:
        """The text in that style."""
        return f"\033[{_STYLES[style]}m{text}\033[0m" if self._colours else text


Line = tuple[str, str]
"""A style and a text."""


def _scenario(title: str, cells: dict[tuple[bool, bool], Seen], paint: Painter) -> str:
    columns = min(MAX_COLUMNS, shutil.get_terminal_size((100, 24)).columns)
    out = [paint("title", title), ""]
    for typed, client in ((False, "a strict client"), (True, "a client that knows agent_error")):
        sides = [
            [("dim", f"{where}, {client}:"), *_lines(cells[wrapped, typed])]
            for wrapped, where in ((False, "without lastword"), (True, "with lastword"))
        ]
        out += _beside(sides, columns, paint) if columns >= NARROW_COLUMNS else _below(sides, paint)
        out.append("")
    return "\n".join(out) + "\n"


def _beside(sides: list[list[Line]], columns: int, paint: Painter) -> list[str]:
    width = (columns - 6) // 2
    left, right = ([piece for line in side for piece in _wrap(line, width)] for side in sides)
    height = max(len(left), len(right))
    left += [("dim", "")] * (height - len(left))
    right += [("dim", "")] * (height - len(right))
    return [
        f"  {paint(ls, lt)}{' ' * (width - len(lt))}  {paint(rs, rt)}".rstrip()
        for (ls, lt), (rs, rt) in zip(left, right, strict=True)
    ]


def _below(sides: list[list[Line]], paint: Painter) -> list[str]:
    width = max(20, shutil.get_terminal_size((80, 24)).columns - 4)
    return [
        f"  {paint(style, text)}"
        for side in sides
        for line in side
        for style, text in _wrap(line, width)
    ]


def _wrap(line: Line, width: int) -> list[Line]:
    style, text = line
    indent = " " * (len(text) - len(text.lstrip()))
    return [(style, piece) for piece in textwrap.wrap(text, width, subsequent_indent=indent)]


def _lines(seen: Seen) -> list[Line]:
    """What this client can tell its user."""
    lines: list[Line] = []
    if seen.text:
        lines.append(("dim", f"  the agent said: {seen.text}"))
    if seen.answer is None:
        waited = f"  no answer: after {PATIENCE_SECONDS:g} s the turn still runs, and always will"
        return [*lines, ("bad", waited)]
    error: dict[str, Any] = seen.answer.get("error", {})
    if seen.typed is not None:
        return [*lines, *_typed_lines(seen.typed)]
    data = error.get("data") or {}
    payload = data.get("agent_error")
    style = "good" if payload else "bad"
    lines.append((style, f"  error {error.get('code')}: {error.get('message')}"))
    if data.get("details") and data["details"] != error.get("message"):
        lines.append((style, f"  {data['details']}"))
    if not payload:
        lines.append(("bad", "  what kind of failure, whether to retry, and when: not said"))
    return lines


def _typed_lines(error: dict[str, Any]) -> list[Line]:
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
    lines: list[Line] = [("good", f"  {error['message']}")]
    lines += [("good", f"  {name}: {fact}") for name, fact in facts.items() if fact is not None]
    return lines


def _frames(cells: dict[tuple[bool, bool], Seen], paint: Painter) -> str:
    out = []
    for (wrapped, typed), seen in cells.items():
        where = "with" if wrapped else "without"
        client = "typed" if typed else "strict"
        out.append(paint("dim", f"  frames {where} lastword, {client} client:"))
        out += [f"    {frame}" for frame in seen.frames]
    return "\n".join(out) + "\n\n"
