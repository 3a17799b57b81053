"""Events of a stream: their ids, and what a viewer that goes back is told again."""

from __future__ import annotations

import pytest

from lastword.core.link.handshake import ClientProfile
from lastword.core.protocol import acp, jsonrpc
from lastword.gateway.log.entries import About, Cursor, LogEntry, LogKind
from lastword.gateway.log.store import MemoryLog
from lastword.gateway.viewing.reader import Attachment, CursorError, Reader, Viewer
from lastword.gateway.viewing.render import (
    LogPlace,
    Renderer,
    StreamEvent,
    events_facts,
    events_of,
    place_facts,
    place_of,
    read_id,
    stream_events,
)
from tests.kit.gateway.entries_made import SESSION, ask, end, out, said, told
from tests.kit.rows import every

FAILURE = {"type": "rate_limit", "message": "Wait.", "retryable": True}


class Stream:
    """One viewer's events."""

    def __init__(self, *entries: LogEntry) -> None:
        self.log = MemoryLog(epoch="e")
        self.log.append(entries)
        viewer = Viewer(id="me", profile=ClientProfile(typed=True))
        self.attachment = Attachment(viewer, Reader(self.log, 0), head=0, from_cursor=False)
        self.renderer = Renderer(SESSION)

    def next(self) -> list[StreamEvent]:
        """What comes of one pull."""
        placed = self.renderer.placed(self.attachment.reader.pull(), self.attachment)
        events = stream_events("e", placed)
        # As they reach another node's front.
        facts = jsonrpc.loads(jsonrpc.dumps({"events": events_facts(events)}))
        assert events_of(facts) == events
        return events

    def after(self, name: str) -> list[StreamEvent]:
        """What comes after an event."""
        cursor, parts = read_id(name)
        self.attachment.go_back(cursor.seq, parts)
        return self.next()


def test_an_entry_of_several_frames_has_a_place_for_each() -> None:
    stream = Stream(out(), said(1, "me"), end(1, "me", failure=FAILURE), out())
    events = stream.next()
    assert [event.id for event in events] == ["e:1", "e:3.1", "e:3", "e:4"]
    assert all(event.is_kept for event in events)
    for at, event in enumerate(events):
        assert stream.after(event.id) == events[at + 1 :]
    assert stream.after("e:0") == events
    assert stream.after("e:4.9") == events[3:]  # no such part was ever told


def test_events_are_repeated_once_each_time_but_for_a_forks_answer() -> None:
    stream = Stream(said(1, "me"), end(1, "me"))
    (answer,) = stream.next()
    assert stream.after("e:1") == [answer]
    assert stream.after("e:1") == [answer]
    assert stream.next() == []
    stream = Stream(ask(1), out(), told(1, "another"))
    asked, spoken, withdrawn = stream.next()
    assert stream.after(asked.id) == [spoken, withdrawn]
    assert stream.after("e:0") == [asked, spoken, withdrawn]
    about = About(viewer="me", request=b"7", number=1, method=acp.FORK)
    forked = LogEntry(LogKind.END, 1, b'{"id":1,"result":{"sessionId":"f"}}', about)
    stream = Stream(out(), forked)
    assert len(stream.next()) == 2
    assert stream.after("e:1") == []


def test_a_gap_is_repeated_with_its_pinned_entries_until_its_end_was_received() -> None:
    stream = Stream(out("plan"), out(), out(), out())
    stream.log.trim(limit_bytes=0)
    gap, plan = stream.next()
    assert (gap.id, plan.id) == ("", "e:3")
    assert [event.id for event in stream.next()] == ["e:4"]
    assert stream.after("e:0") == [gap, plan]
    assert [event.id for event in stream.after("e:3")] == ["e:4"]


def test_a_place_is_read_from_an_id_and_from_a_control_line() -> None:
    assert read_id("e:5") == LogPlace(Cursor("e", 5))
    assert read_id("e:5.2") == LogPlace(Cursor("e", 4), 2)
    assert place_of(place_facts(LogPlace(Cursor("e", 4), 2))) == LogPlace(Cursor("e", 4), 2)
    assert place_of({"epoch": "e", "seq": 4, "parts": "x"}) == LogPlace(Cursor("e", 4))
    assert events_of({"events": 1}) == []
    assert StreamEvent(b"{}", "e:1").encoded == b"id: e:1\ndata: {}\n\n"
    assert StreamEvent(b"{}").encoded == b"data: {}\n\n"


@every("text", ["", "5", "e:", ":5", "e:-1", "e:5.", "e: 5", "e:5\n", "é:5", "e:9999999999999999"])
def test_an_invalid_event_id_is_refused(text: str) -> None:
    with pytest.raises(CursorError):
        read_id(text)
