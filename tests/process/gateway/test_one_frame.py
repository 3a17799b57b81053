"""One message of a viewer's is one frame to the agent, over every transport and in every form."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import itertools
import json
import os
import socket
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from websockets.sync.client import connect

from lastword.gateway import wire
from lastword.gateway.viewing.attachment import Role
from tests.kit.gateway.editor import connected
from tests.kit.gateway.serving import until
from tests.kit.gateway.viewing import ViewerClient
from tests.kit.patience import FUSE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.kit.gateway.serving import Gateway

    Serve = Callable[..., Gateway]

BREAKS = ["\n", "\r", "\r\n", "\n\n", " \r \n ", "\t\n"]
STREAM = {"Accept": "text/event-stream"}
COUNT = itertools.count(1000)


def noting(path: Path, *words: str) -> list[str]:
    """The command of the agent that notes what reaches it."""
    return [sys.executable, "-m", "tests.kit.gateway.noting_agent", str(path), *words]


def noted(path: Path) -> list[str]:
    """The lines that reached it, of all its processes."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def methods(path: Path) -> list[str]:
    """The methods of those lines, each of which is one message; agents are also kept ready."""
    found = [json.loads(line).get("method") for line in noted(path)]
    return [method for method in found if method != "initialize"]


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

    def params(self) -> dict[str, Any]:
        """What opens and loads a session of this gateway."""
        return {"cwd": str(self.gateway.root), "mcpServers": []}

    def is_settled(self) -> list[str]:
        """The methods that have reached the agent, once all before now has."""
        before = next(COUNT)
        self.owner.result("session/set_mode", {"sessionId": self.session, "modeId": str(before)})
        return methods(self.path)


@pytest.fixture
def setting(serve: Serve, tmp_path: Path) -> Iterator[Setting]:
    path = tmp_path / "noted"
    made = Setting(serve("", command=noting(path)), path)
    yield made
    made.owner.__exit__()


# How a viewer's text comes to the gateway: each gives the answers that came.


def over_websocket(
    gateway: Gateway, token: str, texts: list[str], session: str = "", last: str = "session/list"
) -> list[Any]:
    """Send the texts after `initialize`, and read until the gateway answers a last request."""
    url = f"ws://127.0.0.1:{gateway.port}/v1/sessions/{session}/ws" if session else gateway.url
    headers = {"Authorization": f"Bearer {token}"}
    with connect(url, additional_headers=headers, open_timeout=FUSE_SECONDS) as viewer:
        for text in [HELLO, *texts, request(last)]:
            viewer.send(text)
        answers: list[Any] = []
        while not answers or answers[-1].get("id") != "last":
            answers.append(json.loads(viewer.recv(FUSE_SECONDS)))
        return answers


def over_http(
    gateway: Gateway, token: str, texts: list[str], last: str = "session/list"
) -> list[Any]:
    """Post the texts, and read what is answered at once and on the connection's own stream."""
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    with contextlib.ExitStack() as stack:

        def ask(method: str, body: str, more: dict[str, str]) -> http.client.HTTPResponse:
            link = http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=FUSE_SECONDS)
            stack.callback(link.close)
            link.request(method, "/acp", body.encode(), headers | more)
            return link.getresponse()

        opened = ask("POST", HELLO, {})
        named = {"Acp-Connection-Id": opened.getheader("Acp-Connection-Id") or ""}
        answers = [json.loads(opened.read())]
        stream = ask("GET", "", named | STREAM)
        for text in [*texts, request(last)]:
            posted = ask("POST", text, named)
            body = posted.read()
            if posted.status != 202:
                answers.append(json.loads(body))
        while answers[-1].get("id") != "last":
            line = stream.readline()
            assert line, "the stream has ended"
            if line.startswith(b"data: "):
                answers.append(json.loads(line[6:]))
        return answers


HELLO = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": "hello",
        "method": "initialize",
        "params": {"protocolVersion": 1, "clientCapabilities": {}},
    }
)


