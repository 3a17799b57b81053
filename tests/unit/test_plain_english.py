"""Plain English: phrases and names that a native reader stumbles over do not come back."""

from __future__ import annotations

import ast
import re
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.kit import sources
from tests.kit.places import ROOT
from tests.kit.rows import every

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.no_cover  # other tests reach these lines

NAMES_LEFT = {"client": 1, "core": 3, "gateway": 75, "inprocess": 1, "testing": 2}
"""How many a room may still have; a room that is not here has none."""

HABITS = (
    # is no X, for is not an X
    (
        r"(?<!there )(?<!there can )(?<!there may )(?<!there must )(?<!there will )"
        r"\b(?:is|are|was|were|be) no (?!longer|more|less|fewer|later|earlier|different|better)"
    ),
    # so long, for this long; so many, for N
    r"\bso (?:long|many)\b(?!(?: \w+){0,3} that\b)",
    # Tell whether, for Return whether
    r"(?-i:\bTells? whether\b)",
    r"\b(?:is|are|was|were|be|been|being) told\b(?! (?:from|apart|to)\b)",
    # that which, for what
    r"\bthat which\b",
)
"""Phrases that are translated rather than written, as regular expressions."""

WORDS = (
    *("told", "tell", "tells", "telling", "taken", "take", "takes", "asked", "ask", "asks"),
    *("held", "kept", "said", "says", "found", "known", "seen"),
    *("wish", "wishes", "wanted", "want", "wants"),
)
"""Words that say neither what a value is nor what a function does, also as parts of a name."""

ALLOWED_NAMES = (
    *("NOT_FOUND", "not_found", "NotFound"),  # HTTP and JSON-RPC call the error so
    "take_turn",  # public in lastword.testing
    *("ask_reminder", "ask_timeout"),  # options of lastword run
    "questions_held",  # a member of `lastword stats --json`
)
"""What a name may contain.

A constant that is spelled like its value is a word of the wire or of a file, and needs no row:
`ASK = "ask"`.
"""

STEPS_OF_SCENARIOS = {"ask", "ask_permission", "ask_permissions"}
"""Names of `kit/agent/scenarios.py` that are steps of a scenario file."""

_PHRASE = re.compile("|".join(HABITS).replace(" ", r"\s"), re.IGNORECASE)
_LINE_BREAK = re.compile(r'[ \t"]*\n[ \t]*(?:(?:#|\*|//|>) ?|f?")?')
_STRING_OR_COMMENT = re.compile(r'"""[\s\S]*?"""|"(?:[^"\\\n]|\\.)*"|#[^\n]*')
_WORD_IN_NAME = re.compile(
    rf"(?:(?<![A-Za-z])(?i:{'|'.join(WORDS)})|{'|'.join(map(str.title, WORDS))})(?![a-z])"
)


def _readable() -> Iterator[Path]:
    """Everything a person reads, but for tests and benchmarks."""
    yield from sources.FILES
    yield from (ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md")
    for folder, suffixes in (
        ("src/lastword", {".js", ".html", ".css"}),
        ("src/lastword/core/failure", {".txt"}),
        ("src/lastword/core/timeline", {".txt"}),
        ("docs", {".md", ".py"}),
        ("protocol", {".md", ".py", ".js", ".ts"}),
    ):
        for file in sorted((ROOT / folder).rglob("*")):
            if file.suffix in suffixes and not {"library", "node_modules"} & {*file.parts}:
                yield file


def _phrases_in(text: str) -> list[str]:
    """Every phrase of `HABITS`, also where a line breaks within it."""
    return [match[0] for match in _PHRASE.finditer(_LINE_BREAK.sub("\n", text))]


def _is_refused(name: str) -> bool:
    for allowed in ALLOWED_NAMES:
        name = name.replace(allowed, "")
    return _WORD_IN_NAME.search(name) is not None


def _defined(node: ast.AST) -> str | None:
    """Return the name that a node defines, if it defines one."""
    match node:
        case (
            ast.Assign(targets=[ast.Name(id=name)], value=value)
            | ast.AnnAssign(target=ast.Name(id=name), value=value)
        ) if name.isupper():
            is_wire_word = isinstance(value, ast.Constant) and str(value.value).upper() == name
            return None if is_wire_word else name
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return name
        case ast.arg(arg=name) | ast.alias(asname=name) | ast.Attribute(attr=name, ctx=ast.Store()):
            return name
        case ast.Name(id=name, ctx=ast.Store()) if not name.isupper():
            return name
    return None


def test_no_text_has_a_translated_phrase() -> None:
    read = {file: _phrases_in(sources.text_of(file)) for file in _readable()}
    assert {file: phrases for file, phrases in read.items() if phrases} == {}


def test_no_room_gets_more_names_that_say_nothing() -> None:
    names: list[tuple[str, str]] = []
    for file in sources.FILES:
        allowed = STEPS_OF_SCENARIOS if file.name == "scenarios.py" else set()
        room = file.relative_to(sources.ROOT).parts[0]
        found = [file.stem]
        # Most files have none, and need not be walked.
        if _WORD_IN_NAME.search(_STRING_OR_COMMENT.sub("", sources.text_of(file))):
            found += [name for node in sources.nodes_of(file) if (name := _defined(node))]
        names += [(room, name) for name in found if _is_refused(name) and name not in allowed]
    counts = Counter(room for room, _ in names)
    too_many = {room for room, count in counts.items() if count > NAMES_LEFT.get(room, 0)}
    assert [name for name in names if name[0] in too_many] == []


@every(
    ("text", "noticed"),
    [
        ("a turn that is no failure", True),
        ("the answer was\n    # no answer", True),
        ('said = "it is "\n    "no option"', True),
        ("waits so long", True),
        ('"""Tell whether it ends."""', True),
        ("The editor is told.", True),
        ("There is no file.", False),
        ("it is no longer there", False),
        ("a line so long that it is cut", False),
        ("is\n\nno file", False),
    ],
)
def test_a_phrase_is_noticed_across_a_line_break_too(text: str, noticed: bool) -> None:
    assert bool(_phrases_in(text)) is noticed


@every(
    ("code", "refused"),
    [
        ("def told_by(x): ...", True),
        ("self._kept_until = 1", True),
        ("for seen in rows: ...", True),
        ("class HeldSession: ...", True),
        ("f = lambda wanted: 1", True),
        ("MAX_KEPT = 3", True),
        ("ASK = 'ask'", False),
        ("METHOD_NOT_FOUND = 1", False),
        ("taskset = intake = 1", False),
        ("print(row.told)", False),
    ],
)
def test_a_name_is_refused_at_its_definition(code: str, refused: bool) -> None:
    defined = [name for node in ast.walk(ast.parse(code)) if (name := _defined(node))]
    assert any(map(_is_refused, defined)) is refused
