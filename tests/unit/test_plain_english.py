"""Plain English: phrases and names that a native reader stumbles over do not come back.

`python -m tests.unit.test_plain_english` prints how many there are in each room;
`python -m tests.unit.test_plain_english src/lastword/cli` prints where they are below a path.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.kit import sources
from tests.kit.places import ROOT
from tests.kit.rows import every

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.no_cover  # other tests reach these lines


PHRASES_LEFT: dict[str, int] = {}
NAMES_LEFT: dict[str, int] = {
    "src/lastword/client": 1,
    "src/lastword/core": 3,
    "src/lastword/gateway": 75,
    "src/lastword/inprocess": 1,
    "src/lastword/testing": 2,
}
"""How many a room may still have; a room that is not here has none."""

HABITS = {
    "is no X, for is not an X": (
        r"(?<!there )(?<!there can )(?<!there may )(?<!there must )(?<!there will )"
        r"\b(?:is|are|was|were|be) no (?!longer|more|less|fewer|later|earlier|different|better)"
    ),
    "so long, for this long; so many, for N": r"\bso (?:long|many)\b(?!(?: \w+){0,3} that\b)",
    "Tell whether, for Return whether": r"(?-i:\bTells? whether\b)",
    "is told": r"\b(?:is|are|was|were|be|been|being) told\b(?! (?:from|apart|to)\b)",
    "that which, for what": r"\bthat which\b",
}
"""Phrases that are translated rather than written, as regular expressions."""

WORDS = (
    *("told", "tell", "tells", "telling", "taken", "take", "takes", "asked", "ask", "asks"),
    *("held", "kept", "said", "says", "found", "known", "seen"),
    *("wish", "wishes", "wanted", "want", "wants"),
)
"""Words that say neither what a value is nor what a function does, also as parts of a name."""

ALLOWED_NAMES = {
    "NOT_FOUND": "HTTP and JSON-RPC call the error so",
    "not_found": "HTTP and JSON-RPC call the error so",
    "NotFound": "HTTP and JSON-RPC call the error so",
    "take_turn": "public in lastword.testing",
    "ask_reminder": "an option of lastword run",
    "ask_timeout": "an option of lastword run",
    "questions_held": "a member of `lastword stats --json`",
}
"""What a name may contain, with the reason.

A constant that is spelled like its value is a word of the wire or of a file, and needs no row:
`ASK = "ask"`.
"""

ALLOWED_IN_FILES = {
    "kit/agent/scenarios.py": {
        "ask",
        "ask_permission",
        "ask_permissions",
    }  # steps of a scenario file
}
"""Whole names that are allowed in one file, relative to the package."""

_PHRASE = re.compile("|".join(HABITS.values()).replace(" ", r"\s"), re.IGNORECASE)
_LINE_BREAK = re.compile(r'[ \t"]*\n[ \t]*(?:(?:#|\*|//|>) ?|f?")?')
_STRING_OR_COMMENT = re.compile(r'"""[\s\S]*?"""|"(?:[^"\\\n]|\\.)*"|#[^\n]*')
_WORD_IN_NAME = re.compile(
    rf"(?:(?<![A-Za-z])(?i:{'|'.join(WORDS)})|{'|'.join(map(str.title, WORDS))})(?![a-z])"
)


class Hit(NamedTuple):
    """One phrase or name that should be another."""

    file: Path
    line: int
    text: str

    @property
    def room(self) -> str:
        """The folder that it counts in, as `src/lastword/cli` or `docs`, or its file."""
        parts = self.file.relative_to(ROOT).parts
        return "/".join(parts[: 3 if parts[0] == "src" else 1])

    def __str__(self) -> str:
        """Return it as a compiler would write it."""
        return f"{self.file.relative_to(ROOT)}:{self.line}: {' '.join(self.text.split())}"


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


@cache
def phrases() -> list[Hit]:
    """Return every phrase of `HABITS`, also where a line breaks within it."""
    hits = []
    for file in _readable():
        text = _LINE_BREAK.sub("\n", sources.text_of(file))
        hits += [
            Hit(file, text.count("\n", 0, match.start()) + 1, match[0])
            for match in _PHRASE.finditer(text)
        ]
    return hits


@cache
def names() -> list[Hit]:
    """Return every definition of a name with one of `WORDS` in it, modules' names included."""
    hits = [Hit(file, 1, file.stem) for file in sources.FILES if _is_refused(file.stem)]
    for file in sources.FILES:
        allowed = ALLOWED_IN_FILES.get(str(file.relative_to(sources.ROOT)), ())
        # Most files have none, and need not be walked.
        if _WORD_IN_NAME.search(_STRING_OR_COMMENT.sub("", sources.text_of(file))):
            hits += [
                Hit(file, node.lineno, name)
                for node in sources.nodes_of(file)
                if (name := _defined(node)) and _is_refused(name) and name not in allowed
            ]
    return hits


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


def _is_refused(name: str) -> bool:
    for allowed in ALLOWED_NAMES:
        name = name.replace(allowed, "")
    return _WORD_IN_NAME.search(name) is not None


def _counts(hits: Iterable[Hit]) -> Counter[str]:
    return Counter(hit.room for hit in hits)


@pytest.mark.parametrize(
    ("hits", "left"), [(phrases, PHRASES_LEFT), (names, NAMES_LEFT)], ids=["phrases", "names"]
)
def test_every_room_stays_within_its_allowance(
    hits: Callable[[], list[Hit]], left: dict[str, int]
) -> None:
    counts = _counts(hits())
    too_many = {room: count for room, count in counts.items() if count > left.get(room, 0)}
    shown = "\n".join(str(hit) for hit in hits() if hit.room in too_many)
    assert not too_many, f"more than {left}:\n{shown}"


@pytest.mark.parametrize(
    "text",
    [
        "a turn that is no failure",
        "the answer was\n    # no answer",
        'said = "it is "\n    "no option"',
        "waits so long",
        '"""Tell whether it ends."""',
        "The editor is told.",
    ],
)
def test_a_phrase_is_noticed_across_a_line_break_too(text: str) -> None:
    assert _PHRASE.search(_LINE_BREAK.sub("\n", text))


@pytest.mark.parametrize(
    "text",
    [
        "There is no file.",
        "it is no longer there",
        "a line so long that it is cut",
        "is\n\nno file",
    ],
)
def test_similar_plain_sentences_are_not_refused(text: str) -> None:
    assert not _PHRASE.search(_LINE_BREAK.sub("\n", text))


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
        ("unknown = 1", False),
        ("print(row.told)", False),
    ],
)
def test_a_name_is_refused_at_its_definition(code: str, refused: bool) -> None:
    defined = [name for node in ast.walk(ast.parse(code)) if (name := _defined(node))]
    assert any(map(_is_refused, defined)) is refused


if __name__ == "__main__":
    for title, every in (("phrases", phrases()), ("names", names())):
        if sys.argv[1:]:
            below = [hit for hit in every if str(hit).startswith(sys.argv[1])]
            print(f"{title}: {len(below)}", *below, sep="\n")
        else:
            print(
                title,
                *(f'    "{room}": {n},' for room, n in sorted(_counts(every).items())),
                sep="\n",
            )
