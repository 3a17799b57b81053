"""`lastword log --web`: whom it serves, what it refuses, and how it ends."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from argparse import Namespace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from lastword.cli import web
from lastword.cli.web import serve
from lastword.core.timeline.entry import Kind
from tests.kit.desk import Editor
from tests.kit.gateway.serving import until
from tests.kit.log_web import LogWeb, wait_until_recorded
from tests.kit.patience import FUSE_SECONDS
from tests.kit.recording import Book, a_book, a_run, lastword, now_ms, write

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PRIVATE = ("/", "/record/sessions", "/record/session?name=01RUNA/s1")


def one_failure() -> Book:
    book = Book(now_ms() - 60_000)
    book.created("s1")
    book.failed("s1", 1, incident_id="01RUNA-1")
    return book


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """One session with one failure."""
    write(tmp_path, one_failure())
    return tmp_path


@pytest.fixture
def fresh(state: Path) -> Iterator[LogWeb]:
    """It, served, and nobody has followed the link yet."""
    with LogWeb(state) as served:
        yield served


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The like, for tests that only read."""
    folder = tmp_path_factory.mktemp("shared")
    write(folder, one_failure())
    return folder


@pytest.fixture(scope="module")
def served(shared: Path) -> Iterator[LogWeb]:
    """It, served to who has followed the link."""
    with LogWeb(shared) as served:
        served.follow()
        yield served


def told(served: LogWeb, path: str) -> dict[str, Any]:
    answered = served.ask(path)
    assert answered.status == 200, answered
    found: dict[str, Any] = json.loads(answered.body)
    return found


def test_the_link_works_once_and_its_cookie_keeps_working(fresh: LogWeb) -> None:
    for path in PRIVATE:
        assert fresh.ask(path).status == 401
    assert fresh.ask("/?code=wrong").status == 401
    assert fresh.ask("/?" + fresh.link.partition("?")[2], "HEAD").status == 200
    followed = fresh.follow()
    assert (followed.status, followed.headers["location"]) == (303, "/")
    cookie = followed.headers["set-cookie"]
    assert cookie.endswith("; HttpOnly; SameSite=Strict; Path=/")
    for path in PRIVATE:
        assert fresh.ask(path).status == 200
    assert fresh.ask("/?" + fresh.link.partition("?")[2]).status == 303  # the tab, loaded again
    fresh.cookie = ""
    again = fresh.follow()
    assert (again.status, "set-cookie" in again.headers) == (401, False)
    assert b"Type `lastword log --web` again" in again.body
    fresh.cookie = cookie.partition("=")[0] + "=wrong"
    assert fresh.ask("/record/sessions").status == 401


def test_another_sites_host_name_is_refused(served: LogWeb) -> None:
    for host in ("evil.example", f"evil.example:{served.port}", "127.0.0.1", "[::1]"):
        for path in (*PRIVATE, "/page/style.css"):
            assert served.ask(path, host=host).status == 403
    assert served.ask("/", host=f"localhost:{served.port}").status == 200


def test_only_reading_methods_are_allowed(served: LogWeb) -> None:
    for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "NONE"):
        answered = served.ask("/record/sessions", method)
        assert (answered.status, answered.headers["allow"]) == (405, "GET, HEAD"), method


def test_every_response_is_private(served: LogWeb) -> None:
    for path in (*PRIVATE, "/page/record_live.js", "/page/nothing.js", "/nothing"):
        headers = served.ask(path, origin="https://evil.example").headers
        assert headers["content-security-policy"].startswith("default-src 'self'; ")
        assert headers["x-content-type-options"] == "nosniff"
        assert not any(name.startswith("access-control") for name in headers)


NOTHING = (
    *("/page/../door.py", "/page/%2e%2e/door.py", "/page/record.html", "/page//etc/passwd"),
    *("/record/", "/record/session?name=no", "/record/session", "/etc/passwd"),
)


def test_every_other_path_is_not_found(served: LogWeb) -> None:
    assert {path: served.ask(path).status for path in NOTHING} == dict.fromkeys(NOTHING, 404)


def test_a_malformed_request_gets_one_line_or_no_answer(fresh: LogWeb) -> None:
    for words in (b"\x16\x03\x01\r\n\r\n", b"GET /" + b"a" * 70_000, b"GET / HTTP/9.9\r\n\r\n"):
        with socket.create_connection(("127.0.0.1", fresh.port), FUSE_SECONDS) as connection:
            connection.sendall(words)
            connection.shutdown(socket.SHUT_WR)
            answered = connection.recv(10_000)
        assert b"Traceback" not in answered
    assert fresh.follow().status == 303
    assert "the link works once" in fresh.said()
    # Ctrl-C ends it.
    assert fresh.stop() == (0, "lastword log: ended\n")


def test_the_page_gets_a_session_as_lastword_log_prints_it(shared: Path, served: LogWeb) -> None:
    [listed] = told(served, "/record/sessions")["sessions"]
    known = json.loads(lastword("log", "s1", "--json", state=shared).stdout)["runs"][0]
    found = told(served, f"/record/session?name={quote(listed['name'])}")
    assert found["run"] == known["run"]
    for event, entry in zip(found["events"], known["entries"], strict=True):
        assert {name: event[name] for name in entry if name != "facts"} == {
            name: value for name, value in entry.items() if name != "facts"
        }
        assert entry["facts"].items() <= event["facts"].items()
    assert found["events"][-1]["facts"]["sentence"].startswith("The model provider is limiting")
    assert (found["more"], found["left_out"]) == (False, 0)
    later = told(served, f"/record/session?name=01RUNA/s1&after={found['next']}")
    assert (later["events"], later["next"]) == ([], found["next"])


