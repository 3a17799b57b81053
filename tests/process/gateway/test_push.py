"""Subscriptions of browsers to notifications, over the gateway's API."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from lastword.gateway.viewing.reader import Role
from tests.kit.gateway.api import ApiClient
from tests.kit.push_service import PushBrowser, PushService

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.kit.gateway.api import ApiAnswer
    from tests.kit.gateway.serving import Gateway

    Serve = Callable[..., Gateway]


@pytest.fixture
def service() -> Iterator[PushService]:
    with PushService() as made:
        yield made


def subscribe(client: ApiClient, asked: Any, **headers: str) -> ApiAnswer:
    kind = headers.pop("content_type", "application/json")
    body = asked if isinstance(asked, bytes) else json.dumps(asked).encode()
    return client.ask("/v1/push", method="POST", body=body, content_type=kind, **headers)


def test_a_browser_subscribes_is_listed_and_unsubscribes(
    healthy: Gateway, service: PushService
) -> None:
    client = ApiClient(healthy)
    first = client.json("/v1/push")
    assert (len(first["key"]), first["subscriptions"]) == (87, [])
    made = subscribe(client, PushBrowser(service, "one").request)
    assert made.status == 201
    view = made.json
    expected = {"id": view["id"], "place": service.place, "session_id": "", "expires": 0}
    assert view["subscriptions"] == [expected]
    assert "/push/one" not in made.body.decode()
    assert client.json("/v1/push")["key"] == first["key"]
    ended = client.ask(f"/v1/push/{view['id']}", method="DELETE")
    assert (ended.status, ended.json["subscriptions"]) == (200, [])
    assert client.ask(f"/v1/push/{view['id']}", method="DELETE").status == 404


def test_a_token_subscribes_only_to_its_sessions_and_until_it_expires(
    serve: Serve, service: PushService
) -> None:
    gateway = serve("healthy")
    owner = ApiClient(gateway)
    owners_own = PushBrowser(service, "owner").request
    subscribe(owner, owners_own)
    subscribe(owner, owners_own | {"session_id": "s1"})
    for_one = ApiClient(gateway, gateway.token(session="s1", expires=4_000_000_000))
    browser = PushBrowser(service, "one").request
    port = urlsplit(service.place).port
    for here in ("127.0.0.1", "127.1", "2130706433", "[::ffff:127.0.0.1]", "0", "10.0.0.1"):
        inside = subscribe(for_one, browser | {"endpoint": f"https://{here}:{port}/one"})
        assert (inside.status, inside.json["reason"]) == (400, "bad_request"), here
    assert subscribe(for_one, browser).status == 400
    browser |= {"endpoint": "https://push.example/one"}
    view = subscribe(for_one, browser).json
    (row,) = view["subscriptions"]
    assert (row["session_id"], row["expires"]) == ("s1", 4_000_000_000)
    other = subscribe(for_one, browser | {"session_id": "s2"})
    assert (other.status, other.json["reason"]) == (404, "session_unknown")
    longer = ApiClient(gateway, gateway.token(session="s1", expires=4_000_000_001))
    assert longer.json("/v1/push")["subscriptions"] == []
    *owners, guests = owner.json("/v1/push")["subscriptions"]
    assert [each["session_id"] for each in owners] == ["", "s1"]
    for each in owners:
        assert for_one.ask(f"/v1/push/{each['id']}", method="DELETE").status == 404
    assert longer.ask(f"/v1/push/{guests['id']}", method="DELETE").status == 404
    assert owner.ask(f"/v1/push/{guests['id']}", method="DELETE").status == 200


def test_an_observer_gets_no_notifications(healthy: Gateway, service: PushService) -> None:
    watching = ApiClient(healthy, healthy.token(role=Role.OBSERVER))
    assert watching.refusal("/v1/push") == (403, "forbidden")
    refused = subscribe(watching, PushBrowser(service, "one").request)
    assert (refused.status, refused.json["reason"]) == (403, "forbidden")


def test_an_invalid_subscription_is_refused_with_the_reason(
    healthy: Gateway, service: PushService
) -> None:
    client = ApiClient(healthy)
    good = PushBrowser(service, "one").request
    point = "B" + "A" * 86
    bad: list[Any] = [
        (good | {"endpoint": "http://push.example/1"}, "https"),
        (good | {"endpoint": "https://user@push.example/1"}, "https"),
        (good | {"endpoint": "https:///1"}, "https"),
        (good | {"endpoint": "https://[::1/1"}, "https"),
        (good | {"endpoint": "https://push.example/a b"}, "https"),
        (good | {"keys": good["keys"] | {"p256dh": point}}, "P-256"),
        (good | {"keys": good["keys"] | {"auth": "short"}}, "auth"),
        ({"endpoint": good["endpoint"]}, "keys"),
        (b"{", "push subscription"),
        (b"\xff", "push subscription"),
    ]
    for asked, word in bad:
        refused = subscribe(client, asked)
        assert (refused.status, refused.json["reason"]) == (400, "bad_request"), asked
        assert word in refused.json["error"], refused.json
    assert subscribe(client, good, content_type="text/plain").status == 415
    assert subscribe(client, b"x" * 100_000).status == 413
    assert client.json("/v1/push")["subscriptions"] == []


def test_a_page_of_another_site_cannot_subscribe(healthy: Gateway, service: PushService) -> None:
    client = ApiClient(healthy)
    refused = subscribe(client, PushBrowser(service, "one").request, origin="https://evil.example")
    assert (refused.status, refused.json["reason"]) == (403, "origin")
