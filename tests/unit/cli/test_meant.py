"""What a user meant: an error by its name, `--json` of a failure."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.kit.client import clean_environment
from tests.kit.command import command, in_a_process
from tests.kit.json_glossary import problems_in

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path


def run(
    *arguments: str, state: Path | None = None, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    environment = clean_environment() | ({"LASTWORD_STATE_DIR": str(state)} if state else {})
    begin = in_a_process if arguments[:2] == ("run", "--") else command
    return begin(*arguments, cwd=cwd, environment=environment)


NAMED = {
    "429": "rate_limit",
    "529": "provider_unavailable",
    "rate_limit": "rate_limit",
    "Rate-Limit": "rate_limit",
    "context overflow": "context_overflow",
    "529 Overloaded": "provider_unavailable",
    "ECONNREFUSED": "network",
    "it went wrong somehow": "unknown",
}


def test_an_error_is_explained_by_its_name(tmp_path: Path) -> None:
    for words, error_type in NAMED.items():
        done = run("explain", "--json", words, state=tmp_path, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["type"] == error_type
        assert run("explain", words, cwd=tmp_path).stdout.startswith(f"{error_type}\n")


def test_a_file_takes_precedence_over_a_name(tmp_path: Path) -> None:
    (tmp_path / "429").write_text("Error: 529 Overloaded")
    told = json.loads(run("explain", "--json", "429", cwd=tmp_path).stdout)
    assert told["type"] == "provider_unavailable"


@pytest.mark.parametrize("word", ["77", "frobnicate"])
def test_an_unknown_word_is_answered_with_what_explain_accepts(word: str, tmp_path: Path) -> None:
    done = run("explain", word, cwd=tmp_path, state=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "a status such as 429, a type such as rate_limit, an incident" in done.stderr


FAILING = [
    ["check", "--json"],
    ["doctor", "--json"],
    ["doctor", "--json", "--timeout", "soon", "--", "true"],
    ["explain", "--json", "/nowhere"],
    ["export", "--json"],
    ["frobnicate", "--json"],
    ["gateway", "status", "--json", "--port", "x"],
    ["log", "--json", "--since", "soon"],
    ["log", "--json"],
    ["outbox", "--json", "--send"],
    ["setup", "--json", "zed"],
    ["setup", "--json", "nvim", "claude"],
    ["stats", "--json", "--days", "0"],
    ["stats", "--json"],
    ["agent", "--json", "frobnicate"],
]


def test_a_failing_command_prints_json_if_json_was_requested(tmp_path: Path) -> None:
    for arguments in FAILING:
        done = run(*arguments, state=tmp_path / "none")
        assert done.returncode in (1, 2), arguments
        told = json.loads(done.stdout)
        assert list(told) == ["version", "error"], arguments
        assert told["version"] == 1
        assert told["error"]["exit_status"] == done.returncode
        assert told["error"]["message"]
        assert told["error"]["message"] in done.stderr
        assert not told["error"]["message"].startswith("lastword")
        assert list(problems_in(told, "error")) == []
