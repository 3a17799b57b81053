"""What a gateway says of its quality: `/metrics`, `/readyz`, to whom, and through which deaths."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families

from lastword.gateway.viewing.reader import Role
from tests.kit.gateway.api import ApiClient
from tests.kit.gateway.serving import until
from tests.kit.gateway.viewing import ViewerClient, attached, opened
from tests.kit.patience import FUSE_SECONDS
from tests.process.gateway.test_crowds import upgrade

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.kit.gateway.serving import Gateway, Serve

SECRET_WORDS = "the user's own words"


def get(gateway: Gateway, path: str, **headers: str) -> tuple[int, str]:
    """The status and the body at a path; header names have `_` for `-`."""
    answer = ApiClient(gateway, "").ask(path, **headers)
    return answer.status, answer.body.decode()


class Metrics:
    """The metrics of one moment."""

    def __init__(self, gateway: Gateway) -> None:
        status, self.text = get(gateway, "/metrics")
        assert status == 200
        self._samples: dict[tuple[str, frozenset[tuple[str, str]]], float] = {}
        self.counters: set[tuple[str, frozenset[tuple[str, str]]]] = set()
        for family in text_string_to_metric_families(self.text):
            assert family.documentation
            for sample in family.samples:
                key = (sample.name, frozenset(sample.labels.items()))
                assert key not in self._samples, "a series twice"
                self._samples[key] = sample.value
                if family.type in {"counter", "histogram"}:
                    self.counters.add(key)

    def __call__(self, name: str, **labels: str) -> float:
        return self._samples[f"lastword_gateway_{name}", frozenset(labels.items())]

    def fell_since(self, before: Metrics) -> list[tuple[str, float, float]]:
        """The counters that have gone down."""
        pairs = [(key, before._samples[key], self._samples.get(key, 0)) for key in before.counters]
        return [(str(key), was, now) for key, was, now in pairs if now < was]


def seen(gateway: Gateway, what: str, holds: Callable[[Metrics], bool]) -> Metrics:
    """The metrics, once they are so."""

    def look() -> Metrics | None:
        metrics = Metrics(gateway)
        return metrics if holds(metrics) else None

    found: Metrics = until(what, look)
    return found


def test_the_metrics_count_turns_viewers_and_returns_without_content(serve: Serve) -> None:
    gateway = serve("rate_limit")
    with opened(gateway, replay=True) as (viewer, session):
        viewer.turn(session, SECRET_WORDS)
        head = gateway.session(session)["head"]
        viewer.result("_lastword/ping", {"seq": head - 2, "rttMs": 12})
        metrics = seen(gateway, "what it lacks", lambda now: now("entries_unacknowledged") == 2)
        assert metrics("viewers", role="controller") == 1
        assert metrics("sessions", state="idle") == 1
        assert metrics("connections", transport="websocket") == 1
        assert metrics("turns_total", outcome="failed") == 1
        assert metrics("errors_total", type="rate_limit") == 1
        assert metrics("log_entries_total") == head
        assert metrics("log_size_bytes") == metrics("log_written_bytes_total") > 0
        assert metrics("rtt_seconds_count", source="viewer") == 1
        viewer.cut()
    cut = {"transport": "websocket", "code": "1006"}
    seen(gateway, "the cut is seen", lambda now: now("connections_closed_total", **cut) == 1)
    lasted = "attach_duration_seconds_count"
    with attached(gateway, session, replay=True, known=viewer.known) as viewer:
        metrics = seen(gateway, "it is back", lambda now: now("reconnects_total", code="1006") == 1)
        for method in ("session/new", "session/load"):
            assert metrics(lasted, method=method, outcome="ok") == 1
        assert metrics("entries_replayed_total") > 0
        viewer.answer(viewer.request("session/load", {"sessionId": "none", "cwd": "/"}))
    failed = {"method": "session/load", "outcome": "error"}
    metrics = seen(gateway, "the refusal", lambda now: now(lasted, **failed) == 1)
    for private in (SECRET_WORDS, session, viewer.known["viewer"], str(gateway.root)):
        assert private not in metrics.text


@pytest.mark.processes
def test_counters_never_go_down_when_a_session_ends_or_the_gateway_is_replaced(
    serve: Serve,
) -> None:
    gateway = serve("healthy")
    with ViewerClient(gateway) as viewer:
        sessions = [viewer.new(gateway.root) for _ in range(2)]
        for session in sessions:
            viewer.turn(session)
        before = seen(gateway, "two turns", lambda now: now("turns_total", outcome="answered") == 2)
        viewer.request("session/close", {"sessionId": sessions[0]})
        between = seen(gateway, "one is gone", lambda now: now("sessions", state="idle") == 1)
        assert between("events_total", event="session_ended") == 1
        gateway.reload()
    anew = seen(gateway, "the turns", lambda now: now("turns_total", outcome="answered") == 2)
    of_sessions = [key for key in between.counters if "attach" not in str(key)]
    assert between.fell_since(before) == []
    assert not [fall for fall in anew.fell_since(between) if fall[0] in map(str, of_sessions)]
    assert anew("start_time_seconds") > before("start_time_seconds")


def test_round_trips_are_measured_and_a_missed_pong_closes_the_socket(serve: Serve) -> None:
    gateway = serve("healthy", "--ping", "0.1", "--pong-timeout", "5")
    here = ("127.0.0.1", gateway.port)
    missed = {"transport": "websocket", "code": "1011"}
    with socket.create_connection(here, FUSE_SECONDS) as quiet, ViewerClient(gateway):
        quiet.sendall(upgrade(gateway, gateway.token()))  # which never answers a ping
        metrics = seen(
            gateway, "the silence", lambda now: now("connections_closed_total", **missed) == 1
        )
        assert metrics("pings_missed_total") == 1
        assert metrics("rtt_seconds_count", source="websocket") > 0


def status(gateway: Gateway, **headers: str) -> int:
    """The status with which the metrics are asked for."""
    return get(gateway, "/metrics", **headers)[0]


def test_the_metrics_are_open_to_this_machine_alone(healthy: Gateway) -> None:
    assert status(healthy, Accept="text/plain") == 200
    assert status(healthy, Host="evil.example") == 403
    assert status(healthy, Origin="http://evil.example") == 403
    assert status(healthy, X_Forwarded_For="127.0.0.1") == 401
    observer = f"Bearer {healthy.token(role=Role.OBSERVER)}"
    assert status(healthy, X_Forwarded_For="::1", Authorization=observer) == 200


def test_the_metrics_need_a_token_for_all_sessions_behind_a_proxy(serve: Serve) -> None:
    gateway = serve("healthy", "--behind-proxy")
    assert status(gateway) == 401
    assert status(gateway, X_Forwarded_For="192.0.2.1") == 401
    for role in Role:
        assert status(gateway, Authorization=f"Bearer {gateway.token(role=role)}") == 200
    assert status(gateway, Authorization=f"Bearer {gateway.token(session='mine')}") == 403
    # The next one is refused for its own wrong tokens, not for the proxy's other clients'.
    for _ in range(10):
        status(gateway, Authorization="Bearer x", X_Forwarded_For="192.0.2.1")
    assert status(gateway, Authorization="Bearer x", X_Forwarded_For="192.0.2.1") == 429
    assert status(gateway, Authorization="Bearer x", X_Forwarded_For="192.0.2.2") == 401


def test_a_forwarded_address_is_trusted_only_from_the_named_proxies(serve: Serve) -> None:
    gateway = serve("healthy", "--behind-proxy", "--proxy-address", "192.0.2.0/24")
    tried = [
        status(gateway, Authorization="Bearer x", X_Forwarded_For=f"198.51.100.{number}")
        for number in range(11)
    ]
    assert tried == [401] * 10 + [429]  # all of them were loopback's


def ready(gateway: Gateway) -> tuple[int, dict[str, Any]]:
    status, body = get(gateway, "/readyz", Host="anything.example")
    return status, msgspec.json.decode(body)


def test_a_gateway_is_unready_after_an_agent_that_dies_at_initialize_or_without_its_program(
    serve: Serve, tmp_path: Path
) -> None:
    program = tmp_path / "agent"
    program.symlink_to("/bin/false")
    gateway = serve("", command=[str(program)])
    assert ready(gateway) == (200, {"status": "ready"})
    with pytest.raises(AssertionError, match="agent_crash"):
        ViewerClient(gateway)
    assert ready(gateway) == (503, {"status": "not_ready", "reason": "agent_not_started"})
    program.unlink()
    assert ready(gateway) == (503, {"status": "not_ready", "reason": "agent_missing"})
    assert get(gateway, "/healthz")[0] == 200
