"""Agents that break the protocol, read nothing, or leave where they were started.

What each line and each end means, `tests/unit` and the vectors decide; here they are on pipes.
"""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

import pytest

from tests.kit.client import RETRY, is_retry
from tests.kit.gateway.serving import is_running
from tests.process.attacks.client import CANCELLED, END_TURN, KEY, ask, leave, payload_of
from tests.process.attacks.conftest import GRACE

if TYPE_CHECKING:
    from tests.process.attacks.client import AttackClient
    from tests.process.attacks.conftest import Attack, Life

    Steps = list[list[Any]]

MB = 1_000_000
HEALTHY: Life = {"capabilities": {"loadSession": True}}

# FRM-8: text without a line end, in front of a frame on the frame's line, and behind it.

SAID = (
    '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$session","update":'
    '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Here."}}}}\n'
)
ENDED = '{"jsonrpc":"2.0","id":$id,"result":{"stopReason":"end_turn"}}\n'
IN_FRONT = ["Loading the model... 50%", '{"level": "info", ', "x" * 300_000]
QUOTED = 'DEBUG received: {"jsonrpc":"2.0","id":$id,"method":"session/prompt","params":{}}\n'


def test_frames_that_share_their_lines_with_other_output_are_found(attack: Attack) -> None:
    turns: list[Steps] = [
        *([["raw", noise + SAID], ["raw", noise + ENDED]] for noise in IN_FRONT),
        [["raw", SAID], ["raw", f"Loading... {ENDED.strip()}\x1b[0m (done in 3 s)\n"]],
        # A log that quotes every frame changes nothing.
        [["raw", f"{QUOTED}DEBUG sent: {SAID}{SAID}DEBUG sent: {ENDED}{ENDED}"]],
        [["say", "Here."], ["answer", END_TURN]],
        [["raw", SAID], ["raw", "noise" + ENDED.rstrip("\n")], ["exit", 0]],
    ]
    with attack.run({"session/prompt": turns}) as client:
        client.open()
        for number in range(len(turns) - 2):
            assert client.turn().get("result") == END_TURN, client.story(f"turn {number}")
            assert [update["content"]["text"] for update in client.updates()] == ["Here."]
            client.begin_anew()
        client.send_line(
            b'noise {"jsonrpc":"2.0","id":77,"method":"session/prompt",'
            b'"params":{"sessionId":"s1","prompt":[{"type":"text","text":"Hello"}]}}'
        )
        assert client.answer(77)["result"] == END_TURN
        refused = [frame["error"]["code"] for frame in client.frames if frame.get("id", 0) is None]
        assert refused == [-32700]
        assert client.turn().get("result") == END_TURN, client.story("the agent's last words")


# Failures that an agent puts where JetBrains' clients look for them.

AIR = {"_meta": {"jetbrains": {"air": {"version": 1, "capabilities": ["sessionFailure"]}}}}
RECORD: dict[str, Any] = {
    "id": "f1",
    "revision": 1,
    "category": "access",
    "severity": "error",
    "title": f"401 for {KEY}",
    "actions": [],
}
ODD_RECORDS: list[Any] = [
    *(None, [RECORD], "out of credits", {}),
    {**RECORD, "category": ["limit"]},
    {**RECORD, "severity": 3},
    {**RECORD, "title": {"en": "Out"}},
    {**RECORD, "id": 1, "revision": 10**400},
    {**RECORD, "actions": [None, {}, "retry"], "details": [1, 2], "reason": {"a": "b"}},
]


def meta(record: Any) -> dict[str, Any]:
    return {"jetbrains": {"air": {"version": 1, "sessionFailure": record}}}


@pytest.mark.parametrize("capabilities", [AIR, {}], ids=["a client of records", "another"])
def test_odd_records_of_failures_pass_and_end_turns_and_leak_no_key(
    watched: Attack, capabilities: dict[str, Any]
) -> None:
    giant = {**RECORD, "title": "out of credits " * 70_000, "category": "limit"}
    turns: list[Steps] = [
        [
            ["update", "session_info_update", {"_meta": meta(record)}],
            ["say", "Here."],
            ["answer", {"stopReason": "end_turn", "_meta": meta(record)}],
        ]
        for record in (*ODD_RECORDS, giant, RECORD)
    ]
    with watched.run({"session/prompt": turns}) as client:
        client.open(capabilities=capabilities, sessions=0)
        for number in range(len(turns)):
            client.begin_anew()
            answer = client.turn(session=client.new_session())
            assert ("result" in answer) != ("error" in answer), client.story(str(number))
            # Ours are short, whatever the agent's are.
            own = [line for line in client.frames if "agent_error" in str(line)]
            assert all(len(str(frame)) < 60 * 1024 for frame in own)
        if not capabilities:
            assert payload_of(answer)["type"] == "auth"
            own = [frame for frame in client.frames if "sessionFailure" not in str(frame)]
            assert KEY not in str(own)
        client.stdout.data.clear()  # what the agent itself sent passes as it came
        leave(client, None)


