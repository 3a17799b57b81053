"""Honest answers that speak of errors, each with the prompt that it answers.

Owns what must never be taken for a failed turn: explanations, documentation, commit messages,
reviews, examples, quotations, counts. `honest_forms.json` has the sentences, and what they are
filled in with; `honest_lines.txt` has single answers, a line each, a line break in one written as
in Python. `equal_answers` are the ones that are an error's text word for word, since somebody asked
for one: no form can tell those, and only the prompt does.
"""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

_FOLDER = Path(__file__).parent
_FORMS: dict[str, Any] = json.loads((_FOLDER / "honest_forms.json").read_text(encoding="utf-8"))


class Honest(NamedTuple):
    prompt: str
    answer: str


def _about(forms: str, prompt: str, names: str, values: str) -> list[Honest]:
    """Return each form with each row of values; `names` has a letter for each of a row's values."""
    rows = [dict(zip(names, row, strict=True)) for row in _FORMS[values]]
    return [
        Honest(prompt.format(**row), form.format(**row))
        for form, row in product(_FORMS[forms], rows)
    ]


def honest_answers() -> list[Honest]:
    """Every answer once, in the order of the tables."""
    lines = (_FOLDER / "honest_lines.txt").read_text(encoding="utf-8").splitlines()
    told = [
        *_about("about_statuses", "What does HTTP {n} stand for?", "nrgc", "statuses"),
        *_about("about_names", "When does {p} raise {e}?", "epg", "names"),
        *_about("about_tokens", "I see {t} in the output. What is it?", "tg", "tokens"),
        *_about("bodies", "Give me an example of an error body with {t}.", "ntg", "kinds"),
        *(Honest(prompt, answer) for prompt, answer in _FORMS["others"]),
        *(Honest("And the error?", line.replace("\\n", "\n")) for line in lines),
    ]
    return list({honest.answer: honest for honest in told}.values())


def equal_answers() -> list[Honest]:
    """Answers that are an error's text, word for word, because the prompt asked for it."""
    forms = product(_FORMS["asked_for"], _FORMS["echoes"])
    return [Honest(ask.format(e=echo), echo) for ask, echo in forms]
