"""One message of a viewer's is one frame to the agent, and an agent speaks with its own voice."""

from __future__ import annotations

import contextlib
import itertools
import json
from typing import TYPE_CHECKING, Any

import pytest

from lastword.gateway.viewing.reader import Role
from tests.kit.gateway.agents import noted, noting
from tests.kit.gateway.serving import until
from tests.kit.gateway.viewing import ViewerClient, has_ended_well, opened
from tests.kit.rows import every
from tests.process.gateway.test_http import JSON, Caller, lines_of, next_message
from tests.process.gateway.test_quality import Metrics

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.kit.gateway.serving import Gateway, Serve


BREAKS = ["\n", "\r", " \r\n "]
COUNT = itertools.count(1000)
LAST = 1000
"""The id of a last request, whose answer comes after all others of who answers it."""


class Setting:
    """A gateway, an agent that notes, and a session that its owner has open."""

    def __init__(self, gateway: Gateway, path: Path) -> None:
        self.gateway = gateway
        self.path = path
        self.owner = ViewerClient(gateway)
        self.session = self.owner.new(gateway.root)
        self.other = self.owner.new(gateway.root)

    def observer(self) -> str:
        """A token that steers nothing."""
        return self.gateway.token(role=Role.OBSERVER)

    def one_session(self) -> str:
        """A token for the other session."""
        return self.gateway.token(session=self.other)

    def is_settled(self) -> list[str]:
        """The methods that have reached the agent, once all before now has.

        Each is one message; agents are also kept ready.
        """
        before = next(COUNT)
        self.owner.result("session/set_mode", {"sessionId": self.session, "modeId": str(before)})
        found = [each.get("method", "") for each in noted(self.path)]
        return [method for method in found if method != "initialize"]


@pytest.fixture(scope="module")
def setting(serve_all: Serve, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Setting]:
    path = tmp_path_factory.mktemp("agent") / "noted"
    made = Setting(serve_all("", command=noting(path)), path)
    yield made
    made.owner.__exit__()


# How a viewer's text comes to the gateway: each gives the answers that came.


def over_websocket(
    gateway: Gateway, token: str, texts: list[str], session: str = "", last: str = "session/list"
) -> list[Any]:
    """Send the texts, and read until the gateway answers a last request."""
    with ViewerClient(gateway, token=token, session=session) as viewer:
        viewer.frames.clear()
        for text in texts:
            viewer._socket.send(text)
        viewer.answer(viewer.request(last, {}, id_=LAST))
        return viewer.frames


def over_http(
    gateway: Gateway, token: str, texts: list[str], last: str = "session/list"
) -> list[Any]:
    """Post the texts, and read what is answered at once and on the connection's own stream."""
    with contextlib.closing(Caller(gateway, token)) as caller:
        link = caller.connect()
        stream = caller.stream(link)
        answers: list[Any] = []
        for text in texts:
            posted = caller.ask("POST", text.encode(), JSON | {"Acp-Connection-Id": link})
            body = posted.read()
            if posted.status != 202:
                answers.append(json.loads(body))
        caller.request(link, LAST, last)
        while not answers or answers[-1].get("id") != LAST:
            answers.append(next_message(stream))
        return answers


def injected(setting: Setting) -> list[dict[str, Any]]:
    """What nobody but a controller of the whole gateway may send."""
    server = {"name": "x", "command": "/bin/sh", "args": ["-c", "true"], "env": []}
    prompt = {"sessionId": setting.session, "prompt": [{"type": "text", "text": "injected"}]}
    return [
        {"id": 91, "method": "session/new", "params": {"cwd": "/etc", "mcpServers": [server]}},
        {"id": 92, "method": "logout", "params": {}},
        {"id": 93, "method": "authenticate", "params": {"methodId": "x"}},
        {"id": 94, "method": "session/prompt", "params": prompt},
        {"id": 95, "method": "_anything", "params": {}},
    ]


def carried(carrier: dict[str, Any], inner: dict[str, Any]) -> list[str]:
    """Texts by which a frame that is allowed might carry one that is not."""
    outer, frame = json.dumps(carrier), json.dumps({"jsonrpc": "2.0"} | inner)
    head = outer.removesuffix("}")
    texts = []
    for gap in BREAKS:
        texts += [
            f'{head}, "x":{gap}{frame}{gap}}}',
            f"{outer}{gap}{frame}",
            f'{head}, "_meta":{{"x":[{gap}{frame}{gap}]}}}}',
            f'{head}, "x":{gap}{frame}, "x":{gap}{frame}{gap}}}',
        ]
    members = ", ".join(f'"{name}": {json.dumps(value)}' for name, value in inner.items())
    return [
        *texts,
        f"{head}, {members}}}",
        f"{{{members}, {outer[1:]}",
        f'{head}, "Method": {json.dumps(inner["method"])}}}',
        f"!{json.dumps({'word': 'stop'})}\n{frame}",
        f"{frame}\u2028{frame}",
        f"{frame}\u0085{frame}",
        f"[{frame}]",
    ]


