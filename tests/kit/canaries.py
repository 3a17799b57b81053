"""Made-up secrets and personal data, in the shapes of the real ones, for every test of redaction.

`canaries.txt` has a name and a form a line, so that no scanner takes it for a leak: `{24}` is so
many characters of a secret, a letter behind the number says of which alphabet, `{PLAIN}` is
`PLAIN`, and `⏎` a line break. First come the shapes, then, behind an empty line, the texts that
carry `PLAIN`.
"""

from __future__ import annotations

import re
from pathlib import Path

_ALPHABETS = {
    "": "a7Kq2Zx9Wm4Rt6Yb1Nc8",
    "h": "0f3a9c4e7b",
    "u": "Q7ZK2XW9MR4TY6BN",
    "l": "q7zk2xw9mr4ty6bn",
    "a": "KqZxWmRtYbNcHvLpSd",  # some services issue keys without a digit
    "d": "0123456789",
    "n": "1234567890",
}

PLAIN = "plainsecretvalue" + "99x"
"""A secret of no known shape: only what stands before it can give it away."""


def fake(length: int, alphabet: str = _ALPHABETS[""]) -> str:
    """So many characters of a made-up secret."""
    return (alphabet * (length // len(alphabet) + 1))[:length]


def _made(lines: str) -> dict[str, str]:
    forms = (line.split(": ", 1) for line in lines.splitlines())
    return {name: re.sub(r"\{(\d+)([a-z]?)\}", _part, form) for name, form in forms}


def _part(match: re.Match[str]) -> str:
    return fake(int(match[1]), _ALPHABETS[match[2]])


_SHAPES, _, _TEXTS = (
    Path(__file__).with_name("canaries.txt").read_text(encoding="utf-8").partition("\n\n")
)

CANARIES = _made(_SHAPES)
"""Shapes that give themselves away, wherever they stand."""

NAMED_CANARIES = {
    name: text.replace("{PLAIN}", PLAIN).replace("⏎", "\n") for name, text in _made(_TEXTS).items()
}
"""The secret `PLAIN` as texts carry it."""
