"""Notifications: buttons that answer once, links that open one session, browsers that subscribe."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from lastword.gateway.viewing.access import AnswerCode
from lastword.gateway.viewing.reader import Role
from tests.kit.collector import Collector
from tests.kit.gateway.api import ApiAnswer, ApiClient
from tests.kit.gateway.serving import until
from tests.kit.gateway.viewing import ViewerClient, attached, has_ended_well, opened
from tests.kit.push_service import PushBrowser, PushService
from tests.kit.recording import everything_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.kit.gateway.serving import Gateway, Serve

TITLE = "Delete the folder of my elephant"
ASKS = {"turns": [[{"ask_permission": TITLE}, {"say": "Done."}, {"result": "end_turn"}]]}
PUBLIC = "https://gw.example"
QUIET = {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
LIMITED = {"turns": [[{"fail": {"http": 429, "message": "Rate limited"}}]]}


def notifying(serve: Serve, collector: Collector, *options: str, scenario: Any = None) -> Gateway:
    return serve(
        scenario or ASKS,
        *("--notify", f"{collector.url}/x", "--notify-question-after", "0"),
        *("--public-url", PUBLIC, *options),
        variables=QUIET,
    )


def notified(collector: Collector, count: int = 1) -> dict[str, Any]:
    body = json.loads(collector.expect(count)[count - 1].body)
    assert isinstance(body, dict)
    return body


def press(gateway: Gateway, code: str, **headers: str) -> tuple[int, str]:
    body = code.encode()
    answer = ApiClient(gateway, "").ask("/answer", method="POST", body=body, **headers)
    return answer.status, answer.json.get("error", "")


def codes_of(notification: dict[str, Any]) -> dict[str, str]:
    return {each["label"]: each["url"].partition("#")[2] for each in notification["actions"]}


def test_a_button_answers_its_question_once_and_no_other_code_or_site_answers_it(
    serve: Serve,
) -> None:
    with Collector() as collector:
        gateway = notifying(serve, collector)
        with opened(gateway) as (viewer, session):
            prompt = viewer.prompt(session)
            asks = notified(collector)
            assert (asks["event"], asks["session"]) == ("ask", session)
            assert asks["sentence"] == "The agent asks for permission."
            codes = codes_of(asks)
            assert [*codes][:2] == ["Allow once", "Reject"]
            for action in asks["actions"]:
                assert action["url"].startswith(f"{PUBLIC}/answer#")
            code = codes["Allow once"]
            keeper = gateway.keeper()
            own = keeper.read_answer_code(code, time.time())

            members = {name: getattr(own, name) for name in AnswerCode.__struct_fields__}
            for more in ({"expires": 1}, {"run": "another"}, {"question": own.question + 1}):
                changed = keeper.answer_code(AnswerCode(**(members | more)))
                assert press(gateway, changed)[0] == 410, more
            assert press(gateway, code[:-1] + ("A" if code[-1] != "A" else "B"))[0] == 401
            assert press(gateway, "x" * 5000)[0] == 413
            assert press(gateway, code, Origin="https://elsewhere.example")[0] == 403
            other_site = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "no-cors"}
            assert press(gateway, code, **other_site)[0] == 403
            assert press(gateway, code, Host="elsewhere.example")[0] == 403
            nobody = ApiClient(gateway, "")
            assert nobody.ask("/answer", method="PUT", body=code.encode()).status == 405
            page = nobody.ask("/answer?code=" + code)
            assert (page.status, code.encode() in page.body) == (200, False)
            assert "default-src 'self'" in page.headers["content-security-policy"]
            assert page.headers["referrer-policy"] == "no-referrer"
            assert nobody.ask("/page/answer.js").status == 200
            with ThreadPoolExecutor(8) as pool:  # nothing before it answered
                presses = [code, codes["Reject"]] * 4
                outcomes = sorted(pool.map(lambda code: press(gateway, code)[0], presses))
            assert outcomes == [200] + [409] * 7
            assert has_ended_well(viewer.answer(prompt))
            assert press(gateway, code) == (
                409,
                "This question has already been answered or withdrawn.",
            )
        assert code not in everything_in(gateway.state / "gateway")
        assert code not in gateway.stderr()
        assert "elephant" not in json.dumps(asks)


@pytest.mark.processes
def test_a_reload_loses_no_question_that_is_not_notified_yet_and_no_agents_name(
    serve: Serve,
) -> None:
    with Collector() as collector:
        options = ("--notify-question-after", "3600", "--notify-events", "ask,ended")
        gateway = notifying(serve, collector, *options)
        with opened(gateway) as (viewer, session):
            viewer.prompt(session)
            viewer.find(lambda frame: frame.get("method") == "session/request_permission")
            gateway.reload()
            asks = notified(collector)
            assert (asks["event"], asks["session"]) == ("ask", session)
            assert press(gateway, codes_of(asks)["Allow once"])[0] == 200
            ended = notified(collector, 2)
            assert (ended["event"], ended["agent"]) == ("ended", asks["agent"])


@pytest.mark.processes
def test_a_button_does_not_work_after_the_death_of_the_gateway(serve: Serve) -> None:
    with Collector() as collector:
        gateway = notifying(serve, collector)
        with opened(gateway) as (viewer, session):
            viewer.prompt(session)
            code = codes_of(notified(collector))["Allow once"]
        gateway.crash()
        assert press(gateway, code) == (
            410,
            "The agent no longer waits for this answer. Open the session.",
        )
        with attached(gateway, session) as viewer:
            assert press(gateway, code)[0] == 410
            # The first comes again if the gateway died before it noted that it was delivered.
            sent = [notified(collector)]
            while sent[-1]["event"] == "ask":
                sent.append(notified(collector, len(sent) + 1))
            assert (sent[-1]["event"], sent[-1]["session"]) == ("failed", session)


def test_a_link_opens_one_session_once_as_an_observer(serve: Serve) -> None:
    with Collector() as collector:
        gateway = notifying(serve, collector, scenario=LIMITED)
        with ViewerClient(gateway) as viewer, ViewerClient(gateway) as other:
            session, second = viewer.new(gateway.root), other.new(gateway.root)
            viewer.turn(session)
            failed = notified(collector)
    assert failed["actions"] == []
    assert failed["link"].startswith(f"{PUBLIC}/?code=")
    nobody, path = ApiClient(gateway, ""), f"/?{urlsplit(failed['link']).query}"
    followed = nobody.ask(path)
    assert (followed.status, followed.headers["location"]) == (303, "/")
    cookie = followed.headers["set-cookie"].partition(";")[0]
    listed = nobody.ask("/v1/sessions", Cookie=cookie).json
    assert [each["id"] for each in listed["sessions"]] == [session]
    assert listed["role"] == "observer"
    assert nobody.ask(f"/v1/sessions/{second}", Cookie=cookie).status == 404
    assert nobody.ask(path).status == 401


# --- subscriptions of browsers --------------------------------------------------------------------


@pytest.fixture
def service() -> Iterator[PushService]:
    with PushService() as made:
        yield made


def subscribe(client: ApiClient, asked: Any, **headers: str) -> ApiAnswer:
    kind = headers.pop("content_type", "application/json")
    body = asked if isinstance(asked, bytes) else json.dumps(asked).encode()
    return client.ask("/v1/push", method="POST", body=body, content_type=kind, **headers)


def test_a_browser_subscribes_while_the_agent_runs_is_notified_and_unsubscribes(
    serve: Serve, service: PushService
) -> None:
    gateway = serve(LIMITED, variables=QUIET)
    client = ApiClient(gateway)
    first = client.json("/v1/push")
    assert (len(first["key"]), first["subscriptions"]) == (87, [])
    with opened(gateway) as (viewer, session):
        viewer.turn(session)
        browser = PushBrowser(service, "one")
        made = subscribe(client, browser.request)
        assert made.status == 201
        (told,) = made.json["subscriptions"]
        number = told.pop("id")
        assert told == {"place": service.place, "session_id": "", "expires": 0}
        assert "/push/one" not in made.body.decode()
        assert client.json("/v1/push")["key"] == first["key"]
        viewer.turn(session)
        until("a message has come", lambda: service.messages)
    assert service.refusals == []
    assert session in json.dumps(browser.decrypted(service.messages[0].body))
    ended = client.ask(f"/v1/push/{number}", method="DELETE")
    assert (ended.status, ended.json["subscriptions"]) == (200, [])
    assert client.ask(f"/v1/push/{number}", method="DELETE").status == 404


def test_a_token_subscribes_only_to_its_sessions_and_until_it_expires(
    healthy: Gateway, service: PushService
) -> None:
    owner = ApiClient(healthy)
    owners_own = PushBrowser(service, "owner").request
    subscribe(owner, owners_own)
    subscribe(owner, owners_own | {"session_id": "s1"})
    for_one = ApiClient(healthy, healthy.token(session="s1", expires=4_000_000_000))
    browser = PushBrowser(service, "one").request
    assert subscribe(for_one, browser).status == 400  # nobody else's reaches this machine
    browser |= {"endpoint": "https://push.example/one"}
    (row,) = subscribe(for_one, browser).json["subscriptions"]
    assert (row["session_id"], row["expires"]) == ("s1", 4_000_000_000)
    other = subscribe(for_one, browser | {"session_id": "s2"})
    assert (other.status, other.json["reason"]) == (404, "session_unknown")
    longer = ApiClient(healthy, healthy.token(session="s1", expires=4_000_000_001))
    assert longer.json("/v1/push")["subscriptions"] == []
    *owners, guests = owner.json("/v1/push")["subscriptions"]
    assert [each["session_id"] for each in owners] == ["", "s1"]
    for each in owners:
        assert for_one.ask(f"/v1/push/{each['id']}", method="DELETE").status == 404
    assert longer.ask(f"/v1/push/{guests['id']}", method="DELETE").status == 404
    for each in (*owners, guests):
        assert owner.ask(f"/v1/push/{each['id']}", method="DELETE").status == 200


def test_an_invalid_subscription_is_refused_with_the_reason(
    healthy: Gateway, service: PushService
) -> None:
    client = ApiClient(healthy)
    good = PushBrowser(service, "one").request
    bad: list[Any] = [
        (good | {"endpoint": "http://push.example/1"}, "https"),
        (good | {"endpoint": "https://user@push.example/1"}, "https"),
        (good | {"endpoint": "https:///1"}, "https"),
        (good | {"endpoint": "https://[::1/1"}, "https"),
        (good | {"endpoint": "https://push.example/a b"}, "https"),
        (good | {"keys": good["keys"] | {"p256dh": "B" + "A" * 86}}, "P-256"),
        (good | {"keys": good["keys"] | {"auth": "short"}}, "auth"),
        ({"endpoint": good["endpoint"]}, "keys"),
        (b"{", "push subscription"),
    ]
    for asked, word in bad:
        refused = subscribe(client, asked)
        assert (refused.status, refused.json["reason"]) == (400, "bad_request"), asked
        assert word in refused.json["error"], refused.json
    assert subscribe(client, good, content_type="text/plain").status == 415
    assert subscribe(client, b"x" * 100_000).status == 413
    # Nor do observers and pages of other sites subscribe.
    watching = ApiClient(healthy, healthy.token(role=Role.OBSERVER))
    assert watching.refusal("/v1/push") == (403, "forbidden")
    refused = subscribe(watching, good)
    assert (refused.status, refused.json["reason"]) == (403, "forbidden")
    refused = subscribe(client, good, origin="https://evil.example")
    assert (refused.status, refused.json["reason"]) == (403, "origin")
    assert client.json("/v1/push")["subscriptions"] == []
