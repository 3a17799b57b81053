"""Records of the `air` convention that no agent should send, to clients that read them or not."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.process.attacks.watched import END_TURN, KEY, leave

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
BUSY: list[list[Any]] = [["say", "Here."], ["error", {"code": -32603, "message": "429 busy"}]]


def meta(record: Any) -> dict[str, Any]:
    return {"jetbrains": {"air": {"version": 1, "sessionFailure": record}}}


def tells(record: Any) -> list[Any]:
    """An update with a record."""
    return ["update", "session_info_update", {"_meta": meta(record)}]


def ends(record: Any) -> list[Any]:
    """An end with a record."""
    return ["answer", {"stopReason": "end_turn", "_meta": meta(record)}]


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
    "an id that is a number": {**RECORD, "id": 1},
    "a revision of 400 digits": {**RECORD, "revision": 10**400},
    "a revision that is a text": {**RECORD, "revision": "2"},
    "actions of every kind": {**RECORD, "actions": [None, {}, [], "format_disk", "retry"]},
    "details that are a list": {**RECORD, "details": [1, 2], "reason": {"a": "b"}},
}
ODD = [[tells(odd), ["say", "Here."], ends(odd)] for odd in ODD_RECORDS.values()]
WELL = [["say", "Fine."], ["answer", END_TURN]]


def test_a_client_of_records_gets_the_agents_unchanged_and_ours_under_separate_ids(
    watched: Attack,
) -> None:
    sent = [{**WARNING, "revision": number} for number in (3, 2, 2, 1)]
    turns = [*ODD, [*map(tells, sent), *WELL], BUSY, [tells(WARNING), ["say", "Here."], ["kill"]]]
    with watched.run({"session/prompt": turns}) as client:
        client.open(capabilities=AIR, sessions=0)
        for what, odd in ODD_RECORDS.items():
            client.begin_anew()
            answer = client.turn(session=client.new_session())
            assert ("result" in answer) != ("error" in answer), client.story(what)
            assert records(client) == [odd, odd], client.story(what)
        client.begin_anew()
        session = client.new_session()
        assert client.turn(session=session).get("result") == END_TURN
        assert records(client) == sent
        client.begin_anew()
        client.turn(session=session)
        (of_ours,) = records(client)
        assert of_ours["id"] != RECORD["id"]
        client.begin_anew()
        client.turn(session=client.new_session())
        own, end = records(client)
        assert own == WARNING
        assert (end["id"], end["revision"], end["severity"]) == (own["id"], 2, "error")
        leave(client, None)


def test_odd_records_end_turns_for_other_clients_and_leak_no_key(
    watched: Attack,
) -> None:
    secret = {**RECORD, "title": f"401 for {KEY}", "details": KEY, "reason": KEY}
    secret["category"] = "access"
    giants = [{**RECORD, member: "out of credits " * 70_000} for member in ("title", "details")]
    warning = json.dumps(
        {
            "jsonrpc": "2.0",
            "method": "session/update",
            "params": {
                "sessionId": "$session",
                "update": {"sessionUpdate": "session_info_update", "_meta": meta(WARNING)},
            },
        }
    )
    turns = [
        *ODD,
        [["bulk", 300, warning + "\n"], *WELL],
        *([["say", "Here."], ends(giant)] for giant in giants),
        [tells({**secret, "severity": "warning"}), ["say", "Here."], ends(secret)],
        WELL,
    ]
    with watched.run({"session/prompt": turns}) as client:
        client.open(capabilities=NOTICES, sessions=0)
        for what in ODD_RECORDS:
            answer = client.turn(session=client.new_session())
            assert ("result" in answer) != ("error" in answer), client.story(what)
        session = client.new_session()
        assert client.turn(session=session).get("result") == END_TURN, client.story("warnings")
        for _ in giants:
            client.begin_anew()
            answer = client.turn(session=session)
            assert answer["error"]["data"]["agent_error"]["type"] == "budget"
            own = [f for f in client.frames if "agent_error" in json.dumps(f)]
            own_bytes = [len(json.dumps(f, ensure_ascii=False).encode()) for f in own]
            assert own_bytes
            assert max(own_bytes) < OWN_FRAME_BYTES
        client.begin_anew()
        answer = client.turn(session=session)
        assert answer["error"]["data"]["agent_error"]["type"] == "auth"
        ours = [frame for frame in client.frames if "sessionFailure" not in json.dumps(frame)]
        assert KEY not in json.dumps(ours)
        client.stdout.data.clear()  # what the agent itself sent passes as it came
        assert client.turn(session=session).get("result") == END_TURN
        leave(client)


def test_a_client_that_negotiates_records_wrongly_gets_an_error(watched: Attack) -> None:
    odd = {"version": True, "capabilities": ["sessionFailure"]}
    with watched.run({"session/prompt": [BUSY]}) as client:
        client.open(capabilities={"_meta": {"jetbrains": {"air": odd}}})
        assert client.turn()["error"]["data"]["agent_error"]["type"] == "rate_limit"
        assert records(client) == []
        leave(client)
