"""The agents' table as one page of HTML: sorted, searched and filtered without a network.

Owns the page. Every row is in it as HTML, so that it can be read without a script; the script only
sorts, hides and shows. What was searched is in the address, so that a view can be linked to.
"""

from __future__ import annotations

import base64
import hashlib
import html
from collections import Counter
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
from tests.interop.agents_further import EVERY

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

VERDICTS = {
    "right": "named rightly when the turn ended",
    "retrying": "named rightly while the agent still retried",
    "untyped": "an error without a name",
    "wrong": "an error under another name",
    "silent": "counted as done",
    "waiting": "no answer yet",
    "gone": "the agent ended, or had no session",
}
"""What became of a turn, and its words."""

_COLUMNS = ("Agent", "The provider", "Bare", "Behind lastword", "Named after", "Date")

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --good: #1a7f37; --bad: #b3261e; --mid: #9a6700 }
@media (prefers-color-scheme: dark) { :root { --good: #57c878; --bad: #ff8a80; --mid: #e3b341 } }
body { font: 15px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 90rem; padding: 1.5rem }
form { display: flex; flex-wrap: wrap; gap: .75rem 1.5rem; margin: 1rem 0 }
form[hidden] { display: none }
input, select, button { font: inherit; padding: .2rem .4rem }
table { border-collapse: collapse; width: 100% }
th, td { border-bottom: 1px solid var(--line); padding: .3rem .6rem; text-align: left;
  vertical-align: top }
th, td:last-child { white-space: nowrap }
thead th { position: sticky; top: 0; background: Canvas }
thead button { background: none; border: 0; color: inherit; font-weight: 600; padding: 0 }
th[aria-sort=ascending] button::after { content: " \\2191" }
th[aria-sort=descending] button::after { content: " \\2193" }
.right, .retrying { color: var(--good) }
.untyped, .wrong, .silent, .gone { color: var(--bad) }
.waiting { color: var(--mid) }
.both { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fit, minmax(22rem, 1fr)) }
ol { list-style: none; margin: .3rem 0; padding: 0 }
li { display: flex; gap: .6rem; margin: .15rem 0 }
li code { overflow-wrap: anywhere; min-width: 0; font-size: 12px }
li time { flex: 0 0 4.2rem; text-align: right; font-variant-numeric: tabular-nums }
summary { cursor: pointer }
"""

_SCRIPT = """
"use strict";
const form = document.querySelector("form"), table = document.getElementById("turns");
const bodies = [...table.tBodies], heads = [...table.tHead.rows[0].cells];
const count = document.querySelector("output");
const state = new URLSearchParams(location.hash.slice(1));
form.hidden = false;
for (const field of form.elements) if (state.has(field.name)) field.value = state.get(field.name);
function show() {
  const words = form.q.value.toLowerCase().split(/\\s+/).filter(Boolean);
  let shown = 0;
  for (const body of bodies) {
    const text = body.textContent.toLowerCase();
    const fits = words.every(word => text.includes(word))
      && ["bare", "behind"].every(name => ["", body.dataset[name]].includes(form[name].value));
    body.hidden = !fits;
    shown += fits;
  }
  count.value = `${shown} of ${bodies.length}`;
}
function sort() {
  const [column, order] = (state.get("sort") || "").split("-");
  heads.forEach((head, index) => {
    if (String(index) === column) head.setAttribute("aria-sort", order);
    else head.removeAttribute("aria-sort");
  });
  if (!column) return;
  const key = body => body.rows[0].cells[column].dataset.key
    ?? body.rows[0].cells[column].textContent.trim();
  const sign = order === "descending" ? -1 : 1;
  const sorted = [...bodies].sort(
    (a, b) => sign * key(a).localeCompare(key(b), "en", {numeric: true}));
  table.append(...sorted);
}
function keep() {
  for (const field of form.elements) {
    if (field.name && field.value) state.set(field.name, field.value);
    else state.delete(field.name);
  }
  history.replaceState(null, "", `#${state}`);
}
form.addEventListener("input", () => { keep(); show(); });
form.addEventListener("submit", event => event.preventDefault());
heads.forEach((head, index) => head.querySelector("button").addEventListener("click", () => {
  const before = head.getAttribute("aria-sort");
  state.set("sort", `${index}-${before === "ascending" ? "descending" : "ascending"}`);
  keep();
  sort();
}));
sort();
show();
"""


def page(seen: Mapping[Cell, Seen]) -> str:
    """Return the page of what was seen, bare and behind lastword."""
    pairs = list(_pairs(seen))
    dates = sorted({one.date for one in seen.values() if one.date})
    played = " to ".join(dict.fromkeys((dates[0], dates[-1]))) if dates else "an unknown date"
    policy = f"default-src 'none'; style-src {_hash(_STYLE)}; script-src {_hash(_SCRIPT)}"
    heads = "".join(
        f'<th scope="col"><button type="button">{head}</button></th>' for head in _COLUMNS
    )
    rows = "\n".join(_rows(failure, bare, behind) for failure, bare, behind in pairs)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>What agents say of a failing provider</title>
<style>{_STYLE}</style>
</head>
<body>
<h1>What agents say of a failing provider</h1>
<p>Agents as their registries have them, in front of a provider on loopback that fails in one way:
bare, and behind <code>lastword run</code> with its defaults. Played {html.escape(played)}. Each row
opens to the first and the last messages of both turns; seconds are from the provider's first
failure. A turn whose client had the right name before the turn had ended was not played to its
end.</p>
{_summary(pairs)}
<form hidden>
<label>Search <input type="search" name="q" autocomplete="off"></label>
<label>Bare {_choice("bare")}</label>
<label>Behind lastword {_choice("behind")}</label>
<span>Shown: <output></output></span>
</form>
<table id="turns">
<thead><tr>{heads}</tr></thead>
{rows}
</table>
<script>{_SCRIPT}</script>
</body>
</html>
"""


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
    for agent in EVERY:
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
    cells = (
        f"<td>{html.escape(some.agent)} <small>{html.escape(some.version)}</small></td>"
        f"<td>{provider} <small>{types}</small></td>"
        f"{_outcome(bare)}{_outcome(behind)}"
        f'<td data-key="{key}">{named}</td><td>{html.escape(some.date)}</td>'
    )
    turns = f"{_turn('Bare', bare)}{_turn('Behind lastword', behind)}"
    return (
        f'<tbody data-bare="{verdict(bare)}" data-behind="{verdict(behind)}"><tr>{cells}</tr>'
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
        named = next(retry.type for retry in one.retries if retry.type in types)
        text = f"{named}, while it retries" if one.end is End.NONE else f"{named}, then {text}"
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
