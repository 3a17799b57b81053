"""`lastword setup`: real settings files in a home of its own, changed and changed back."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from lastword.quirks.setup import AGENTS, EDITORS
from tests.kit.command import command
from tests.kit.rows import every
from tests.unit.cli.setup import meaning

SETTINGS = """\
// Zed settings
{
  "theme": "One Dark", // dark
  "agent_servers": {
    /* mine { */
    "Mine": {
      "type": "custom",
      "command": "opencode", // here
      "args": ["acp"],
      "default_mode": "plan",
    },
  },
}
"""


class Home:
    """A home with Zed's settings, and programs on its PATH."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.zed = folder / ".config/zed/settings.json"
        self.zed.parent.mkdir(parents=True)
        self.zed.write_text(SETTINGS)
        self.bin = folder / "bin"
        self.bin.mkdir()
        for name in ("lastword", "npx", "opencode", "gemini"):
            (self.bin / name).write_text("#!/bin/sh\n")
            (self.bin / name).chmod(0o755)

    def run(self, *arguments: str, status: int = 0) -> str:
        """Run `lastword setup`; gives what it says, on stderr where it fails."""
        done = command(
            "setup",
            *arguments,
            cwd=self.folder,
            environment={"HOME": str(self.folder), "PATH": str(self.bin), "COLUMNS": "200"},
        )
        assert done.returncode == status, (done.stdout, done.stderr)
        assert "Traceback" not in done.stderr
        if status:
            assert done.stdout == ""
            return done.stderr
        assert done.stderr == ""
        return done.stdout

    def json(self, *arguments: str) -> dict[str, Any]:
        """Run it for machines."""
        text = self.run("--json", *arguments)
        assert text.startswith('{\n  "version": 1,')
        told: dict[str, Any] = json.loads(text)
        return told

    def refused(self, *arguments: str) -> str:
        """Run it in vain: nothing changes, and one sentence says why."""
        before = self.files()
        text = self.run(*arguments, status=1)
        assert self.files() == before
        assert text.count("\n") == 1
        return text

    def files(self) -> dict[str, bytes]:
        """All files below the home."""
        found = (Path(top) / name for top, _, names in os.walk(self.folder) for name in names)
        return {str(path): path.read_bytes() for path in found if path.is_file()}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


def test_settings_are_written_with_a_backup_and_removed_to_the_byte(home: Home) -> None:
    home.zed.chmod(0o640)
    told = home.json("zed", "claude", "--write", "--retry", "2")
    assert told["action"] == "written"
    assert meaning(home.zed.read_text())["agent_servers"]["claude-lastword"] == told["entry"] == {
        "type": "custom",
        "command": "lastword",
        "args": ["run", "--retry", "2", "--", *AGENTS["claude"].command],
    }  # fmt: skip
    assert home.zed.read_text().startswith(SETTINGS[: SETTINGS.index('      "default_mode"')])
    assert Path(told["backup"]).read_text() == SETTINGS
    for file in (home.zed, Path(told["backup"])):
        assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert home.json("zed", "claude", "--remove")["action"] == "removed"
    assert home.zed.read_text() == SETTINGS


def test_writing_twice_changes_nothing_the_second_time(home: Home) -> None:
    home.run("zed", "claude", "--write")
    before = home.files()
    assert home.json("zed", "claude", "--write")["action"] == "unchanged"
    assert home.files() == before
    assert home.json("zed", "claude", "--write", "--verbose")["action"] == "replaced"
    assert "--verbose" in home.zed.read_text()


def test_printing_touches_nothing(home: Home) -> None:
    before = home.files()
    for editor in EDITORS:
        told = home.json(editor, "claude")
        assert told["action"] == "print"
        assert told["snippet"].splitlines()[0] in home.run(editor, "claude")
    assert home.files() == before


@every("editor", [row.name for row in EDITORS.values() if row.is_json])
def test_an_editor_without_settings_gets_a_file_with_the_printed_content(
    tmp_path: Path, editor: str
) -> None:
    home = Home(tmp_path / "home")
    home.zed.unlink()
    home.zed.parent.rmdir()
    home.zed.parent.parent.rmdir()
    # A folder that does not exist is not created unless the user says so.
    said = home.refused(editor, "claude", "--write")
    assert "there is no folder" in said
    assert "--create" in said
    assert sorted(path.name for path in home.folder.iterdir()) == ["bin"]
    told = home.json(editor, "--write", "--create", "--", "opencode", "acp")
    file = Path(told["file"])
    assert file.is_relative_to(home.folder)
    assert file.read_text() == told["snippet"] + "\n"
    assert told["backup"] is None
    assert home.json(editor, "--remove")["name"] == "opencode-lastword"
    assert file.read_text() == "{}\n"
    assert home.json(editor, "--remove")["action"] == "absent"