# G1, G6, CAN-4: a cancel is heard while a prompt is unanswered, however little the agent reads; how
# much is read of a client behind a pipe that is full has a bound.

DEAF: Life = {**HEALTHY, "session/new": [[["serve"], ["hang"]]]}
"""It stops reading once it has opened a session."""


def test_a_cancel_works_behind_a_pipe_that_the_agent_does_not_read(attack: Attack) -> None:
    # The watchdog ends what nobody heard the cancel of: as a failure.
    with attack.run(DEAF, HEALTHY, options=("--first-update-timeout=50", GRACE)) as client:
        client.open()
        prompt = client.prompt("x" * 2 * MB)
        client.until_taken()
        client.cancel()
        assert client.answer(prompt).get("result") == CANCELLED
        # The next prompt is answered by a new agent.
        assert client.turn("Hello.").get("result") == END_TURN


def test_a_client_that_floods_an_agent_which_does_not_read_is_paused(attack: Attack) -> None:
    with attack.run(DEAF, options=("--first-update-timeout=3", GRACE)) as client:
        client.open()
        prompt = client.prompt("x" * 2 * MB)
        before = client.memory
        for number in range(100):
            client.notify("_test/more", number=number, x="x" * MB)
        assert payload_of(client.answer(prompt))["type"] == "agent_stalled"
        assert client.memory - before < 48 * MB
        assert len(client.peer.unsent) > 60 * MB


# RTY-14: what changes something through the client was begun, and comes of a call that went well.

LOGGED = "openai.RateLimitError: Error code: 429 - Too Many Requests\n"


def test_a_turn_that_wrote_a_file_is_not_sent_again_after_a_failed_call(attack: Attack) -> None:
    def writes(session: str, *ends: list[Any]) -> Steps:
        params = {"sessionId": session, "path": "/tmp/x", "content": "x"}
        asks = ["send", {"id": "w1", "method": "fs/write_text_file", "params": params}]
        return [asks, ["hear", "answer"], *ends]

    limited = {"code": -32603, "message": "429 Too Many Requests"}
    turns = [
        [["stderr", LOGGED], ["hear", "_test/ping"], *writes("$session", ["answer", END_TURN])],
        writes("of a sub-agent", ["error", limited]),
    ]
    with attack.run({"session/prompt": turns}, options=("--retry=2",)) as client:
        client.open(capabilities=RETRY, sessions=0)
        for number in range(len(turns)):
            client.begin_anew()
            prompt = client.prompt("Hello", session=client.new_session())
            if number == 0:
                client.expect(is_retry)
                client.notify("_test/ping")
            asked = client.expect_method("fs/write_text_file")
            client.send(id=asked["id"], result={})
            answer = client.answer(prompt)
            if number == 0:
                assert answer.get("result") == END_TURN
        payload = payload_of(answer)
        assert (payload["retry_safety"], payload["phase"]) == ("ask", "after_tool")
        assert attack.noted("method").count("session/prompt") == len(turns)


# A client that leaves with a request open is told why it has no answer: nobody was to blame.

LEAVES: Life = {"session/new": [[]]}
ENDS: dict[str, tuple[Life, int | None, dict[str, Any], str]] = {
    "the client leaves an agent that is told to go": (
        {**LEAVES, "end": [["hang"]]},
        None,
        {"reason": "client_left", "origin": "client", "retryable": False},
        "The client closed its side before the agent had answered",
    ),
    "lastword is told to stop": (
        {**LEAVES, "end": [["hang"]], "start": [["ignore", "SIGTERM"]]},
        signal.SIGTERM,
        {"reason": "told_to_stop"},
        "The agent was stopped, as lastword was told to stop.",
    ),
    "the agent crashes as its client leaves": (
        {**LEAVES, "end": [["exit", 3]]},
        None,
        {"reason": "exit_status", "exit_code": 3},
        "",
    ),
}


@pytest.mark.parametrize(("agent", "number", "members", "words"), ENDS.values(), ids=ENDS)
def test_a_request_that_is_open_at_the_end_is_answered_with_the_reason(
    attack: Attack, agent: Life, number: int | None, members: dict[str, Any], words: str
) -> None:
    with attack.run(agent) as client:
        client.open(sessions=0)
        request = client.request("session/new", cwd="/", mcpServers=[])
        client.until_taken()
        if number is None:
            client.close_stdin()
        else:
            client.signal(number)
        payload = payload_of(client.answer(request))
    assert members.items() <= payload.items()
    assert payload["message"].startswith(words)
    assert "outside" not in payload["message"]


