"""Records of the `air` convention that no agent should send, to clients that read them or not."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.process.attacks.conftest import GRACE
from tests.process.attacks.watched import END_TURN, KEY, in_turn, leave

if TYPE_CHECKING:
    from tests.process.attacks.client import AttackClient
    from tests.process.attacks.conftest import Attack

AIR = {"_meta": {"jetbrains": {"air": {"version": 1, "capabilities": ["sessionFailure"]}}}}
NOTICES = {"session": {"notices": {}}}
OWN_FRAME_BYTES = 60 * 1024

RECORD: dict[str, Any] = {
    "id": "f1",
    "revision": 1,
    "category": "limit",
    "severity": "error",
    "title": "You are out of credits.",
    "actions": [],
}
WARNING = {**RECORD, "severity": "warning", "title": "Retrying (attempt 2 of 5)"}


def meta(record: Any) -> dict[str, Any]:
    return {"jetbrains": {"air": {"version": 1, "sessionFailure": record}}}


def tells(record: Any) -> list[Any]:
    """An update with a record."""
    return ["update", "session_info_update", {"_meta": meta(record)}]


def ends(record: Any) -> list[Any]:
    """An end with a record."""
    return ["answer", {"stopReason": "end_turn", "_meta": meta(record)}]


def run(attack: Attack, *turns: list[Any]) -> AttackClient:
    return attack.run({"session/prompt": list(turns)}, options=(GRACE,))


def records(client: AttackClient) -> list[Any]:
    """Every record that the client was told of, in order."""
    found = []
    for frame in client.frames:
        carrier = frame.get("result") or frame.get("params", {}).get("update") or {}
        air = ((carrier.get("_meta") or {}).get("jetbrains") or {}).get("air") or {}
        if "sessionFailure" in air:
            found.append(air["sessionFailure"])
    return found


ODD_RECORDS: dict[str, Any] = {
    "null": None,
    "a list": [RECORD],
    "a text": "out of credits",
    "nothing": {},
    "an unknown category": {**RECORD, "category": "weather"},
    "a category that is a list": {**RECORD, "category": ["limit"]},
    "an unknown severity": {**RECORD, "severity": "catastrophe"},
    "a severity that is a number": {**RECORD, "severity": 3},
    "a title that is an object": {**RECORD, "title": {"en": "Out"}},
    "no title": {k: v for k, v in RECORD.items() if k != "title"},
    "an id that is a number": {**RECORD, "id": 1},
    "a revision that goes back": {**RECORD, "revision": -5},
    "a revision of 400 digits": {**RECORD, "revision": 10**400},
    "a revision that is a text": {**RECORD, "revision": "2"},
    "actions that are a text": {**RECORD, "actions": "retry"},
    "actions of every kind": {**RECORD, "actions": [None, {}, [], "format_disk", "retry"]},
    "a reason that is an object": {**RECORD, "reason": {"a": "b"}},
    "details that are a list": {**RECORD, "details": [1, 2]},
}


READERS = ["air", "notices"]


@pytest.mark.parametrize(("reads", "what"), in_turn(READERS, ODD_RECORDS))
def test_a_record_of_any_shape_passes_to_who_reads_them_and_ends_for_all_others(
    watched: Attack, reads: str, what: str
) -> None:
    odd = ODD_RECORDS[what]
    turns = [[tells(odd), ["say", "Here."], ends(odd)], [["say", "Fine."], ["answer", END_TURN]]]
    with run(watched, *turns) as client:
        client.open(capabilities=AIR if reads == "air" else NOTICES)
        answer = client.turn()
        assert ("result" in answer) != ("error" in answer), client.story(what)
        if reads == "air":
            assert records(client) == [odd, odd], client.story(what)
        assert client.turn().get("result") == END_TURN
        leave(client)


def test_the_end_of_a_turn_takes_the_place_of_a_warning_that_the_agent_left_open(
    watched: Attack,
) -> None:
    with run(watched, [tells(WARNING), ["say", "Here."], ["kill"]]) as client:
        client.open(capabilities=AIR)
        answer = client.turn()
        own, ours = records(client)
        assert own == WARNING
        assert ours["id"] == own["id"]
        assert (ours["revision"], ours["severity"]) == (2, "error")
        assert answer["result"]["stopReason"] == "end_turn"
        leave(client, None)


def test_ids_of_the_agents_own_that_are_over_are_not_taken_for_ours(watched: Attack) -> None:
    with run(watched, [tells(RECORD), ["say", "Here."], ["kill"]]) as client:
        client.open(capabilities=AIR)
        client.turn()
        own, ours = records(client)
        assert own == RECORD
        assert ours["id"] != own["id"]
        assert (ours["revision"], ours["severity"]) == (1, "error")
        leave(client, None)


def test_two_turns_of_ours_have_two_ids(watched: Attack) -> None:
    with run(
        watched, [["say", "Here."], ["error", {"code": -32603, "message": "429 busy"}]]
    ) as client:
        client.open(capabilities=AIR)
        client.turn()
        client.turn()
        one, two = records(client)
        assert one["id"] != two["id"]
        leave(client)


def test_an_id_that_an_agent_uses_again_is_read_in_each_turn(watched: Attack) -> None:
    with run(watched, [["say", "Here."], ends(RECORD)]) as client:
        client.open()
        for _ in range(3):
            assert client.turn()["error"]["data"]["agent_error"]["type"] == "budget"
        leave(client)


def test_revisions_that_go_back_are_all_told_once(watched: Attack) -> None:
    sent = [{**WARNING, "revision": number} for number in (3, 2, 2, 1)]
    with run(watched, [*map(tells, sent), ["say", "Here."], ["answer", END_TURN]]) as client:
        client.open(capabilities=AIR)
        assert client.turn().get("result") == END_TURN
        assert records(client) == sent
        leave(client)


def test_an_error_of_the_agents_own_that_it_took_back_by_a_good_end_is_the_agents_to_say(
    watched: Attack,
) -> None:
    with run(watched, [tells(RECORD), ["say", "Never mind."], ["answer", END_TURN]]) as client:
        client.open()
        answer = client.turn()
        assert ("result" in answer) != ("error" in answer)
        leave(client)


@pytest.mark.parametrize("member", ["title", "details", "reason", "id"])
def test_a_record_of_a_mebibyte_makes_no_frame_of_ours_that_is_too_long(
    watched: Attack, member: str
) -> None:
    giant = {**RECORD, member: "out of credits " * 70_000}
    with run(watched, [["say", "Here."], ends(giant)]) as client:
        client.open(capabilities=NOTICES)
        answer = client.turn()
        own = [f for f in client.frames if "agent_error" in json.dumps(f)][1:]
        assert all(len(json.dumps(f, ensure_ascii=False).encode()) < OWN_FRAME_BYTES for f in own)
        assert answer["error"]["data"]["agent_error"]["type"] == "budget"
        leave(client)


def test_a_key_in_a_record_reaches_no_client_in_a_frame_of_ours(watched: Attack) -> None:
    told = {
        **RECORD,
        "title": f"401 for {KEY}",
        "details": KEY,
        "reason": KEY,
        "category": "access",
    }
    with run(
        watched, [tells({**told, "severity": "warning"}), ["say", "Here."], ends(told)]
    ) as client:
        client.open(capabilities=NOTICES)
        assert client.turn()["error"]["data"]["agent_error"]["type"] == "auth"
        seen = json.dumps([f for f in client.frames if "sessionFailure" not in json.dumps(f)])
        assert KEY not in seen
        client.stdout.data.clear()  # what the agent itself sent passes as it came
        leave(client)


def test_three_hundred_warnings_end_no_turn(watched: Attack) -> None:
    update = {"sessionUpdate": "session_info_update", "_meta": meta({**WARNING, "revision": "#"})}
    line = json.dumps(
        {
            "jsonrpc": "2.0",
            "method": "session/update",
            "params": {"sessionId": "s1", "update": update},
        }
    )
    with run(
        watched, [["bulk", 300, line + "\n"], ["say", "Here."], ["answer", END_TURN]]
    ) as client:
        client.open(capabilities=NOTICES)
        assert client.turn().get("result") == END_TURN
        leave(client)


ODD_CLIENTS: dict[str, Any] = {
    "a version of 0": {"version": 0, "capabilities": ["sessionFailure"]},
    "a version of true": {"version": True, "capabilities": ["sessionFailure"]},
    "a version of 1.0": {"version": 1.0, "capabilities": ["sessionFailure"]},
    "capabilities that are a text": {"version": 1, "capabilities": "sessionFailure"},
    "capabilities of every kind": {"version": 1, "capabilities": [None, {}, ["sessionFailure"]]},
    "no capabilities": {"version": 1},
    "a list": [],
}


@pytest.mark.parametrize("what", list(ODD_CLIENTS))
def test_a_client_that_asks_for_records_the_wrong_way_gets_an_error(
    watched: Attack, what: str
) -> None:
    capabilities = {"_meta": {"jetbrains": {"air": ODD_CLIENTS[what]}}}
    with run(
        watched, [["say", "Here."], ["error", {"code": -32603, "message": "429 busy"}]]
    ) as client:
        client.open(capabilities=capabilities)
        assert client.turn()["error"]["data"]["agent_error"]["type"] == "rate_limit"
        assert records(client) == []
        leave(client)
