"""The OpenAPI document of a gateway is true: schemathesis asks a real one what it says."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lastword.gateway.viewing.reader import Role
from tests.interop.selection import in_ci
from tests.kit.gateway.api import ApiClient
from tests.kit.gateway.serving import Gateway, agent
from tests.kit.gateway.viewing import ViewerClient
from tests.kit.installs import require_packages
from tests.kit.programs import run_program

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).resolve().parent
RUN_SECONDS = 400.0


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[Gateway]:
    started = Gateway(tmp_path, agent("rate_limit"))
    yield started
    started.close()


@pytest.mark.parametrize("role", in_ci(Role, lambda role: role is Role.CONTROLLER))
def test_a_gateway_answers_as_its_document_says(
    gateway: Gateway, role: Role, tmp_path: Path
) -> None:
    python = require_packages(HERE)
    with ViewerClient(gateway) as viewer:
        session = viewer.new(gateway.root)
        viewer.answer(viewer.prompt(session))
        done = run_program(
            [
                str(python.parent / "schemathesis"),
                *("--config-file", str(HERE / "schemathesis.toml"), "run"),
                f"http://127.0.0.1:{gateway.port}/v1/openapi.json",
                *("--header", f"Authorization: Bearer {gateway.token(role=role)}", "--no-color"),
            ],
            check=False,
            timeout=RUN_SECONDS,
            cwd=tmp_path,
        )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    document = ApiClient(gateway).json("/v1/openapi.json")
    operations = sum(len(methods) for methods in document["paths"].values())
    # All but the one that the document came by.
    assert f"Tested: {operations - 1}" in done.stdout
    assert ApiClient(gateway, "").json("/healthz") == {"status": "ok"}
    assert "Traceback" not in gateway.stderr()
