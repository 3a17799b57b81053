"""`lastword demo`: every turn ends typed; the pictures in docs are what it draws."""

from __future__ import annotations

import os
import pty
import re
import subprocess
from typing import TYPE_CHECKING

import msgspec
import pytest

from docs.demo_pictures import pictures
from lastword.cli import demo as shown
from lastword.cli.page import Page
from tests.kit.command import PROCESS, command
from tests.kit.patience import FUSE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from lastword.cli.demo import ScenarioTurns

    Demo = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def played() -> list[ScenarioTurns]:
    """The turns, played once: each test shows them otherwise."""
    return shown.run_all()


@pytest.fixture
def demo(played: list[ScenarioTurns], monkeypatch: pytest.MonkeyPatch) -> Demo:
    """The command, on those turns."""
    monkeypatch.setattr(shown, "run_all", lambda: played)

    def begin(*arguments: str, columns: int = 120) -> subprocess.CompletedProcess[str]:
        return command("demo", *arguments, environment={**os.environ, "COLUMNS": str(columns)})

    return begin


def test_the_demo_uses_no_words_of_the_wire(demo: Demo) -> None:
    said = demo().stdout
    assert "\033" not in said
    for word in ("rate_limit", "offer_continue", "before_output", "-32603", "agent_error"):
        assert word not in said


def test_a_narrow_demo_shows_one_screen_below_the_other(demo: Demo) -> None:
    done = demo(columns=60)
    turns, _, _ = done.stdout.partition("\nNext\n")  # its commands are not cut: they are pasted
    assert max(map(len, turns.splitlines())) <= 60
    without = done.stdout.index("Without lastword, a client like Zed shows:")
    assert without < done.stdout.index("With lastword, the same client shows:")


def test_the_next_commands_begin_with_the_command_that_was_typed(
    played: list[ScenarioTurns],
) -> None:
    for columns in (60, 120):
        page = Page(columns, least=60, most=120)
        shown.show(page, played, frames=False, typed="uvx --from /src/lastword lastword")
        _, _, after = page.drain().partition("Next\n")
        assert after.count("  uvx --from /src/lastword lastword ") == len(shown.NEXT)


def test_frames_are_shown_as_they_came(demo: Demo) -> None:
    said = demo("--frames").stdout
    assert '"agent_error"' in said
    assert '"stopReason": "end_turn"' in said


def test_the_demo_blames_the_machine_for_a_turn_that_did_not_begin_or_end_in_time(
    played: list[ScenarioTurns], monkeypatch: pytest.MonkeyPatch
) -> None:
    late = msgspec.structs.replace(played[0].alone, answer=None, typed=None, text="", ended=False)
    unbegun = msgspec.structs.replace(late, started=False)
    of_all = [shown.ScenarioTurns(unbegun, late, late) for _ in played]
    monkeypatch.setattr(shown, "run_all", lambda: of_all)
    done = command("demo", environment={**os.environ, "COLUMNS": "120"})
    assert done.returncode == 1
    assert done.stdout.count("This machine was too slow to tell.") == 2 * len(of_all)
    assert "spinner" not in done.stdout


def test_the_pictures_in_docs_show_what_the_demo_shows(played: list[ScenarioTurns]) -> None:
    for path, picture in pictures(played).items():
        there, now = (re.sub(r"after \d+ s", "", each) for each in (path.read_text(), picture))
        assert there == now, "draw it again: python -m docs.demo_pictures --write"


def test_the_demo_ends_every_turn_typed_by_the_defaults_wherever_it_runs_and_leaves_no_record(
    tmp_path: Path,
) -> None:
    for name in ("json.py", "lastword.py", "select.py"):
        (tmp_path / name).write_text("raise SystemExit('the wrong module')\n")
    home = tmp_path / "home"
    config = home / ".config" / "lastword" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("[run]\nfallback = 'text'\n")
    places = {"HOME": str(home), "XDG_STATE_HOME": "", "LASTWORD_STATE_DIR": ""}
    places |= {"XDG_CONFIG_HOME": "", "LASTWORD_NO_CONFIG": "", "TERM": "xterm"}
    forced = {"LASTWORD_PASSTHROUGH": "1", "LASTWORD_FALLBACK": "text"}
    seen, terminal = pty.openpty()
    done = subprocess.run(
        [*PROCESS, "demo"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=terminal,
        timeout=FUSE_SECONDS,
        check=False,
        env={**os.environ, **places, **forced},
    )
    os.write(terminal, b"<end>")
    said = b""
    while not said.endswith(b"<end>"):
        said += os.read(seen, 4096)
    os.close(seen)
    os.close(terminal)
    assert done.returncode == 0
    shown = done.stdout.decode()
    for words in (
        "A spinner, after 1.5 s and for ever.",
        "Done. Nothing is shown, not even an error.",
        "The agent is gone",
        "Retry: yes, after 20 s",
        "Safe to retry: by continuing, not repeating",
        "ended by SIGKILL",
        "doctor -- YOUR-AGENT",
    ):
        assert words in shown
    assert shown.count("A client that reads lastword's errors knows:") == 3
    assert [path for path in home.rglob("*") if path.is_file()] == [config]
    # Its line of progress is cleared.
    assert b"without and with lastword" in said
    assert said.endswith(b"\r\033[K<end>")
