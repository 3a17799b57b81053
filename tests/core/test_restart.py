"""An agent that died: what waits, how the next one is greeted, and what its predecessors left."""

from __future__ import annotations

import json
from typing import Any

import pytest
from wire import INITIALIZE, Wire, cancel, chunk, permission, prompt, result, update

from lastword.core.classify import classify_exit
from lastword.core.connection import Side
from lastword.core.effects import Effect, Kill, Restart

KILLED = classify_exit(exit_signal=9)
LOADING = {"agentCapabilities": {"loadSession": True}}
RESUMING = {"agentCapabilities": {"sessionCapabilities": {"resume": {}}}}


class Link(Wire):
    """A link whose agent can die and is started again, as the core asks for it."""

    def __init__(self, capabilities: dict[str, Any] | None = None, **options: Any) -> None:
        super().__init__(restart="on-crash", **options)
        self.capabilities = capabilities if capabilities is not None else LOADING
        self.orders: list[Effect] = []
        self.starts = True
        self.client(INITIALIZE)
        self.answer(0, protocolVersion=1, **self.capabilities)
        self.client(request(1, "session/new", cwd="/w", mcpServers=[]))
        self.answer(1, sessionId="s")
        self.to_client.clear()
        self.to_agent.clear()

    def _carry_out(
        self, effects: list[Effect], side: Side | None = None, line: bytes = b""
    ) -> None:
        super()._carry_out(effects, side, line)
        for effect in effects:
            if isinstance(effect, Kill | Restart):
                self.orders.append(effect)
            if isinstance(effect, Restart) and self.starts:
                self._carry_out(self.core.agent_started(self.now))

    def die(self) -> None:
        """The agent is killed."""
        self._carry_out(self.core.receive_eof(Side.AGENT, KILLED, self.now))

    def answer(self, request_id: Any, **members: Any) -> None:
        """The agent answers."""
        self.agent({"jsonrpc": "2.0", "id": request_id, "result": members})

    def asked(self) -> list[dict[str, Any]]:
        """What the agent has been sent since it was last asked for."""
        frames = [json.loads(frame) for frame in self.to_agent]
        self.to_agent.clear()
        return frames

    def greet(self) -> None:
        """The new agent answers the replayed handshake."""
        (greeting,) = self.asked()
        assert greeting["method"] == "initialize"
        self.answer(greeting["id"], protocolVersion=1, **self.capabilities)

    def come_back(self) -> None:
        """A crash, a prompt, a new agent that loads the session."""
        self.time(self.now + 400)
        self.die()
        self.time(self.now + 5)
        self.client(prompt(2))
        self.greet()
        (bring_back,) = self.asked()
        self.answer(bring_back["id"])


