"""Lines that are broken, or share theirs with other output: their turns end at once.

Which line is whose, `tests/unit/protocol` and `tests/unit/link` hold; here the lines are on pipes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.process.attacks.client import payload_of
from tests.process.attacks.watched import END_TURN

if TYPE_CHECKING:
    from tests.process.attacks.conftest import Attack

HEAD = '{"jsonrpc":"2.0","id":$id,'
SAID = (
    '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$session","update":'
    '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Here."}}}}\n'
)
ENDED = HEAD + '"result":{"stopReason":"end_turn"}}\n'

BROKEN_ANSWERS = {
    "trailing comma": HEAD + '"result":{"stopReason":"end_turn",}}\n',
    "raw newline": HEAD + '"result":{"stopReason":"end_turn","_meta":{"text":"one\ntwo"}}}\n',
    "a brace too few": HEAD + '"result":{"stopReason":"end_turn"}\n',
    "nested too deep": HEAD + '"result":{"_meta":' + "[" * 200_000 + "]" * 200_000 + "}}\n",
    "id behind the result": '{"jsonrpc":"2.0","result":{"stopReason":"end_turn",},"id":$id}\n',
}


# FAIL-7: a turn that lost its answer fails at once, and not when the watchdog looks.


def test_a_prompt_whose_answer_is_broken_json_is_answered_at_once(attack: Attack) -> None:
    turns: list[list[Any]] = [[["say", "Here."], ["raw", line]] for line in BROKEN_ANSWERS.values()]
    with attack.run({"session/prompt": turns}) as client:
        client.open(sessions=0)
        for what in BROKEN_ANSWERS:
            prompt = client.prompt("Hello", session=client.new_session())
            # The agent answers this one after what it made of the prompt.
            client.call("session/list")
            (answer,) = client.answers(prompt)
            assert payload_of(answer)["type"] == "protocol_error", client.story(what)


# FRM-8: text without a line end, in front of a frame on the frame's line, and behind it.

IN_FRONT = ["Loading the model... 50%", "\x00\x00\x00", '{"level": "info", ', "x" * 300_000]
BEHIND = ["\x1b[0m", " (done in 3 s)"]
QUOTED = 'DEBUG received: {"jsonrpc":"2.0","id":$id,"method":"session/prompt","params":{}}\n'


def test_frames_that_share_their_lines_with_other_output_are_found(attack: Attack) -> None:
    turns: list[list[Any]] = [
        *([["raw", noise + SAID], ["raw", noise + ENDED]] for noise in IN_FRONT),
        *([["raw", SAID], ["raw", f"Loading... {ENDED.strip()}{noise}\n"]] for noise in BEHIND),
        # A log that quotes every frame changes nothing.
        [["raw", f"{QUOTED}DEBUG sent: {SAID}{SAID}DEBUG sent: {ENDED}{ENDED}"]],
        [["say", "Here."], ["answer", END_TURN]],
        [["raw", SAID], ["raw", "noise" + ENDED.rstrip("\n")], ["exit", 0]],
    ]
    listed = [[["raw", "noise" + HEAD + '"result":{"sessions":[]}}\n']]]
    with attack.run({"session/prompt": turns, "session/list": listed}) as client:
        client.open()
        assert client.call("session/list")["result"] == {"sessions": []}
        for number in range(len(turns) - 2):
            assert client.turn().get("result") == END_TURN, client.story(f"turn {number}")
            assert [update["content"]["text"] for update in client.updates()] == ["Here."]
            client.begin_anew()
        client.expect_answer_to(77)
        client.send_line(
            b'noise {"jsonrpc":"2.0","id":77,"method":"session/prompt",'
            b'"params":{"sessionId":"s1","prompt":[{"type":"text","text":"Hello"}]}}'
        )
        assert client.answer(77)["result"] == END_TURN
        refused = [frame["error"]["code"] for frame in client.frames if frame.get("id", 0) is None]
        assert refused == [-32700]
        assert client.turn().get("result") == END_TURN, client.story("the agent's last words")
    (session,) = attack.recorded()
    shown = attack.command("log", session["session_id"]).stdout
    assert shown.count("not json") >= 2 * len(IN_FRONT)