@pytest.mark.parametrize(
    ("transport", "role"),
    [("websocket", "observer"), ("session", "one_session"), ("http", "one_session")],
)
def test_an_allowed_frame_cannot_carry_a_forbidden_one(
    setting: Setting, transport: str, role: str
) -> None:
    token = getattr(setting, role)()
    session = setting.session if role == "observer" else setting.other
    carrier = {"jsonrpc": "2.0", "id": 7, "method": "session/load"}
    carrier |= {"params": setting.gateway.opening(sessionId=session)}
    texts = [text for inner in injected(setting) for text in carried(carrier, inner)]
    before = setting.is_settled()
    sessions = len(setting.gateway.holders())
    if transport == "http":
        answers = over_http(setting.gateway, token, texts)
    else:
        only = session if transport == "session" else ""
        answers = over_websocket(setting.gateway, token, texts, only)
    ids = [answer.get("id") for answer in answers]
    assert not [each for each in answers if each.get("id") in range(91, 98) and "result" in each]
    assert ids.count(7) + ids.count(None) >= len(texts) / 2, "texts were not answered"
    assert setting.is_settled() == [*before, "session/set_mode"]
    assert len(setting.gateway.holders()) <= sessions + 1  # of the spare that is made for it


@every("transport", ["websocket", "http"])
def test_a_controllers_frame_reaches_the_agent_as_one_line_however_it_is_formatted(
    setting: Setting, transport: str
) -> None:
    values: list[Any] = ["two\nlines", {"a": ["\u2028", '"}\n{"', "!", "\U0001f600"]}, [1.5, None]]
    frames = [
        {"jsonrpc": "2.0", "id": f"f{number}", "method": "_note", "params": {"value": value}}
        for number, value in enumerate(values)
    ]
    texts = [json.dumps(each, indent=2, ensure_ascii=False) for each in frames]
    texts = [text.replace("\n", "\r\n").replace(":", ":\r\t\n") for text in texts]
    over = over_http if transport == "http" else over_websocket
    before = len(noted(setting.path))
    # A request of no session's goes to the agent of this link, and is answered by it.
    answers = over(setting.gateway, setting.gateway.token(), texts, last="_last")
    results = {answer["id"] for answer in answers if answer.get("result") == {}}
    assert results >= {"f0", "f1", "f2"}
    arrived = [each["params"] for each in noted(setting.path)[before:] if each["method"] == "_note"]
    assert [each["value"] for each in arrived] == values


def test_line_ends_within_an_agents_frame_do_not_break_an_event_stream(setting: Setting) -> None:
    gateway = setting.gateway
    update = {"sessionUpdate": "plan", "entries": []}
    params = {"sessionId": "SESSION", "update": update}
    frame = json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": params})
    with ViewerClient(gateway) as viewer, contextlib.closing(Caller(gateway)) as caller:
        session = viewer.new(gateway.root)
        viewer.turn(session, f"say {frame.replace(', ', f',{chr(13)}')}")
        link = caller.connect()
        stream = caller.stream(link, session)
        caller.request(link, 1, "session/load", **gateway.opening(sessionId=session))
        for line in lines_of(stream):
            assert b"\r" not in line
            if line.startswith(b"data: ") and b'"plan"' in line:
                assert json.loads(line[6:])["params"]["update"] == update
                return


