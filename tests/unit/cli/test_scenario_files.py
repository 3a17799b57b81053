"""Scenario files: what they can say, and the sentence for one that is wrong."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from lastword.kit.agent.scenarios import SCENARIOS, STEPS, ScriptError, load, script_of
from tests.kit.command import command
from tests.kit.doc_blocks import scenarios
from tests.kit.rows import every

if TYPE_CHECKING:
    from pathlib import Path

MINE: dict[str, Any] = {
    "turns": [
        [
            {"say": "Let me look. "},
            {"tool": {"title": "Edit a.py", "kind": "edit", "status": "completed"}},
            {"fail": {"http": 529, "message": "Overloaded"}},
        ],
        [{"say": "Better now."}, {"result": "end_turn"}],
    ],
}

EVERY_STEP: dict[str, Any] = {
    "say": "x",
    "think": "x",
    "tool": {"title": "x"},
    "update": {"sessionUpdate": "plan", "entries": []},
    "ask": {"method": "fs/read_text_file", "params": {"path": "/x"}},
    "ask_permission": "x",
    "ask_permissions": ["x", "y"],
    "wait": 0.1,
    "silence": True,
    "retry": {"attempt": 2},
    "repeat": {"steps": [{"say": "x"}], "times": 2},
    "fail": {"exception": "x"},
    "result": "end_turn",
    "raw": {"jsonrpc": "2.0"},
    "bytes": "ff 0a",
    "fill": 10,
    "stderr": "x",
    "exit": 3,
    "kill": "SIGTERM",
    "hang": True,
    "child": 1,
    "close": "stdout",
}


def run(path: object, *arguments: str) -> tuple[int, str, str]:
    done = command("agent", *arguments, str(path))
    return done.returncode, done.stdout, done.stderr


def written(folder: Path, value: object, name: str = "mine.json") -> Path:
    file = folder / name
    file.write_text(value if isinstance(value, str) else json.dumps(value))
    return file


def test_every_scenario_is_a_scenario_file_too() -> None:
    for name, scenario in SCENARIOS.items():
        script = scenario.script
        assert script_of(json.loads(json.dumps(msgspec.to_builtins(script)))) == script, name


def test_a_scenario_is_printed_as_a_file_to_start_from(tmp_path: Path) -> None:
    status, out, err = run("after_tool", "--script")
    assert (status, err) == (0, "")
    assert load(str(written(tmp_path, out))) == SCENARIOS["after_tool"].script


def test_every_step_can_be_written_in_a_file() -> None:
    assert set(EVERY_STEP) == set(STEPS)
    for name, value in EVERY_STEP.items():
        script = script_of({"turns": [[{name: value}]]})
        assert script.turns[0][0].action[0] == name


def test_help_names_every_step() -> None:
    help_text = run("--help")[1]
    for name in STEPS:
        assert name in help_text


BAD = {
    "no JSON": ("{", "invalid JSON"),
    "no object": ([1], "Expected `object`, got `array`"),
    "no turns": ({}, "missing required field `turns`"),
    "empty": ({"turns": []}, "turns is empty"),
    "unknown member": ({"turns": [[]], "on_cancle": "ignore"}, "did you mean on_cancel?"),
    "unknown step": (
        {"turns": [[{"say": "x"}, {"sya": "x"}]]},
        'turn 1, step 2: there is no "sya"',
    ),
    "unknown step's like": ({"turns": [[{"sya": "x"}]]}, "did you mean say?"),
    "two in one": ({"turns": [[{"say": "x", "wait": 1}]]}, "turn 1, step 1: a step is one of"),
    "none in one": ({"turns": [[{}]]}, "this one is empty"),
    "wrong type": ({"turns": [[], [{"wait": "long"}]]}, "turn 2, step 1, wait: Expected `float`"),
    "unknown status": ({"turns": [[{"tool": {"status": "x"}}]]}, "turn 1, step 1, tool, status"),
    "no way to fail": ({"turns": [[{"fail": {}}]]}, "step 1, fail: it needs exactly one of http"),
    "two ways": ({"turns": [[{"fail": {"http": 4, "exception": "x"}}]]}, "one of http"),
    "half a payload": ({"turns": [[{"fail": {"agent_error": {}}}]]}, "lacks type, message"),
    "unknown type": (
        {"turns": [[{"fail": {"agent_error": {"type": "x", "message": "", "retryable": True}}}]]},
        "type is one of rate_limit",
    ),
    "no hex": ({"turns": [[{"bytes": "xyz"}]]}, "hexadecimal"),
    "no signal": ({"turns": [[{"kill": "NINE"}]]}, "such as SIGKILL"),
    "no status": ({"turns": [[{"exit": 999}]]}, "from 0 to 255"),
    "no time": ({"turns": [[{"wait": -1}]]}, "seconds are from 0 to 86400"),
    "for ever": ({"turns": [[{"retry": {"attempt": 2, "wait": 1e9}}]]}, "retry: seconds are"),
    "too much": ({"turns": [[{"fill": 1 << 40}]]}, "fill: it takes at most"),
    "not so": ({"turns": [[{"hang": False}]]}, "hang: it can only be true"),
    "an end at a start": ({"turns": [[]], "starts": [[{"result": "x"}]]}, "no turn to end"),
    "no kind": ({"turns": [[{"update": {}}]]}, "sessionUpdate is missing"),
    "in a repeat": (
        {"turns": [[{"repeat": {"steps": [{"kill": "NINE"}]}}]]},
        "turn 1, step 1, repeat, step 1, kill",
    ),
    "in a start": ({"turns": [[]], "starts": [[{"exit": -1}]]}, "start 1, step 1, exit"),
    "in on_cancel": ({"turns": [[]], "on_cancel": [{"exit": -1}]}, "on_cancel, step 1, exit"),
    "unknown option": ({"turns": [[]], "run": {"idle": 5}}, "no option --idle"),
    "bad value": ({"turns": [[]], "run": {"idle-timeout": "x"}}, "--idle-timeout cannot be 'x'"),
}


@every("case", BAD)
def test_a_bad_file_is_answered_with_one_sentence(tmp_path: Path, case: str) -> None:
    value, words = BAD[case]
    status, out, err = run(written(tmp_path, value))
    assert (status, out) == (2, "")
    assert words in err
    assert err.count("\n") == 1


def test_an_unreadable_file_is_reported(tmp_path: Path) -> None:
    assert "no such file" in run(tmp_path / "none.json")[2]
    assert "is a directory" in run(tmp_path, "--file")[2]
    (tmp_path / "latin.json").write_bytes(b'{"turns": "\xff"}')
    assert "is not UTF-8 (byte 11)" in run(tmp_path / "latin.json")[2]
    (tmp_path / "big.json").write_bytes(b" " * (1 << 21))
    assert "at most 1024 KiB" in run(tmp_path / "big.json")[2]
    assert "not both" in run("healthy", "--file", str(tmp_path / "big.json"))[2]


YAML = """
turns:
  - - say: "Let me look. "
    - tool: {title: Edit a.py, kind: edit, status: completed}
    - fail: {http: 529, message: Overloaded}
  - - say: Better now.
    - result: end_turn
"""


def need_yaml() -> None:
    if importlib.util.find_spec("yaml") is None:
        if os.environ.get("CI"):
            pytest.fail("PyYAML is not installed", pytrace=False)
        pytest.skip("PyYAML is not installed")


def test_the_scenario_file_in_the_documentation_is_valid(tmp_path: Path) -> None:
    need_yaml()
    (shown,) = scenarios()
    script = load(str(written(tmp_path, shown.text, "mine.yaml")))
    assert script == msgspec.structs.replace(script_of(MINE), on_cancel="confirm")


def test_yaml_is_read_like_json_if_its_package_is_installed(tmp_path: Path) -> None:
    need_yaml()
    assert load(str(written(tmp_path, YAML, "mine.yaml"))) == script_of(MINE)
    with pytest.raises(ScriptError, match=r"invalid YAML: .*line 1"):
        load(str(written(tmp_path, "a: [", "bad.yml")))


def test_yaml_without_its_package_is_refused_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(ScriptError, match=r"pip install .*\[yaml\]'; or use JSON"):
        load(str(written(tmp_path, YAML, "mine.yaml")))
