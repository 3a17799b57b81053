"""CONTRIBUTING's walks through the code: each file and each function that they name is there."""

from __future__ import annotations

import ast
import re

from tests.kit import sources
from tests.kit.places import ROOT
from tests.kit.rows import every

WALKS = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
WALKS = WALKS.partition("## Five walks")[2].partition("\n## ")[0]
NAMED = [
    f"{file}: {name}"
    for file, names in re.findall(r"`([\w/]+\.py)` \(([^)]+)\)", WALKS)
    for name in re.findall(r"`([\w.]+)`", names)
]


def test_there_are_five_walks_of_at_most_five_steps() -> None:
    steps = [re.findall(r"^(\d)\. ", walk, re.MULTILINE) for walk in WALKS.split(":\n\n")[1:]]
    assert len(steps) == 5
    assert all(3 <= len(each) <= 5 for each in steps)
    assert len(NAMED) >= 5 * len(steps)
    assert len(re.findall(r"\w+\.py", WALKS)) == len(re.findall(r"\.py` \(`", WALKS))


@every("step", NAMED)
def test_every_name_in_a_walk_exists(step: str) -> None:
    file, _, name = step.partition(": ")
    body = ast.parse((sources.ROOT / file).read_text(encoding="utf-8")).body
    for part in name.split("."):
        named = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
        (found,) = [node for node in body if isinstance(node, named) and node.name == part]
        body = found.body
