"""What each kind of viewer is sent of what the others and the agent say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from lastword.core.link.handshake import ClientProfile
from lastword.core.protocol import acp, jsonrpc
from lastword.gateway.log.entries import About, Gap, LogEntry, LogKind, Numbered
from lastword.gateway.log.store import MemoryLog
from lastword.gateway.viewing import render
from lastword.gateway.viewing.frames import question_id, session_key, text_frames
from lastword.gateway.viewing.reader import Attachment, Pulled, Reader, Role, Viewer
from lastword.gateway.viewing.render import WAITS, Form, Renderer, with_session
from tests.kit.gateway.entries_made import SESSION, ask, end, frame_of, out, said, told
from tests.kit.rows import every

if TYPE_CHECKING:
    from collections.abc import Sequence

FAILURE = {
    "type": "rate_limit",
    "message": "Wait.",
    "retryable": True,
    "retry_after_seconds": 20,
    "retry_safety": "auto",
}
TYPED = ClientProfile(typed=True)
RETRY = ClientProfile(typed=True, retry=True)
STOCK = ClientProfile()
NOTICES = ClientProfile(notices=True)
V2 = ClientProfile(dialect=acp.V2)
AIR = ClientProfile(air=True)


def attached(entries: Sequence[LogEntry], viewer: Viewer, **more: Any) -> Attachment:
    log = MemoryLog()
    log.append(entries)
    return Attachment(viewer, Reader(log, 0), **({"head": 0, "from_cursor": False} | more))


def sent(attachment: Attachment, renderer: Renderer | None = None) -> list[bytes]:
    return (renderer or Renderer(SESSION)).pulled(attachment.reader.pull(), attachment)


def seen(
    entries: Sequence[LogEntry],
    profile: ClientProfile = STOCK,
    *,
    viewer: str = "me",
    head: int = 0,
    from_cursor: bool = False,
    **more: Any,
) -> list[dict[str, Any]]:
    """What a viewer is sent of these entries."""
    who = Viewer(id=viewer, profile=profile, **more)
    attachment = attached(entries, who, head=head, from_cursor=from_cursor)
    return [msgspec.json.decode(frame) for frame in sent(attachment)]


def kinds(frames: list[dict[str, Any]]) -> list[str]:
    return [frame["params"]["update"]["sessionUpdate"] for frame in frames if "params" in frame]


def test_the_agents_frames_pass_byte_for_byte_to_stock_viewers() -> None:
    odd = b'{ "method":"session/update","params":{"sessionId":"s1","update":{}, "x":1.0 } }'
    assert sent(attached([LogEntry(LogKind.OUT, 1, odd)], Viewer(id="me"))) == [odd]


def test_a_replaying_viewer_gets_a_number_with_each_otherwise_unchanged_frame() -> None:
    entry = out(text="x", _meta={"lastword": {"mine": 1}, "y": 2})
    (frame,) = seen([entry], replay=True)
    assert frame["params"].pop("_meta") == {"lastword": {"seq": 1}}
    assert frame == msgspec.json.decode(entry.frame)


@pytest.mark.parametrize(
    ("kind", "shown_to"),
    [
        ("agent_message_chunk", [STOCK, TYPED, RETRY, NOTICES, V2]),
        ("agent_error", [TYPED, RETRY]),
        ("_agent_error", [TYPED, RETRY]),
        ("notice", [NOTICES, V2]),
    ],
)
def test_our_own_updates_reach_only_viewers_that_asked_for_them(
    kind: str, shown_to: list[ClientProfile]
) -> None:
    for profile in (STOCK, TYPED, RETRY, NOTICES, V2):
        assert bool(seen([out(kind)], profile)) is (profile in shown_to), profile
    # The word in a tool's input does not hide it.
    assert seen([out("tool_call", toolCallId="t", rawInput={kind: kind})], STOCK)


def test_a_retry_and_a_lasting_wait_are_shown_in_the_form_that_a_viewer_reads() -> None:
    error = {"type": "rate_limit", "message": "Wait.", "retryable": True}
    retry = out("agent_retry", attempt=3, max_attempts=10, wait_seconds=18, error=error)
    assert kinds(seen([retry], RETRY)) == ["agent_retry"]
    (notice,) = seen([retry], NOTICES)
    said_of_it = notice["params"]["update"]["title"]
    assert "limiting requests" in said_of_it
    assert "in 18 seconds (attempt 3 of 10)" in said_of_it
    assert kinds(seen([retry], V2)) == ["notice"]
    (warning,) = seen([retry], AIR)
    assert "jetbrains" in warning["params"]["update"]["_meta"]
    assert seen([retry], STOCK) == seen([retry], TYPED) == []
    waits = LogEntry(LogKind.LIFE, 0, b"", About(word=WAITS, facts={"text": "It waits."}))
    (thought,) = seen([waits], STOCK)
    assert thought["params"]["update"]["sessionUpdate"] == "agent_thought_chunk"
    assert thought["params"]["update"]["content"]["text"] == "It waits.\n\n"
    for profile in (RETRY, NOTICES, AIR, V2):
        assert seen([waits], profile) == []


def test_a_viewers_own_failure_comes_on_its_rung_with_its_id() -> None:
    entries = [said(1, "me", b'"x"'), end(1, "me", b'"x"', FAILURE)]
    update, answer = seen(entries, TYPED)
    assert update["params"]["update"]["sessionUpdate"] == "agent_error"
    assert answer["id"] == "x"
    assert answer["error"]["data"]["agent_error"]["type"] == "rate_limit"

    *updates, answer = seen(entries, STOCK)
    assert kinds(updates) == ["session_info_update"]
    assert answer["error"]["data"]["agent_error"]["type"] == "rate_limit"
    assert answer["error"]["data"]["mine"] == 1

    *_, answer = seen(entries, AIR)
    assert answer["result"]["stopReason"] == "end_turn"
    assert "agent_error" in answer["result"]["_meta"]

    (answer,) = seen(entries, V2)
    assert answer["id"] == "x"
    assert answer["error"]["message"] == "no"


def test_another_viewers_failure_comes_once_as_news_and_answers_nothing() -> None:
    entries = [said(1), end(1, failure=FAILURE)]
    assert kinds(seen(entries, TYPED)) == ["user_message_chunk", "agent_error"]
    frames = seen(entries, STOCK)
    assert kinds(frames) == ["user_message_chunk", "session_info_update"]
    told_of = frames[1]["params"]["update"]["_meta"]["agent_error"]
    assert told_of["retry_after_seconds"] == 20
    assert seen(entries, V2) == []
    assert not any("id" in frame for frame in frames)


def test_the_end_of_anothers_turn_is_shown_to_replaying_viewers() -> None:
    *_, ended = seen([said(1), end(1)], replay=True)
    assert ended["method"] == "_lastword/ended"
    assert ended["params"]["stopReason"] == "end_turn"
    assert ended["params"]["viewer"] == "a"
    assert ended["params"]["_meta"]["lastword"]["seq"] == 2
    *_, ended = seen([said(1), end(1, failure=FAILURE)], replay=True)
    assert ended["params"]["error"] == FAILURE
    assert seen([end(1)], STOCK) == []


def test_the_position_precedes_a_viewers_own_answer() -> None:
    position, answer = seen([said(1, "me"), end(1, "me")], replay=True)
    assert position["method"] == "_lastword/at"
    assert position["params"]["_meta"]["lastword"]["seq"] == 2
    assert answer == {"jsonrpc": "2.0", "id": 7, "result": {"stopReason": "end_turn"}}


def test_a_position_without_a_frame_is_sent_by_itself() -> None:
    *_, position = seen([out(), said(1, "me")], replay=True)
    assert position["method"] == "_lastword/at"
    assert position["params"]["_meta"]["lastword"]["seq"] == 2
    assert len(seen([out(), said(1, "me")])) == 1


def test_a_past_answer_is_sent_only_if_it_was_requested_again() -> None:
    entries = [said(1, "me"), end(1, "me")]
    assert seen(entries, head=2, from_cursor=True) == []
    attachment = attached(entries, Viewer(id="me"), head=2, from_cursor=True)
    attachment.repeated.add(1)
    assert len(sent(attachment)) == 1
    past = Numbered(2, entries[1])
    assert not attachment.waits_for(past)
    assert len(Renderer(SESSION).again(past, attachment)) == 1


def test_a_viewer_that_loads_without_a_cursor_is_shown_its_own_prompts() -> None:
    prompt = said(1, "me", text="hello")
    assert seen([prompt]) == []
    assert seen([prompt], head=1, from_cursor=True) == []
    (shown,) = seen([prompt], head=1)
    assert shown["params"]["update"]["content"] == {"type": "text", "text": "hello"}
    assert seen([prompt], V2, viewer="other") == []
    # Nor is any other request, or a frame that cannot be read.
    mode = About(viewer="a", request=b"1", number=1, method="session/set_mode")
    line = jsonrpc.request(b"1", "session/set_mode", {"sessionId": SESSION})
    ended = LogEntry(LogKind.END, 1, jsonrpc.result(b"1", {}), mode)
    assert seen([LogEntry(LogKind.IN, 1, line, mode), ended]) == []
    mine = About(viewer="me", number=1, method="session/prompt")
    for kind in (LogKind.ASK, LogKind.END):
        assert seen([LogEntry(kind, 1, b"{", mine)]) == []


def test_a_question_has_the_same_id_for_every_controller_and_is_not_for_observers() -> None:
    (frame,) = seen([ask(3)])
    assert frame["id"] == question_id(session_key(SESSION), 3).decode().strip('"')
    assert seen([ask(3)], role=Role.OBSERVER) == []


def test_a_question_that_another_answered_is_withdrawn_and_ones_own_is_not() -> None:
    _, withdrawn = seen([ask(3), told(3, "other")])
    assert withdrawn["method"] == "$/cancel_request"
    assert withdrawn["params"]["requestId"].endswith(":3")
    assert len(seen([ask(3), told(3, "me")])) == 1
    assert seen([told(3, "other")]) == []
    assert seen([ask(3), told(3, "other")], role=Role.OBSERVER) == []


def test_a_sessions_events_are_shown_to_replaying_viewers() -> None:
    life = LogEntry(LogKind.LIFE, 5, b"", About(viewer="a", word="viewer_came", facts={"x": 1}))
    (frame,) = seen([life], replay=True)
    assert frame["method"] == "_lastword/life"
    assert frame["params"]["word"] == "viewer_came"
    assert frame["params"]["facts"] == {"x": 1}
    assert seen([life]) == []


@pytest.mark.parametrize("replay", [True, False])
def test_a_gap_reaches_each_viewer_with_its_pinned_entries_and_own_answers_last(
    replay: bool,
) -> None:
    standing = (Numbered(1, out("plan")), Numbered(2, end(1, "me")), Numbered(3, end(2, "other")))
    attachment = attached([], Viewer(id="me", replay=replay), from_cursor=True)
    lines = Renderer(SESSION).pulled(Pulled(Gap(1, 9), standing, passed=9), attachment)
    frames = [msgspec.json.decode(line) for line in lines]
    if replay:
        assert frames[0]["method"] == "_lastword/gap"
        assert (frames[0]["params"]["from"], frames[0]["params"]["to"]) == (1, 9)
        assert frames[2]["params"]["_meta"]["lastword"]["seq"] == 9
    else:
        gap = frames[0]["params"]["update"]["_meta"]["lastword"]["gap"]
        assert gap == {"from": 1, "to": 9, "reason": "trimmed"}
    assert frames[1]["params"]["update"]["sessionUpdate"] == "plan"
    assert frames[-1]["id"] == 7
    assert len(frames) == (4 if replay else 3)


def test_a_session_under_another_name_is_named_so_in_every_frame() -> None:
    attachment = attached([out(), ask(1)], Viewer(id="me"))
    frames = sent(attachment, Renderer("ours", is_renamed=True))
    assert [msgspec.json.decode(frame)["params"]["sessionId"] for frame in frames] == ["ours"] * 2
    bare = b'{"method":"x","params":{"a":1}}'
    assert with_session(bare, "ours") is bare


@pytest.mark.parametrize("replay", [False, True])
@pytest.mark.parametrize("form", [Form.LINES, Form.FRAMED])
def test_frames_for_all_viewers_are_encoded_once(replay: bool, form: Form) -> None:
    renderer = Renderer(SESSION)
    entries = [out(text=f"{number}é") for number in range(300)]
    one, other = (attached(entries, Viewer(id=name, replay=replay)) for name in ("me", "other"))
    pulled = one.reader.pull()
    ready = renderer.for_all(pulled, one, form)
    assert ready is not None
    assert renderer.for_all(other.reader.pull(), other, form) is ready
    frames = renderer.pulled(pulled, one)
    assert ready == (frames if form is Form.LINES else list(text_frames(frames)))


def test_frames_that_differ_by_viewer_are_encoded_for_each() -> None:
    plain, renamed = Renderer(SESSION), Renderer("other", is_renamed=True)
    for renderer, *entries in (
        (plain, out(), ask(1)),
        (plain, out(), out(kind="notice")),
        (plain, LogEntry(LogKind.LIFE, 1)),
        (renamed, out()),
    ):
        attachment = attached(entries, Viewer(id="me"))
        assert renderer.for_all(attachment.reader.pull(), attachment, Form.LINES) is None


def test_only_a_few_rendered_stretches_are_cached() -> None:
    renderer = Renderer(SESSION)
    attachment = attached([out()] * 3000, Viewer(id="me"))
    pulled = attachment.reader.pull()
    first = renderer.for_all(pulled, attachment, Form.LINES)
    while entries := attachment.reader.pull().entries:
        for size in range(1, 10):
            part = Pulled(entries=entries[:size])
            assert renderer.for_all(part, attachment, Form.LINES) is not None
    again = renderer.for_all(pulled, attachment, Form.LINES)
    assert again == first
    assert again is not first


@every(
    "line",
    [
        b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{}}}',
        b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s"}}',
        b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","_meta":{"a":1}}}',
        b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","\\u005fmeta":{}}}',
        b'{"method":"session/update","jsonrpc":"2.0","params":{"sessionId":"s"}}',
        b'{"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s"}}',
        b'{"jsonrpc":"2.0","method":"session/update","params":{"update":{"_meta":{}}}}',
    ],
)
def test_a_number_is_added_and_nothing_else_is_changed(line: bytes) -> None:
    [frame] = sent(attached([LogEntry(LogKind.OUT, 1, line)], Viewer(id="me", replay=True)))
    value = msgspec.json.decode(frame)
    meta = value["params"].pop("_meta")
    assert meta["lastword"].pop("seq") == 1
    left = msgspec.json.decode(line)
    ours = left["params"].pop("_meta", {})
    assert value == left
    assert {name: each for name, each in meta.items() if each} == {
        name: each for name, each in ours.items() if each
    }


def test_a_prompt_of_several_blocks_says_which_part_each_frame_is() -> None:
    blocks = [{"type": "text", "text": word} for word in ("one", "two", "three")]
    params = {"sessionId": SESSION, "prompt": blocks}
    line = jsonrpc.request(b"1", "session/prompt", params)
    about = About(viewer="a", request=b"1", number=1, method="session/prompt")
    frames = seen([LogEntry(LogKind.IN, 0, line, about)], replay=True)
    told = [frame["params"]["_meta"]["lastword"] for frame in frames]
    assert told == [{"of": 1, "part": 1}, {"of": 1, "part": 2}, {"seq": 1}]


def test_a_lagging_viewer_gets_a_notice_if_it_reads_them() -> None:
    for profile in (STOCK, TYPED, RETRY, AIR, NOTICES, V2):
        lags = Renderer(SESSION).lag(1234, attached([], Viewer(id="me", profile=profile)))
        frames = [msgspec.json.decode(each) for each in lags]
        assert kinds(frames) == (["notice"] if profile in {NOTICES, V2} else [])
        assert all("1234" in frame["params"]["update"]["title"] for frame in frames)


def test_an_outage_in_a_turn_is_shown_to_every_viewer_in_the_form_that_it_reads() -> None:
    for profile, kind in (
        (STOCK, "agent_thought_chunk"),
        (TYPED, "agent_thought_chunk"),
        (RETRY, "agent_retry"),
        (AIR, "session_info_update"),
        (NOTICES, "notice"),
        (V2, "notice"),
    ):
        attachment = attached([], Viewer(id="me", profile=profile))
        frame = msgspec.json.decode(Renderer(SESSION).outage("It is away.", 2, attachment))
        assert kinds([frame]) == [kind]
        assert "It is away." in str(frame)


@pytest.mark.parametrize("replay", [True, False])
def test_a_viewer_that_begins_again_learns_why(replay: bool) -> None:
    attachment = attached([], Viewer(id="me", replay=replay))
    frame = msgspec.json.decode(Renderer(SESSION).reset(attachment, "e"))
    meta = frame["params"]["_meta"] if replay else frame["params"]["update"]["_meta"]
    assert frame["method"] == ("_lastword/at" if replay else "session/update")
    assert meta == {"lastword": {"epoch": "e", "from": 1, "reset": "epoch"}}


@pytest.mark.parametrize("value", [rb'"\ud83d"', b"[" * 2000 + b"]" * 2000], ids=["half", "deep"])
def test_a_value_that_msgspec_cannot_represent_passes_unchanged(value: bytes) -> None:
    params = b'{"sessionId":"other","_meta":{"x":1},"update":{"sessionUpdate":"u","y":%b}}' % value
    line = b'{"jsonrpc":"2.0","method":"session/update","params":%b}' % params
    renamed = jsonrpc.params_of(frame_of(with_session(line, SESSION)))
    assert (renamed["sessionId"], renamed["_meta"]) == (SESSION, {"x": 1})
    numbered = jsonrpc.params_of(frame_of(render._with_seq(line, 7)))
    assert numbered["_meta"] == {"x": 1, "lastword": {"seq": 7}}
    assert with_session(b'{"id":1,"result":%b}' % value, SESSION) == b'{"id":1,"result":%b}' % value