def test_jetbrains_gets_whole_paths_and_the_path_of_the_terminal(home: Home) -> None:
    entry = home.json("jetbrains", "--write", "--create", "--", "opencode", "acp")["entry"]
    assert entry == {
        "command": f"{home.bin}/lastword",
        "args": ["run", "--", f"{home.bin}/opencode", "acp"],
        "env": {"PATH": str(home.bin)},
    }
    assert "`nowhere` was not found on PATH." in home.run("jetbrains", "--", "nowhere")


def test_an_existing_agent_is_wrapped_and_unwrapped(home: Home) -> None:
    told = home.json("zed", "--wrap", "Mine", "--write", "--retry", "1")
    assert told["action"] == "wrapped"
    command = {"command": "lastword", "args": ["run", "--retry", "1", "--", "opencode", "acp"]}
    assert told["entry"] == json.loads(told["snippet"]) == command
    kept = {"type": "custom", "default_mode": "plan"}
    assert meaning(home.zed.read_text())["agent_servers"]["Mine"] == kept | command
    assert '"command": "lastword", // here' in home.zed.read_text()
    assert home.json("zed", "--wrap", "Mine", "--write")["action"] == "unchanged"
    again = home.run("zed", "--wrap", "Mine", "--overnight", "--write")
    assert "Mine already runs behind lastword." in again
    assert "Its options stay as they are." in again
    assert "--spend-limit" not in again
    assert "--wrap Mine --remove leaves the agent" in home.refused("zed", "--remove")
    assert home.json("zed", "--wrap", "Mine", "--remove")["action"] == "unwrapped"
    assert home.zed.read_text() == SETTINGS
    assert home.json("zed", "--wrap", "Mine", "--remove")["action"] == "unchanged"
    again = " ".join(home.run("zed", "--wrap", "Mine", "--remove").split())
    assert "Mine runs without lastword, so there is nothing to remove." in again


def test_a_wrap_is_shown_before_it_is_written(home: Home) -> None:
    text = home.run("zed", "--wrap", "Mine")
    assert '  "args": ["run", "--", "opencode", "acp"]\n}' in text
    assert home.zed.read_text() == SETTINGS
    assert "it has Mine" in home.refused("zed", "--wrap", "Theirs")


@pytest.mark.parametrize(
    "entry",
    [
        {"command": "x", "args": "acp"},
        {"command": "x", "args": True},
        {"argv": "x acp"},
        {"command": ["x"]},
    ],
)
def test_a_command_in_an_unknown_form_is_left_alone(home: Home, entry: dict[str, Any]) -> None:
    text = json.dumps({"agent_servers": {"Mine": entry}})
    home.zed.write_text(text)
    assert "in an unknown form" in home.refused("zed", "--wrap", "Mine", "--write")
    assert home.zed.read_text() == text


def test_acpx_s_command_in_one_string_is_wrapped_and_comes_back(home: Home) -> None:
    file = home.folder / ".acpx/config.json"
    file.parent.mkdir()
    file.write_text('{"agents": {"mine": {"command": "npx -y my-agent"}}}')
    entry = home.json("acpx", "--wrap", "mine", "--write")["entry"]
    assert entry == {"command": "lastword run -- npx -y my-agent"}
    home.run("acpx", "--wrap", "mine", "--remove")
    assert meaning(file.read_text()) == {"agents": {"mine": {"command": "npx -y my-agent"}}}
    assert home.json("acpx", "--name", "BIG", "claude")["name"] == "big"


def test_an_agent_that_zed_starts_by_itself_has_no_command_to_wrap(home: Home) -> None:
    home.zed.write_text('{"agent_servers": {"claude-acp": {"type": "registry"}}}')
    assert "has no command" in home.refused("zed", "--wrap", "claude-acp", "--write")
    home.zed.write_text('{"agent_servers": {"gemini": {"type": "registry"}}}')
    assert "`lastword setup zed gemini`" in home.refused("zed", "--wrap", "gemini")


def test_a_foreign_entry_is_left_alone_unless_forced(home: Home) -> None:
    text = home.refused("zed", "claude", "--name", "Mine", "--write")
    assert "--wrap Mine" in text
    assert "does not run lastword" in home.refused("zed", "--name", "Mine", "--remove")
    assert (
        home.json("zed", "claude", "--name", "Mine", "--write", "--force")["action"] == "replaced"
    )
    home.zed.write_text(SETTINGS.replace('"command": "opencode"', '"command": "lastword"').replace(
        '["acp"]', '["run", "--", "old"]'
    ))  # fmt: skip
    assert "default_mode" in home.refused("zed", "claude", "--name", "Mine", "--write")


