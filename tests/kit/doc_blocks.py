"""README and the pages of `docs/`: their fenced blocks, their headings and their links.

Owns which pages a user reads, how a block is found in them, and what a block of Python takes for
granted.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from tests.kit.places import ROOT

if TYPE_CHECKING:
    from pathlib import Path

DOCS = ROOT / "docs"
PAGES = (ROOT / "README.md", *sorted(DOCS.rglob("*.md")))

_FENCE = re.compile(
    r"^(?P<indent> *)(?P<fence>`{3,})(?P<language>\w*).*\n"
    r"(?P<text>(?:.*\n)*?)(?P=indent)(?P=fence) *$",
    re.MULTILINE,
)
_LINK = re.compile(r"\]\((?P<target>[^()\s]+)\)|\b(?:src|srcset|href)=\"(?P<html>[^\"]+)\"")
_HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)


GIVEN = """
import asyncio
import contextlib
import socket
import time
from collections.abc import AsyncIterator
from typing import Any

import acp
import lastword

class MyAgent:
    async def initialize(self, **_: object) -> acp.InitializeResponse:
        return acp.InitializeResponse(protocol_version=1)

    async def new_session(self, **_: object) -> acp.NewSessionResponse:
        return acp.NewSessionResponse(session_id="1")

    async def prompt(self, session_id: str, **_: object) -> acp.PromptResponse:
        twice = lastword.Retry(attempts=2, first_wait_seconds=0.01)
        async for attempt in lastword.current_turn().attempts(twice):
            with attempt:
                raise LimitError("Too many requests")
        return acp.PromptResponse(stop_reason="end_turn")

class LimitError(Exception):
    status_code = 429

async def model(question: str) -> str:
    return question

async def ask_model(question: str) -> AsyncIterator[str]:
    yield question

message: object = {}
openai: Any = None
exception: Exception = ValueError("x")
arrived: float = 0.0
"""
"""What the pages' examples take for granted."""


class Block(NamedTuple):
    page: str
    line: int
    language: str
    text: str

    @property
    def name(self) -> str:
        return f"{self.page}:{self.line}"


def blocks(*languages: str) -> list[Block]:
    """Return the blocks in one of these languages, over all pages."""
    return [
        Block(str(page.relative_to(ROOT)), text[: found.start()].count("\n") + 1, language, body)
        for page in PAGES
        for text in [page.read_text(encoding="utf-8")]
        for found in _FENCE.finditer(text)
        for language, body in [(found["language"], _without_indent(found))]
        if language in languages
    ]


def given(block: Block) -> str:
    """Return a block of Python as a program: what it takes for granted stands before it."""
    return GIVEN + block.text


def calls_a_model(block: Block) -> bool:
    """Return whether a block of Python retries a call to a model's provider."""
    return ".attempts(" in block.text or "@lastword.retry" in block.text


def scenarios() -> list[Block]:
    """Return the scenario files among the blocks: other programs are configured in YAML, too."""
    return [block for block in blocks("yaml") if block.text.startswith("turns:")]


def _without_indent(found: re.Match[str]) -> str:
    indent = found["indent"]
    return "".join(line.removeprefix(indent) for line in found["text"].splitlines(keepends=True))


def commands() -> dict[str, str]:
    """Return each line of the shell blocks, and the first place where it is."""
    lines: dict[str, str] = {}
    for block in blocks("sh"):
        for number, line in enumerate(block.text.replace("\\\n", "").splitlines(), start=1):
            if line.strip():
                lines.setdefault(line.strip(), f"{block.page}:{block.line + number}")
    return lines


def prose(page: Path) -> str:
    return _FENCE.sub("", page.read_text(encoding="utf-8"))


def links(page: Path) -> list[str]:
    return [found["target"] or found["html"] for found in _LINK.finditer(prose(page))]


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub and the site make them."""
    return {_slug(heading) for heading in _HEADING.findall(prose(page))}


def _slug(heading: str) -> str:
    words = re.sub(r"[^\w\- ]", "", heading.lower())
    return words.strip().replace(" ", "-")
