"""`lastword gateway --notify`: buttons that answer once, and links that open one session."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from lastword.gateway.viewing.access import AnswerCode
from tests.kit.collector import Collector
from tests.kit.gateway.api import ApiClient
from tests.kit.gateway.serving import until
from tests.kit.gateway.viewing import ViewerClient
from tests.kit.push_service import PushBrowser, PushService
from tests.kit.recording import everything_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.kit.gateway.serving import Gateway

    Serve = Callable[..., Gateway]

TITLE = "Delete the folder of my elephant"
ASKS = {"turns": [[{"ask_permission": TITLE}, {"say": "Done."}, {"result": "end_turn"}]]}
PUBLIC = "https://gw.example"
QUIET = {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}


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


def request(
    gateway: Gateway, method: str, path: str, body: str | None = None, **headers: str
) -> tuple[int, str, dict[str, str]]:
    sent = None if body is None else body.encode()
    answer = ApiClient(gateway, "").ask(path, method=method, body=sent, **headers)
    return answer.status, answer.body.decode(), answer.headers


def press(gateway: Gateway, code: str, **headers: str) -> tuple[int, str]:
    status, body, _ = request(gateway, "POST", "/answer", code, **headers)
    return status, json.loads(body).get("error", "")


def codes_of(notification: dict[str, Any]) -> dict[str, str]:
    return {each["label"]: each["url"].partition("#")[2] for each in notification["actions"]}


def is_question(frame: dict[str, Any]) -> bool:
    return frame.get("method") == "session/request_permission"


def test_a_button_answers_once_and_later_presses_answer_nothing(serve: Serve) -> None:
    with Collector() as collector:
        gateway = notifying(serve, collector)
        with ViewerClient(gateway) as viewer:
            session = viewer.new(gateway.root)
            prompt = viewer.prompt(session)
            asks = notified(collector)
            assert (asks["event"], asks["session"]) == ("ask", session)
            assert asks["sentence"] == "The agent asks for a permission."
            codes = codes_of(asks)
            assert [*codes][:2] == ["Allow once", "Reject"]
            for action in asks["actions"]:
                assert action["url"].startswith(f"{PUBLIC}/answer#")
            with ThreadPoolExecutor(8) as pool:
                presses = [codes["Allow once"], codes["Reject"]] * 4
                outcomes = sorted(pool.map(lambda code: press(gateway, code)[0], presses))
            assert outcomes == [200] + [409] * 7
            assert viewer.answer(prompt)["result"]["stopReason"] == "end_turn"
            assert press(gateway, codes["Allow once"]) == (
                409,
                "This question has already been answered or withdrawn.",
            )
        assert codes["Allow once"] not in everything_in(gateway.state / "gateway")
        assert codes["Allow once"] not in gateway.stderr()
        assert "elephant" not in json.dumps(asks)


def test_a_question_that_a_viewer_has_answered_is_not_answered_by_a_button(serve: Serve) -> None:
    with Collector() as collector:
        gateway = notifying(serve, collector, "--notify-content")
        with ViewerClient(gateway) as viewer:
            session = viewer.new(gateway.root)
            prompt = viewer.prompt(session)
            asks = notified(collector)
            assert asks["sentence"].endswith(TITLE)
            question = viewer.question()
            viewer.send({"jsonrpc": "2.0", "id": question["id"], "result": CANCELLED})
            viewer.answer(prompt)
            (first, *_) = codes_of(asks).values()
            assert press(gateway, first)[0] == 409


CANCELLED = {"outcome": {"outcome": "cancelled"}}


def test_a_code_answers_only_its_question_in_time_and_from_its_own_site(serve: Serve) -> None:
    with Collector() as collector:
        gateway = notifying(serve, collector)
        with ViewerClient(gateway) as viewer:
            session = viewer.new(gateway.root)
            prompt = viewer.prompt(session)
            code = codes_of(notified(collector))["Allow once"]
            keeper = gateway.keeper()
            own = keeper.read_answer_code(code, time.time())

            def changed(**more: Any) -> str:
                members = {name: getattr(own, name) for name in AnswerCode.__struct_fields__}
                return keeper.answer_code(AnswerCode(**(members | more)))

            assert press(gateway, changed(expires=int(time.time()) - 1))[0] == 410
            assert press(gateway, changed(session="another"))[0] == 410
            assert press(gateway, changed(run="another"))[0] == 410
            assert press(gateway, changed(question=own.question + 1))[0] == 410
            assert press(gateway, changed(option=99))[0] == 410
            assert press(gateway, code[:-1] + ("A" if code[-1] != "A" else "B"))[0] == 401
            assert press(gateway, "x" * 5000)[0] == 413
            assert press(gateway, code, Origin="https://elsewhere.example")[0] == 403
            other_site = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "no-cors"}
            assert press(gateway, code, **other_site)[0] == 403
            assert press(gateway, code, Host="elsewhere.example")[0] == 403
            assert request(gateway, "PUT", "/answer", code)[0] == 405
            status, page, headers = request(gateway, "GET", "/answer?code=" + code)
            assert (status, code in page) == (200, False)
            assert "default-src 'self'" in headers["content-security-policy"]
            assert headers["referrer-policy"] == "no-referrer"
            assert request(gateway, "GET", "/page/answer.js")[0] == 200
            assert press(gateway, code)[0] == 200, "nothing before it answered"
            assert viewer.answer(prompt)["result"]["stopReason"] == "end_turn"


@pytest.mark.processes
def test_a_button_does_not_work_after_the_death_of_the_gateway(serve: Serve) -> None:
    with Collector() as collector:
        gateway = notifying(serve, collector)
        with ViewerClient(gateway) as viewer:
            session = viewer.new(gateway.root)
            viewer.prompt(session)
            code = codes_of(notified(collector))["Allow once"]
        gateway.crash()
        assert press(gateway, code) == (
            410,
            "The agent no longer waits for this answer. Open the session.",
        )
        with ViewerClient(gateway) as viewer:
            viewer.load(session, gateway.root)
            assert press(gateway, code)[0] == 410
            # The first comes again if the gateway died before it noted that it was delivered.
            sent = [notified(collector)]
            while sent[-1]["event"] == "ask":
                sent.append(notified(collector, len(sent) + 1))
            assert (sent[-1]["event"], sent[-1]["session"]) == ("failed", session)


def test_a_link_opens_one_session_once_as_an_observer(serve: Serve) -> None:
    with Collector() as collector:
        scenario = {"turns": [[{"fail": {"http": 429, "message": "Rate limited"}}]]}
        gateway = notifying(serve, collector, scenario=scenario)
        with ViewerClient(gateway) as viewer, ViewerClient(gateway) as other:
            session = viewer.new(gateway.root)
            second = other.new(gateway.root)
            viewer.answer(viewer.prompt(session))
            failed = notified(collector)
        assert failed["actions"] == []
        link = urlsplit(failed["link"])
        assert failed["link"].startswith(f"{PUBLIC}/?code=")
        status, _, headers = request(gateway, "GET", f"/?{link.query}")
        assert status == 303
        assert headers["location"] == "/"
        cookie = {"Cookie": headers["set-cookie"].partition(";")[0]}
        status, body, _ = request(gateway, "GET", "/v1/sessions", **cookie)
        answer = json.loads(body)
        assert [each["id"] for each in answer["sessions"]] == [session]
        assert answer["role"] == "observer"
        assert request(gateway, "GET", f"/v1/sessions/{second}", **cookie)[0] == 404
        assert request(gateway, "GET", f"/?{link.query}")[0] == 401


def test_a_browser_that_subscribes_while_the_agent_runs_is_notified(serve: Serve) -> None:
    scenario = {"turns": [[{"fail": {"http": 429, "message": "Rate limited"}}]]}
    with PushService() as service:
        gateway = serve(scenario, variables=QUIET)
        with ViewerClient(gateway) as viewer:
            session = viewer.new(gateway.root)
            viewer.answer(viewer.prompt(session))
            browser = PushBrowser(service, "one")
            body = json.dumps(browser.request).encode()
            kind = "application/json"
            client = ApiClient(gateway)
            assert client.ask("/v1/push", method="POST", body=body, content_type=kind).status == 201
            viewer.answer(viewer.prompt(session))
            until("a message has come", lambda: service.messages)
        assert service.refusals == []
        message = browser.decrypted(service.messages[0].body)
    assert session in json.dumps(message)
