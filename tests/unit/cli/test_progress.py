"""The progress line, on a real pseudo-terminal."""

from __future__ import annotations

import fcntl
import os
import re
import select
import struct
import termios
import time
from typing import TYPE_CHECKING

import pytest

from lastword.cli.page import Progress

if TYPE_CHECKING:
    from collections.abc import Iterator

FUSE_SECONDS = 20
ERASED = "\r\033[K"
END = "<end>"


class Terminal:
    """A pseudo-terminal, as somebody who sits before it sees it."""

    def __init__(self) -> None:
        self._seen, self.fd = os.openpty()
        self._text = ""

    def resize(self, columns: int) -> None:
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

    def until(self, words: str) -> str:
        """What came up to these words, and with them."""
        fuse = time.monotonic() + FUSE_SECONDS
        while words not in self._text:
            ready, _, _ = select.select([self._seen], [], [], max(0.0, fuse - time.monotonic()))
            assert ready, f"{words!r} is not in {self._text!r}"
            self._text += os.read(self._seen, 4096).decode()
        at = self._text.index(words) + len(words)
        came, self._text = self._text[:at], self._text[at:]
        return came

    def rest(self) -> str:
        """What came since, up to now."""
        os.write(self.fd, END.encode())
        return self.until(END).removesuffix(END)

    def close(self) -> None:
        os.close(self._seen)
        os.close(self.fd)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    opened = Terminal()
    opened.resize(60)
    yield opened
    opened.close()


def shown(text: str) -> list[str]:
    """The lines that stood there, one after the other."""
    return [line for line in re.split("\r|\033\\[K", text) if line]


def test_a_line_is_replaced_during_the_work_and_erased_at_its_end(
    terminal: Terminal,
) -> None:
    with Progress("Row 1", after_seconds=0, fd=terminal.fd) as progress:
        terminal.until("Row 1")
        progress.say("Row 2")
        came = terminal.until("Row 2")
        assert "\n" not in came
        assert all("Row" in line for line in shown(came))
    assert terminal.rest().endswith(ERASED)


def test_the_spinner_turns_without_a_new_message(terminal: Terminal) -> None:
    with Progress("Waiting", after_seconds=0, fd=terminal.fd):
        came = terminal.until("⠙ Waiting")
    assert "⠋ Waiting" in came


def test_a_locale_without_utf_8_has_a_spinner_in_ascii(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", "C")
    with Progress("Wörter", after_seconds=0, fd=terminal.fd):
        assert terminal.until("W?rter").isascii()


def test_work_that_ends_soon_leaves_no_trace(terminal: Terminal) -> None:
    with Progress("Soon done", after_seconds=3600, fd=terminal.fd) as progress:
        progress.say("Done at once")
        with progress.aside():
            os.write(terminal.fd, b"a row")
    assert terminal.rest() == "a row"


def test_the_progress_line_is_hidden_while_something_else_is_written(terminal: Terminal) -> None:
    with Progress("Busy", after_seconds=0, fd=terminal.fd) as progress:
        terminal.until("Busy")
        with progress.aside():
            before = terminal.rest()
            os.write(terminal.fd, b"a row\n")
            assert terminal.rest() == "a row\r\n"
            assert before.endswith(ERASED)
        terminal.until("Busy")


def test_work_that_takes_seconds_shows_how_many(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lastword.cli.page.COUNTS_FROM_SECONDS", 0.0)
    with Progress("Long", after_seconds=0, fd=terminal.fd):
        assert re.search(r"Long \(\d+ s\)", terminal.until(" s)"))


@pytest.mark.parametrize(
    ("text", "columns", "line"),
    [
        ("a text that is too long for it", 20, "⠋ a text that is..."),
        ("漢字漢字漢字漢字漢字", 20, "⠋ 漢字漢字漢字漢..."),
        ("e\u0301e\u0301e\u0301e\u0301", 7, "⠋ e\u0301e\u0301e\u0301e\u0301"),
        ("no room at all", 5, "⠋ .."),
        ("no column", 1, "⠋ "),
        ("two\nlines\033[2J", 40, "⠋ two lines"),
    ],
)
def test_a_line_never_exceeds_the_terminal_and_cannot_steer_it(
    terminal: Terminal, text: str, columns: int, line: str
) -> None:
    terminal.resize(columns)
    with Progress(text, after_seconds=0, fd=terminal.fd):
        came = terminal.until("⠙")
    assert shown(came)[0] == line


def test_work_that_fails_leaves_no_line(terminal: Terminal) -> None:
    with pytest.raises(ZeroDivisionError):  # noqa: PT012, SIM117  (the order is the point)
        with Progress("Failing", after_seconds=0, fd=terminal.fd):
            terminal.until("Failing")
            raise ZeroDivisionError
    assert terminal.rest().endswith(ERASED)


@pytest.mark.parametrize("term", ["dumb", ""])
def test_a_terminal_that_cannot_erase_sees_nothing(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, term: str
) -> None:
    monkeypatch.setenv("TERM", term) if term else monkeypatch.delenv("TERM")
    with Progress("Quiet", after_seconds=0, fd=terminal.fd) as progress:
        assert not progress.shows
        with progress.aside():
            pass
    assert terminal.rest() == ""


def test_a_pipe_gets_no_progress() -> None:
    reader, writer = os.pipe()
    with Progress("Quiet", after_seconds=0, fd=writer) as progress:
        progress.say("Still quiet")
    os.close(writer)
    with open(reader, "rb") as pipe:
        assert pipe.read() == b""


def test_a_vanished_terminal_stops_nothing(terminal: Terminal) -> None:
    own = os.dup(terminal.fd)
    with Progress("Going", after_seconds=0, fd=own) as progress:
        terminal.until("Going")
        with progress.aside():
            os.close(own)
        progress.say("Gone")
    assert "Gone" not in terminal.rest()
