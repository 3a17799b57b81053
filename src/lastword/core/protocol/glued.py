"""Lines that hold more than one frame: several in a row, or a frame beside other output.

Owns the separation of such a line, which two threads without a lock write, or a program that prints
text without a line end. Each frame is then handled as if it had come alone.

The line is read backwards. A string then still ends where it began, and the last `}` closes exactly
one `{`, so the text in front needs no guesses.
"""

from __future__ import annotations

import re

from msgspec import UNSET

from lastword.core.protocol import acp, jsonrpc
from lastword.core.protocol.jsonrpc import Frame, Malformed

MAX_BRACES = 4_000_000
"""A line with more of them is not split, which would take a second."""

# The patterns are compiled with the first line that cannot be decoded.
# A quote inside of a string follows an odd number of backslashes, which here stand behind it.
# `(?!)` never matches. It is there for Python before 3.11.5, where a possessive group continues at
# a wrong position if its last alternative fails in a lookahead (CPython's issue 106052).
_TOKEN = rb'"(?:[^"]++|"(?=\\(?:\\\\)*+(?!\\))|(?!))*+"|["{}]'
_GAP = rb"[\s\x00]*+"
_STYLE = rb"\x1b\[[0-?]*+[ -/]*+[@-~]"
_TAIL = rb"(?!\s*+[,:])(?:%s|[^\"{}\[\]])*+\Z" % _STYLE
"""What may follow the last frame: the end of a colour, NUL bytes, words. With quotes, braces or
brackets it may be the rest of a broken frame or list."""
_WORDS = rb"(?:%s|[\W_])*+\w" % _STYLE
_OPENING, _CLOSING = ord("{"), ord("}")

_BLANKS = b" \t\r\n\x00"
_LABEL_BYTES = 64
_ARROW = rb"(?:(?:^|\s)[<>]{1,3}|[-=]{1,3}>|<[-=]{1,3}|\xe2\x86[\x90\x92])"
_LABEL = rb"(?i)(?:[:=]|%s|\b(?:sen[dt]|sending|wrote|writing|recv|receiv\w+))[\s\"'`(]*\Z" % _ARROW
"""The end of the text before a frame that a log quotes."""

_RECEIVED = (
    rb"(?i)(?:(?:^|\s)<{1,3}|<[-=]{1,3}|\xe2\x86\x90|\b(?:recv|receiv\w+)\s{0,2}[:=]?|\b(?:incoming|stdin|rx|in|got"
    rb"|read|client)\s{0,2}(?:[:=]|[-=]{1,2}>))[\s\"'`(]*\Z"
)
"""The end of that text if the log quotes a message that the agent received."""

_MEMBER = rb'"\s*:\s*\Z'
_ITEM = rb"[,\[]\s*\Z"
_SENT_BY_AGENTS = frozenset({acp.UPDATE, acp.PERMISSION})


def decode_parts(line: bytes, *, may_quote: bool) -> list[Frame | Malformed]:
    """Decode one line that may hold several frames, or other output in front of its frame.

    Args:
        line: The line.
        may_quote: As for `parts`.
    """
    read = jsonrpc.decode(line)
    return [read] if isinstance(read, Frame) else parts(read, may_quote=may_quote)


def parts(malformed: Malformed, *, may_quote: bool) -> list[Frame | Malformed]:
    """Return the decoded frames at the end of a line, and the text before them.

    Args:
        malformed: A line that cannot be decoded as one frame.
        may_quote: Whether the line is from a program that may log its own frames, and its client's,
            to the stream of the frames. Such a quotation does not count as a frame.

    Returns:
        The text before the frames, if any, the frames, and the text after them, if any; only the
        line itself if it contains no frame.
    """
    whole: list[Frame | Malformed] = [malformed]
    end = malformed.line.rfind(b"}") + 1
    tail = malformed.line[end:]
    if not end or not re.match(_TAIL, tail):
        return whole
    line = malformed.line[:end]
    starts = _objects(line)
    if not starts:
        return whole
    behind = [Malformed(tail, jsonrpc.MALFORMED_JSON)] if tail.strip(_BLANKS) else []
    ends = [*starts[1:], len(line)]
    frames = [
        jsonrpc.decode(line[start:end].strip(_BLANKS))
        for start, end in zip(starts, ends, strict=True)
    ]
    last = frames[-1]
    if behind:
        # What precedes other output has to be a frame, and not a log's quotation of one.
        if not isinstance(last, Frame) or not _is_json_rpc(last):
            return whole
        if may_quote and last.message.method is not None and re.match(_WORDS, tail):
            return whole
    is_broken = any(
        isinstance(part, Malformed) and part.reason == jsonrpc.MALFORMED_JSON for part in frames
    )
    if not line[: starts[0]].strip() and not is_broken:
        return [*frames, *behind] if frames[1:] or isinstance(last, Frame) else whole
    for number, part in enumerate(frames):
        if isinstance(part, Frame) and _is_json_rpc(part):
            noise = line[: starts[number]]
            if _continues(noise) or (may_quote and _quotes(noise[-_LABEL_BYTES:], part)):
                return whole
            return [Malformed(noise, jsonrpc.MALFORMED_JSON), *frames[number:], *behind]
    return whole


def _objects(line: bytes) -> list[int]:
    """Return the beginnings of the consecutive objects at the line's end."""
    backwards = line[::-1]
    token_pattern, gap_pattern = re.compile(_TOKEN), re.compile(_GAP)
    starts: list[int] = []
    at, braces = 0, 0
    while True:
        gap = gap_pattern.match(backwards, at)
        at = gap.end() if gap else at
        if backwards[at : at + 1] != b"}":
            return starts[::-1]
        depth = 0
        for token in token_pattern.finditer(backwards, at):
            begins, ends = token.span()
            byte = backwards[begins]
            if byte == _CLOSING:
                depth += 1
                braces += 1
            elif byte == _OPENING:
                depth -= 1
            elif ends - begins == 1:
                return starts[::-1]  # what is in front has an odd quote
            if depth == 0 and byte == _OPENING:
                at = ends
                break
            if braces > MAX_BRACES:
                return []
        else:
            return starts[::-1]
        starts.append(len(line) - at)


def _is_json_rpc(part: Frame) -> bool:
    """Return whether a frame says itself that it is JSON-RPC, and is a request or an answer."""
    message = part.message
    if message.method is None and message.result is UNSET and message.error is UNSET:
        return False
    value = jsonrpc.loads(part.readable)
    return isinstance(value, dict) and value.get("jsonrpc") == "2.0"


def _continues(noise: bytes) -> bool:
    """Return whether the text ends where a value begins, within an object or a list.

    What follows is then part of a broken frame.
    """
    end = noise[-_LABEL_BYTES:]
    if re.search(_MEMBER, end):
        return noise.count(b"{") > noise.count(b"}")
    return re.search(_ITEM, end) is not None and noise.count(b"[") > noise.count(b"]")


def _quotes(label: bytes, part: Frame) -> bool:
    """Return whether the frame is quoted by a log of what the agent receives or sends.

    A quoted answer to the client counts as a frame, since without its answer a turn has no end, and
    the link drops what nobody waits for. Only agents send a stop reason, whatever the log says.
    """
    method = part.message.method
    if method is None:
        return b'"stopReason"' not in part.line and re.search(_RECEIVED, label) is not None
    for_agents = method == acp.INITIALIZE or method in acp.LOGIN or method.startswith("session/")
    if for_agents and method not in _SENT_BY_AGENTS:
        return True
    return re.search(_LABEL, label) is not None