@pytest.mark.parametrize("number", [None, signal.SIGTERM, signal.SIGKILL])
def test_an_agent_that_left_its_group_ends_however_lastword_ends(
    attack: Attack, number: int | None
) -> None:
    ignores = [["ignore", "SIGTERM"]] if number == signal.SIGTERM else []
    with attack.run({"start": [["leave_group"], *ignores], "end": [["hang"]]}) as client:
        client.open()
        (agent,) = attack.noted("pid")
        if number is None:
            client.close_stdin()
        else:
            client.signal(number)
        client.wait()
        if number == signal.SIGKILL:  # then another process sees to it
            client.read_until_true(lambda: not is_running(agent), "the end of the agent")
        assert not is_running(agent)


# Version 2, its states in no order: every prompt is answered, and every turn ends once.

GREETS = [[["answer", {"protocolVersion": 2, "capabilities": {}, "info": {"name": "two"}}]]]


def state(word: Any, /, session: Any = "$session", **members: Any) -> list[Any]:
    update = {"sessionUpdate": "state_update", "state": word, **members}
    params = {"sessionId": session, "update": update}
    return ["send", {"method": "session/update", "params": params}]


RUNNING, IDLE = state("running"), state("idle", stopReason="end_turn")
TAKEN: list[Any] = ["answer", {}]
SAYS: list[Any] = ["say", "Here."]
ENDS_WELL: Steps = [TAKEN, RUNNING, SAYS, IDLE]
OUT_OF_ORDER: dict[str, Steps] = {
    "idle before it is taken": [RUNNING, SAYS, IDLE, TAKEN],
    "running after idle, then idle": [*ENDS_WELL, RUNNING, IDLE],
    "never running": [TAKEN, SAYS, IDLE],
    "taken, then refused": [TAKEN, ["error", {"code": -32603, "message": "No."}], *ENDS_WELL[1:]],
    "of a session that is a number": [state("idle", session=1), *ENDS_WELL],
    "a state that is a list": [TAKEN, RUNNING, state(["idle"]), SAYS, IDLE],
    "requires_action twice": [TAKEN, RUNNING, *[state("requires_action")] * 2, SAYS, IDLE],
}
ODD_ERRORS: dict[str, dict[str, Any]] = {
    "without its object": {},
    "a text": {"error": "429 Too Many Requests"},
}


def opened(client: AttackClient) -> None:
    params = {"protocolVersion": 2, "info": {"name": "c", "version": "1"}, "capabilities": {}}
    assert client.answer(ask(client, "initialize", params))["result"]["protocolVersion"] == 2


def idles(client: AttackClient, session: str) -> list[dict[str, Any]]:
    """The ends of work that the client was told of."""
    told = [f["params"] for f in client.frames if f.get("method") == "session/update"]
    updates = [each["update"] for each in told if each["sessionId"] == session]
    return [update for update in updates if update.get("state") == "idle"]


def until_idle(client: AttackClient, session: str, times: int = 1) -> dict[str, Any]:
    client.read_until_true(lambda: len(idles(client, session)) >= times, f"idle number {times}")
    return idles(client, session)[times - 1]


def test_states_in_any_order_and_odd_errors_end_only_their_turn(watched: Attack) -> None:
    errors = [[*ENDS_WELL[:3], state("idle", stopReason="error", **e)] for e in ODD_ERRORS.values()]
    turns = [turn for odd in [*OUT_OF_ORDER.values(), *errors] for turn in (odd, ENDS_WELL)]
    with watched.run({"initialize": GREETS, "session/prompt": turns}, options=(GRACE,)) as client:
        opened(client)
        for what in [*OUT_OF_ORDER, *ODD_ERRORS]:
            client.begin_anew()
            session = client.new_session()
            assert "result" in client.answer(client.prompt("Hello", session=session)), what
            end = until_idle(client, session)
            # What comes after the end is there before the next turn begins.
            client.answer(ask(client, "_ping", {}))
            if what in ODD_ERRORS:
                assert end["stopReason"] == "error", client.story(what)
                assert end["error"]["data"]["agent_error"]["type"], client.story(what)
            else:
                assert end["stopReason"] == "end_turn", client.story(what)
            before = len(idles(client, session))
            assert "result" in client.answer(client.prompt("Again", session=session)), what
            end = until_idle(client, session, before + 1)
            assert end["stopReason"] == "end_turn", client.story(what)
        leave(client)


def test_an_agents_death_ends_its_turn_with_one_idle_state(watched: Attack) -> None:
    dies = {"initialize": GREETS, "session/prompt": [[TAKEN, RUNNING, ["raw", '{"js'], ["kill"]]]}
    with watched.run(dies, {"initialize": GREETS}, options=(GRACE,)) as client:
        opened(client)
        session = client.new_session()
        assert "result" in client.answer(client.prompt("Hello", session=session))
        end = until_idle(client, session)
        assert end["error"]["data"]["agent_error"]["type"] == "agent_crash"
        assert end["background"] == []
        # The next agent is there by now, and nothing of the last one is to come.
        client.new_session()
        assert len(idles(client, session)) == 1, client.story("ended twice")
        leave(client, None)
