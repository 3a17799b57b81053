"""How failures look that an agent tells in prose, or in the margins of a success.

Owns only what is cheap enough to ask of every turn that ends well: may there be a failure in it?
What it then is, `core.classify.agents` says.
"""

from __future__ import annotations

OPENINGS: dict[str, tuple[str, ...]] = {
    "codex": (
        "stream disconnected before completion",
        "exceeded retry limit, last status",
        "unexpected status ",
        "you've hit your usage limit",
        "quota exceeded.",
        "codex ran out of room",
        "we're currently experiencing high demand",
        "selected model is at capacity",
        "your access token could not be refreshed",
        "missing environment variable",
        "connection failed: ",
        "error sending request for url",
        "your workspace is out of credits",
    ),
    "goose": ("ran into this error: ", "authentication error: ", "credits exhausted"),
    "claude": ("api error: ", "api error (", "credit balance is too low", "prompt is too long"),
    "qwen": ("[api error: ",),
    "gemini": ("[api error: ",),
}
"""How a turn's only message begins when it is nothing but the error (agent -> openings)."""

MAX_PROSE_CHARS = 4096
_OPENING_CHARS = 200

_ALL_OPENINGS = tuple({opening for openings in OPENINGS.values() for opening in openings})

_AIR_SIGN = b'"sessionFailure"'
_SIGNS = (_AIR_SIGN, b'"systemError"')
"""Members by which JetBrains AIR and codex tell of a failure beside a stop reason that does not."""


def opening_of(text: str) -> str:
    """The beginning of a message in the form that the table is written in."""
    return " ".join(text[:_OPENING_CHARS].replace("\u2019", "'").lower().split())


def may_be_error(text: str) -> bool:
    """Does this message begin as some agent's error does?"""
    return len(text) <= MAX_PROSE_CHARS and opening_of(text).startswith(_ALL_OPENINGS)


def tells_by_air(line: bytes) -> bool:
    """Does this frame tell of something in JetBrains AIR's way?"""
    return _AIR_SIGN in line


def may_tell_of_failure(line: bytes) -> bool:
    """Does this frame have a member that may tell of a failure?"""
    return any(sign in line for sign in _SIGNS)
