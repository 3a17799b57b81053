"""The policy and the words of a link in JavaScript and in Python are of one mind, to the byte."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from lastword.client import reconnect
from tests.interop import toolchain
from tests.interop.typescript.guard import compile_ts
from tests.kit.programs import run_program
from tests.kit.reconnect_data import (
    FOLDER,
    Moment,
    canonical,
    document,
    drawn_schedule,
    played,
    schedules,
)

HERE = Path(__file__).resolve().parent
SOURCE = FOLDER / "reconnect.js"
RANDOM_SCHEDULES = 1_000


def moments_of(name: str) -> list[Moment]:
    vector = schedules()[name]
    before = moments_of(vector["after"]) if "after" in vector else []
    own = [(step["event"], step["at"], step.get("random", 0.5)) for step in vector["steps"]]
    return [*before, *own]


def asked(schedule: list[Moment]) -> str:
    return json.dumps({"start": 0, "moments": schedule})


def told_by_node(lines: list[str]) -> list[str]:
    toolchain.require_plain_node()
    done = run_program(
        ["node", str(HERE / "play_lines.mjs"), str(SOURCE)],
        stdin="".join(f"{line}\n" for line in lines),
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")[:-1]


def classified() -> tuple[list[str], list[str]]:
    """Every line of the classifiers' tables, and some that they do not have."""
    classify = {
        "close": reconnect.classify_close,
        "upgrade": reconnect.classify_upgrade,
        "failure": reconnect.classify_failure,
    }
    calls: list[tuple[str, list[Any]]] = [
        *(("close", [told["code"], told["reason"]]) for told in document()["close"]),
        *(("upgrade", [told["status"], told["retry_after"]]) for told in document()["upgrade"]),
        *(("failure", [told["text"]]) for told in document()["failure"]),
        *(("close", [code]) for code in range(5_000)),
        *(("upgrade", [status]) for status in range(700)),
        *(("failure", [f"a{chr(point)}b\U0001f600"]) for point in range(0x2100)),
    ]
    lines = [json.dumps({"classify": name, "arguments": given}) for name, given in calls]
    return lines, [canonical(asdict(classify[name](*given))) for name, given in calls]


def same(told: list[str], expected: list[str]) -> None:
    assert len(told) == len(expected)
    for number, (theirs, ours) in enumerate(zip(told, expected, strict=True)):
        assert theirs.encode() == ours.encode(), number


def test_node_plays_every_vector_to_the_same_bytes() -> None:
    given = [moments_of(name) for name in schedules()]
    same(told_by_node([asked(one) for one in given]), [canonical(played(one)) for one in given])


def test_node_classifies_the_same_way() -> None:
    lines, expected = classified()
    same(told_by_node(lines), expected)


def test_a_thousand_random_schedules_give_the_same_bytes_in_both_languages() -> None:
    given = [drawn_schedule(seed) for seed in range(RANDOM_SCHEDULES)]
    expected = [canonical(played(one)) for one in given]
    same(told_by_node([asked(one) for one in given]), expected)
    ends = {state["why"] for one in expected for state, _ in json.loads(one)}
    assert ends >= {None, *reconnect.Why}, "the schedules do not reach every end"


def test_the_compiler_agrees_with_every_type_in_its_comments() -> None:
    options = "--allowJs --checkJs --noEmit --strict --noUnusedLocals --noUncheckedIndexedAccess"
    options += " --exactOptionalPropertyTypes --noImplicitReturns --target es2022 --module esnext"
    compile_ts(*options.split(), str(SOURCE))


def test_the_file_imports_nothing() -> None:
    code = [line for line in SOURCE.read_text().splitlines() if not line.startswith((" *", "/*"))]
    assert not [line for line in code if "import" in line or "require(" in line]