def request(request_id: Any, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


def reasons(link: Link, request_id: Any) -> list[str | None]:
    """The reasons of the typed answers to a request."""
    answers = link.answers(request_id)
    return [answer["error"]["data"]["agent_error"].get("reason") for answer in answers]


def test_nothing_is_started_before_it_is_needed() -> None:
    link = Link()
    link.die()
    link.time(1000)
    assert link.orders == []
    link.client(prompt(2))
    assert link.orders == [Restart()]


def test_a_prompt_after_a_crash_reaches_the_new_agent_with_its_session() -> None:
    link = Link()
    link.die()
    link.time(10)
    link.client(prompt(2))
    link.greet()
    (load,) = link.asked()
    assert load["method"] == "session/load"
    assert load["params"] == {"cwd": "/w", "mcpServers": [], "sessionId": "s"}
    link.answer(load["id"])
    (asked,) = link.asked()
    assert asked == prompt(2)
    link.agent(chunk())
    link.agent(result(2))
    assert link.answers(2) == [result(2)]


def test_a_session_is_resumed_rather_than_loaded_where_the_agent_can() -> None:
    link = Link(RESUMING)
    link.die()
    link.time(10)
    link.client(prompt(2))
    link.greet()
    assert [frame["method"] for frame in link.asked()] == ["session/resume"]


def test_the_past_that_a_loaded_session_tells_is_held_back() -> None:
    link = Link()
    link.die()
    link.time(10)
    link.client(prompt(2))
    link.greet()
    (load,) = link.asked()
    link.to_client.clear()
    link.agent(chunk("old"))
    link.agent(update(sessionUpdate="tool_call", toolCallId="t", status="completed"))
    link.agent(update(sessionUpdate="available_commands_update", availableCommands=[]))
    link.answer(load["id"])
    assert [u["sessionUpdate"] for u in link.updates()] == ["available_commands_update"]
    assert link.drops == ["replay", "replay"]


def test_a_session_that_cannot_come_back_is_said_to_be_lost() -> None:
    link = Link({})
    link.die()
    link.time(10)
    link.client(prompt(2))
    link.greet()
    assert reasons(link, 2) == ["context_lost"]
    (answer,) = link.answers(2)
    assert answer["error"]["message"].endswith("Start a new session.")
    link.client(prompt(3))
    assert reasons(link, 3) == ["context_lost"]
    assert link.asked() == []


def test_a_session_that_the_agent_refuses_to_load_is_lost() -> None:
    link = Link()
    link.die()
    link.time(10)
    link.client(prompt(2))
    link.greet()
    (load,) = link.asked()
    link.agent({"jsonrpc": "2.0", "id": load["id"], "error": {"code": -32002, "message": "no"}})
    assert reasons(link, 2) == ["context_lost"]


def test_a_session_that_does_not_come_back_in_time_is_lost() -> None:
    link = Link()
    link.die()
    link.time(10)
    link.client(prompt(2))
    link.greet()
    link.time(link.now + 301)
    assert reasons(link, 2) == ["context_lost"]


def test_a_lost_session_that_the_client_loads_itself_is_its_own_again() -> None:
    link = Link({})
    link.die()
    link.time(10)
    link.client(prompt(2))
    link.greet()
    link.client(request(3, "session/load", sessionId="s", cwd="/w", mcpServers=[]))
    link.answer(3)
    link.asked()
    link.client(prompt(4))
    assert link.asked() == [prompt(4)]


def test_a_new_session_needs_no_old_one_to_come_back() -> None:
    link = Link({})
    link.die()
    link.time(10)
    new = request(2, "session/new", cwd="/w", mcpServers=[])
    link.client(new)
    link.greet()
    assert link.asked() == [new]


def test_mode_model_and_options_are_set_again_before_the_prompt() -> None:
    link = Link()
    chosen = [
        ("session/set_mode", {"modeId": "plan"}),
        ("session/set_mode", {"modeId": "code"}),
        ("session/set_config_option", {"configId": "a", "value": "1"}),
        ("session/set_config_option", {"configId": "b", "value": "2"}),
    ]
    for number, (method, params) in enumerate(chosen, 10):
        link.client(request(number, method, sessionId="s", **params))
        link.answer(number)
    refused = request(20, "session/set_model", sessionId="s", modelId="none")
    link.client(refused)
    link.agent({"jsonrpc": "2.0", "id": 20, "error": {"code": -32602, "message": "no"}})
    link.asked()
    link.die()
    link.time(10)
    link.client(prompt(2))
    link.greet()
    again = []
    for _ in range(5):
        (frame,) = link.asked()
        again.append((frame["method"], {k: v for k, v in frame["params"].items() if k[0] != "s"}))
        link.answer(frame["id"])
        if frame["method"] == "session/prompt":
            break
    assert [(m, p) for m, p in again[1:-1]] == chosen[1:]
    assert again[-1][0] == "session/prompt"


def test_authenticate_is_never_replayed() -> None:
    link = Link()
    link.client(request(5, "authenticate", methodId="browser"))
    link.answer(5)
    link.asked()
    link.come_back()
    assert all(frame["method"] != "authenticate" for frame in link.asked())


def test_the_handshake_that_is_replayed_is_the_clients_own() -> None:
    link = Link()
    link.die()
    link.time(10)
    link.client(prompt(2))
    (greeting,) = link.asked()
    assert greeting["params"] == INITIALIZE["params"]
    assert greeting["id"].startswith("lastword:1:")
    assert link.to_client == []


def test_what_waits_reaches_the_new_agent_in_order() -> None:
    link = Link()
    link.client(request(5, "session/new", cwd="/w", mcpServers=[]))
    link.answer(5, sessionId="t")
    link.asked()
    link.die()
    link.time(10)
    link.client(request(6, "session/list"))
    link.client(prompt(7, "s"))
    link.client(prompt(8, "t"))
    link.greet()
    assert [frame["method"] for frame in link.asked()] == [
        "session/list",
        "session/load",
        "session/load",
    ]


def test_more_than_the_queue_holds_is_answered_at_once() -> None:
    link = Link()
    link.die()
    for number in range(1001):
        link.client(request(100 + number, "session/list"))
    assert link.answers(100) == []
    assert reasons(link, 1100) == ["queue_full"]


@pytest.mark.parametrize("how", ["session/cancel", "$/cancel_request"])
def test_a_waiting_prompt_that_is_cancelled_never_reaches_the_agent(how: str) -> None:
    link = Link()
    link.die()
    link.client(prompt(2))
    word = cancel() if how == "session/cancel" else request(None, how, requestId=2)
    link.client({key: value for key, value in word.items() if key != "id"})
    assert [answer["result"]["stopReason"] for answer in link.answers(2)] == ["cancelled"]
    link.time(10)
    assert link.asked() == []


def test_a_prompt_whose_session_is_coming_back_can_be_cancelled() -> None:
    link = Link()
    link.die()
    link.time(10)
    link.client(prompt(2))
    link.greet()
    (load,) = link.asked()
    link.client(cancel())
    link.answer(load["id"])
    assert [answer["result"]["stopReason"] for answer in link.answers(2)] == ["cancelled"]
    assert [frame["method"] for frame in link.asked()] == ["session/cancel"]


def test_an_answer_to_the_dead_agents_question_never_reaches_the_new_one() -> None:
    link = Link()
    link.client(prompt(2))
    link.agent(permission(0))
    link.asked()
    link.die()
    link.time(10)
    link.client(prompt(3))
    link.greet()
    link.answer(link.asked()[0]["id"])
    link.asked()
    link.agent(permission(0))
    shown = json.loads(link.to_client[-1])
    allow = {"outcome": {"outcome": "selected", "optionId": "yes"}}
    link.client({"jsonrpc": "2.0", "id": 0, "result": allow})
    assert link.asked() == []
    assert "answer_to_dead_agent" in link.drops
    assert shown["id"].startswith("lastword:1:")
    link.client({"jsonrpc": "2.0", "id": shown["id"], "result": allow})
    assert link.asked() == [{"jsonrpc": "2.0", "id": 0, "result": allow}]


def test_a_new_agent_withdraws_its_question_by_the_id_that_the_client_knows() -> None:
    link = Link()
    link.come_back()
    link.agent(permission(0))
    shown = json.loads(link.to_client[-1])
    link.agent({"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": 0}})
    assert json.loads(link.to_client[-1])["params"] == {"requestId": shown["id"]}


