"""The shapes of known services' keys, from gitleaks' rules, written for `core.redact`.

    python benchmarks/service_keys.py gitleaks.toml               # what would be used, and what not
    python benchmarks/service_keys.py gitleaks.toml --write --source 'COMMIT of DATE'

`gitleaks.toml` is `config/gitleaks.toml` of https://github.com/gitleaks/gitleaks. Each rule's
pattern is translated from Go's syntax to Python's, without the context that a scanner of files
needs; a rule that an error's text cannot use is left out with its reason.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import random
import re
import re._constants as sre
import re._parser as parser
import tomllib
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

from lastword.core.redact.shapes import (
    CARRIERS,
    KEY_SHAPES,
    MIN_KEY_CHARS,
    MIXED,
    SHAPES,
    assigned_source,
    key_source,
)

TABLE = Path(__file__).parent.parent / "src" / "lastword" / "core" / "redact" / "service_keys.py"

ENDS = (
    r"""(?:[\x60'"\s;]|\\[nr]|$)""",
    r"""(?:[\x60'"\s;]|\\[nr]|$|\b)""",
    r"""(?:$|[\\'"\x60\s<),])""",
    r"(?:[^\w-]|\z)",
    r"(?:[^a-zA-Z0-9+/]|\z)",
    r"\b",
)
STARTS = (r"\b", r"""(?:^|[\\'"\x60\s>=:(,)])""")
ASSIGNMENT = re.compile(
    re.escape(r"""(?:[ \t\w.-]{0,20})[\s'"]{0,3}""")
    + r"\)?"
    + re.escape(r"""(?:=|>|:{1,3}=|\|\||:|=>|\?=|,)[\x60'"\s=]{0,5}""")
)
"""What stands between a service's name and its secret."""

NAME = re.compile(r"(?:\(\?i\)|\[\\w\.-\]\{0,50\}\?\(\?i:)?\[\\w\.-\]\{0,50\}\?")

MIN_LITERALS = 4
"""A key with a fixed prefix of this length is recognised, whatever stands in front of it."""

LONG_WORD = re.compile(r"[\w.~=+/-]+")
"""What `core.redact.redactor` looks into for the beginnings of keys."""

MIN_OPEN_CHARS = 20
"""A key with such a prefix has at least this many characters."""

EXAMPLES = 24
UNUSED = {
    "generic-api-key": "a name that suggests a secret: a rule of our own",
    "curl-auth-header": "a command: a rule of our own",
    "curl-auth-user": "a command: a rule of our own",
    "private-key": "a rule of our own",
    "jwt": "a rule of our own",
    "slack-webhook-url": "a rule of our own",
    "gocardless-api-token": "begins with an ordinary word",
}
COPYRIGHT = """\
Copyright (c) 2019 Zachary Rice

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and
associated documentation files (the "Software"), to deal in the Software without restriction,
including without limitation the rights to use, copy, modify, merge, publish, distribute,
sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or
substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT
NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND
NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM,
DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT
OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE."""


class Row(NamedTuple):
    """A pattern of the table: the words without one of which it cannot match, and itself."""

    hints: tuple[str, ...]
    pattern: str


class UnusableError(Exception):
    """A rule is left out; the text says why."""


def rows_of(toml: str) -> tuple[list[Row], list[Row], dict[str, list[str]]]:
    """The keys, the assigned values by service, and the ids of the other rules by reason."""
    keys: dict[str, Row] = {}
    assigned: defaultdict[tuple[str, ...], dict[str, None]] = defaultdict(dict)
    unused: defaultdict[str, list[str]] = defaultdict(list)
    for rule in tomllib.loads(toml)["rules"]:
        for part in _split(rule.get("regex", "")):
            try:
                row, is_assigned = _row(rule, part)
            except UnusableError as reason:
                unused[str(reason)].append(rule["id"])
                continue
            if is_assigned:
                assigned[row.hints][row.pattern] = None
            else:
                keys[row.pattern] = row
    by_service = [Row(words, "|".join(secrets)) for words, secrets in assigned.items()]
    return sorted(keys.values()), sorted(by_service), dict(unused)


def _row(rule: dict[str, Any], part: str) -> tuple[Row, bool]:
    if rule["id"] in UNUSED:
        raise UnusableError(UNUSED[rule["id"]])
    if "path" in rule:
        raise UnusableError("for one kind of file")
    begun = NAME.match(part)
    middle = ASSIGNMENT.search(part)
    if begun is None or middle is None:
        return _key(translated(part), rule.get("keywords", [])), False
    secret = translated(part[middle.end() :])
    alone = f"(?i:{secret})" if "(?i" in begun[0] else secret
    if len(_prefix(parser.parse(secret))) >= MIN_LITERALS and not _matches_honest(alone):
        return _key(alone, rule["keywords"]), False
    names = _alternatives(part[begun.end() : middle.start()])
    plain = [name.strip(",").lower() for name in names if not set(name) & set("[(?")]
    words = tuple(sorted(set(plain or rule["keywords"])))
    if any(_is_honest(example) for example in examples(secret)):
        raise UnusableError("hex, digits or a UUID, as hashes and ids are")
    pattern = re.compile(assigned_source(words, secret), re.IGNORECASE)
    if not all(pattern.search(f"{words[0]}_x = {each}") for each in examples(secret, MIXED)):
        raise UnusableError("cannot be translated")
    return Row(words, secret), True


def _key(pattern: str, keywords: list[str]) -> Row:
    parts = [_open_ended(each) for each in _alternatives(pattern)]
    usable = [each for each in parts if not _matches_honest(each)]
    if not usable:
        raise UnusableError("matches honest texts as well")
    pattern = "|".join(usable)
    made = examples(pattern)
    if all(
        any(shape.pattern.search(each) for shape in (*CARRIERS, *SHAPES, *KEY_SHAPES))
        for each in made
    ):
        raise UnusableError("a rule of our own matches all of it")
    if min(max(map(len, LONG_WORD.findall(each)), default=0) for each in made) < MIN_KEY_CHARS:
        raise UnusableError("no word of it is long enough")
    for hints in ({hint for each in usable for hint in _hints(each)}, set(keywords)):
        if all(any(hint in each.lower() for hint in hints) for each in made):
            return Row(tuple(sorted(hints)), pattern)
    raise UnusableError("has no fixed characters")


def _open_ended(pattern: str) -> str:
    """The pattern for keys that were cut short, or are longer by now."""
    if len(max(_hints(pattern), key=len, default="")) < MIN_LITERALS:
        return pattern
    return re.sub(
        r"\{(\d\d+)(?:,\d*)?\}((?:=\{0,\d\})?\)*)$",
        lambda last: f"{{{min(int(last[1]), MIN_OPEN_CHARS)},}}{last[2]}",
        pattern,
    )


def _is_honest(text: str) -> bool:
    return re.fullmatch(r"[0-9a-fA-F:-]+", text) is not None


def _matches_honest(pattern: str) -> bool:
    compiled = re.compile(key_source(pattern))
    return any(compiled.search(text) for text in HONEST)


def _picture(seed: int) -> str:
    dice = random.Random(seed)
    runs = (bytes(dice.randrange(12)) + dice.randbytes(dice.randrange(24)) for _ in range(900))
    return base64.b64encode(b"".join(runs)).decode()


HONEST = (
    *(hashlib.new(name, b"x").hexdigest() for name in ("md5", "sha1", "sha256", "sha512")),
    *(hashlib.new(name, b"y").hexdigest().upper() for name in ("md5", "sha1", "sha256")),
    "550e8400-e29b-41d4-a716-446655440000",
    "s.addEventListenerForEverything s.getElementsByClassNames12 1234567890123456789012345",
    "a-word-of-many-parts-that-goes-on-and-on-and-on-and-on-and-on-until-it-ends",
    "a_word_of_many_parts_that_goes_on_and_on_and_on_and_on_and_on_until_it_ends",
    *map(_picture, range(40)),
    *(re.sub("(.{76})", r"\1\n", _picture(seed)) for seed in range(40, 60)),
)
"""Texts that hold no secret, and look as if they did."""


# The translation.


def translated(go: str) -> str:
    """The pattern in Python's syntax, with neither groups nor the context around the key."""
    text = go.replace("[[:alnum:]]", "[A-Za-z0-9]").replace("[:alnum:]", "A-Za-z0-9")
    whole = ""
    if text.startswith("(?i)"):
        whole, text = "(?i)", text[4:]
    for end in ENDS:
        text = text.removesuffix(end)
    for start in STARTS:
        text = text.removeprefix(start)
    text = _with_local_flags(_without_groups(whole + text)).replace(r"\z", r"\Z")
    text = _without_needless_groups(text.removeprefix(r"\b").removesuffix(r"\b"))
    text = text.replace(" ", r"\x20").replace(r"\b", "")
    try:
        re.compile(text)
    except re.error as error:
        raise UnusableError("cannot be translated") from error
    return text


def _tokens(text: str) -> list[str]:
    """The pattern's classes, escapes and single characters."""
    return re.findall(
        r"\\x[0-9a-fA-F]{2}|\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?P<\w+>|\(\?[\w-]*[:)]|.", text
    )


def _without_groups(text: str) -> str:
    return "".join(
        "(?:" if token == "(" or token.startswith("(?P<") else token for token in _tokens(text)
    )


def _with_local_flags(text: str) -> str:
    """Go's `(?i)` in the middle of a group is for the rest of it; Python wants a group for it."""
    made, opened = [], [0]
    for token in _tokens(text):
        if token == "(?i)":
            opened[-1] += 1
            made.append("(?i:")
            continue
        if token.startswith("("):
            opened.append(0)
        elif token == ")":
            made.append(")" * opened.pop())
        made.append(token)
    return "".join(made) + ")" * opened.pop()


def _without_needless_groups(text: str) -> str:
    while text.startswith("(?:") and text.endswith(")"):
        depth = 0
        tokens = _tokens(text)
        for token in tokens[:-1]:
            depth += token.startswith("(") - (token == ")")
            if depth == 0:
                return text
        text = text[3:-1]
    return text


def _split(text: str) -> list[str]:
    """The alternatives on a pattern's top level."""
    depth, parts = 0, [""]
    for token in _tokens(text):
        if token == "|" and depth == 0:
            parts.append("")
            continue
        depth += (token.startswith("(") and not token.endswith(")")) - (token == ")")
        parts[-1] += token
    return parts


def _alternatives(text: str) -> list[str]:
    """All texts of a pattern's outermost groups, such as a service's names."""
    plain = re.sub(r"\(\?-i:([^()]*)\)", r"\1", text)
    inner = _without_needless_groups(plain)
    return [
        each
        for part in _split(inner)
        for each in ([part] if part == inner else _alternatives(part))
    ]


# What a pattern matches.


def _prefix(parsed: Any) -> str:
    """The fixed characters at a pattern's beginning."""
    chars = ""
    for code, value in _items(parsed):
        if code is not sre.LITERAL:
            break
        chars += chr(value)
    return chars


def _hints(pattern: str) -> set[str]:
    """The longest fixed texts, one of which is in whatever a pattern matches."""
    chars, run = "", ""
    for code, value in [*_items(parser.parse(pattern)), (None, None)]:
        if code is sre.LITERAL:
            run += chr(value)
            continue
        if code is sre.BRANCH and not chars and not run:
            parts = [_prefix(each) for each in value[1]]
            if all(len(part) >= 3 for part in parts):
                return {part.lower() for part in parts}
        chars, run = max(chars, run, key=len), ""
    return {chars.lower()} if len(chars) >= 2 else set()


def _items(items: Any) -> list[tuple[Any, Any]]:
    """A pattern's parts, the groups on its way opened."""
    flat: list[tuple[Any, Any]] = []
    for code, value in items:
        if code is sre.SUBPATTERN:
            flat += _items(value[3])
        elif code is sre.MAX_REPEAT and value[0] == value[1]:
            flat += _items(value[2]) * value[0] if value[0] <= 30 else [(code, value)]
        else:
            flat.append((code, value))
    return flat


def examples(pattern: str, needs: str = "") -> list[str]:
    """Texts that match a pattern, and look like what another one needs."""
    dice = random.Random(pattern)
    parsed = parser.parse(pattern)
    made: list[str] = []
    for _ in range(EXAMPLES * 20):
        text = "".join(_example(parsed, dice))
        if not needs or re.match(needs, text, re.IGNORECASE):
            made.append(text)
        if len(made) == EXAMPLES:
            return made
    raise UnusableError("hex, digits or a UUID, as hashes and ids are")


def _example(items: Any, dice: random.Random) -> list[str]:
    made: list[str] = []
    for code, value in items:
        if code is sre.LITERAL:
            made.append(chr(value))
        elif code is sre.IN:
            made.append(dice.choice(_members(value)))
        elif code is sre.SUBPATTERN:
            made += _example(value[3], dice)
        elif code is sre.BRANCH:
            made += _example(dice.choice(value[1]), dice)
        elif code in (sre.MAX_REPEAT, sre.MIN_REPEAT):
            low, high, inner = value
            for _ in range(dice.randint(low, min(high, low + 8))):
                made += _example(inner, dice)
        elif code is sre.ANY:
            made.append(".")
        elif code is not sre.AT:
            raise UnusableError("cannot be translated")
    return made


def _members(items: Any) -> str:
    chars = ""
    for code, value in items:
        if code is sre.LITERAL:
            chars += chr(value)
        elif code is sre.RANGE:
            chars += "".join(map(chr, range(value[0], value[1] + 1)))
        elif code is sre.CATEGORY:
            words = "abcxyzABCXYZ0123456789_"
            chars += words if value is sre.CATEGORY_WORD else "0123456789"
        else:
            raise UnusableError("cannot be translated")
    return chars


# The table.


def table(toml: str, source: str) -> str:
    """The module's text."""
    keys, assigned, unused = rows_of(toml)
    left_out = "".join(
        f"#   {reason}: {', '.join(sorted(set(ids))[:4])}{', …' if len(ids) > 4 else ''}\n"
        for reason, ids in sorted(unused.items())
    )
    notice = "".join(f"# {line}".rstrip() + "\n" for line in COPYRIGHT.splitlines())
    return (
        '"""Shapes of the keys of known services, written by `benchmarks/service_keys.py`.\n\n'
        "Rerun it with a newer list of rules; do not edit. A line is what must occur in a text,\n"
        'in small letters, separated by commas, a blank, and the pattern of the secret.\n"""\n'
        "# ruff: noqa: E501 - a pattern stays on its line\n"
        f"# The patterns are from gitleaks (https://github.com/gitleaks/gitleaks), {source},\n"
        f"# config/gitleaks.toml, SHA-256 {hashlib.sha256(toml.encode()).hexdigest()[:32]}…,\n"
        "# translated to Python's syntax. Their licence:\n#\n"
        f"{notice}#\n# Rules, or parts of them, that are not used:\n{left_out}"
        "\nfrom __future__ import annotations\n\n"
        f'KEYS = r"""\n{_lines(keys)}"""\n"""Keys that give themselves away by their form."""\n\n'
        f'ASSIGNED_VALUES = r"""\n{_lines(assigned)}"""\n'
        '"""Values that are secrets where the service\'s name stands before them."""\n'
    )


def _lines(rows: list[Row]) -> str:
    return "".join(f"{','.join(row.hints)} {row.pattern}\n" for row in rows)


def main() -> None:
    """Show the table, or write it."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("toml", type=Path)
    options.add_argument("--source", default="of an unknown commit")
    options.add_argument("--write", action="store_true")
    arguments = options.parse_args()
    text = table(arguments.toml.read_text(encoding="utf-8"), arguments.source)
    if arguments.write:
        TABLE.write_text(text, encoding="utf-8")
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
