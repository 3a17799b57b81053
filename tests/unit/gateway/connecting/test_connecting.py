"""The connector on a played link: what an editor gets, whatever becomes of the link."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

import pytest

from lastword.core.protocol import jsonrpc
from lastword.gateway.connecting import core, positions
from lastword.gateway.connecting.positions import (
    Dial,
    HangUp,
    NotGreeted,
    OwnError,
    Position,
    Say,
    ToEditor,
    ToGateway,
)
from lastword.gateway.viewing import access
from tests.kit.gateway.entries_made import update_line
from tests.kit.gateway.played_link import END, SESSION, PlayedLink, begun, is_typed, play
from tests.kit.rows import every

if TYPE_CHECKING:
    from collections.abc import Callable

TYPED = {"_meta": {"agent_error": {"version": 1, "retry": True}}}
NOTICES = {"session": {"notices": {}}}


def cut_in_turn(link: PlayedLink) -> int:
    """The link is cut once a prompt is at work."""
    prompt = link.prompt()
    link.settle()
    link.cut()
    return prompt


@pytest.mark.parametrize("block", range(5))
def test_cut_links_lose_and_double_nothing_and_each_request_has_one_answer(
    block: int,
) -> None:
    for seed in range(20):
        play(f"{block}/{seed}")


def test_an_answer_whose_link_is_cut_is_sent_again_though_an_older_prompt_has_ended_since() -> None:
    link = begun()
    link.prompt()
    link.settle()
    link.question()
    link.settle()
    link.decide()
    link.up.clear()  # it is lost on its way
    link.end_turn()
    link.settle()
    link.cut()
    link.rests()


def test_an_early_editor_waits_for_the_gateway_and_is_then_answered() -> None:
    link = PlayedLink()
    early = link.ask("session/new", {"cwd": "/w", "mcpServers": []})
    assert link.answers(early)[0]["error"]["code"] == -32600  # before it has said hello
    assert link.others == []
    given = len(link.given)
    hello = link.introduce()
    opening = link.ask("session/new", {"cwd": "/w", "mcpServers": []})
    assert len(link.given) == given
    assert link.others == [Dial(), Dial()]
    link.settle()
    again = link.introduce()
    for number, result in (
        (hello, {"protocolVersion": 1}),
        (opening, {"sessionId": SESSION}),
        (again, {"protocolVersion": 1}),
    ):
        assert link.answers(number)[0]["result"] == result


def test_a_line_that_is_not_a_message_is_answered_to_the_editor_and_else_ignored() -> None:
    for line, code in ((b"oops", -32700), (b"[]", -32600)):
        (effect,) = core.Connector().from_editor(line, 0.0)
        assert isinstance(effect, ToEditor)
        assert json.loads(effect.line)["error"]["code"] == code
    assert core.Connector().from_editor(b" ", 0.0) == []
    link = begun()
    assert link.connector.from_gateway(b"noise", 0.0) == []
    link.say({"id": "lastword:x:1", "result": {}})  # an answer to no question
    assert link.up == []


@pytest.mark.parametrize(
    "params",
    [
        r'{"sessionId":"s","cwd":"/w","_meta":{"title":"half \ud83d"}}',
        r'{"sessionId":"s","cwd":"/w","_meta":{"\ud83d":1}}',
        '{"sessionId":"s","cwd":"/w","mcpServers":' + "[" * 5000 + "]" * 5000 + "}",
        '{"sessionId":"s","_meta":1}',
        '["s"]',
    ],
    ids=["half a character", "in a name", "deep", "no object", "a list"],
)
@pytest.mark.parametrize("method", ["initialize", "session/new", "session/load"])
def test_a_request_with_odd_parameters_is_passed_on_and_answered(method: str, params: str) -> None:
    connector = core.Connector()
    request = f'{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}'.encode()
    if method != "initialize":
        connector.from_editor(jsonrpc.request(b"0", "initialize", {}), 0.0)
        connector.opened()
        connector.from_gateway(jsonrpc.result(b"1", {}), 0.0)
    effects = [*connector.from_editor(request, 0.0), *connector.opened()]
    (asked,) = [each.line for each in effects if isinstance(each, ToGateway)][:1]
    frame = jsonrpc.decode(asked)
    assert isinstance(frame, jsonrpc.Frame)
    assert frame.message.method == method
    assert ("half" in params) == (b"half \\ud83d" in asked)
    result = {"sessionId": "s", "_meta": {"lastword": {"epoch": "e", "from": 1}}}
    effects = connector.from_gateway(jsonrpc.result(frame.message.request_id or b"", result), 0.0)
    answers = [json.loads(each.line) for each in effects if isinstance(each, ToEditor)]
    assert [each["id"] for each in answers] == [1]


def test_the_gateways_numbers_are_read_beside_half_a_character_too() -> None:
    """As in a reply whose emoji is cut in two between its chunks."""
    line = rb'{"method":"x","params":{"text":"\ud83d","_meta":{"lastword":{"seq":7}}}}'
    shown, ours = positions.stripped(line, "params")
    assert ours == {"seq": 7}
    assert json.loads(shown) == {"method": "x", "params": {"text": "\ud83d"}}


@pytest.mark.parametrize("refused", [True, False], ids=["refused", "given up"])
def test_an_initialize_that_fails_may_come_again(refused: bool) -> None:
    link = PlayedLink()
    if refused:
        link.front.refusal = {"code": -32603, "message": "no such program"}
    hello = link.introduce()
    if refused:  # which is told at once
        link.settle()
        assert link.answers(hello)[0]["error"]["message"] == "no such program"
        assert HangUp() in link.others
        link.front.refusal, link.front.is_open = None, False
    else:
        link.give_up()
        assert is_typed(link.answers(hello)[0])["reason"] == "gateway_unreachable"
    again = link.introduce()
    link.settle()
    assert "result" in link.answers(again)[0]


def test_an_agent_that_cannot_start_later_counts_as_a_missing_gateway() -> None:
    link = begun()
    link.cut()
    link.front.refusal = {"code": -32603, "message": "too many"}
    link.settle()
    assert link.others[-1] == NotGreeted()


def test_a_session_that_cannot_be_attached_does_not_affect_the_others() -> None:
    connector = core.Connector()
    meta = {"viewer": "v", "secret": "s"}

    def editor(number: int, method: str, **params: Any) -> list[dict[str, Any]]:
        return sent(connector.from_editor(jsonrpc.request(b"%d" % number, method, params), 0.0))

    def sent(effects: list[Any]) -> list[dict[str, Any]]:
        return [json.loads(each.line) for each in effects if isinstance(each, ToGateway)]

    def given(effects: list[Any]) -> list[dict[str, Any]]:
        return [json.loads(each.line) for each in effects if isinstance(each, ToEditor)]

    def gateway(asked: dict[str, Any], result: dict[str, Any], **ours: Any) -> list[Any]:
        result |= {"_meta": {"lastword": meta | ours}}
        line = jsonrpc.result(b"%d" % asked["id"], result)
        return connector.from_gateway(line, 0.0)

    editor(1, "initialize", protocolVersion=1)
    gateway(sent(connector.opened())[0], {"protocolVersion": 1})
    for name in ("hung", "well"):
        opened = editor(2, "session/new", cwd="/", mcpServers=[])[0]
        gateway(opened, {"sessionId": name}, epoch="e", **{"from": 1})
    editor(3, "session/prompt", sessionId="hung", prompt=[])
    connector.lost(0.0)
    attaches = sent(gateway(sent(connector.opened())[0], {"protocolVersion": 1}))
    by_session = {each["params"]["sessionId"]: each for each in attaches}
    silent = jsonrpc.error(b"%d" % by_session["hung"]["id"], access.holder_silent())
    effects = connector.from_gateway(silent, 0.0)
    assert not [each for each in effects if isinstance(each, NotGreeted)]
    (answer,) = given(effects)
    assert answer["id"] == 3
    assert is_typed(answer)["reason"] == "holder_silent"
    gateway(by_session["well"], {}, epoch="e", **{"from": 1})
    assert editor(4, "session/prompt", sessionId="well", prompt=[])[0]["method"] == "session/prompt"
    (again,) = editor(5, "session/prompt", sessionId="hung", prompt=[])
    assert again["method"] == "session/resume"
    effects = gateway(again, {}, epoch="e", **{"from": 1})
    assert [each["method"] for each in sent(effects)] == ["session/prompt"]


def test_a_turn_ends_typed_when_the_link_is_given_up_and_later_output_is_news() -> None:
    link = begun()
    prompt = link.prompt()
    link.settle()
    link.speak()
    link.cut()
    other = link.ask("session/list", {})
    link.give_up()
    told = is_typed(link.answers(prompt)[0])
    assert (told["type"], told["reason"]) == ("network", "gateway_unreachable")
    assert (told["retryable"], told["retry_safety"]) == (True, "ask")
    assert told["message"] == f"{END.line} {END.advice}"
    assert is_typed(link.answers(other)[0])["reason"] == "gateway_unreachable"
    link.end_turn()
    link.speak()
    link.settle()
    assert link.words() == list(range(1, link.said + 1))
    assert len(link.answers(prompt)) == 1
    news = [each["params"]["update"] for each in link.given if "update" in each.get("params", {})]
    infos = [each["_meta"] for each in news if each["sessionUpdate"] == "session_info_update"]
    outcomes = [meta for meta in infos if "session" not in meta.get("lastword", {})]
    assert len(outcomes) == 2  # the failure on this editor's rung, and then how it ended
    assert "agent_error" in outcomes[0]
    assert outcomes[1] in (
        {"lastword": {"turn": {"stopReason": "end_turn"}}},
        {"agent_error": outcomes[1].get("agent_error")},
    )


def test_a_turn_that_ends_after_the_reconnect_is_announced_too() -> None:
    link = begun(capabilities=TYPED)
    prompt = cut_in_turn(link)
    link.give_up()
    assert link.answers(prompt)
    link.settle()
    link.end_turn()
    link.settle()
    assert len(link.answers(prompt)) == 1
    last = link.given[-1]["params"]["update"]
    assert last["sessionUpdate"] == "session_info_update"


def test_the_next_request_after_giving_up_begins_a_new_round() -> None:
    link = begun()
    link.cut()
    link.give_up()
    link.others.clear()
    prompt = link.prompt()
    assert link.others == [Dial()]
    link.settle()
    link.end_turn()
    link.settle()
    assert len(link.answers(prompt)) == 1
    assert link.front.prompts == [1]


def test_a_prompt_that_was_never_sent_is_not_sent_after_it_has_failed() -> None:
    link = begun()
    link.cut()
    link.prompt()
    link.give_up()
    link.settle()
    assert link.front.prompts == []


def _told_after(link: PlayedLink, seconds: float) -> list[dict[str, Any]]:
    cut_in_turn(link)
    before = len(link.given)
    effects = link.connector.tell(
        link.now + seconds,
        line="Connection lost. Retrying in 4 s (3 of 6).",
        attempt=4,
        max_attempts=7,
        wait_seconds=3.2,
    )
    link.carry_out(effects)
    return [each["params"]["update"] for each in link.given[before:]]


def test_a_break_under_five_seconds_is_not_reported() -> None:
    link = begun(capabilities=TYPED)
    assert _told_after(link, 4.9) == []
    assert link.connector.tells_at() == pytest.approx(link.now + 5.0)


def test_a_typed_editor_gets_a_retry_after_five_seconds() -> None:
    (update,) = _told_after(begun(capabilities=TYPED), 5.1)
    assert update["sessionUpdate"] == "agent_retry"
    assert (update["attempt"], update["max_attempts"], update["wait_seconds"]) == (4, 7, 4)
    assert update["error"]["reason"] == "gateway_unreachable"


def test_an_editor_with_notices_gets_the_line_after_five_seconds() -> None:
    link = begun(capabilities=NOTICES)
    (update,) = _told_after(link, 5.1)
    assert update["title"] == "Connection lost. Retrying in 4 s (3 of 6)."
    assert link.connector.tells_at() is None


def test_a_stock_editor_gets_a_thought_and_the_next_one_after_30_s() -> None:
    link = begun()
    (update,) = _told_after(link, 5.1)
    text = "Connection lost. Retrying in 4 s (3 of 6).\n\n"
    assert update["sessionUpdate"] == "agent_thought_chunk"
    assert update["content"] == {"type": "text", "text": text}
    told = [
        len(
            link.connector.tell(
                link.now + at, line="again", attempt=5, max_attempts=7, wait_seconds=1.0
            )
        )
        for at in (6.0, 35.0, 35.2, 40.0)
    ]
    assert told == [0, 0, 1, 0]


def test_an_editor_with_airs_convention_gets_a_warning_in_it() -> None:
    air = {"_meta": {"jetbrains": {"air": {"version": 1, "capabilities": ["sessionFailure"]}}}}
    (update,) = _told_after(begun(capabilities=air), 5.1)
    told = update["_meta"]["jetbrains"]["air"]["sessionFailure"]
    assert (told["severity"], told["category"]) == ("warning", "connection")
    assert told["title"] == "Connection lost. Retrying in 4 s (3 of 6)."


def test_a_part_of_an_entry_sent_before_the_link_was_cut_is_not_repeated() -> None:
    place = Position("s", epoch="e", attached=True)
    place.move({"seq": 6})
    assert [place.is_repeated({"of": 7, "part": part}) for part in (1, 2)] == [False, False]
    place.unlink()
    place.begin({"epoch": "e", "from": 7})  # it comes back to where it was
    place.attached = True
    assert [place.is_repeated({"of": 7, "part": part}) for part in (1, 2, 3)] == [True, True, False]
    place.move({"seq": 7})
    assert not place.is_repeated({"of": 8, "part": 1})
    place.begin({"epoch": "another", "from": 1})
    assert not place.is_repeated({"of": 8, "part": 1})
    place.forget()
    assert place.cursor is None
    assert not place.is_repeated({"of": 1, "part": 1})


def test_a_break_without_an_open_turn_is_not_reported() -> None:
    link = begun(capabilities=NOTICES)
    link.cut()
    assert link.connector.tells_at() is None


@every("ends", [PlayedLink.settle, PlayedLink.give_up])
def test_the_queue_is_bounded_and_empty_once_it_has_drained_or_the_gateway_is_given_up(
    ends: Callable[[PlayedLink], None],
) -> None:
    link = begun()
    link.cut()
    for _ in range(5):
        link.say({"method": "_x/note", "params": {"sessionId": SESSION, "x": "x" * 1_000_000}})
    assert link.connector.is_full
    ends(link)
    assert not link.connector.is_full


def test_a_cancel_reaches_the_agent_although_the_link_was_cut(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    link = begun()
    cut_in_turn(link)
    link.say({"method": "session/cancel", "params": {"sessionId": SESSION}})
    receive = Mock(side_effect=link.front.receive)
    monkeypatch.setattr(link.front, "receive", receive)
    link.settle()
    assert any(b"session/cancel" in call.args[0] for call in receive.call_args_list)


def test_a_request_is_cancelled_by_the_id_that_the_gateway_knows() -> None:
    link = begun()
    prompt = link.prompt()
    known = json.loads(link.up[-1])["id"]
    link.say({"method": "$/cancel_request", "params": {"requestId": prompt}})
    named = json.loads(link.up[-1])["params"]["requestId"]
    assert named == known
    link.say({"method": "$/cancel_request", "params": {"requestId": 999}})
    assert json.loads(link.up[-1])["params"]["requestId"] == named


def test_a_viewer_that_the_gateway_forgot_does_not_prompt_twice() -> None:
    link = begun()
    prompt = cut_in_turn(link)
    link.front.forgets_viewers = True
    link.settle()
    assert is_typed(link.answers(prompt)[0])["reason"] == "gateway_forgot"
    assert OwnError("gateway_forgot", SESSION) in link.others
    assert link.front.prompts == [1]


def test_a_lost_session_ends_its_open_requests() -> None:
    link = begun()
    prompt = cut_in_turn(link)
    link.front.has_session = False
    link.settle()
    assert link.answers(prompt)[0]["error"]["code"] == -32002
    assert any(isinstance(each, Say) for each in link.others)


NEW = {"cwd": "/w", "mcpServers": []}
LOAD = {"sessionId": SESSION, "cwd": "/w", "mcpServers": []}


def after(elder: PlayedLink, seed: str = "", chosen: str = "", **options: Any) -> PlayedLink:
    """The editor that comes after an elder one, and may have chosen its session."""
    elder.settle()
    elder.cut()
    link = PlayedLink(seed, **options)
    link.front, link.said = elder.front, elder.said
    if chosen:
        link.connector = core.Connector(session=chosen)
    link.introduce()
    return link


def test_an_existing_session_is_the_editors_new_one_and_its_past_comes_after_the_answer() -> None:
    elder = begun()
    elder.speak()
    link = after(elder, chosen=SESSION, capabilities=NOTICES)
    opening = link.ask("session/new", NEW)
    link.settle()
    assert link.answers(opening)[0]["result"]["sessionId"] == SESSION
    assert link.given.index(link.answers(opening)[0]) == 1
    assert link.words() == list(range(1, link.said + 1))
    link.speak()
    link.rests()


@pytest.mark.parametrize(
    ("chosen", "method", "params"),
    [(SESSION, "session/new", NEW), ("", "session/load", LOAD)],
    ids=["chosen", "loaded"],
)
def test_a_sessions_past_comes_whole_and_once_although_the_link_is_cut(
    chosen: str, method: str, params: dict[str, Any]
) -> None:
    for seed in range(40):
        elder = begun()
        for _ in range(4):
            elder.speak()
        link = after(elder, f"{method} {seed}", chosen)
        link.ask(method, params)
        for _ in range(30):
            link.step_link()
        link.rests()


def test_a_session_that_was_chosen_and_is_loaded_by_its_id_is_attached_over_each_link() -> None:
    link = after(begun(), chosen=SESSION)
    link.ask("session/load", LOAD)
    link.settle()
    link.cut()
    link.settle()
    prompt = link.prompt()
    link.settle()
    link.end_turn()
    link.settle()
    assert "result" in link.answers(prompt)[0]


def test_an_unknown_session_is_refused_in_the_gateways_words() -> None:
    link = after(PlayedLink(), chosen="s9")
    for method, params in (("session/new", NEW), ("session/load", LOAD | {"sessionId": "s9"})):
        refused = link.ask(method, params)
        link.settle()
        assert link.answers(refused)[0]["error"]["code"] == -32002


def test_a_gap_is_a_notice_if_the_editor_shows_them() -> None:
    link = begun(capabilities=NOTICES)
    link.cut()
    link.speak()
    for _ in range(3):
        link.speak()
    link.front.log.trim(limit_bytes=1)
    link.settle()
    titles = [each["params"]["update"].get("title", "") for each in link.given[2:]]
    assert any("entries of this session are gone" in title for title in titles)


def test_a_log_of_another_epoch_is_not_replayed() -> None:
    link = begun(capabilities=NOTICES)
    prompt = link.prompt()
    link.settle()
    link.speak()
    link.settle()
    link.cut()
    link.front.log.epoch = "e2"
    link.settle()
    assert link.words() == list(range(1, link.said + 1))
    assert is_typed(link.answers(prompt)[0])["reason"] == "gateway_forgot"
    link.speak()
    link.settle()
    assert link.words() == list(range(1, link.said + 1))


def test_a_probe_is_a_ping_whose_answer_is_hidden_from_the_editor() -> None:
    link = begun()
    before = list(link.given)
    assert _probed(link)["method"] == "_lastword/ping"
    link.settle()
    assert link.given == before


def test_a_probe_reports_the_editors_position_and_the_last_round_trip_once() -> None:
    (alone,) = core.Connector().probe(0.0)
    assert isinstance(alone, ToGateway)
    assert json.loads(alone.line)["params"] == {}
    link = begun()
    head = link.front.log.head
    assert _probed(link)["params"] == {"sessionId": SESSION, "seq": head}
    link.now += 0.25
    link.settle()
    assert _probed(link)["params"] == {"sessionId": SESSION, "seq": head, "rttMs": 250.0}
    link.cut()  # and so with it the answer
    link.settle()
    link.now += 1.0
    assert "rttMs" not in _probed(link)["params"]


def _probed(link: PlayedLink) -> dict[str, Any]:
    (effect,) = link.connector.probe(link.now)
    assert isinstance(effect, ToGateway)
    link.carry_out([effect])
    told: dict[str, Any] = json.loads(effect.line)
    return told


def test_the_editor_gets_a_compact_past_unless_it_asks_otherwise() -> None:
    line = jsonrpc.request(b"1", "session/load", {"sessionId": SESSION, "_meta": {"mine": 1}})
    meta = jsonrpc.loads(positions.with_compact_past(line))["params"]["_meta"]
    assert meta == {"mine": 1, "lastword": {"replay": "compact"}}
    ours = {"sessionId": SESSION, "_meta": {"lastword": {"replay": "full"}}}
    line = jsonrpc.request(b"1", "session/load", ours)
    assert positions.with_compact_past(line) is line


def test_a_past_loaded_through_the_connector_is_joined() -> None:
    elder = begun()
    for text in ("Hel", "lo."):
        content = {"type": "text", "text": text}
        elder.front.from_agent(update_line("agent_message_chunk", content=content))
    link = after(elder, "joined")
    link.ask("session/load", LOAD)
    link.settle()
    told = [frame["params"]["update"] for frame in link.given if "update" in str(frame)]
    assert [update["content"]["text"] for update in told if "content" in update] == ["Hello."]