def test_a_question_of_a_quarantined_session_is_refused_under_the_agents_own_id() -> None:
    link = Link()
    link.come_back()
    link.agent(permission(7))
    link.client(cancel())
    link.asked()
    link.time(link.now + 11)
    refused = [frame for frame in link.asked() if "method" not in frame]
    assert refused == [{"jsonrpc": "2.0", "id": 7, "result": {"outcome": {"outcome": "cancelled"}}}]


def test_waits_between_starts_grow_and_end_in_a_crash_loop() -> None:
    link = Link()
    link.starts = False
    link.die()
    link.client(prompt(2))
    starts = []
    for _ in range(2):
        due = link.core.next_timeout()
        assert due is not None
        link.time(due)
        starts.append(link.now)
        assert link.orders.pop() == Restart()
        link.die()
    assert starts == [1.0, 3.0]
    assert reasons(link, 2) == ["crash_loop"]
    link.client(prompt(3))
    assert reasons(link, 3) == ["crash_loop"]
    assert link.orders == []


def test_in_a_crash_loop_one_request_in_thirty_seconds_starts_the_agent() -> None:
    link = Link()
    for _ in range(3):
        link.die()
    link.time(link.now + 31)
    link.client(prompt(2))
    assert link.orders == [Restart()]
    link.greet()
    assert link.answers(2) == []


def test_five_crashes_within_three_minutes_are_a_loop_however_long_each_life_was() -> None:
    link = Link()
    for number in range(5):
        link.time(link.now + 30)
        link.client(prompt(10 + number))
        if number:
            link.greet()
        link.asked()
        link.die()
    link.client(prompt(99))
    assert reasons(link, 99) == ["crash_loop"]


def test_an_agent_that_lived_for_five_minutes_starts_with_a_clean_record() -> None:
    link = Link()
    for number in range(8):
        link.time(link.now + 400)
        link.die()
        link.time(link.now + 2)
        link.client(prompt(10 + number))
        link.greet()
        (bring_back,) = link.asked()
        link.answer(bring_back["id"])
        link.asked()
    assert link.orders == [Restart()] * 8