def test_entries_written_meanwhile_come_with_the_next_request(tmp_path: Path) -> None:
    editor = Editor(tmp_path)
    editor.play("rate_limit")
    wait_until_recorded(tmp_path, 1)
    with LogWeb(tmp_path, "--last") as served:
        served.follow()
        path = f"/record/session?name={served.link.partition('#/session/')[2]}"
        first = told(served, path)
        editor.play("healthy")
        wait_until_recorded(tmp_path, 2)
        later = told(served, f"{path}&after={first['next']}")
        assert {event["turn"] for event in first["events"]} == {None, 1}
        assert {event["turn"] for event in later["events"]} == {2}
    editor.leave()


def test_a_long_session_comes_in_parts_and_its_oldest_entries_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, a_book(400))
    path = str(tmp_path / "record.db")
    monkeypatch.setattr(web, "MAX_ENTRIES", 1050)
    after, events = None, []
    while True:
        found = web.session(path, "01RUNA/s1", after)
        assert found is not None
        if after is None:
            assert found["left_out"] == 150
        events += found["events"]
        after = found["next"]
        if not found["more"]:
            break
    assert [event["turn"] for event in events] == [1 + n // 3 for n in range(150, 1200)]


def test_a_restored_session_is_shown_from_its_creation(tmp_path: Path) -> None:
    first, second = Book(now_ms() - 60_000), Book(now_ms() - 30_000)
    first.created("s1")
    first.ok("s1", 1)
    second.created("s1", "load")
    second.failed("s1", 1)
    write(tmp_path, first, a_run("01A", at_ms=first.began_ms))
    write(tmp_path, second, a_run("01B", at_ms=second.began_ms))
    found = web.session(str(tmp_path / "record.db"), "01B/s1", None)
    assert found is not None
    assert [event["run"] for event in found["events"]] == [1] * 4 + [2] * 3


def test_a_failed_start_can_be_opened(tmp_path: Path) -> None:
    book = Book()
    book.note(Kind.ERROR, type="auth", method="session/new")
    write(tmp_path, book)
    with LogWeb(tmp_path, "--last") as served:
        served.follow()
        assert served.link.endswith("#/session/01RUNA")
        assert told(served, "/record/sessions")["sessions"][0]["name"] == "01RUNA"
        [event] = told(served, "/record/session?name=01RUNA")["events"]
        assert event["facts"]["sentence"].startswith("The model provider refused the login")


def test_a_missing_or_damaged_record_is_reported(tmp_path: Path) -> None:
    none = lastword("log", "--web", state=tmp_path / "none")
    assert (none.returncode, none.stdout) == (1, "")
    assert "there is no record at" in none.stderr
    (tmp_path / "record.db").write_bytes(b"no database at all, and long enough to be one" * 100)
    damaged = lastword("log", "--web", state=tmp_path)
    assert (damaged.returncode, damaged.stdout) == (1, "")
    assert "Traceback" not in damaged.stderr


def test_a_record_that_is_damaged_while_served_is_reported_to_the_page(
    state: Path, fresh: LogWeb
) -> None:
    fresh.follow()
    (state / "record.db").write_bytes(b"no database at all, and long enough to be one" * 100)
    answered = fresh.ask("/record/sessions")
    assert answered.status == 503
    assert "record.db" in json.loads(answered.body)["error"]


def test_a_port_that_is_in_use_is_reported(state: Path, served: LogWeb) -> None:
    done = lastword("log", "--web", "--port", str(served.port), state=state)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"port {served.port} is in use; leave --port out" in done.stderr


def test_ctrl_c_before_serving_ends_it_the_same_way(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []

    def interrupted(words: str) -> None:
        said.append(words)
        if len(said) == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(web, "_say", interrupted)
    options = Namespace(session=None, last=False, port=None, open=False, frames=None)
    assert serve(options, str(state / "record.db")) == 0
    assert said[1:] == ["ended"]


def test_the_server_ends_when_it_is_idle(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = Namespace(session=None, last=False, port=None, open=False, frames=None)
    assert serve(options, str(state / "record.db"), idle_seconds=0.2) == 0
    assert capsys.readouterr().err.endswith("lastword log: ended: no request for 0 minutes\n")


def test_a_browser_is_opened_at_the_link(state: Path, tmp_path: Path) -> None:
    there = tmp_path / "opened"
    command = tmp_path / "browser"
    command.write_text(f'#!/bin/sh\nprintf %s "$1" > {there}.part && mv {there}.part {there}\n')
    command.chmod(0o755)
    with LogWeb(state, "--last", opens=True, BROWSER=f"{command} %s") as served:
        until("the browser is opened", there.exists)
        assert there.read_text() == served.link
        assert served.link.endswith("#/session/01RUNA%2Fs1")


def test_a_missing_browser_is_reported(state: Path) -> None:
    names = ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY")
    with LogWeb(state, opens=True, **dict.fromkeys(names, "")) as served:
        assert "the link works once" in served.said()
        assert "no browser could be opened;" in served.said()


def test_the_page_needs_no_extra() -> None:
    code = "import sys; sys.modules |= dict.fromkeys(('starlette', 'uvicorn', 'websockets'));"
    code += "import lastword.cli.web, lastword.cli.export"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=FUSE_SECONDS)


def test_a_file_without_frames_is_refused(state: Path) -> None:
    other = state / "other"
    other.write_text("a text\n")
    done = lastword("log", "--web", "--frames", str(other), state=state)
    assert done.returncode == 2
    assert "has no frames" in done.stderr