def request(method: str) -> str:
    """A last request, whose answer comes after all others of who answers it."""
    return json.dumps({"jsonrpc": "2.0", "id": "last", "method": method, "params": {}})


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


@pytest.mark.parametrize("transport", ["websocket", "session", "http"])
@pytest.mark.parametrize("role", ["observer", "one_session"])
def test_a_frame_that_is_allowed_carries_none_that_is_not(
    setting: Setting, transport: str, role: str
) -> None:
    token = getattr(setting, role)()
    session = setting.session if role == "observer" else setting.other
    params = {"sessionId": session} | setting.params()
    carrier = {"jsonrpc": "2.0", "id": 7, "method": "session/load", "params": params}
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


TOKENS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**40), 2**40)
    | st.text(max_size=8)
    | st.sampled_from(["\n", "\r\n", "\u2028", "\u0085", '"}\n{"', "!", "\U0001f600"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)
"""Values that a frame may have anywhere."""


@st.composite
def spread(draw: st.DrawFn, value: Any) -> str:
    """A value as JSON text, with blanks and line ends between its tokens."""
    gap = lambda: draw(st.sampled_from(["", " ", *BREAKS]))  # noqa: E731
    if isinstance(value, dict):
        members = [
            f"{gap()}{json.dumps(name)}{gap()}:{gap()}{draw(spread(each))}{gap()}"
            for name, each in value.items()
        ]
        return "{" + ",".join(members) + gap() + "}"
    if isinstance(value, list):
        return "[" + ",".join(f"{gap()}{draw(spread(each))}{gap()}" for each in value) + "]"
    return json.dumps(value, ensure_ascii=draw(st.booleans()))


@pytest.mark.parametrize("transport", ["websocket", "http", "connect"])
def test_a_controllers_frame_reaches_the_agent_as_one_line_however_it_is_spread(
    setting: Setting, transport: str
) -> None:
    @settings(
        max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
    )
    @given(data=st.data(), values=st.lists(TOKENS, min_size=1, max_size=4))
    def play(data: st.DataObject, values: list[Any]) -> None:
        # A request of no session's goes to the agent of this link, and is answered by it.
        frames = [
            {"jsonrpc": "2.0", "id": f"f{number}", "method": "_note", "params": {"value": value}}
            for number, value in enumerate(values)
        ]
        before = len(noted(setting.path))
        texts = [data.draw(spread(frame)).strip() for frame in frames]
        if transport == "connect":
            texts = [text.replace("\n", " ") for text in texts]  # its stdin is lines
        answers = ways[transport](setting.gateway, setting.gateway.token(), texts)
        results = [answer["id"] for answer in answers if answer.get("result") == {}]
        results.remove("last")
        assert sorted(results) == sorted(frame["id"] for frame in frames)
        arrived = [json.loads(line) for line in noted(setting.path)[before:]]
        found = [each["params"]["value"] for each in arrived if each["method"] == "_note"]
        assert found == values

    ways: dict[str, Callable[[Gateway, str, list[str]], list[Any]]] = {
        "websocket": partial(over_websocket, last="_last"),
        "http": partial(over_http, last="_last"),
        "connect": over_connect,
    }
    play()


def over_connect(gateway: Gateway, token: str, texts: list[str]) -> list[Any]:
    """Write the texts to `lastword connect`, as an editor does."""

    async def play() -> list[Any]:
        async with connected(gateway.url, token) as editor:
            assert editor.process.stdin is not None
            for text in [HELLO, *texts, request("_last")]:
                editor.process.stdin.write(text.encode() + b"\n")
            await editor.wait_for(lambda each: [f for f in each.frames if f.get("id") == "last"])
            return editor.frames

    return asyncio.run(play())


def test_pretty_printed_frames_of_a_controller_are_answered(setting: Setting) -> None:
    def pretty(message: dict[str, Any]) -> str:
        return json.dumps({"jsonrpc": "2.0"} | message, indent=2).replace("\n", "\r\n")

    blocks = [{"type": "text", "text": "two\nlines"}]
    loads = {"sessionId": setting.session} | setting.params()
    prompts = {"sessionId": setting.session, "prompt": blocks}
    texts = [
        pretty({"id": 1, "method": "session/load", "params": loads}),
        pretty({"id": 2, "method": "session/prompt", "params": prompts}),
    ]
    headers = {"Authorization": f"Bearer {setting.gateway.token()}"}
    with connect(setting.gateway.url, additional_headers=headers) as viewer:
        for text in [HELLO, *texts]:
            viewer.send(text)
        answers: list[Any] = []
        while not answers or answers[-1].get("id") != 2:
            answers.append(json.loads(viewer.recv(FUSE_SECONDS)))
    assert answers[-1]["result"] == {"stopReason": "end_turn"}
    (line,) = [each for each in noted(setting.path) if '"session/prompt"' in each]
    assert json.loads(line)["params"]["prompt"] == blocks


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"jsonrpc":"2.0","id":1,"method":"session/list","method":"logout"}', '"method" twice'),
        ('{"jsonrpc":"2.0","id":1,"method":"logout","\\u006dethod":"session/list"}', "twice"),
        ('{"id":1,"method":"session/new","params":{"cwd":"CWD","cwd":"/etc"}}', '"cwd" twice'),
        ('{"id":1,"method":"session/new","params":{"cwd":"CWD","Cwd":"/etc"}}', "case"),
        ('{"id":1,"method":"session/new","params":{"cwd":"CWD"},"Params":{"cwd":"/"}}', "case"),
        ('{"id":1,"method":"session/prompt","params":{"sessionId":7}}', "string"),
        ('{"id":1,"method":["session/new"],"params":{}}', "string"),
        ('{"id":1,"method":"a","params":{"_meta":{"x":{"y":1,"y":2}}}}', '"y" twice'),
    ],
)
def test_a_frame_that_can_be_read_in_two_ways_is_refused(
    setting: Setting, text: str, says: str
) -> None:
    before = setting.is_settled()
    text = text.replace("CWD", str(setting.gateway.root))
    for way in (over_websocket, over_http):
        (answer,) = [
            each
            for each in way(setting.gateway, setting.gateway.token(), [text])
            if each.get("id") == 1
        ]
        assert answer["error"]["code"] == -32600
        assert says in answer["error"]["message"]
    assert setting.is_settled() == [*before, "session/set_mode"]


