"""What a client in TypeScript shows of a failure: the same as one in Python, at every moment."""

from __future__ import annotations

import itertools
import json
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from lastword.client import describe
from lastword.core.failure import sentences
from lastword.core.failure.taxonomy import Action, AgentError, ErrorType, RetrySafety
from tests.interop.typescript.guard import compile_ts
from tests.kit.installs import require_node_packages
from tests.kit.places import PROTOCOL, ROOT
from tests.kit.programs import run_program

if TYPE_CHECKING:
    from collections.abc import Iterable

HERE = Path(__file__).resolve().parent
SOURCES = [PROTOCOL / "typescript" / name for name in ("agent_error.ts", "error_view.ts")]
STRICT = (
    "--strict --noUnusedLocals --noUnusedParameters --noUncheckedIndexedAccess --noImplicitReturns "
    "--exactOptionalPropertyTypes --noPropertyAccessFromIndexSignature --noImplicitOverride "
    "--isolatedModules --verbatimModuleSyntax --erasableSyntaxOnly"
)
RECEIVED_MS = 1_790_000_000_000
WAITS = (None, 0, 1, 20, 61, 300, 301, 3599, 5400, 86_400, 90_061)
AGES_MS = (0, 1, 999, 15_000, 19_001, 20_000, 600_000, -5000)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file as JavaScript, as a project with every strict option takes it in."""
    folder = tmp_path_factory.mktemp("view")
    (folder / "package.json").write_text('{"type": "module"}')
    for source in SOURCES:
        shutil.copy(source, folder)
    compile_strictly(folder, "error_view.ts")
    return folder / "error_view.js"


def compile_strictly(folder: Path, *what: str) -> None:
    compile_ts(*STRICT.split(), "--target", "es2022", "--module", "nodenext", *what, folder=folder)


def call(compiled: Path, name: str, given: Iterable[dict[str, Any]]) -> list[Any]:
    done = run_program(
        ["node", str(HERE / "view_lines.mjs"), str(compiled)],
        stdin="".join(json.dumps({"call": name} | one) + "\n" for one in given),
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def failures() -> list[AgentError]:
    """Every type with every say on retries, and every wait and action for a few of them."""
    plain = [
        AgentError(type=kind, message="It failed.", retryable=retryable, retry_safety=safety)
        for kind in ErrorType
        for retryable in (True, False)
        for safety in (None, *RetrySafety)
    ]
    waiting = [
        AgentError(
            type=kind,
            message="It failed.",
            retryable=retryable,
            retry_safety=RetrySafety.AUTO if retryable else RetrySafety.NEVER,
            retry_after_seconds=wait,
            reset_at_epoch_ms=resets,
        )
        for kind in (ErrorType.RATE_LIMIT, ErrorType.BUDGET, ErrorType.NETWORK)
        for retryable in (True, False)
        for wait in WAITS
        for resets in (None, RECEIVED_MS + 90_500)
    ]
    told = [
        AgentError(type=ErrorType.UNKNOWN, message="It failed.", retryable=False, action=action)
        for action in Action
    ]
    return plain + waiting + told


def shown_in_python(error: AgentError, age_ms: int) -> dict[str, Any]:
    seen = describe(error, now=(RECEIVED_MS + age_ms) / 1000, received=RECEIVED_MS / 1000)
    return {
        "title": seen.title,
        "sentence": seen.sentence,
        "action": seen.action.value,
        "button": seen.button,
        "waitSeconds": seen.wait_seconds,
        "countdown": seen.countdown,
        "canRetry": seen.can_retry,
        "needsConfirmation": seen.needs_confirmation,
        "automatic": seen.automatic,
    }


def test_a_failure_is_shown_in_typescript_as_in_python_at_every_moment(compiled: Path) -> None:
    cases = list(itertools.product(failures(), AGES_MS))
    given = [
        {"error": error.payload(), "received": RECEIVED_MS, "now": RECEIVED_MS + age}
        for error, age in cases
    ]
    shown = call(compiled, "view", given)
    assert shown == [shown_in_python(error, age) for error, age in cases]
    assert {one["countdown"] for one in shown} >= {"", "retry in 5 s", "resets in 1 h 30 min"}


def test_a_retry_is_one_line(compiled: Path) -> None:
    error = {
        "type": "rate_limit",
        "message": sentences.WHAT[ErrorType.RATE_LIMIT],
        "retryable": True,
    }
    updates = [
        {"attempt": 3, "max_attempts": 6, "wait_seconds": 95, "error": error},
        {"attempt": 2, "wait_seconds": 0},
        {"error": error | {"type": "of_a_later_version"}},
        {},
    ]
    assert call(compiled, "retry", [{"update": update} for update in updates]) == [
        "Rate limited. Trying again in 1 min 35 s (attempt 3 of 6).",
        "Trying again (attempt 2).",
        "The agent reported an error. Trying again.",
        "Trying again.",
    ]


@pytest.mark.parametrize("throws", [False, True])
def test_the_tap_notes_both_updates_and_passes_everything_else(
    compiled: Path, throws: bool
) -> None:
    def update(kind: str, method: str = "session/update") -> dict[str, Any]:
        params = {"sessionId": "s1", "update": {"sessionUpdate": kind}}
        return {"jsonrpc": "2.0", "method": method, "params": params}

    passing = [
        update("agent_message_chunk"),
        update("agent_error", method="session/other"),
        {"jsonrpc": "2.0", "method": "session/update"},
        {"jsonrpc": "2.0", "method": "session/update", "params": None},
        {"jsonrpc": "2.0", "id": 2, "result": {"stopReason": "end_turn"}},
    ]
    messages = [update("agent_retry"), *passing, update("agent_error")]
    [seen] = call(compiled, "tap", [{"messages": messages, "throws": throws}])
    assert seen == {"noted": [["s1", "agent_retry"], ["s1", "agent_error"]], "read": passing}


def test_the_documented_client_compiles_on_the_official_sdk(compiled: Path, tmp_path: Path) -> None:
    modules = require_node_packages(HERE)
    [shown] = re.findall(r"```ts\n(.*?)```", (ROOT / "docs" / "client.md").read_text(), re.DOTALL)
    folder = Path(shutil.copytree(compiled.parent, tmp_path / "client"))
    (folder / "client.ts").write_text(shown)
    (folder / "node_modules").symlink_to(modules)
    compile_strictly(folder, "client.ts", "--skipLibCheck")
