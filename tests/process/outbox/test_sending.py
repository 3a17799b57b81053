"""The sender against collectors, good and bad: what arrives, what waits, and what is never told."""

from __future__ import annotations

import contextlib
import socket
import sqlite3
import ssl
import subprocess
import threading
import time
from typing import TYPE_CHECKING

import pytest

from lastword.errors import StoreError
from lastword.outbox import sender
from lastword.outbox.report import ReportTarget, TargetOptions, target_of
from lastword.outbox.sender import Sender, send_due, send_once
from lastword.outbox.store import Outbox
from lastword.record import store
from tests.kit.collector import OK, Collector, answer, cut, gone
from tests.kit.patience import FUSE_SECONDS
from tests.kit.reports_made import a_report, a_target
from tests.kit.rows import every

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from lastword.outbox.report import FailureReport

TOKEN = "Bearer-of-great-secrets"
HEAD = b"HTTP/1.1 200 OK\r\n"


@pytest.fixture
def outbox(tmp_path: Path) -> Outbox:
    return Outbox(str(tmp_path / "state"))


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def send(outbox: Outbox, target: ReportTarget, news: Sequence[FailureReport] = ()) -> float:
    """Send what is due, after new reports have been added."""
    outbox.add([*news], target)
    return send_due(outbox, target, lambda: FUSE_SECONDS, send_once)


def said(outbox: Outbox) -> str:
    (pace,) = outbox.status().targets
    return pace.reason


def test_each_report_arrives_once_and_in_order(outbox: Outbox) -> None:
    reports = [a_report() for _ in range(20)]
    with Collector() as collector:
        target = a_target(collector.url, LASTWORD_REPORT_HEADERS=f"authorization={TOKEN}")
        send(outbox, target, reports)
        assert list(collector.ids()) == [report.report_id for report in reports]
        came = collector.came[0]
    assert (came.method, came.path) == ("POST", "/v1/logs")
    assert came.headers["content-type"] == "application/json"
    assert came.headers["authorization"] == TOKEN
    assert came.facts["lastword.report_id"] == reports[0].report_id
    assert outbox.status().counts["sent"] == 20


def _huge(connection: socket.socket) -> None:
    connection.sendall(answer(200, b" " * 10 * 1024 * 1024 + b"{}"))


@every(
    ("ill", "why"),
    [
        (answer(500), "500 Internal Server Error"),
        (answer(302, location="http://127.0.0.1:9/"), "302 Found"),
        (answer(200, b"<html>Log in"), "not an answer of a collector"),
        (b"SSH-2.0-OpenSSH_9.9\r\n", "no HTTP answer"),
        (HEAD + b"a" * 100_000 + b"\r\n\r\n", "no HTTP answer"),
        (cut, "not an answer of a collector"),
        (HEAD, "connection closed"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + HEAD, "connection closed"),
        (gone, "connection closed"),
        (_huge, "not an answer of a collector"),
    ],
)
def test_a_report_that_a_collector_mishandled_is_retried_and_arrives(
    tmp_path: Path, ill: bytes | Callable[[socket.socket], None], why: str
) -> None:
    outbox, report = Outbox(str(tmp_path)), a_report()
    with Collector(ill, OK) as collector:
        target = a_target(collector.url)
        wait = send(outbox, target, [report])
        assert len(collector.came) == 1
        assert 0 < wait <= 1.25
        assert said(outbox).startswith(why)
        outbox.hurry(target)
        send(outbox, target)
        assert list(collector.ids()) == [report.report_id] * 2
    assert outbox.status().counts["sent"] == 1


@every("scheme", ["http", "https"])
def test_a_collector_that_stalls_times_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    monkeypatch.setattr(sender, "POST_SECONDS", 0.5)
    outbox = Outbox(str(tmp_path))
    with Collector(b"") as collector:
        collector.turn_to(collector.never)
        target = a_target(collector.url.replace("http", scheme, 1))
        send(outbox, target, [a_report()])
        assert said(outbox) == "timeout"