def test_the_holder_itself_refuses_what_its_viewer_may_not_send(setting: Setting) -> None:
    (path, session) = next(
        (holder["socket"], each["sessionId"])
        for holder in setting.gateway.holders()
        for each in holder["sessions"]
        if each["sessionId"] == setting.other
    )
    before = setting.is_settled()
    frames = [
        *injected(setting),
        {"id": 96, "method": "session/fork", "params": {"sessionId": session, "cwd": "/"}},
        {"id": 97, "method": "initialize", "params": {"protocolVersion": 1}},
    ]
    for facts in ({"role": "observer"}, {"role": "controller", "session": setting.other}):
        with socket.socket(socket.AF_UNIX) as front:
            front.settimeout(FUSE_SECONDS)
            front.connect(path)
            hello = {"viewer": f"v{os.urandom(4).hex()}", "initialize": {"protocolVersion": 1}}
            front.sendall(wire.control(wire.HELLO, **hello, **facts) + b"\n")
            # A viewer's link is not one that ends an agent, nor is its viewer another's.
            front.sendall(wire.control(wire.STOP) + b"\n")
            front.sendall(wire.control(wire.HELLO, **hello, role="controller") + b"\n")
            loads = {"sessionId": session} | setting.params()
            last = {"id": 99, "method": "session/load", "params": loads}
            for frame in [*frames, last]:
                front.sendall(json.dumps({"jsonrpc": "2.0"} | frame).encode() + b"\n")
            reader = front.makefile("rb")
            answers: dict[int, Any] = {}
            while 99 not in answers:
                line = reader.readline()
                assert line, "the holder has ended"
                if not line.startswith(wire.CONTROL):
                    answers |= {json.loads(line).get("id"): json.loads(line)}
        assert "result" in answers[99], answers
        assert all("error" in answers[number] for number in range(91, 98)), answers
    assert setting.is_settled() == [*before, "session/set_mode"]