def test_several_entries_with_lastword_are_distinguished_by_name(home: Home) -> None:
    home.run("zed", "claude", "--write")
    home.run("zed", "gemini", "--write")
    assert "claude-lastword, gemini-lastword" in home.refused("zed", "--remove")
    assert home.json("zed", "--remove", "--name", "gemini-lastword")["action"] == "removed"
    assert home.json("zed", "--remove")["name"] == "claude-lastword"
    assert home.zed.read_text() == SETTINGS


def test_a_link_to_the_settings_stays_a_link(home: Home) -> None:
    dotfiles = home.folder / "dotfiles/zed.json"
    dotfiles.parent.mkdir()
    home.zed.rename(dotfiles)
    home.zed.symlink_to("../../dotfiles/zed.json")
    told = home.json("zed", "claude", "--write")
    assert home.zed.is_symlink()
    assert "claude-lastword" in dotfiles.read_text()
    assert Path(told["backup"]).parent == dotfiles.parent


def test_a_mark_before_the_text_stays_there(home: Home) -> None:
    home.zed.write_bytes(b"\xef\xbb\xbf" + SETTINGS.replace("\n", "\r\n").encode())
    home.run("zed", "claude", "--write")
    data = home.zed.read_bytes()
    assert data.startswith(b"\xef\xbb\xbf// Zed")
    assert data.count(b"\n") == data.count(b"\r\n")


LEFT_ALONE = (
    (b"{", "not valid JSON (line 1, column 2"),
    (b"\xff\xfe{\x00}\x00", "it is not UTF-8"),
    (b"[]", "does not contain a JSON object"),
    (b'{"agent_servers": {}, "agent_servers": {}}', "twice"),
    (b" " * (8 * 1024 * 1024 + 1), "larger than 8 MiB"),
)


def test_settings_that_cannot_be_changed_safely_are_left_alone(home: Home) -> None:
    for data, reason in LEFT_ALONE:
        home.zed.write_bytes(data)
        text = home.refused("zed", "claude", "--write")
        assert text.startswith("lastword setup: ~/.config/zed/settings.json was not changed: ")
        assert reason in text
    home.zed.write_text(SETTINGS)
    os.link(home.zed, home.folder / "second.json")
    assert "hard link" in home.refused("zed", "claude", "--write")
    home.zed.unlink()
    os.mkfifo(home.zed)
    assert "not a regular file" in home.refused("zed", "claude", "--write")


def test_a_folder_that_is_in_the_way_is_reported(home: Home) -> None:
    in_the_way = str(home.zed / "settings.json")
    assert "not a directory" in home.refused("zed", "claude", "--write", "--file", in_the_way)


def test_another_file_can_be_chosen(home: Home) -> None:
    told = home.json("acpx", "codex", "--write", "--file", ".acpxrc.json")
    assert told["file"] == str(home.folder / ".acpxrc.json")
    assert "codex-lastword" in meaning((home.folder / ".acpxrc.json").read_text())["agents"]


def test_all_known_editors_and_agents_are_listed(home: Home) -> None:
    text = home.run("--list")
    told = home.json("--list")
    assert {row["name"] for row in told["editors"]} == set(EDITORS)
    assert {row["name"] for row in told["agents"]} == set(AGENTS)
    assert all(name in text for name in (*EDITORS, *AGENTS))
    assert all(row["evidence"] and row["read_on"] for row in told["editors"] + told["agents"])


UNUSABLE = (
    ((), "say which editor: zed, jetbrains"),
    (("zde", "claude"), "did you mean zed?"),
    (("zed", "cluade"), "did you mean claude?"),
    (("zed",), "say which agent: lastword setup zed claude"),
    (("zed", "--"), "there is no command after --"),
    (("zed", "claude", "--", "x"), "not both"),
    (("zed", "--", "--retry", "2", "x"), "belongs before --: lastword setup zed --retry 2 -- x"),
    (("zed", "--", "lastword", "run", "--", "x"), "command: lastword setup zed -- x"),
    (("zed", "--wrap", "Mine", "claude"), "--wrap names an agent in the settings"),
    (("zed", "claude", "--name", " "), "--name is empty"),
    (("zed", "claude", "--retry", "x"), "--retry cannot be 'x'"),
    (("codecompanion", "claude", "--write"), "--write is not for CodeCompanion.nvim"),
    (("agent-shell", "--remove"), "--remove is not for agent-shell"),
    (("toad", "claude", "--file", "x"), "it takes agents on its command line"),
    (("zed", "--continue-at-reset", "12h", "--", "x"), "write --continue-at-reset=12h: "),
    (("zed", "claude", "--nonsense"), "there is no option --nonsense"),
    (("nvim", "claude"), "`lastword setup codecompanion claude` or `lastword setup avante claude`"),
    (("vim", "claude"), "two of Neovim do: `lastword setup codecompanion claude`"),
    (("cursor", "claude"), "setup vscode claude --file ~/.config/Cursor/User/settings.json`"),
    (("claude",), "say which editor claude is for: lastword setup EDITOR claude"),
)


