"""Lines that cannot be read: broken JSON, and lines over the limit, with their own id anywhere.

Owns how such a line is made, and the truth of it, which no reader can be asked for: whose id it
bears, and what it would have been. Where that is not certain the truth says so: then nobody may be
taken for the one that it was for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lastword.platform.framing import LineReader

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ANSWER, REQUEST, OTHER = "answer", "request", "other"
"""What a spoiled line would have been; `OTHER` has no id of its own that is certain."""

FILLER = b"#"
"""Stands for the text that makes a line too long, in a schedule that a person is to read."""

_LONG = b"y" * 9000
_LIMIT = 8192
_READ = 1000
LONGEST_CERTAIN_ID = 600
"""Of a longer id nothing is promised where its line cannot be read."""

Spoiled = tuple[str, str, bytes, bytes, str]
"""An event: `broken` or `long`, the side, the line, its own id, and what it would have been."""


def ends_of(line: bytes) -> bytes:
    # In pieces, as it comes off a pipe: a line that is there in one read is never skipped.
    reader, whole = LineReader(_LIMIT), line.replace(FILLER, _LONG) + b"\n"
    found = [reader.feed(whole[at : at + _READ])[0] for at in range(0, len(whole), _READ)]
    return next(ends for ends in found if ends is not None)


def _joined(members: Sequence[bytes]) -> bytes:
    return b"{" + b",".join(members) + b"}"


_END = b'"end":[]'

_CERTAIN: tuple[Callable[[bytes], bytes], ...] = (
    lambda line: line[:-1] + b",}",
    lambda line: line.replace(_END, b'"end":[1,]'),
    lambda line: line.replace(_END, b'"end":"a\tb"'),
    lambda line: line.replace(_END, b'"end":undefined'),
    lambda line: line.replace(_END, b'"end":"\\q"'),
    lambda line: line + b"}",
    lambda line: line + b" [info] sent",
)
"""What breaks a line and leaves its own id where everybody can see it."""

_UNCERTAIN: tuple[Callable[[bytes], bytes], ...] = (
    lambda line: line.replace(_END, b'"end":[}'),
    lambda line: line.replace(_END, b'"end":{'),
)
"""What breaks it so that nobody knows from there on how deep a member stands."""


def _body(what: str, decoy: bytes, session: bytes, *, filler: bool) -> list[bytes]:
    """The members beside the id: `decoy` is somebody else's, deeper down or in a text."""
    said = b'\\"id\\":%b,' % decoy.replace(b'"', b'\\"')
    meta = b'"_meta":{"id":%b,"said":"%b","a":{"id":%b}}' % (decoy, said, decoy)
    long = b',"text":"%b"' % FILLER if filler else b""
    inner = b'{"sessionId":"%b",%b%b,"end":[]}' % (session, meta, long)
    if what == ANSWER:
        return [b'"result":' + inner]
    method = b"fs/write_text_file" if what == REQUEST else b"session/update"
    return [b'"method":"%b"' % method, b'"params":' + inner]


def spoiled(  # noqa: PLR0913 - a line's parts, by name
    pick: Callable[[Sequence[Any]], Any],
    *,
    side: str,
    what: str,
    own: bytes,
    decoy: bytes,
    session: bytes,
) -> Spoiled:
    """A line that cannot be read, with its own id before or behind the rest."""
    how = pick(("broken", "broken", "long"))
    if len(own) > LONGEST_CERTAIN_ID:
        how, what = "broken", OTHER
    body = _body(what, decoy, session, filler=how == "long")
    own_id = [] if what == OTHER else [b'"id":' + own]
    head = [b'"jsonrpc":"2.0"']
    places = ([*head, *own_id, *body], [*own_id, *head, *body], [*head, *body, *own_id])
    line = _joined(pick((*places, [*body, *own_id, *head])))
    if how == "long":
        return (how, side, line, own if what != OTHER else b"", what)
    if own_id and pick((True, False, False, False)):
        # The break stands before the id, which may be somebody else's by then.
        line = pick(_UNCERTAIN)(_joined([*head, *body, *own_id]))
        return (how, side, line, b"", OTHER)
    line = pick(_CERTAIN)(line)
    return (how, side, line, own if what != OTHER else b"", what)
