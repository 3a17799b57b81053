"""Notifications to browsers, by way of a push service on loopback."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import msgspec
import pytest

from lastword.notify.notification import (
    Notification,
    NotificationAction,
    NotifiedEvent,
    NotifySettings,
    Urgency,
)
from lastword.notify.web_push import (
    MAX_PLAIN_BYTES,
    PushOutbox,
    PushSubscription,
    Subscriptions,
    id_of,
    message_of,
    start,
)
from tests.kit.gateway.serving import until
from tests.kit.push_service import PushBrowser, PushService

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from lastword.notify.web_push import WebPushSender

NOW_MS = time.time_ns() // 1_000_000
ASK = Notification(
    notification_id="n1",
    at_epoch_ms=NOW_MS,
    event=NotifiedEvent.ASK,
    session="s1",
    title="opencode asks",
    sentence="The agent waits for your answer.",
    link="http://127.0.0.1:1/login#code",
    actions=(NotificationAction("Allow", "http://127.0.0.1:1/answer#code"),),
    urgency=Urgency.HIGH,
)


@pytest.fixture
def service() -> Iterator[PushService]:
    with PushService() as made:
        yield made


def subscribed(
    folder: Path,
    browser: PushBrowser,
    *,
    session: str = "",
    expires: int = 0,
    by_guest: bool = False,
) -> Subscriptions:
    kept = Subscriptions(str(folder))
    asked = browser.request
    kept.put(
        PushSubscription(
            subscription_id=id_of(browser.endpoint, session),
            endpoint=browser.endpoint,
            p256dh=asked["keys"]["p256dh"],
            auth=asked["keys"]["auth"],
            session=session,
            expires=expires,
            by_guest=by_guest,
        ),
        0.0,
    )
    return kept


@pytest.fixture
def sender(tmp_path: Path) -> Iterator[WebPushSender]:
    assert start(NotifySettings(), str(tmp_path)) is None
    made = start(NotifySettings(push_folder=str(tmp_path)), str(tmp_path))
    assert made is not None
    yield made
    made.close()


def test_a_subscribed_browser_can_decrypt_its_message_once_the_service_accepts_it(
    service: PushService, sender: WebPushSender, tmp_path: Path
) -> None:
    browser = PushBrowser(service, "one")
    kept = subscribed(tmp_path, browser)
    service.statuses = [503]
    sender.send(ASK)
    until("it happens", lambda: service.messages or service.refusals)
    sender.close()
    assert service.refusals == []
    (message,) = service.messages
    assert message.path == "/push/one"
    assert message.headers["urgency"] == "high"
    assert service.key_of(message) == kept.public_key()
    assert ASK.sentence.encode() not in message.body
    assert browser.decrypted(message.body) == {
        "title": "opencode asks",
        "body": "The agent waits for your answer.",
        "event": "ask",
        "session": "s1",
        "link": "",
        "actions": [["Allow", "http://127.0.0.1:1/answer#code"]],
        "at_epoch_ms": NOW_MS,
    }


def test_each_browser_gets_the_events_it_asked_for_until_its_login_ends(
    service: PushService, sender: WebPushSender, tmp_path: Path
) -> None:
    subscribed(tmp_path, PushBrowser(service, "all"))
    subscribed(tmp_path, PushBrowser(service, "own"), session="s1")
    subscribed(tmp_path, PushBrowser(service, "other"), session="s2")
    subscribed(tmp_path, PushBrowser(service, "over"), expires=int(time.time()) - 1)
    sender.send(ASK)
    until("it happens", lambda: len(service.messages) >= 2)
    sender.close()
    assert sorted(message.path for message in service.messages) == ["/push/all", "/push/own"]


def test_a_guests_subscription_never_reaches_this_machine_in_any_spelling(
    service: PushService, sender: WebPushSender, tmp_path: Path
) -> None:
    subscribed(tmp_path, PushBrowser(service, "owner"))
    for host in ("127.0.0.1", "127.1", "localhost", "2130706433", "0177.0.0.1", "0"):
        browser = PushBrowser(service, "guest")
        browser.endpoint = browser.endpoint.replace("127.0.0.1", host)
        subscribed(tmp_path, browser, by_guest=True)
    sender.send(ASK)
    outbox = PushOutbox(str(tmp_path))
    inside = ["address in a private network"] * 6
    until("it happens", lambda: [each.reason for each in outbox.status().targets] == inside)
    sender.close()
    assert [message.path for message in service.messages] == ["/push/owner"]
    assert service.refusals == []


def test_a_long_sentence_is_cut_to_the_services_limit() -> None:
    for character in 'xü😀"':
        long = msgspec.structs.replace(ASK, sentence=character * 9000)
        assert len(message_of(long)) <= MAX_PLAIN_BYTES, character


def test_only_the_current_state_of_a_subscription_counts_until_its_service_forgets_it(
    service: PushService, sender: WebPushSender, tmp_path: Path
) -> None:
    browser = PushBrowser(service, "one")
    subscribed(tmp_path, browser, expires=int(time.time()) - 1)
    kept = subscribed(tmp_path, browser, expires=int(time.time()) + 3600)
    sender.send(ASK)
    until("it happens", lambda: service.messages)
    (renewed,) = kept.all()
    service.statuses = tries = [503] * 1000
    sender.send(msgspec.structs.replace(ASK, notification_id="n2"))
    until("it happens", lambda: len(tries) < 1000)
    kept.remove(renewed.subscription_id)
    outbox = PushOutbox(str(tmp_path))
    until("it happens", lambda: outbox.status().waiting == 0)
    # One that the service has forgotten is removed.
    subscribed(tmp_path, PushBrowser(service, "gone"))
    service.statuses = [410]
    sender.send(msgspec.structs.replace(ASK, notification_id="n3"))
    until("it happens", lambda: kept.all() == [])
    sender.close()
    assert len(service.messages) == 1