def test_a_new_agent_that_refuses_the_handshake_fails_what_waits_and_goes() -> None:
    link = Link()
    link.die()
    link.time(10)
    link.client(prompt(2))
    (greeting,) = link.asked()
    error = {"code": -32603, "message": "Invalid API key"}
    link.agent({"jsonrpc": "2.0", "id": greeting["id"], "error": error})
    (answer,) = link.answers(2)
    assert answer["error"]["data"]["agent_error"]["type"] == "auth"
    assert Kill() in link.orders


def test_a_new_agent_that_does_not_answer_the_handshake_fails_what_waits_and_goes() -> None:
    link = Link()
    link.die()
    link.time(10)
    link.client(prompt(2))
    link.time(10 + 121)
    assert reasons(link, 2) == ["request_timeout"]
    assert Kill() in link.orders


def test_a_session_behind_a_turn_that_never_ends_gets_a_new_agent() -> None:
    link = Link()
    link.time(400)
    link.client(prompt(2))
    link.client(cancel())
    link.time(link.now + 11)
    link.client(prompt(3))
    link.asked()
    link.time(link.now + 11)
    assert link.orders == [Kill()]
    link.die()
    assert link.orders == [Kill(), Restart()]
    link.greet()
    (load,) = link.asked()
    link.answer(load["id"])
    assert link.asked() == [prompt(3)]


def test_an_agent_that_serves_another_session_is_not_killed() -> None:
    link = Link()
    link.client(request(5, "session/new", cwd="/w", mcpServers=[]))
    link.answer(5, sessionId="t")
    link.client(prompt(6, "t"))
    link.client(prompt(2))
    link.client(cancel())
    link.time(link.now + 11)
    link.client(prompt(3))
    link.time(link.now + 11)
    assert link.orders == []
    assert reasons(link, 3) == ["busy_with_ended_turn"]


def test_a_crash_says_that_the_agent_is_started_again() -> None:
    link = Link()
    link.client(prompt(2))
    link.die()
    (answer,) = link.answers(2)
    error = answer["error"]["data"]["agent_error"]
    assert error["message"].endswith("The agent is started again with your next prompt.")
    assert error["action"] == "retry"


def test_an_agent_that_could_never_be_started_is_not_tried_again() -> None:
    from lastword.core.classify import classify_spawn_failure  # noqa: PLC0415

    wire = Wire(restart="on-crash")
    verdict = classify_spawn_failure(2, "nope")
    wire._carry_out(wire.core.receive_eof(Side.AGENT, verdict, 0.0))
    wire.client(INITIALIZE)
    assert reasons(wire, 0) == ["spawn_failed"]  # type: ignore[arg-type]


def test_nothing_is_started_for_a_client_that_has_left() -> None:
    link = Link()
    link.die()
    link.client(prompt(2))
    link.eof(Side.CLIENT)
    link.time(10)
    assert link.orders == []


def test_in_version_2_what_a_session_replays_is_held_back() -> None:
    wire = Wire(restart="on-crash")
    wire.client(INITIALIZE | {"params": {"protocolVersion": 2}})
    wire.agent({"jsonrpc": "2.0", "id": 0, "result": {"protocolVersion": 2}})
    wire.client(request(1, "session/new", cwd="/w"))
    wire.agent({"jsonrpc": "2.0", "id": 1, "result": {"sessionId": "s"}})
    wire._carry_out(wire.core.receive_eof(Side.AGENT, KILLED, 400.0))
    wire.time(402)
    wire.client(prompt(2))
    wire._carry_out(wire.core.agent_started(402))
    greeting = json.loads(wire.to_agent[-1])
    wire.agent({"jsonrpc": "2.0", "id": greeting["id"], "result": {"protocolVersion": 2}})
    resume = json.loads(wire.to_agent[-1])
    assert (resume["method"], resume["params"]["sessionId"]) == ("session/resume", "s")
    wire.to_client.clear()
    wire.agent(chunk("old"))
    wire.agent(update(sessionUpdate="agent_message", messageId="m", content=[]))
    wire.agent({"jsonrpc": "2.0", "id": resume["id"], "result": {}})
    assert wire.to_client == []
    assert json.loads(wire.to_agent[-1]) == prompt(2)