@every(
    ("head", "drop", "form"),
    [
        (HEAD + b"\r\n", b" ", "otlp"),
        (HEAD + b"transfer-encoding: chunked\r\n\r\n", b"1\r\n \r\n", "webhook"),
        (HEAD + b"x-more: ", b"y", "otlp"),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n", "otlp"),
    ],
)
def test_a_dripping_answer_ends_at_the_deadline_as_a_timeout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, head: bytes, drop: bytes, form: str
) -> None:
    monkeypatch.setattr(sender, "POST_SECONDS", 0.5)
    outbox, ended = Outbox(str(tmp_path)), threading.Event()

    def drip(connection: socket.socket) -> None:
        connection.sendall(head)
        while not ended.wait(0.1):
            connection.sendall(drop)

    with Collector(drip) as collector, contextlib.ExitStack() as stack:
        stack.callback(ended.set)
        target = a_target(f"{collector.url}/in", form)
        outbox.add([a_report()], target)
        sending = threading.Thread(target=send, args=(outbox, target), daemon=True)
        sending.start()
        # It drips for ever: without a deadline for everything, this would not end.
        sending.join(FUSE_SECONDS)
        assert not sending.is_alive()
        assert said(outbox) == "timeout"
        # Nobody else waits for it: the next process may send.
        with outbox.as_sender(target) as is_ours:
            assert is_ours


