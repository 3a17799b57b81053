"""What `lastword outbox` and `lastword doctor` say of notifications."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from lastword.notify.http import NotificationOutbox, target_of
from lastword.notify.notification import Notification, NotifiedEvent, settings_of
from tests.kit.collector import Collector, answer
from tests.kit.desk import SCRIPTED
from tests.kit.recording import lastword

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


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