def test_an_agents_line_ends_within_a_frame_break_no_stream_of_events(
    serve: Serve, tmp_path: Path
) -> None:
    path = tmp_path / "noted"
    gateway = serve("", command=noting(path))
    update = {"sessionUpdate": "plan", "entries": []}
    frame = json.dumps(
        {
            "jsonrpc": "2.0",
            "method": "session/update",
            "params": {"sessionId": "SESSION", "update": update},
        }
    ).replace(", ", ",\r")
    headers = {"Authorization": f"Bearer {gateway.token()}", "Content-Type": "application/json"}
    with ViewerClient(gateway) as viewer, contextlib.ExitStack() as stack:
        session = viewer.new(gateway.root)
        viewer.answer(viewer.prompt(session, f"say {frame}"))

        def ask(method: str, body: bytes, more: dict[str, str]) -> http.client.HTTPResponse:
            link = http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=FUSE_SECONDS)
            stack.callback(link.close)
            link.request(method, "/acp", body, headers | more)
            return link.getresponse()

        opened = ask("POST", HELLO.encode(), {})
        named = {"Acp-Connection-Id": opened.getheader("Acp-Connection-Id") or ""}
        loads = {"sessionId": session, "cwd": str(gateway.root), "mcpServers": []}
        load = {"jsonrpc": "2.0", "id": 1, "method": "session/load", "params": loads}
        stream = ask("GET", b"", named | STREAM | {"Acp-Session-Id": session})
        assert ask("POST", json.dumps(load).encode(), named).status == 202
        while True:
            line = stream.readline()
            assert b"\r" not in line
            if line.startswith(b"data: ") and b'"plan"' in line:
                assert json.loads(line[6:])["params"]["update"] == update
                return


def test_no_process_is_left_to_split_what_another_joined(setting: Setting) -> None:
    # The words of a prompt may be whole frames, in every form in which readers split lines.
    frame = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "session/new", "params": {"cwd": "/"}})
    for gap in ["\n", "\r", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029", "\x00"]:
        text = f"{gap}{frame}{gap}"
        setting.owner.answer(setting.owner.prompt(setting.session, text))
        assert json.loads(noted(setting.path)[-1])["params"]["prompt"][0]["text"] == text
    assert setting.is_settled().count("session/new") == 2


@pytest.mark.processes  # its front stops while the viewer is just gone, and fails at that
def test_a_cancel_behind_a_prompt_that_is_not_read_yet_reaches_the_agent(
    serve: Callable[..., Gateway], tmp_path: Path
) -> None:
    path = str(tmp_path / "noted")
    command = [sys.executable, "-m", "tests.kit.gateway.noting_agent", path]
    gateway = serve("", command=command)
    with ViewerClient(gateway) as viewer:
        session = viewer.new(gateway.root)
        blocks = [{"type": "text", "text": "wait"}, {"type": "text", "text": "x" * 8_000_000}]
        prompt = viewer.request("session/prompt", {"sessionId": session, "prompt": blocks})
        viewer.send({"method": "$/cancel_request", "params": {"requestId": prompt}})
        until("the agent has the cancel", lambda: "cancel" in noted_tail(path))


def noted_tail(path: str) -> str:
    """Return the end of what reached the agent."""
    with open(path, "rb") as file:
        return file.read()[-400:].decode(errors="replace")
