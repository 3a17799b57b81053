"""The agents' table as one page of HTML: sorted, searched and filtered without a network.

Owns the page and its badge. Every row is in it as HTML, so that it can be read without a script;
the script only sorts, hides and shows. A row can be linked to by its name (`#codex-quota`), and a
view by what was searched, which is in the address.
"""

from __future__ import annotations

import base64
import hashlib
import html
from collections import Counter
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

from tests.interop.agents_cells import (
    FAILURES,
    LAST_FRAMES,
    Cell,
    End,
    Failure,
    Mode,
    Seen,
    outcome,
)
from tests.interop.agents_registry import AGENTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

VERDICTS = {
    "right": "named rightly when the turn ended",
    "retrying": "named rightly while the agent still retried, or waited",
    "untyped": "an error without a name",
    "wrong": "an error under another name",
    "silent": "counted as done",
    "waiting": "no answer yet",
    "gone": "the agent ended, or had no session",
}
"""What became of a turn, and its words."""

TEMPLATE = Path(__file__).with_name("agents_page.html").read_text(encoding="utf-8")
BADGE = Path(__file__).with_name("agents_badge.svg").read_text(encoding="utf-8")
_COLUMNS = ("Agent", "The provider", "Bare", "Behind lastword", "Named after", "Date")


def page(seen: Mapping[Cell, Seen]) -> str:
    """Return the page of what was seen, bare and behind lastword."""
    pairs = list(_pairs(seen))
    dates = sorted({one.date for one in seen.values() if one.date})
    played = " to ".join(dict.fromkeys((dates[0], dates[-1]))) if dates else "an unknown date"
    style, script = (_between(TEMPLATE, tag) for tag in ("style", "script"))
    policy = f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}"
    heads = "".join(
        f'<th scope="col"><button type="button">{head}</button></th>' for head in _COLUMNS
    )
    return Template(TEMPLATE).substitute(
        policy=policy,
        heads=heads,
        played=html.escape(played),
        summary=_summary(pairs),
        bare=_choice("bare"),
        behind=_choice("behind"),
        rows="\n".join(_rows(failure, bare, behind) for failure, bare, behind in pairs),
    )


def badge(seen: Mapping[Cell, Seen]) -> str:
    """Return a badge as SVG: how many of the failing turns are named rightly behind lastword."""
    behind = [one for failure, _, one in _pairs(seen) if one is not None and not failure.recovers]
    right = sum(verdict(one) in {"right", "retrying"} for one in behind)
    return Template(BADGE).substitute(right=right, turns=len(behind))


def _between(text: str, tag: str) -> str:
    return text.partition(f"<{tag}>")[2].partition(f"</{tag}>")[0].replace("$$", "$")


def verdict(one: Seen | None) -> str:
    """Return which of the verdicts a turn has; empty if it was not played."""
    if one is None:
        return ""
    if one.ended_right:
        return "right"
    if one.right_seconds is not None:
        is_named = one.end is End.ERROR and one.named in FAILURES[one.failure].types
        return "right" if is_named else "retrying"
    if one.end in {End.GONE, End.UNREADY}:
        return "gone"
    if one.end is End.NONE:
        return "waiting"
    if one.end is End.ANSWER:
        return "silent"
    return "untyped" if one.named in {None, "unknown"} else "wrong"


def _pairs(seen: Mapping[Cell, Seen]) -> Iterable[tuple[Failure, Seen | None, Seen | None]]:
    for agent in AGENTS:
        for failure in FAILURES.values():
            bare = seen.get(Cell(agent, failure.key, Mode.BARE))
            behind = seen.get(Cell(agent, failure.key, Mode.BEHIND))
            if bare or behind:
                yield failure, bare, behind


def _summary(pairs: list[tuple[Failure, Seen | None, Seen | None]]) -> str:
    failing = [(bare, behind) for failure, bare, behind in pairs if not failure.recovers]
    counted = [Counter(verdict(pair[side]) for pair in failing) for side in (0, 1)]
    rows = "".join(
        f'<tr><th scope="row" class="{name}">{words}</th>'
        + "".join(f"<td>{count[name]}</td>" for count in counted)
        + "</tr>"
        for name, words in VERDICTS.items()
        if any(count[name] for count in counted)
    )
    return (
        f'<table class="summary"><thead><tr><th scope="col">of {len(failing)} failing turns</th>'
        f'<th scope="col">bare</th><th scope="col">behind lastword</th></tr></thead>'
        f"<tbody>{rows}</tbody></table>"
    )


def _choice(name: str) -> str:
    options = "".join(f'<option value="{key}">{words}</option>' for key, words in VERDICTS.items())
    return f'<select name="{name}"><option value="">all</option>{options}</select>'


def _rows(failure: Failure, bare: Seen | None, behind: Seen | None) -> str:
    some = behind or bare
    assert some is not None
    after = behind.right_seconds if behind is not None else None
    key = f"{max(after, 0.0):08.1f}" if after is not None else "never"
    named = f"{max(after, 0.0):.1f} s" if after is not None else "-"
    types = html.escape(" or ".join(failure.types))
    provider = html.escape(failure.words.replace("`", ""))
    row = f"{some.agent}-{failure.key}"
    cells = (
        f'<td>{html.escape(some.agent)} <a href="#{row}" title="Link to this row">#</a> '
        f"<small>{html.escape(some.version)}</small></td>"
        f"<td>{provider} <small>{types}</small></td>"
        f"{_outcome(bare)}{_outcome(behind)}"
        f'<td data-key="{key}">{named}</td><td>{html.escape(some.date)}</td>'
    )
    turns = f"{_turn('Bare', bare)}{_turn('Behind lastword', behind)}"
    return (
        f'<tbody id="{row}" data-bare="{verdict(bare)}" data-behind="{verdict(behind)}">'
        f"<tr>{cells}</tr>"
        f'<tr><td colspan="{len(_COLUMNS)}"><details><summary>Messages</summary>'
        f'<div class="both">{turns}</div></details></td></tr></tbody>'
    )


def _outcome(one: Seen | None) -> str:
    if one is None:
        return "<td>-</td>"
    text = outcome(one).replace("`", "")
    what = verdict(one)
    if what == "retrying":
        types = FAILURES[one.failure].types
        told = [each.type for each in one.retries if each.type in types]
        silent = [each.type for each in one.silences if each.type in types]
        named, while_ = (*told, *silent)[0], "it retries" if told else "it waits"
        text = f"{named}, while {while_}" if one.end is End.NONE else f"{named}, then {text}"
    return f'<td class="{what}" title="{VERDICTS[what]}">{html.escape(text)}</td>'


def _turn(title: str, one: Seen | None) -> str:
    if one is None:
        return ""
    lines = []
    for index, frame in enumerate(one.frames):
        if one.left_out and index == len(one.frames) - LAST_FRAMES:
            lines.append(f"<li><time></time><em>{one.left_out} messages</em></li>")
        who = "client" if frame.is_sent else "agent"
        lines.append(
            f"<li><time>{frame.seconds:.2f} s</time><span>{who}</span>"
            f"<code>{html.escape(frame.text)}</code></li>"
        )
    end = f"<p>The provider was called {one.calls} times.</p>"
    return f"<section><h3>{title}</h3><ol>{''.join(lines)}</ol>{end}</section>"


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"
