"""The reconnect policy and its classifier come to what `protocol/reconnect/vectors.json` has."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import Any

from lastword.client import close_codes, reconnect
from lastword.client.reconnect import LossKind, Signal, Why
from tests.kit.places import PROTOCOL
from tests.kit.reconnect_data import FOLDER, action_json, document, event_of, schedules
from tests.kit.rows import every

CONTRACT = (PROTOCOL / "gateway.md").read_text(encoding="utf-8")
DESCRIPTION = (FOLDER / "README.md").read_text(encoding="utf-8")


def steps_of(name: str) -> list[dict[str, Any]]:
    vector = schedules()[name]
    before = steps_of(vector["after"]) if "after" in vector else []
    return [*before, *vector["steps"]]


@every("name", schedules())
def test_a_schedule_gives_the_states_and_actions_of_its_vector(name: str) -> None:
    state = reconnect.initial(0)
    expected = asdict(state)
    for number, told in enumerate(steps_of(name)):
        state, actions = reconnect.step(
            state, event_of(told["event"]), told["at"], told.get("random", 0.5)
        )
        unchanged = {key for key, value in told["state"].items() if expected[key] == value}
        assert not unchanged, f"step {number} lists what did not change"
        expected |= told["state"]
        assert asdict(state) == expected, f"step {number}"
        assert [action_json(action) for action in actions] == told["actions"], f"step {number}"


@every("told", document()["close"])
def test_a_close_code_is_classified_as_in_the_table(told: dict[str, Any]) -> None:
    assert asdict(reconnect.classify_close(told["code"], told["reason"])) == told["loss"]


@every("told", document()["upgrade"])
def test_an_upgrades_status_is_classified_as_in_the_table(told: dict[str, Any]) -> None:
    assert asdict(reconnect.classify_upgrade(told["status"], told["retry_after"])) == told["loss"]


@every("told", document()["failure"])
def test_a_failure_before_an_answer_is_classified_as_in_the_table(told: dict[str, Any]) -> None:
    assert asdict(reconnect.classify_failure(told["text"])) == told["loss"]


def test_the_vectors_keep_their_format() -> None:
    assert set(document()) == {"close", "upgrade", "failure", "schedules"}
    assert len(schedules()) == len(document()["schedules"]), "an id stands twice"
    seen: set[str] = set()
    for vector in document()["schedules"]:
        assert vector.keys() - {"after"} == {"id", "requirements", "note", "steps"}
        assert vector["steps"]
        assert vector.get("after", "connected") in seen | {"connected"}
        seen.add(vector["id"])
        for step in vector["steps"]:
            assert step.keys() - {"random"} == {"at", "event", "state", "actions"}
        moments = [step["at"] for step in steps_of(vector["id"])]
        assert moments == sorted(moments), "the clock goes back"


def test_the_vectors_have_every_event_action_kind_and_end() -> None:
    steps = [step for vector in document()["schedules"] for step in vector["steps"]]
    events = {step["event"]["event"] for step in steps}
    with_members = {"attached", "closed", "refused", "failed", "token_failed"}
    assert events == {signal.value for signal in Signal} | with_members
    actions = [action for step in steps for action in step["actions"]]
    assert {action["action"] for action in actions} == {
        *("connect", "close", "probe", "show", "give_up", "wait")
    }
    losses = [told["loss"] for name in ("close", "upgrade", "failure") for told in document()[name]]
    assert {loss["kind"] for loss in losses} == {kind.value for kind in LossKind}
    told = {loss["why"] for loss in losses} | {action.get("why") for action in actions} | {"closed"}
    assert told - {None} == {why.value for why in Why}


def test_the_contracts_table_of_close_codes_is_the_one_of_the_code() -> None:
    rows = re.findall(r"^\| ([0-9, ]+) \| ([^|]+) \| ([^|]*) ?\|$", CONTRACT, re.MULTILINE)
    assert rows
    listed = {int(code): (kind, read_as) for codes, *(kind, read_as) in rows
              for code in codes.split(", ")}  # fmt: skip
    assert set(close_codes._CODES) <= set(listed)
    words = {
        LossKind.FINAL: "final",
        LossKind.PERMANENT: "permanent",
        LossKind.REFRESH: "a new token, once",
        LossKind.PATIENT: "transient, 20 tries",
        LossKind.NOW: "transient, at once",
        LossKind.CUT: "transient",
        LossKind.TRANSIENT: "transient",
    }
    for code, (kind, read_as) in listed.items():
        loss = reconnect.classify_close(code)
        assert kind.strip() == words[loss.kind], code
        assert loss.why is None or f"`{loss.why}`" in read_as, code


def test_the_description_and_the_tables_have_every_member_event_action_and_code() -> None:
    with_members = ("attached", "closed", "refused", "failed", "token_failed")
    values = (each.value for each in (*Signal, *reconnect.LinkPhase, *LossKind))
    for name in (*asdict(reconnect.initial(0)), *with_members, "connect", "give_up", *values):
        assert f"`{name}`" in DESCRIPTION, name
    codes = {told["code"] for told in document()["close"]}
    assert set(close_codes._CODES) | set(close_codes.SAME_CODE) <= codes
    assert set(close_codes._STATUSES) <= {told["status"] for told in document()["upgrade"]}