def test_an_absent_collector_and_a_bad_proxy_address_are_noted_as_the_reason(
    outbox: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as deaf:  # it has a port that nobody else is given, and does not listen
        deaf.bind(("127.0.0.1", 0))
        target = a_target(f"http://127.0.0.1:{deaf.getsockname()[1]}")
        send(outbox, target, [a_report()])
        assert said(outbox) == "connection refused"
    monkeypatch.setenv("http_proxy", "http://proxy:port")
    outbox.hurry(target)
    send(outbox, target)
    assert said(outbox) == "the proxy's address is not valid"


def test_a_host_whose_first_address_is_dead_is_reached_by_its_second(
    outbox: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Collector() as collector:
        real = socket.getaddrinfo

        def two(host: str, port: int, *rest: object, **named: object) -> object:
            found = real("127.0.0.1", port, type=socket.SOCK_STREAM)
            refused = [(*each[:4], ("127.0.0.2", port)) for each in found]
            return [*refused, *found] if host == "localhost" else real(host, port, *rest, **named)  # type: ignore[arg-type]

        monkeypatch.setattr(socket, "getaddrinfo", two)
        target = a_target(f"http://localhost:{collector.port}")
        send(outbox, target, [a_report()])
        collector.expect(1)


def test_a_refused_report_becomes_a_dead_letter_and_the_next_one_goes(outbox: Outbox) -> None:
    reports = [a_report(), a_report()]
    with Collector(answer(400, b"your secret is 7"), OK) as collector:
        target = a_target(collector.url)
        send(outbox, target, reports)
        assert len(collector.came) == 2
    status = outbox.status()
    assert (status.waiting, status.dead, status.counts["sent"]) == (0, 1, 1)
    # What a collector says may hold anything, and is not kept.
    assert [(why, report) for _, why, report in status.dead_letters] == [
        ("400 Bad Request", reports[0])
    ]


def test_the_collectors_wait_applies_to_every_report_and_delays_no_end(
    outbox: Outbox,
) -> None:
    with Collector(answer(429, b"", retry_after="90")) as collector:
        target = a_target(collector.url)
        outbox.add([a_report(), a_report()], target)
        assert 80 < send(outbox, target) <= 90
        send(outbox, target, [a_report()])
        assert len(collector.came) == 1
        began = time.monotonic()
        Sender(outbox, target).finish(FUSE_SECONDS)
        assert time.monotonic() - began < FUSE_SECONDS / 2


def test_a_redirect_is_not_followed_and_gets_no_credentials(outbox: Outbox) -> None:
    with Collector() as other, Collector(answer(307, location=other.url)) as collector:
        target = a_target(collector.url, LASTWORD_REPORT_HEADERS=f"authorization={TOKEN}")
        send(outbox, target, [a_report()])
        assert other.connections == 0


def test_a_webhook_is_signed_and_retried_under_the_same_key(outbox: Outbox) -> None:
    report = a_report()
    with Collector(answer(500), answer(204, b"")) as collector:
        target = target_of(
            TargetOptions(f"{collector.url}/hook", "webhook"), {"LASTWORD_REPORT_SECRET": "mine"}
        )
        send(outbox, target, [report])
        outbox.hurry(target)
        send(outbox, target)
        first, second = collector.came
    assert first.path == "/hook"
    assert first.body == second.body
    assert first.headers["webhook-id"] == second.headers["webhook-id"] == report.report_id
    assert first.headers["idempotency-key"] == report.report_id
    assert first.headers["webhook-signature"].startswith("v1,")
    assert "mine" not in str(first.headers)


def test_a_bug_of_ours_does_not_end_the_thread(
    outbox: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sender, "MAX_WAIT_SECONDS", 0.05)
    with Collector() as collector:
        target = a_target(collector.url)
        with monkeypatch.context() as patched:
            tried = threading.Event()

            def broken(*_: object) -> float:
                tried.set()
                raise ZeroDivisionError

            patched.setattr(sender, "send_due", broken)
            one = Sender(outbox, target)
            one.put(a_report())
            assert tried.wait(FUSE_SECONDS)
        collector.expect(1)
        one.finish(FUSE_SECONDS)


def test_the_environments_proxy_is_used_except_for_exempt_hosts(
    outbox: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Collector() as proxy, Collector() as collector:
        monkeypatch.setenv("http_proxy", proxy.url.replace("//", "//ada:p%40ss@"))
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        for target in (a_target("http://collector.invalid:4318"), a_target(collector.url)):
            send(outbox, target, [a_report()])
        (came,) = proxy.expect(1)
        assert came.path == "http://collector.invalid:4318/v1/logs"
        assert came.headers["proxy-authorization"].startswith("Basic ")
        assert came.headers["host"] == "collector.invalid:4318"
        collector.expect(1)


def test_a_proxy_is_asked_for_a_tunnel_to_a_collector_with_tls(
    outbox: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Collector(answer(407)) as proxy:
        monkeypatch.setenv("https_proxy", proxy.url)
        target = a_target("https://collector.invalid", LASTWORD_REPORT_HEADERS=f"x={TOKEN}")
        send(outbox, target, [a_report()])
        (came,) = proxy.expect(1)
    assert (came.method, came.path) == ("CONNECT", "collector.invalid:443")
    assert TOKEN not in str(came.headers)


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[str, ssl.SSLContext]:
    """A certificate that nobody has signed, for 127.0.0.1, and a server's context with it."""
    pem, key = str(tmp_path / "cert.pem"), str(tmp_path / "key.pem")
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *("-nodes", "-keyout", key, "-out", pem, "-days", "2", "-subj", "/CN=lastword"),
            *("-addext", "subjectAltName=IP:127.0.0.1"),
        ],
        check=True,
        capture_output=True,
        timeout=FUSE_SECONDS,
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem, key)
    return pem, context


def test_a_certificate_is_verified_and_a_custom_one_can_be_configured(
    outbox: Outbox, certificate: tuple[str, ssl.SSLContext], monkeypatch: pytest.MonkeyPatch
) -> None:
    pem, context = certificate
    with Collector(context=context) as collector:
        target = a_target(collector.url, LASTWORD_REPORT_HEADERS=f"authorization={TOKEN}")
        send(outbox, target, [a_report()])
        assert said(outbox) == "certificate not trusted"
        assert collector.came == []
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_CERTIFICATE", f"{pem}.gone")
        outbox.hurry(target)
        send(outbox, target)
        assert said(outbox) == "the file of certificates cannot be read"
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_CERTIFICATE", pem)
        outbox.hurry(target)
        send(outbox, target)
        collector.expect(1)


def test_the_sender_thread_sends_stored_and_new_reports_and_retries(outbox: Outbox) -> None:
    with Collector(answer(503), OK) as collector:
        target = a_target(collector.url)
        outbox.add([a_report()], target)
        one = Sender(outbox, target)
        collector.expect(2)
        one.put(a_report())
        collector.expect(3)
        one.finish(FUSE_SECONDS)
    assert outbox.status().counts["sent"] == 2


def test_the_end_waits_no_longer_than_its_allowed_time_and_loses_nothing(
    outbox: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sender, "POST_SECONDS", 600.0)
    with Collector() as collector:
        collector.turn_to(collector.never)
        target = a_target(collector.url)
        one = Sender(outbox, target)
        one.put(a_report())
        collector.expect(1)
        one.put(a_report())
        began = time.monotonic()
        one.finish(0.3)
        assert time.monotonic() - began < FUSE_SECONDS / 2
    assert outbox.status().waiting == 2


def test_two_senders_on_one_outbox_send_nothing_twice(outbox: Outbox) -> None:
    with Collector() as collector, contextlib.ExitStack() as stack:
        target = a_target(collector.url)
        senders = [Sender(Outbox(outbox.folder), target) for _ in range(3)]
        for one in senders:
            stack.callback(one.finish, FUSE_SECONDS)
        for number in range(30):
            senders[number % 3].put(a_report(number))
        collector.expect(30)
        stack.close()
        assert len(set(collector.ids())) == len(collector.ids()) == 30
    assert outbox.status().counts["sent"] == 30


@contextlib.contextmanager
def held_up(outbox: Outbox) -> Iterator[None]:
    """Another process holds the file, so that nobody can write it."""
    connected = sqlite3.connect(outbox.path, isolation_level=None, check_same_thread=False)
    with contextlib.closing(connected) as other:
        other.execute("BEGIN EXCLUSIVE")
        yield
        other.execute("ROLLBACK")


@every("answered", [OK, answer(400)])
def test_no_other_sender_sends_until_an_outcome_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answered: bytes
) -> None:
    outbox = Outbox(str(tmp_path))
    monkeypatch.setattr(store, "BUSY_SECONDS", 0.05)
    monkeypatch.setattr(sender, "NOTE_SECONDS", 0.05)
    answers, goes_on = threading.Event(), threading.Event()

    def slowly(connection: socket.socket) -> None:
        answers.set()
        goes_on.wait(FUSE_SECONDS)
        connection.sendall(answered)

    with Collector(slowly, OK) as collector:
        target = a_target(collector.url)
        outbox.add([a_report()], target)
        sending = threading.Thread(target=send, args=(outbox, target))
        sending.start()
        assert answers.wait(FUSE_SECONDS)
        with held_up(outbox):
            goes_on.set()
            for _ in range(10):
                with Outbox(outbox.folder).as_sender(target) as is_ours:
                    assert not is_ours
                time.sleep(0.05)
        sending.join(FUSE_SECONDS)
        send(Outbox(outbox.folder), target)
        assert len(collector.came) == 1
    counts = outbox.status().counts
    assert (counts["sent"], counts["refused"]) == ((1, 0) if answered is OK else (0, 1))


def test_the_end_does_not_wait_forever_to_store_an_outcome(
    outbox: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "BUSY_SECONDS", 0.05)
    left = iter([60.0, 0.0])
    with Collector() as collector, contextlib.ExitStack() as stack:

        def arrived(connection: socket.socket) -> None:
            stack.enter_context(held_up(outbox))
            connection.sendall(OK)

        collector.turn_to(arrived)
        outbox.add([a_report()], a_target(collector.url))
        with pytest.raises(StoreError, match="another process holds it"):
            send_due(outbox, a_target(collector.url), lambda: next(left), send_once)
        stack.close()
        # It is not sent again, and counted with the next that is written.
        assert outbox.add([], a_target(collector.url))
        assert outbox.status().counts["sent"] == len(collector.came) == 1


def test_a_report_that_the_disk_accepts_only_after_the_end_is_not_lost(
    outbox: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "BUSY_SECONDS", 0.05)
    monkeypatch.setattr(sender, "NOTE_SECONDS", 0.05)
    target = a_target("http://127.0.0.1:9")
    outbox.status()  # makes the file
    with held_up(outbox):
        one = Sender(outbox, target)
        add = outbox.add
        assert not add([a_report()], target)
        ending = threading.Thread(
            target=one.finish, args=(0.1,), kwargs={"storing_seconds": FUSE_SECONDS}
        )
        tries = threading.Semaphore(0)
        monkeypatch.setattr(outbox, "add", lambda *items: (tries.release(), add(*items))[1])
        ending.start()
        for _ in range(4):  # each waits for the disk, so that the end has no time left for reports
            assert tries.acquire(timeout=FUSE_SECONDS)
        assert ending.is_alive()
    ending.join(FUSE_SECONDS)
    assert outbox.status().waiting == 1


def test_a_disk_that_accepts_nothing_is_retried_until_it_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sender, "DISK_SECONDS", 0.05)
    (tmp_path / "state").write_text("a file where the folder should be")
    outbox = Outbox(str(tmp_path / "state"))
    with Collector() as collector:
        one = Sender(outbox, a_target(collector.url))
        one.put(a_report())
        assert collector.connections == 0
        (tmp_path / "state").unlink()
        collector.expect(1)
        one.finish(FUSE_SECONDS)
