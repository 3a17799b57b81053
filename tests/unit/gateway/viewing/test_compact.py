"""A viewer's reader: what of the past is told as one frame, and how far behind a viewer is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from lastword.core.timeline.entry import Kind
from lastword.gateway.log.entries import LogEntry, LogKind, Numbered
from lastword.gateway.log.store import MemoryLog
from lastword.gateway.viewing.reader import (
    LAG_SHARE,
    MAX_JOINED_BYTES,
    Attachment,
    LagMeter,
    LagNote,
    Pulled,
    Reader,
    Viewer,
    joined,
)
from lastword.gateway.viewing.render import Renderer
from tests.kit.gateway.entries_made import SESSION, end, out, said, update_line
from tests.kit.rows import every

if TYPE_CHECKING:
    from collections.abc import Sequence

PAST = 1_000


def piece(text: str, kind: str = "agent_message_chunk", **more: Any) -> LogEntry:
    """A piece of a message."""
    return out(kind, content={"type": "text", "text": text}, **more)


def raw(line: bytes) -> LogEntry:
    """An update as the agent wrote it."""
    return LogEntry(LogKind.OUT, 1, line)


def told(entries: Sequence[LogEntry], until: int = PAST) -> list[Numbered]:
    """What is told of these."""
    pulled = Pulled(entries=tuple(Numbered(seq, entry) for seq, entry in enumerate(entries, 1)))
    return list(joined(pulled, until).entries)


def texts(entries: Sequence[Numbered]) -> list[str]:
    """The texts of pieces."""
    frames = [msgspec.json.decode(each.entry.frame) for each in entries]
    return [frame["params"]["update"]["content"]["text"] for frame in frames]


def test_the_pieces_of_a_message_are_one_frame_with_the_last_ones_number() -> None:
    (one,) = told([piece("Hel"), piece('lo "you"\n'), piece("é\\")])
    assert one.seq == 3
    assert one.entry.frame == piece('Hello "you"\né\\').frame
    members: dict[str, Any] = {"messageId": "m", "_meta": {"parent": "t"}}
    (one,) = told([piece(letter, **members) for letter in "ab"])
    assert one.entry.frame == piece("ab", **members).frame


@every(
    "between",
    [
        piece("x", "agent_thought_chunk"),
        piece("x", "user_message_chunk"),
        piece("x", messageId="another"),
        piece("x", _meta={"y": 1}),
        out("tool_call", toolCallId="t"),
        out("agent_message_chunk", content={"type": "image", "data": "x"}),
        out("agent_message_chunk", content={"type": "text", "text": "x", "annotations": {}}),
        out("agent_message_chunk"),
        out("agent_message", content={"type": "text", "text": "x"}),
        said(1),
        end(1),
        LogEntry(LogKind.LIFE, 1),
        raw(b'{"method":"session/other_chunk"}'),
        raw(b'{ "_chunk"'),
    ],
)
def test_pieces_of_a_message_are_not_joined_across_another_entry(between: LogEntry) -> None:
    entries = [piece("a"), piece("b"), between, piece("c"), piece("d")]
    first, other, last = told(entries)
    assert (first.seq, other, last.seq) == (2, Numbered(3, between), 5)
    assert texts([first, last]) == ["ab", "cd"]


def test_live_entries_are_not_joined() -> None:
    entries = [piece(letter) for letter in "abcde"]
    assert texts(told(entries, until=3)) == ["abc", "d", "e"]
    pulled = Pulled(entries=tuple(Numbered(seq, entry) for seq, entry in enumerate(entries, 4)))
    assert joined(pulled, 3) is pulled
    assert joined(pulled, 4) is pulled
    assert joined(Pulled(entries=pulled.entries[:1]), PAST).entries == pulled.entries[:1]


def test_a_frame_grows_to_a_bound() -> None:
    part = "x" * (MAX_JOINED_BYTES // 3)
    frames = [each.entry.frame for each in told([piece(part)] * 5)]
    assert [len(frame) <= MAX_JOINED_BYTES for frame in frames] == [True] * 3
    whole = piece("x" * MAX_JOINED_BYTES)
    assert [each.entry for each in told([whole, piece("y")])] == [whole, piece("y")]


def test_a_piece_with_duplicate_content_or_one_that_is_deep_is_left_alone() -> None:
    text = {"type": "text", "text": "a"}
    twice = update_line("agent_message_chunk", content={}, again={})
    twice = twice.replace(b"{}", msgspec.json.encode(text))
    nested = b"[" * 100_000 + b"]" * 100_000  # how deep a parser goes is its version's choice
    deep = update_line("agent_message_chunk", content=text, more=1)
    deep = deep.replace(b":1}", b":%b}" % nested)
    for entry in (raw(twice), raw(deep)):
        assert [each.entry for each in told([entry, entry])] == [entry, entry]


def test_the_two_halves_of_a_split_character_are_joined() -> None:
    line = update_line("agent_message_chunk", content={"type": "text", "text": "@"})
    pieces = [raw(line.replace(b"@", part)) for part in (b"a", b"\\ud83d", b"\\ude00")]
    assert texts(told(pieces)) == ["a\U0001f600"]
    assert len(told(pieces[1:])) == 2  # which few parsers take: each stays as it came


PIECES = st.builds(
    piece,
    st.text(max_size=6),
    st.sampled_from(["agent_message_chunk", "agent_thought_chunk", "user_message_chunk"]),
    messageId=st.sampled_from(["m", "n"]),
)
OTHERS = st.sampled_from([out("tool_call", toolCallId="t"), said(1, "other"), end(1, "other")])
LOGS = st.lists(st.one_of(PIECES, PIECES, PIECES, OTHERS), max_size=40)


def shown(frames: Sequence[bytes]) -> list[tuple[str, str]]:
    """What a client shows: text by text, where what is of one message is one text."""
    views: list[tuple[str, str]] = []
    for frame in map(msgspec.json.decode, frames):
        update = frame.get("params", {}).get("update")
        if update is None:
            continue
        name = f"{update['sessionUpdate']} {update.get('messageId')}"
        text = update.get("content", {}).get("text", "")
        if views and views[-1][0] == name and "chunk" in name:
            views[-1] = (name, views[-1][1] + text)
        else:
            views.append((name, text))
    return views


@given(
    entries=LOGS,
    later=LOGS,
    cuts=st.lists(st.tuples(st.integers(0, 60), st.integers(1, 12), st.booleans()), max_size=5),
    bound=st.integers(1, 12),
)
def test_a_viewer_applies_the_logs_text_wherever_its_links_are_cut(
    entries: list[LogEntry], later: list[LogEntry], cuts: list[tuple[int, int, bool]], bound: int
) -> None:
    log = MemoryLog()
    log.append(entries)
    renderer = Renderer(SESSION)
    viewer = Viewer(id="me", replay=True)

    def follow(after: int, frames: int, size: int, *, compact: bool) -> tuple[list[bytes], int]:
        """What one link brings before it is cut, and the last number on it."""
        reader = Reader(log, after)
        attachment = Attachment(viewer, reader, head=log.head, from_cursor=True, compact=compact)
        if later and log.head == len(entries):
            log.append(later)  # of it nothing is past to this link
        applied: list[bytes] = []
        while len(applied) < frames and reader.pos < log.head:
            read = tuple(log.read(reader.pos, max_entries=size))
            reader.go_to(read[-1].seq)
            pulled = Pulled(entries=read)
            if compact:
                pulled = joined(pulled, attachment.live_from)
            applied += renderer.pulled(pulled, attachment)
        applied = applied[:frames]
        numbers = [
            msgspec.json.decode(frame)["params"].get("_meta", {}).get("lastword", {}).get("seq", 0)
            for frame in applied
        ]
        return applied, max([after, *numbers])

    seen: list[bytes] = []
    at = 0
    for frames, size, compact in cuts:
        more, at = follow(at, frames, size, compact=compact)
        seen += more
    more, at = follow(at, PAST, bound, compact=True)
    seen += more
    assert at == log.head
    plain = Attachment(viewer, Reader(log, 0), head=0, from_cursor=True)
    truth: list[bytes] = []
    while plain.reader.pos < log.head:
        truth += renderer.pulled(plain.reader.pull(), plain)
    assert shown(seen) == shown(truth)


LIMIT = 1_000_000
ENTRY = LogEntry(LogKind.OUT, 0, b"x" * 952)
"""Of 1,000 bytes."""


class Play:
    """A log that is never trimmed, and what is said of its viewers."""

    def __init__(self) -> None:
        self.log = MemoryLog()
        self.meter = LagMeter(limit_bytes=LIMIT, first=1, head=0, written_bytes=0)

    def grows(self, entries: int) -> None:
        self.log.append([ENTRY] * entries)

    def comes(self) -> Attachment:
        reader = Reader(self.log, 0)
        return Attachment(Viewer(id="a"), reader, head=self.log.head, from_cursor=False)

    def look(self, *viewers: Attachment) -> list[LagNote]:
        return list(self.meter.look(viewers, self.log.head, self.log.size_bytes))


def reads_all(viewer: Attachment) -> None:
    while not viewer.reader.pull().is_empty:
        pass


def test_a_slow_viewer_is_reported_once_as_lagging_and_once_as_caught_up() -> None:
    play = Play()
    viewer = play.comes()
    said: list[LagNote] = []
    for _ in range(10):
        play.grows(100)
        said += play.look(viewer)
    assert said == [LagNote("a", Kind.VIEWER_LAGS, 300, 300_000)]
    reads_all(viewer)
    assert play.look(viewer) == [LagNote("a", Kind.VIEWER_CAUGHT_UP)]
    assert play.look(viewer) == []


def test_the_replayed_past_does_not_count_as_lag() -> None:
    play = Play()
    play.grows(900)
    viewer = play.comes()
    assert play.look(viewer) == []
    play.grows(int(LIMIT * LAG_SHARE / 1000))
    assert play.look(viewer) == []
    play.grows(1)
    (note,) = play.look(viewer)
    assert (note.entries, note.bytes) == (1151, 1_151_000)


def test_a_viewer_that_left_while_lagging_is_not_reported_again() -> None:
    play = Play()
    viewer, other = play.comes(), play.comes()
    play.grows(300)
    assert [note.kind for note in play.look(viewer)] == [Kind.VIEWER_LAGS]
    reads_all(other)
    assert play.look(other) == []
    assert other.reader.lag == 0


def test_lag_is_interpolated_between_two_marks_and_clamped_outside() -> None:
    meter = LagMeter(limit_bytes=LIMIT, first=11, head=20, written_bytes=1000)
    meter.mark(11, 40, 5000)
    seqs = (0, 10, 15, 20, 30, 40, 99)
    assert [meter.bytes_until(seq) for seq in seqs] == [0, 0, 500, 1000, 3000, 5000, 5000]
    # Marks of trimmed entries are forgotten.
    meter = LagMeter(limit_bytes=LIMIT, first=1, head=0, written_bytes=0)
    for head in range(10, 110, 10):
        meter.mark(1, head, head * 100)
    meter.mark(46, 100, 10_000)
    assert [meter.bytes_until(seq) for seq in (10, 40, 45, 100)] == [4000, 4000, 4500, 10_000]
