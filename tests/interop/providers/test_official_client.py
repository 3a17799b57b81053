"""A client on the official SDK in front of a guarded agent: nothing that it cannot read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.interop.providers.model_provider import DOWN, HEALTHY, Step
from tests.kit.programs import run_program

if TYPE_CHECKING:
    from tests.interop.providers.cases import Case

CLIENT = Path(__file__).resolve().parent / "sdk_client.py"


def take_turn(python: Path, environment: dict[str, str], case: Case) -> dict[str, Any]:
    done = run_program(
        [str(python), str(CLIENT), json.dumps(case.plan)],
        check=False,
        env=environment | {"PROVIDER_URL": case.provider.url},
    )
    assert done.returncode == 0, done.stderr
    assert "lidation" not in done.stderr  # the SDK's complaint of what it cannot read
    seen: dict[str, Any] = json.loads(done.stdout)
    return seen


def test_the_client_gets_the_answer_of_a_call_that_was_retried(
    packages_python: Path, environment: dict[str, str], case: Case
) -> None:
    case.script(DOWN, HEALTHY)
    seen = take_turn(packages_python, environment, case)
    assert seen["stop_reason"] == "end_turn"
    assert {update["sessionUpdate"] for update in seen["updates"]} == {"agent_message_chunk"}
    assert case.made == 2


def test_the_client_gets_a_failure_as_an_error_with_the_typed_payload(
    packages_python: Path, environment: dict[str, str], case: Case
) -> None:
    case.script(Step("unauthorized"))
    seen = take_turn(packages_python, environment, case)
    error = seen["error"]
    assert error["message"] == (
        "The model provider refused the login or API key. Log in again or check the API key."
    )
    assert error["data"]["agent_error"]["type"] == "auth"
    (update,) = seen["updates"]
    assert update["sessionUpdate"] == "session_info_update"
    assert update["_meta"]["agent_error"]["type"] == "auth"
