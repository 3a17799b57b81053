"""The examples' files for containers: Compose and Kubernetes know every name in them.

Owns the schemas of both, as packages have them: Compose's own, and those of Kubernetes in which a
name that it does not know is an error.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kit.installs import require_packages
from tests.kit.places import ROOT
from tests.kit.programs import run_program

pytestmark = pytest.mark.matrix

HERE = Path(__file__).resolve().parent
EXAMPLES = ROOT / "examples"
KUBERNETES = EXAMPLES / "fleet" / "kubernetes.yaml"
COMPOSE = ("fleet", "gateway")
CHECKS = {
    "compose": ("check-jsonschema", "--builtin-schema", "vendor.compose-spec"),
    "kubernetes 1.30": ("kubernetes-validate", "--strict", "-k", "1.30"),
    "kubernetes 1.37": ("kubernetes-validate", "--strict", "-k", "1.37"),
}


def check(name: str, file: Path) -> tuple[int, str]:
    """Return the exit status of a check, and what it printed."""
    program, *options = CHECKS[name]
    done = run_program([require_packages(HERE).parent / program, *options, file], check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("example", COMPOSE)
def test_an_examples_compose_file_is_valid(example: str) -> None:
    status, printed = check("compose", EXAMPLES / example / "compose.yaml")
    assert status == 0, printed


@pytest.mark.parametrize("version", [name for name in CHECKS if name.startswith("kubernetes")])
def test_the_fleets_kubernetes_file_is_valid(version: str) -> None:
    status, printed = check(version, KUBERNETES)
    assert status == 0, printed


@pytest.mark.parametrize(
    ("name", "file", "right", "wrong"),
    [
        ("compose", EXAMPLES / "fleet" / "compose.yaml", "stop_signal:", "stop_singal:"),
        ("compose", EXAMPLES / "gateway" / "compose.yaml", "read_only: true", "read_only: [true]"),
        ("kubernetes 1.30", KUBERNETES, "failureThreshold:", "failureTreshold:"),
        ("kubernetes 1.37", KUBERNETES, "endPort: 7899", 'endPort: "7899"'),
        ("kubernetes 1.37", KUBERNETES, "serviceName: nats", "servicesName: nats"),
    ],
)
def test_a_name_that_is_misspelled_and_a_value_of_another_type_are_found(
    tmp_path: Path, name: str, file: Path, right: str, wrong: str
) -> None:
    text = file.read_text(encoding="utf-8")
    assert right in text
    broken = tmp_path / file.name
    broken.write_text(text.replace(right, wrong, 1), encoding="utf-8")
    status, printed = check(name, broken)
    assert status != 0
    assert wrong.partition(":")[0] in printed
