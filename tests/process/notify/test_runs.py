"""`lastword run --notify`: what arrives at a webhook or an ntfy server, and what never does."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from lastword.notify.http import NotificationOutbox
from tests.kit.canaries import fake
from tests.kit.collector import Collector, answer, gone
from tests.kit.command import command
from tests.kit.desk import Desk
from tests.kit.patience import FUSE_SECONDS

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable
    from pathlib import Path

QUIET = {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
KEY = "sk-ant-api03-" + fake(93) + "AA"
TITLE = "Delete the folder of my elephant"
SAID = f"429 Too Many Requests for my elephant {KEY}"
AT_ONCE = ("--notify-question-after", "0")
FAILS = {"turns": [[{"fail": {"error": {"code": -32603, "message": SAID}}}]]}
ASKS = {"turns": [[{"ask_permission": TITLE}, {"say": "Done."}, {"result": "end_turn"}]]}


def a_desk(folder: Path, collector: Collector, script: dict[str, Any], *options: str) -> Desk:
    return Desk(folder, script, "--notify", f"{collector.url}/x", *options, **QUIET)


def allow(desk: Desk) -> None:
    asked = desk.expect_method("session/request_permission")
    (first, *_) = asked["params"]["options"]
    chosen = {"outcome": "selected", "optionId": first["optionId"]}
    desk.send(id=asked["id"], result={"outcome": chosen})


def refusal_of(folder: Path, *options: str) -> str:
    """What `lastword run` says where it refuses to begin, before it has started anything."""
    variables = os.environ | {"LASTWORD_STATE_DIR": str(folder)}
    done = command("run", *options, "--", "lastword-no-such-agent", environment=variables)
    assert done.returncode == 2, done.stderr
    return done.stderr


def test_a_failure_is_notified_in_words_of_our_own_and_without_content(tmp_path: Path) -> None:
    with Collector() as collector:
        desk = a_desk(tmp_path, collector, FAILS)
        failed = desk.answer(desk.prompt(), fuse=FUSE_SECONDS)
        (came,) = collector.expect(1)
        desk.leave()
    body = json.loads(came.body)
    assert (body["event"], body["session"]) == ("failed", desk.session)
    assert body["incident"] == failed["error"]["data"]["agent_error"]["incident_id"]
    assert body["sentence"].startswith("The model provider is limiting requests.")
    assert (body["link"], body["actions"]) == ("", [])
    assert "elephant" not in came.body.decode()
    assert "webhook-signature" not in came.headers


def test_with_content_the_error_is_quoted_without_its_secret(tmp_path: Path) -> None:
    with Collector() as collector:
        desk = a_desk(tmp_path, collector, FAILS, "--notify-content")
        desk.answer(desk.prompt(), fuse=FUSE_SECONDS)
        (came,) = collector.expect(1)
        desk.leave()
    assert "for my elephant" in json.loads(came.body)["sentence"]
    assert KEY not in came.body.decode()


def test_ntfy_gets_a_question_while_it_is_open_and_the_token_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("tk_abc")
    secret = ("--notify-secret-file", str(tmp_path / "token"), "--notify-format", "ntfy")
    with Collector() as collector:
        desk = a_desk(tmp_path, collector, ASKS, *secret, *AT_ONCE, "--notify-content")
        desk.peer.replies = False
        prompt = desk.prompt()
        (came,) = collector.expect(1)
        allow(desk)
        assert desk.answer(prompt, fuse=FUSE_SECONDS)["result"]["stopReason"] == "end_turn"
        desk.leave()
    body = json.loads(came.body)
    assert (came.path, body["topic"], body["priority"]) == ("/", "x", 4)
    assert body["message"] == f"The agent asks for a permission. {TITLE}"
    assert came.headers["authorization"] == "Bearer tk_abc"
    assert "actions" not in body


def test_a_question_that_is_answered_at_once_is_not_notified(tmp_path: Path) -> None:
    events = ("--notify-events", "ask,ended")
    with Collector() as collector:
        desk = a_desk(tmp_path, collector, ASKS, *events)
        assert desk.answer(desk.prompt(), fuse=FUSE_SECONDS)["result"]["stopReason"] == "end_turn"
        desk.leave()
        events_of = [json.loads(came.body)["event"] for came in collector.expect(1)]
    assert events_of == ["ended"]


def test_a_question_that_is_answered_while_the_receiver_is_away_is_not_sent(
    tmp_path: Path,
) -> None:
    events = ("--notify-events", "ask,ended", *AT_ONCE)
    with Collector(answer(503, retry_after="1"), answer(200)) as collector:
        desk = a_desk(tmp_path, collector, ASKS, *events)
        desk.peer.replies = False
        prompt = desk.prompt()
        collector.expect(1)
        allow(desk)
        desk.answer(prompt, fuse=FUSE_SECONDS)
        came = collector.expect(2)
        desk.leave()
    assert [json.loads(each.body)["event"] for each in came] == ["ask", "ended"]
    counts = NotificationOutbox(str(desk.state)).status().counts
    assert (counts["sent"], counts["withdrawn"]) == (1, 1)


def test_a_wait_for_a_limit_and_its_end_are_notified(tmp_path: Path) -> None:
    limited = {"fail": {"http": 429, "message": "Rate limited: try again in 1s"}}
    script = {"turns": [[{"say": "One. "}, limited], [{"say": "Two."}, {"result": "end_turn"}]]}
    with Collector() as collector:
        desk = a_desk(tmp_path, collector, script, "--continue-at-reset")
        assert desk.answer(desk.prompt(), fuse=FUSE_SECONDS)["result"]["stopReason"] == "end_turn"
        limit, continued = [json.loads(each.body) for each in collector.expect(2)]
        desk.leave()
    assert (limit["event"], continued["event"]) == ("limit", "continued")
    assert "The turn goes on in " in limit["sentence"]


def test_a_template_makes_the_body_and_the_secret_signs_it(tmp_path: Path) -> None:
    (tmp_path / "template").write_text('{"text": "*{title}* {sentence}"}')
    (tmp_path / "secret").write_text("whsec_bXkgc2VjcmV0")
    files = ("--notify-template", str(tmp_path / "template"))
    secret = ("--notify-secret-file", str(tmp_path / "secret"))
    with Collector() as collector:
        desk = a_desk(tmp_path, collector, FAILS, *files, *secret)
        desk.answer(desk.prompt(), fuse=FUSE_SECONDS)
        (came,) = collector.expect(1)
        desk.leave()
    assert json.loads(came.body)["text"].endswith(" Try again in a moment.")
    assert came.headers["webhook-signature"].startswith("v1,")


def redirecting(collector: Collector) -> bytes:
    return answer(307, location=f"{collector.url}/inside")


@pytest.mark.parametrize(
    "misbehaves",
    [redirecting, lambda _: answer(500), lambda _: gone, lambda c: c.slowly],
    ids=["redirects", "fails", "closes", "is slow"],
)
def test_no_receiver_delays_a_turn_or_its_end_and_no_redirect_is_followed(
    tmp_path: Path,
    misbehaves: Callable[[Collector], bytes | Callable[[socket.socket], None]],
) -> None:
    with Collector() as collector, Collector() as inside:
        collector.turn_to(misbehaves(inside))
        desk = a_desk(tmp_path, collector, FAILS)
        desk.answer(desk.prompt(), fuse=FUSE_SECONDS)
        assert desk.answer(desk.prompt(), fuse=FUSE_SECONDS)["error"]["code"] == -32603
        collector.expect(1)
        assert desk.leave() == 0
        assert inside.connections == 0
    assert NotificationOutbox(str(desk.state)).status().waiting >= 1


REFUSED = (
    (("--notify", "ftp://hook.example"), "is not an address that can be used"),
    (("--notify", "https://"), "is not an address that can be used"),
    (("--notify", "ntfy://ntfy.example"), "takes a server and a topic"),
    (("--notify", "https://x.example", "--notify-events", "asks"), "has no 'asks'"),
    (("--notify", "https://x.example", "--notify-template", "/none"), "cannot be read"),
    (("--notify", "https://x.example", "--notify-secret-file", "/none"), "cannot be read"),
)


def test_what_cannot_be_used_is_refused_before_an_agent_is_started(tmp_path: Path) -> None:
    for options, sentence in REFUSED:
        assert sentence in refusal_of(tmp_path, *options), options


def test_an_unknown_field_of_a_template_is_named_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "template").write_text("{title}: {what}")
    refused = refusal_of(
        tmp_path,
        *("--notify", "https://me:tiger@x.example"),
        *("--notify-template", str(tmp_path / "template")),
    )
    assert "no field {what} (line 1, column 10)" in refused
    assert "tiger" not in refused
