"""`lastword run --notify`: what arrives at a webhook or an ntfy server, and what never does."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from lastword.notify.http import NotificationOutbox, target_of
from lastword.notify.notification import Notification, NotifiedEvent, settings_of
from tests.kit.canaries import fake
from tests.kit.collector import Collector, answer
from tests.kit.desk import SCRIPTED, Desk
from tests.kit.gateway.serving import until
from tests.kit.patience import FUSE_SECONDS
from tests.kit.recording import lastword

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from tests.kit.collector import Came


QUIET = {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
KEY = "sk-ant-api03-" + fake(93) + "AA"
TITLE = "Delete the folder of my elephant"
SAID = f"429 Too Many Requests for my elephant {KEY}"
AT_ONCE = ("--notify-question-after", "0")
FAILS = {"turns": [[{"fail": {"error": {"code": -32603, "message": SAID}}}]]}
ASKS = {"turns": [[{"ask_permission": TITLE}, {"say": "Done."}, {"result": "end_turn"}]]}


def a_desk(folder: Path, collector: Collector, script: dict[str, Any], *options: str) -> Desk:
    return Desk(folder, script, "--notify", f"{collector.url}/x", *options, **QUIET)


def event_of(came: Came) -> str:
    return str(json.loads(came.body)["event"])


def allow(desk: Desk) -> None:
    asked = desk.expect_method("session/request_permission")
    (first, *_) = asked["params"]["options"]
    chosen = {"outcome": "selected", "optionId": first["optionId"]}
    desk.send(id=asked["id"], result={"outcome": chosen})


def test_a_failure_is_notified_in_our_own_words_without_content(tmp_path: Path) -> None:
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
    assert body["message"] == f"The agent asks for permission. {TITLE}"
    assert came.headers["authorization"] == "Bearer tk_abc"
    assert "actions" not in body


def test_the_error_is_quoted_in_the_template_without_its_secret_and_signed(
    tmp_path: Path,
) -> None:
    (tmp_path / "template").write_text('{"text": "*{title}* {sentence}"}')
    (tmp_path / "secret").write_text("whsec_bXkgc2VjcmV0")
    files = ("--notify-template", str(tmp_path / "template"))
    secret = ("--notify-secret-file", str(tmp_path / "secret"))
    with Collector() as collector:
        desk = a_desk(tmp_path, collector, FAILS, *files, *secret, "--notify-content")
        desk.answer(desk.prompt(), fuse=FUSE_SECONDS)
        (came,) = collector.expect(1)
        desk.leave()
    assert "for my elephant" in json.loads(came.body)["text"]
    assert KEY not in came.body.decode()
    assert came.headers["webhook-signature"].startswith("v1,")


def test_a_question_that_is_answered_while_the_receiver_is_away_is_not_sent(
    tmp_path: Path,
) -> None:
    events = ("--notify-events", "ask,ended", *AT_ONCE)
    with Collector(answer(503)) as collector:
        desk = a_desk(tmp_path, collector, ASKS, *events)
        desk.peer.replies = False
        prompt = desk.prompt()
        collector.expect(1)
        allow(desk)
        desk.answer(prompt, fuse=FUSE_SECONDS)
        outbox = NotificationOutbox(str(desk.state))
        until("it is withdrawn", lambda: outbox.status().counts.get("withdrawn"))
        # One is sent after the other: with this one, no try of the question is under way any more.
        until("another is tried", lambda: event_of(collector.came[-1]) == "ended")
        refused = len(collector.came)
        collector.turn_to(answer(200))
        until("another is sent", lambda: outbox.status().counts.get("sent"))
        desk.leave()
        sent = collector.came[refused:]
    assert {event_of(each) for each in sent} == {"ended"}


def test_a_bad_receiver_delays_no_turn_and_no_redirect_is_followed(tmp_path: Path) -> None:
    for ill in ("redirects", "is slow"):
        folder = tmp_path / ill
        folder.mkdir()
        with Collector() as collector, Collector() as inside:
            elsewhere = answer(307, location=f"{inside.url}/inside")
            collector.turn_to(elsewhere if ill == "redirects" else collector.slowly)
            desk = a_desk(folder, collector, FAILS)
            for _ in range(2):
                assert desk.answer(desk.prompt(), fuse=FUSE_SECONDS)["error"]["code"] == -32603
            collector.expect(1)
            assert desk.end() == 0  # its recorder may go on
            assert inside.connections == 0
        assert NotificationOutbox(str(desk.state)).status().waiting >= 1


def test_a_wait_for_a_limit_and_its_end_are_notified(tmp_path: Path) -> None:
    limited = {"fail": {"http": 429, "message": "Rate limited: try again in 1s"}}
    script = {"turns": [[{"say": "One. "}, limited], [{"say": "Two."}, {"result": "end_turn"}]]}
    with Collector() as collector:
        desk = a_desk(tmp_path, collector, script, "--continue-at-reset")
        assert desk.answer(desk.prompt(), fuse=FUSE_SECONDS)["result"]["stopReason"] == "end_turn"
        limit, continued = [json.loads(each.body) for each in collector.expect(2)]
        desk.leave()
    assert (limit["event"], continued["event"]) == ("limit", "continued")
    assert "The turn continues in " in limit["sentence"]


def test_an_unusable_address_is_refused_before_an_agent_is_started(tmp_path: Path) -> None:
    words = ("--notify", "ftp://me:tiger@x.example", "--", "lastword-no-such-agent")
    done = lastword("run", *words, state=tmp_path)
    assert done.returncode == 2
    assert "is not an address that can be used" in done.stderr
    assert "tiger" not in done.stderr


# --- what `lastword outbox` and `lastword doctor` say of notifications


def test_a_test_notification_is_sent_and_its_refusal_is_reported(tmp_path: Path) -> None:
    with Collector() as collector:
        words = ("outbox", "--test", "--notify", f"{collector.url}/t", "--notify-format", "ntfy")
        done = lastword(*words, state=tmp_path)
        assert done.stdout == f"a test notification was accepted by {collector.url}\n"
        assert json.loads(collector.expect(1)[0].body)["topic"] == "t"
        collector.turn_to(answer(403))
        done = lastword(*words, state=tmp_path)
    assert done.returncode == 1
    assert "did not accept the notification: 403 Forbidden" in done.stderr


def test_testing_an_invalid_address_is_refused(tmp_path: Path) -> None:
    done = lastword("outbox", "--test", "--notify", "ntfy://ntfy.example", state=tmp_path)
    assert done.returncode == 2
    assert "takes a server and a topic" in done.stderr


def test_the_outbox_shows_the_notifications_that_wait(tmp_path: Path) -> None:
    target = target_of(settings_of({"notify": "https://hook.example/secret-path"})).target
    box = NotificationOutbox(str(tmp_path))
    made = [
        Notification(notification_id=f"n{number}", at_epoch_ms=2**42, event=NotifiedEvent.ASK)
        for number in range(3)
    ]
    box.add(made, target)
    box.withdraw("n0")
    shown = lastword("outbox", state=tmp_path).stdout
    assert "notifications: 2 waiting, 0 refused, 0 sent, 1 withdrawn" in shown
    assert "to https://hook.example: 2 notifications" in shown
    assert "secret-path" not in shown
    document = json.loads(lastword("outbox", "--json", state=tmp_path).stdout)
    assert document["notifications"]["waiting"] == 2


def test_doctor_names_the_target_and_not_the_topic(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LASTWORD_NOTIFY", "ntfy://me:tiger@ntfy.example/secret-topic")
    done = lastword("doctor", "--json", "--", *SCRIPTED, "healthy", state=tmp_path)
    sentences = [each["sentence"] for each in json.loads(done.stdout)["findings"]]
    assert (
        "Notifications (ask, failed, limit, continued) go to https://ntfy.example, "
        "in the form of ntfy." in sentences
    )
    assert "secret-topic" not in done.stdout
    assert "tiger" not in done.stdout