def test_an_unusable_command_line_is_answered_with_what_to_do(home: Home) -> None:
    assert [row for row in UNUSABLE if row[1] not in home.run(*row[0], status=2)] == []


def test_the_next_step_and_the_undo_command_are_printed(home: Home) -> None:
    text = home.run("zed", "opencode", "--write")
    assert "Next:   In Zed's agent panel, press + and choose opencode-lastword.\n" in text
    assert "Check:  lastword doctor -- opencode acp\n" in text
    undo = "Undo:   lastword setup zed opencode --remove\n"
    assert text.endswith(undo)
    home.run(*undo.split()[3:])
    assert home.zed.read_text() == SETTINGS
    text = home.run("zed", "opencode", "--name", "Other", "--write")
    assert text.endswith("Undo:   lastword setup zed --remove --name Other\n")


def test_an_editor_is_found_by_the_names_that_people_give_it(home: Home) -> None:
    named = {"emacs": "agent-shell", "IntelliJ": "jetbrains", "vscodium": "vscode"}
    assert {name: home.json(name, "claude")["editor"] for name in named} == named


def test_an_agent_that_is_given_before_the_editor_is_understood(home: Home) -> None:
    assert home.json("claude", "zed") == home.json("zed", "claude")
    swapped = home.json("cursor", "zed")
    assert (swapped["editor"], swapped["agent"]) == ("zed", "cursor")


def test_a_script_is_named_by_its_whole_path(home: Home) -> None:
    script = home.folder / "out/agent.js"
    script.parent.mkdir()
    for file in (script, home.folder / "agent.py", home.folder / "acp"):
        file.write_text("")
    for name in ("bin/node", "bin/python3", "agent"):
        (home.folder / name).write_text("#!/bin/sh\n")
        (home.folder / name).chmod(0o755)

    def agent(*command: str) -> list[str]:
        words: list[str] = home.json("zed", "--", *command)["entry"]["args"]
        return words[words.index("--") + 1 :]

    assert agent("node", "out/agent.js", "--acp") == ["node", str(script), "--acp"]
    assert agent("python3", "-u", "agent.py") == ["python3", "-u", f"{home.folder}/agent.py"]
    assert agent("./agent", "--config", "out/agent.js") == [
        *(f"{home.folder}/agent", "--config", str(script))
    ]
    assert agent("./nowhere") == [f"{home.folder}/nowhere"]
    assert agent("opencode", "acp") == ["opencode", "acp"]
    assert "the settings name" in home.run("zed", "--", "node", "out/agent.js")


def options_in(told: dict[str, Any]) -> list[str]:
    args: list[str] = told["entry"]["args"]
    return args[1 : args.index("--")]


def test_the_overnight_option_sets_several_options_at_once(home: Home) -> None:
    told = home.json("zed", "--overnight", "--", "opencode", "acp")
    assert options_in(told) == [
        *("--retry", "2", "--continue-at-reset=12h", "--ask-reminder", "5m"),
        *("--ask-timeout", "30m=reject"),
    ]
    assert "--spend-limit 20USD/day" in told["notes"][-1]
    own = ["--retry", "5", "--spend-limit", "5EUR", "--fallback-model", "m"]
    own += ["--notify", "http://h/"]
    told = home.json("zed", "--overnight", *own, "--", "opencode", "acp")
    assert "--retry 5" in " ".join(options_in(told))
    assert options_in(told).count("--retry") == 1
    assert not any("Only you" in note for note in told["notes"])


def test_an_option_with_a_default_value_needs_none_here_either(home: Home) -> None:
    told = home.json("zed", "--continue-at-reset", "--", "opencode", "acp")
    assert options_in(told) == ["--continue-at-reset=6h"]
    told = home.json("zed", "--continue-at-reset=2h", "--", "opencode", "acp")
    assert options_in(told) == ["--continue-at-reset=2h"]
