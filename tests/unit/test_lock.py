"""The lock of the tests' packages: each line names the extras that another package asks of it.

Older releases of pip take the newest `coverage[toml]`, and refuse it for want of a hash, when the
lock has only `coverage`; the lock then fails on the day a newer release appears.
"""

from __future__ import annotations

import re
from importlib.metadata import distributions

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.kit.places import ROOT

LINE = re.compile(r"^([A-Za-z0-9._-]+)(?:\[([a-z0-9,_-]+)\])?==", re.MULTILINE)


def locked() -> dict[str, set[str]]:
    text = (ROOT / "tests" / "requirements.txt").read_text()
    return {
        canonicalize_name(name): set(extras.split(",")) - {""}
        for name, extras in LINE.findall(text)
    }


def test_each_line_of_the_lock_names_the_extras_that_others_require_of_it() -> None:
    lock = locked()
    asked: dict[str, set[str]] = {}
    for distribution in distributions():
        if canonicalize_name(distribution.name) not in lock:
            continue
        for text in distribution.requires or []:
            requirement = Requirement(text)
            applies = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
            if requirement.extras and applies:
                asked.setdefault(canonicalize_name(requirement.name), set()).update(
                    requirement.extras
                )
    assert asked.get("coverage") == {"toml"}, "pytest-cov asks for it: the test reads nothing"
    missing = {name: extras - lock[name] for name, extras in asked.items() if name in lock}
    assert {name: extras for name, extras in missing.items() if extras} == {}
