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
CHECKS = {
    "compose": ("check-jsonschema", "--builtin-schema", "vendor.compose-spec"),
    "kubernetes 1.30": ("kubernetes-validate", "--strict", "-k", "1.30"),
    "kubernetes 1.37": ("kubernetes-validate", "--strict", "-k", "1.37"),
}


@pytest.mark.parametrize(
    ("name", "file"),
    [
        *(("compose", EXAMPLES / example / "compose.yaml") for example in ("fleet", "gateway")),
        *((name, KUBERNETES) for name in CHECKS if name.startswith("kubernetes")),
    ],
    ids=lambda value: value.parent.name if isinstance(value, Path) else value,
)
def test_an_examples_file_is_valid(name: str, file: Path) -> None:
    program, *options = CHECKS[name]
    done = run_program([require_packages(HERE).parent / program, *options, file], check=False)
    assert done.returncode == 0, done.stdout + done.stderr
