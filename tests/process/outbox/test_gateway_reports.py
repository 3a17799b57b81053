"""A gateway's reports: those of its agents, and those of its own processes."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from lastword.outbox.store import Outbox
from tests.kit.collector import Collector
from tests.kit.gateway.api import ApiClient
from tests.kit.gateway.link_bug import WORD, with_link_bug
from tests.kit.gateway.serving import GATEWAY, Gateway, agent, until
from tests.kit.gateway.viewing import TYPED, ViewerClient
from tests.kit.patience import FUSE_SECONDS
from tests.long.kill_gateway import children_of
from tests.long.outbox_kills import FAILING, write_script

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

QUIET = {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Gateway]]:
    started: list[Gateway] = []

    def start(*options: str, **variables: str) -> Gateway:
        command = agent(str(write_script(tmp_path, FAILING)))
        environment = os.environ | QUIET
        gateway = Gateway(tmp_path, command, *options, environment=environment, variables=variables)
        started.append(gateway)
        return gateway

    yield start
    for gateway in started:
        gateway.close()


def test_a_failure_behind_a_gateway_at_its_agent_or_on_its_page_is_reported_once(
    serve: Callable[..., Gateway],
) -> None:
    with Collector() as collector:
        gateway = serve("--report-to", collector.url, "--sessions", "1")
        with ViewerClient(gateway, capabilities=TYPED) as viewer:
            session = viewer.new(gateway.root)
            failed = viewer.answer(viewer.prompt(session))
            (turn,) = collector.expect(1)
            told = failed["error"]["data"]["agent_error"]
            assert turn.facts["lastword.incident_id"] == told["incident_id"]
            with pytest.raises(AssertionError, match="agents are running"):
                viewer.new(gateway.root)
            start = collector.expect(2)[1]
            assert start.facts["lastword.reason"] == "too_many_agents"
            assert start.facts["lastword.what"] == "start"
        said = ApiClient(gateway).report(
            source="page", word="session_unknown", session_id="a-lost-one", code=4404
        )
        assert (said.status, said.json["seq"]) == (202, None)
        page = collector.expect(3)[2]
        assert page.facts["lastword.what"] == "client"
        assert page.facts["error.type"] == "invalid_request"
        assert page.facts["lastword.reason"] == "session_unknown"
        assert "a-lost-one" not in page.body.decode()
        outbox = Outbox(str(gateway.state))
        until("they are written down", lambda: outbox.status().counts["sent"] == 3)
        gateway.crash()
        with ViewerClient(gateway) as viewer:
            viewer.load(session, gateway.root)
            died = collector.expect(4)[3]
        assert died.facts["lastword.what"] == "holder"
        assert died.facts["error.type"] == "agent_crash"
        assert died.facts["lastword.reason"] == "holder_died"
        assert session not in died.body.decode()
        until("it is written down", lambda: outbox.status().counts["sent"] == 4)
        assert len(collector.came) == 4


def reasons_in(collector: Collector) -> set[object]:
    return {each.facts.get("lastword.reason") for each in list(collector.came)}


def test_a_bug_in_the_link_is_reported_by_the_gateway_and_no_command_line_has_the_address(
    serve: Callable[..., Gateway], tmp_path: Path
) -> None:
    with Collector() as collector:
        url = collector.url.replace("//", "//ada:address-own-password@")
        gateway = serve(LASTWORD_REPORT_TO=url, **with_link_bug(tmp_path))
        with ViewerClient(gateway, capabilities=TYPED) as viewer:
            session = viewer.new(gateway.root)
            viewer.answer(viewer.prompt(session))
            collector.expect(1)
            for pid in (gateway.front.pid, *children_of(gateway.front.pid)):
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    assert b"password" not in file.read()
            viewer.prompt(session, WORD)
            # What the gateway itself says of the turn may be there, too, and before it.
            until("its end is reported", lambda: "run_ended" in reasons_in(collector))
    assert collector.came[1].headers["authorization"].startswith("Basic ")


def test_a_gateway_that_cannot_start_reports_it_and_creates_no_outbox_without_a_collector(
    serve: Callable[..., Gateway], tmp_path: Path
) -> None:
    gateway = serve()
    with ViewerClient(gateway, capabilities=TYPED) as viewer:
        viewer.answer(viewer.prompt(viewer.new(gateway.root)))
    assert not list(gateway.state.glob("outbox*"))
    with Collector() as collector:
        done = subprocess.run(
            [
                *(*GATEWAY, "--listen", f"127.0.0.1:{gateway.port}", "--report-to", collector.url),
                *("--", sys.executable),
            ],
            env=gateway.environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=FUSE_SECONDS,
            check=False,
        )
        assert done.returncode == 2
        (came,) = collector.expect(1)
    assert came.facts["lastword.reason"] == "gateway_not_started"
