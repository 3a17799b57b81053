"""`lastword connect` in Windows' Python, under Wine, to a gateway on this machine."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from tests.kit.gateway.serving import Gateway, agent
from tests.kit.installs import or_skip
from tests.windows import environment
from tests.windows.kit import Client

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.matrix


def test_a_session_survives_a_killed_gateway(tmp_path: Path) -> None:
    or_skip(environment.require_environment)
    with (
        closing(Gateway(tmp_path, agent("healthy"))) as gateway,
        Client(
            *("wine", str(environment.PYTHON), "-m", "lastword", "connect"),
            *(gateway.url, "--token", gateway.token()),
            environment=environment.environment(),
        ) as editor,
    ):
        session = editor.session(str(gateway.root))
        assert editor.prompt(session)["result"]["stopReason"] == "end_turn"
        gateway.crash()
        assert editor.prompt(session)["result"]["stopReason"] == "end_turn"
        assert editor.leave() == 0
    assert f"session {session} stays on the gateway" in b"".join(editor.errors).decode()