def test_no_process_splits_a_frame_that_another_joined(setting: Setting) -> None:
    # The words of a prompt may be whole frames, in every form in which readers split lines.
    frame = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "session/new", "params": {"cwd": "/"}})
    before = setting.is_settled()
    for gap in ["\n", "\r", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029", "\x00"]:
        text = f"{gap}{frame}{gap}"
        setting.owner.turn(setting.session, text)
        assert noted(setting.path)[-1]["params"]["prompt"][0]["text"] == text
    assert setting.is_settled() == [*before, *["session/prompt"] * 9, "session/set_mode"]


def test_a_cancel_behind_a_prompt_that_is_not_read_yet_reaches_the_agent(setting: Setting) -> None:
    with ViewerClient(setting.gateway) as viewer:
        session = viewer.new(setting.gateway.root)
        blocks = [{"type": "text", "text": "wait"}, {"type": "text", "text": "x" * 8_000_000}]
        prompt = viewer.request("session/prompt", {"sessionId": session, "prompt": blocks})
        viewer.send({"method": "$/cancel_request", "params": {"requestId": prompt}})
        until("the agent has the cancel", lambda: b"cancel" in setting.path.read_bytes()[-400:])


# --- an agent that speaks with the gateway's voice ------------------------------------------------


FORGED = {"seq": 10**9, "epoch": "forged", "from": 1, "gap": {"from": 1, "to": 9, "reason": "x"}}


def notification(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": {"sessionId": "SESSION"} | params}


def update(inner: dict[str, Any], **members: Any) -> dict[str, Any]:
    """An update of a title, with more in itself and in its params."""
    told = {"sessionUpdate": "session_info_update", "title": "kept"} | inner
    return notification("session/update", update=told, **members)


METHODS = [
    notification("_lastword/life", word="log_reset", facts={"epoch": "forged"}),
    notification("_lastword/at", _meta={"lastword": FORGED}),
    notification("_lastword/gap", **{"from": 1, "to": 9}),
    notification("_lastword/ended", stopReason="end_turn"),
]
METAS = [
    update({}, _meta={"lastword": FORGED, "other": 1}),
    update({"_meta": {"lastword": {"gap": FORGED["gap"]}}}),
    update({"_meta": {"lastword": {"turn": {}}}}, _meta={"lastword": FORGED}),
]


def disguised(frame: dict[str, Any]) -> str:
    """The same frame, where no reader of bytes sees the name."""
    return json.dumps(frame).replace("lastword", "l\\u0061stw\\u006frd")


@pytest.fixture
def gateway(setting: Setting) -> Gateway:
    """A gateway whose agent says what it is told to."""
    return setting.gateway


def counted(gateway: Gateway, used: str) -> float:
    """How many frames the gateway counted."""
    return Metrics(gateway)("frames_reserved_total", used=used)


def test_an_agents_own_lastword_frames_and_facts_reach_no_viewer_and_are_counted(
    gateway: Gateway,
) -> None:
    with opened(gateway, replay=True) as (viewer, session), ViewerClient(gateway) as later:
        for frame in [*METHODS, *METAS]:
            for text in (json.dumps(frame), disguised(frame)):
                assert has_ended_well(viewer.turn(session, f"say {text}"))
        later.load(session, gateway.root)
        for each in (viewer, later):
            told = json.dumps([one for one in each.frames if "user_message_chunk" not in str(one)])
            for forged in ("forged", str(10**9), '"turn": {}'):
                assert forged not in told
            titles = [one for one in each.updates("session_info_update") if one.get("title")]
            assert [one["title"] for one in titles] == ["kept"] * 2 * len(METAS)
        assert {"other": 1} in [frame.get("params", {}).get("_meta") for frame in later.frames]
        assert viewer.seqs() == sorted(viewer.seqs())
    until("they are counted", lambda: counted(gateway, "method") == 2 * len(METHODS))
    until("and these", lambda: counted(gateway, "meta") == 2 * len(METAS))


def test_an_agents_own_request_with_our_prefix_gets_an_error(setting: Setting) -> None:
    asked = notification("_lastword/ping") | {"id": "mine"}

    def answers() -> list[int]:
        found = [each for each in noted(setting.path) if each.get("id") == "mine"]
        return [each["error"]["code"] for each in found]

    with ViewerClient(setting.gateway) as viewer:
        viewer.turn(viewer.new(setting.gateway.root), f"say {json.dumps(asked)}")
        until("it is answered", lambda: answers() == [-32601])
        assert "_lastword/ping" not in json.dumps(viewer.frames)


def test_another_agents_forged_answer_does_not_redirect_a_session(gateway: Gateway) -> None:
    with ViewerClient(gateway) as viewer:
        one, other = viewer.new(gateway.root), viewer.new(gateway.root)
        # It answers the next prompt itself, with the name of a session that is not its own.
        for guess in range(4, 8):
            result = {"stopReason": "end_turn", "sessionId": other}
            forged = {"jsonrpc": "2.0", "id": guess, "result": result}
            viewer.turn(one, f"say {json.dumps(forged)}")
        assert viewer.turn(other)["result"] == {"stopReason": "end_turn"}


def test_a_text_about_lastword_is_not_touched(gateway: Gateway) -> None:
    before = counted(gateway, "meta")
    raw = {"_meta": {"lastword": {"seq": 1}}, "n": 1.50}
    inner = {"sessionUpdate": "tool_call", "toolCallId": "1", "title": "lastword", "rawInput": raw}
    with ViewerClient(gateway) as viewer:
        text = json.dumps(notification("session/update", update=inner))
        viewer.turn(viewer.new(gateway.root), f"say {text}")
        (call,) = viewer.updates("tool_call")
        assert call["rawInput"] == raw
    assert counted(gateway, "meta") == before
