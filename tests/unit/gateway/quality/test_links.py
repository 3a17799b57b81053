"""What the front measures of a viewer's link."""

from __future__ import annotations

import pytest

from lastword.core.protocol import jsonrpc
from lastword.core.protocol.jsonrpc import Envelope, Frame
from lastword.gateway.api.shapes import DurationSeen, attaches_of, closed_of, round_trips_of
from lastword.gateway.quality import metrics
from lastword.gateway.quality.metrics import MAX_ATTACHING, FrontCounts


def frame(line: bytes) -> Frame:
    decoded = jsonrpc.decode(line)
    assert isinstance(decoded, Frame)
    return decoded


def load(number: int) -> Frame:
    return frame(jsonrpc.request(b"%d" % number, "session/load", {"sessionId": "s"}))


def answer(number: int, told: bytes = b'"result":{}') -> Envelope:
    return frame(b'{"jsonrpc":"2.0","id":%d,%b}' % (number, told)).message


def probe(**params: object) -> Frame:
    return frame(jsonrpc.request(b"9", "_lastword/ping", params))


def seen(front: FrontCounts, metric: metrics.Metric, *labels: str) -> int:
    found = front.counts.distributions.get(metric.key(*labels))
    return sum(found.counts) if found is not None else 0


def test_an_attach_lasts_from_its_request_to_its_answer_whatever_comes_between() -> None:
    front = FrontCounts()
    link = front.open_link("websocket")
    link.answered(answer(1))
    link.request(load(1))
    link.request(frame(jsonrpc.request(b"2", "session/prompt", {})))
    link.answered(answer(2))
    assert seen(front, metrics.ATTACH, "session/load", "ok") == 0
    link.answered(answer(1))
    link.answered(answer(1))
    assert seen(front, metrics.ATTACH, "session/load", "ok") == 1
    link.request(load(3))
    link.answered(answer(3, b'"error":{"code":-32002,"message":"no"}'))
    link.request(load(4))
    link.failed(b"4")
    link.failed(None)
    assert seen(front, metrics.ATTACH, "session/load", "error") == 2
    for number in range(2 * MAX_ATTACHING):  # of which so many are kept
        link.request(load(number))
    for number in range(2 * MAX_ATTACHING):
        link.failed(b"%d" % number)
    assert seen(front, metrics.ATTACH, "session/load", "error") == 2 + MAX_ATTACHING


def test_a_probe_acknowledges_its_session_and_reports_its_round_trip() -> None:
    front = FrontCounts()
    link = front.open_link("websocket")
    key = metrics.UNACKNOWLEDGED.key()
    link.ping(probe(seq=3, rttMs=12), ["s"])
    assert front.gauges({"s": 10})[key] == 7
    link.ping(probe(seq=9, sessionId="t"), ["s", "t"])
    assert front.gauges({"s": 10, "t": 9})[key] == 7
    link.ping(probe(seq=10), ["s", "t"])
    assert front.gauges({"s": 10, "t": 9, "u": 5})[key] == 7
    link.ping(probe(seq=2), ["s"])
    assert front.gauges({"s": 10})[key] == 8
    assert front.gauges({})[key] == 0
    assert seen(front, metrics.RTT, "viewer") == 1
    front.close_link(link, 1000)
    assert front.gauges({"s": 10})[key] == 0


@pytest.mark.parametrize("rtt", [-1, 10**9, True, "1", None, [], float("1e300")])
def test_an_impossible_round_trip_is_not_counted(rtt: object) -> None:
    front = FrontCounts()
    front.open_link("websocket").ping(probe(rttMs=rtt, seq="x"), ["s"])
    assert seen(front, metrics.RTT, "viewer") == 0


def test_open_connections_are_a_gauge_and_closed_ones_counted_once_by_code() -> None:
    front = FrontCounts()
    heard: list[tuple[str, float, tuple[str, ...]]] = []
    front.listen(lambda metric, value, labels: heard.append((metric.name, value, labels)))
    one, other = front.open_link("websocket"), front.open_link("http")
    assert front.gauges({})[metrics.CONNECTIONS.key("websocket")] == 1
    front.close_link(one, 1006)
    front.close_link(one, 1006)
    front.close_link(other, 3999)
    front.pong(0.5)
    front.ping_missed()
    assert front.counts.counters == {
        metrics.CLOSED.key("websocket", "1006"): 1,
        metrics.CLOSED.key("http", "other"): 1,
        metrics.ENDED.key("link_cut"): 1,
        metrics.ENDED.key("other"): 1,
        metrics.PINGS_MISSED.key(): 1,
    }
    assert metrics.CONNECTIONS.key("websocket") not in front.gauges({})
    assert heard == [("lastword.gateway.rtt", 0.5, ("websocket",))]


def test_statistics_show_closes_of_websockets_and_successful_attaches() -> None:
    front = FrontCounts()
    front.close_link(front.open_link("websocket"), 1006)
    front.close_link(front.open_link("http"), 1000)
    front.pong(0.003)
    link = front.open_link("websocket")
    for number, told in ((1, b'"result":{}'), (2, b'"error":{"code":1,"message":"no"}')):
        link.request(load(number))
        link.answered(answer(number, told))
    assert closed_of(front.counts) == {"1006": 1}
    trips = round_trips_of(front.counts)
    assert trips["viewer"] == DurationSeen(count=0, p50_seconds=None, p95_seconds=None)
    assert trips["websocket"].p50_seconds == pytest.approx(0.00375)
    attaches = attaches_of(front.counts)
    assert {method: seen.count for method, seen in attaches.items()} == {
        "session/new": 0,
        "session/load": 1,
        "session/resume": 0,
    }
