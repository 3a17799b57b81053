"""The guard in TypeScript: the contract's vectors, real errors, real pipes, and its package."""

from __future__ import annotations

import json
import re
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from tests.contract.test_failures import rows as failure_rows
from tests.interop.typescript.guard import HERE, Player, build, compile_ts, needs
from tests.kit import wire
from tests.kit.canaries import CANARIES, NAMED_CANARIES, PLAIN
from tests.kit.installs import require_node_packages
from tests.kit.places import ROOT
from tests.kit.programs import run_program
from tests.kit.vector_format import MismatchError, load_vectors

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

KEY = "sk-test-0123456789abcdefghijABCDEFGHIJ0123456789"
FILES = ("cancel", "clocks", "errors", "ladder", "negotiation", "overlap")
FILES += ("quarantine", "speakers", "success", "v2")
LEFT_TO_THE_SIDECAR = {
    "clock-initialize": "requests other than prompts are the SDK's",
    "clock-session": "the same",
    "runaway-text": "an agent that repeats itself",
    "retry-signal": "a retry in the words of another program",
    "v2-speaker-passes": "an agent that writes the extension's frames itself",
}
MAX_LINES = {
    "guard.ts": 230,
    "turns.ts": 680,
    "classify.ts": 500,
    "ladder.ts": 145,
    "waits.ts": 110,
}


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("guard"))


@pytest.fixture(scope="module")
def player(package: Path) -> Iterator[Player]:
    player = Player(package)
    yield player
    player.close()


def node(*command: str | Path, stdin: str = "") -> str:
    done = run_program(["node", *map(str, command)], stdin=stdin, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("file", FILES)
def test_a_turn_ends_as_the_vectors_have_it(player: Player, file: str) -> None:
    wanted = [one for one in load_vectors().values() if one.file == f"{file}.json"]
    played = [one for one in wanted if not needs(one) and one.id not in LEFT_TO_THE_SIDECAR]
    assert len(played) * 2 > len(wanted)
    wrong = []
    for vector in played:
        try:
            player.play(vector)
        except MismatchError as mismatch:
            wrong.append(str(mismatch))
    assert wrong == []


def test_each_skipped_vector_would_indeed_fail(player: Player) -> None:
    for name in LEFT_TO_THE_SIDECAR:
        with pytest.raises(MismatchError):
            player.play(load_vectors()[name])


@pytest.mark.parametrize("ended", ["withdrawn", "left by an earlier turn"])
def test_a_question_that_is_over_stops_no_clock(player: Player, ended: str) -> None:
    player.step(begin={})
    player.step(client=wire.prompt(1))
    player.step(agent=wire.permission(9))
    if ended == "withdrawn":
        withdrawn = {"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": 9}}
        player.step(agent=withdrawn)
    else:
        player.step(agent=wire.result(1))
        player.step(client=wire.prompt(2))
    assert player.step(time=890)["agent"] == []
    assert player.step(time=901)["agent"] == [wire.cancel()]


EXPECTED: dict[str, tuple[str, bool, int | None]] = {
    "ai 429": ("rate_limit", True, 20),
    "ai 429 in milliseconds": ("rate_limit", True, 2),
    "ai quota": ("budget", False, None),
    "ai 529 after retries": ("provider_unavailable", True, None),
    "ai context": ("context_overflow", False, None),
    "ai no answer": ("network", True, None),
    "ai key": ("auth", False, None),
    "openai 429": ("rate_limit", True, 7),
    "openai quota": ("budget", False, None),
    "openai context": ("context_overflow", False, None),
    "openai key": ("auth", False, None),
    "openai model": ("model_not_found", False, None),
    "openai 500": ("provider_unavailable", True, None),
    "openai connection": ("network", True, None),
    "openai timeout": ("timeout", True, None),
    "openai abort": ("unknown", False, None),
    "openai policy": ("content_filter", False, None),
    "anthropic 429": ("rate_limit", False, 600),
    "anthropic overloaded": ("provider_unavailable", True, None),
    "anthropic credit": ("budget", False, None),
    "anthropic context": ("context_overflow", False, None),
    "anthropic window": ("rate_limit", False, 7200),
    "anthropic request": ("invalid_request", False, None),
    "google per day": ("budget", False, None),
    "google per minute": ("rate_limit", True, 34),
    "google 503": ("provider_unavailable", True, None),
    "google key": ("auth", False, None),
    "undici headers": ("timeout", True, None),
    "undici socket": ("network", True, None),
    "undici terminated": ("network", True, None),
    "fetch refused": ("network", True, None),
    "fetch without a cause": ("network", True, None),
    "unknown host": ("network", False, None),
    "certificate": ("network", False, None),
    "deadline": ("timeout", True, None),
    "bug": ("internal", False, None),
    "nothing": ("unknown", False, None),
    "text": ("rate_limit", True, None),
    "unreadable": ("unknown", False, None),
    "author's": ("budget", False, None),
    "author's without a wait": ("rate_limit", True, None),
    "unrecognised": ("unknown", False, None),
}


def test_the_errors_of_model_packages_are_read_from_their_own_classes(package: Path) -> None:
    payloads = json.loads(node(HERE / "guard_errors.mjs", package))
    seen = {
        name: (one["type"], one["retryable"], one.get("retry_after_seconds"))
        for name, one in payloads.items()
    }
    assert seen == EXPECTED
    assert KEY not in str(payloads)
    assert payloads["openai abort"]["reason"] == "agent_cancelled"
    assert payloads["openai 429"]["request_id"] == "req_9"
    assert payloads["author's"]["message"] == "Your team's budget is used up. Ask Ada."


VAGUE = {"unknown", "internal", "invalid_request"}
OF_PROCESSES = {"agent_crash", "stderr_overflow"}


def failures_of(package: Path, samples: list[dict[str, Any]]) -> list[dict[str, Any]]:
    read = node(HERE / "guard_samples.mjs", package, stdin=json.dumps(samples))
    failures: list[dict[str, Any]] = json.loads(read)
    return failures


def test_nearly_all_examples_of_the_rows_get_the_rows_types(
    package: Path,
) -> None:
    rows = [row for row in failure_rows() if row.kind in {"words", "transport", "codes"}]
    samples, types = [], []
    for row in rows:
        example, wanted = row.example(), row.fact("type")
        if not wanted or row.group.get("agent") or not isinstance(example, dict):
            continue
        if "exception" in example:
            samples.append({"class": example["exception"], "message": example.get("message", "")})
        elif "status" in example or "body" in example:
            samples.append({name: example.get(name) for name in ("status", "headers", "body")})
        else:
            continue
        types.append(wanted)
    seen = [failure["type"] for failure in failures_of(package, samples)]
    pairs = list(zip(types, seen, strict=True))
    assert len(pairs) > 800
    # The others are cancellations, and exceptions of Python alone.
    assert sum(wanted == kind for wanted, kind in pairs) > 0.94 * len(pairs)
    assert sum(kind not in {wanted, *VAGUE} for wanted, kind in pairs) <= 2


def test_sentences_in_english_get_their_rows_types_and_reasons(package: Path) -> None:
    rows = [
        row
        for row in failure_rows()
        if row.kind == "messages" and row.group["tier"] in {"strong", "weak", "reason"}
        if row.own["match"].isascii() and row.fact("type") not in OF_PROCESSES
    ]
    failures = failures_of(package, [{"message": row.example()} for row in rows])
    wrong = [
        row.own["match"]
        for row, failure in zip(rows, failures, strict=True)
        if failure["type"] != row.fact("type")
        or row.fact("reason") not in {None, failure.get("reason")}
    ]
    assert len(rows) > 800
    assert not wrong


def test_waits_and_resets_are_read_as_in_their_rows(package: Path) -> None:
    # A time of day is only quoted, which needs no reader.
    read = [
        row for row in failure_rows() if row.kind == "resets" and "reset_text" not in row.reset()
    ]
    examples = [row.example() for row in read]
    samples = [{"message": one} if isinstance(one, str) else one for one in examples]
    wrong = []
    for row, failure in zip(read, failures_of(package, samples), strict=True):
        stated = {
            "wait_seconds": failure.get("retryAfterSeconds"),
            "reset_at_epoch_ms": failure.get("resetAtEpochMs"),
        }
        if any(stated[name] != value for name, value in row.reset().items()):
            wrong.append((row.own, row.reset(), stated))
    assert len(read) > 60
    assert wrong == []


TURNS: tuple[tuple[str, str], ...] = (
    ("limit", "rate_limit"),
    ("key", "auth"),
    ("silent", "unknown"),
    ("wait", "cancelled"),
    ("signal", "cancelled"),  # in version 2 the request of a prompt has its answer before the work
    ("tool", "provider_unavailable"),
    ("retry", ""),
    ("refuse", "invalid_request"),
    ("hello", ""),
    ("ignore", "cancelled"),
)


@pytest.mark.parametrize("version", ["1", "2"])
def test_over_pipes_each_turn_of_the_official_sdk_ends_once(package: Path, version: str) -> None:
    played = [turn for turn in TURNS if version == "1" or turn[0] != "signal"]
    lines = [
        json.dumps({"prompt": prompt, "cancel": end == "cancelled"}) + "\n"
        for prompt, end in played
    ]
    asked = json.dumps({"agent_error": {"version": 1, "retry": True}})
    agent = (HERE / "guard_agent.mjs", package, version)
    out = node(HERE / "guard_client.mjs", package, version, asked, *agent, stdin="".join(lines))
    assert KEY not in out
    turns: list[dict[str, Any]] = [json.loads(line) for line in out.splitlines()]
    for (prompt, end), turn in zip(played, turns, strict=True):
        kinds = [update["sessionUpdate"].removeprefix("_") for update in turn["updates"]]
        final = turn["updates"][-1] if version == "2" else turn.get("result", {})
        typed = turn["typed"]
        assert kinds.count("agent_error") == (end not in {"", "cancelled"}), prompt
        if end in {"", "cancelled"}:
            assert typed is None, prompt
            assert final["stopReason"] == (end or "end_turn")
        else:
            assert typed["type"] == end, prompt
            assert version == "1" or final["stopReason"] == "error"
    by_prompt = {prompt: turn for (prompt, _), turn in zip(played, turns, strict=True)}
    limited, tool, retried = (by_prompt[prompt] for prompt in ("limit", "tool", "retry"))
    assert (limited["typed"]["retry_after_seconds"], limited["typed"]["retry_safety"]) == (
        20,
        "auto",
    )
    assert (tool["typed"]["phase"], tool["typed"]["retry_safety"]) == ("tool_running", "ask")
    [retry] = [one for one in retried["updates"] if one["sessionUpdate"].endswith("agent_retry")]
    assert (retry["attempt"], retry["max_attempts"], retry["wait_seconds"]) == (2, 3, 2)


def test_an_agent_is_guarded_however_it_is_connected(package: Path) -> None:
    seen = json.loads(node(HERE / "guard_doors.mjs", package))
    assert seen == {
        "late": 'Call guard() before onRequest("session/prompt", …).',
        "wildcard": None,
        "other": "rate_limit",
        "request": {
            "leaks": False,
            "code": -32603,
            "own": -32602,
            "kind": "auth",
            "keys": ["agent_error", "details", "errorKind"],
        },
        "off": True,
        "twice": ["budget", "Ask Ada.", 1],
        "unprintable": "rate_limit",
        "bigint": "rate_limit",
        "standstill": "max_tokens",
        "silent": "unknown",
        "connected": True,
    }


def test_secrets_that_the_python_guard_recognises_are_redacted(package: Path) -> None:
    texts = [*(f"key {one} refused" for one in CANARIES.values()), *NAMED_CANARIES.values()]
    script = (
        f"import {{ redact }} from '{(package / 'dist' / 'classify.js').as_uri()}';"
        "const texts = JSON.parse(process.argv[1]);"
        "process.stdout.write(JSON.stringify(texts.map(redact)));"
    )
    done = json.loads(node("--input-type=module", "-e", script, json.dumps(texts)))
    shapes, named = done[: len(CANARIES)], done[len(CANARIES) :]
    assert [
        form for form, text in zip(CANARIES.values(), shapes, strict=True) if form in text
    ] == []
    # Names in a data format of their own are split by the guard in Python alone.
    assert sum(PLAIN in text for text in named) * 10 <= len(named)


def test_the_package_installs_from_its_file_in_an_empty_folder(
    package: Path, tmp_path: Path
) -> None:
    npm = shutil.which("npm")
    assert npm is not None
    run_program([npm, "pack", "--pack-destination", str(tmp_path)], cwd=package)
    [packed] = tmp_path.glob("*.tgz")
    empty = tmp_path / "empty"
    empty.mkdir()
    options = ["--offline", "--no-audit", "--no-fund", "--no-package-lock"]
    run_program([npm, "install", *options, str(packed)], cwd=empty)
    script = (
        "import { guard } from 'lastword/guard'; import { readError } from 'lastword';"
        "process.stdout.write(`${typeof guard} ${readError({ code: -32000, message: 'x' }).type}`)"
    )
    done = run_program(["node", "--input-type=module", "-e", script], cwd=empty)
    assert done.stdout == "function auth"
    # The example on it is as strict as the package, and says to the client what failed.
    for name in ("@agentclientprotocol", "@types", "ai", "typescript"):
        (empty / "node_modules" / name).symlink_to(require_node_packages(HERE) / name)
    shutil.copy(ROOT / "examples" / "typescript_agent.ts", empty / "agent.ts")
    (empty / "package.json").write_text('{"type": "module"}')
    [shown] = re.findall(r"```ts\n(.*?)```", (ROOT / "docs" / "agent.md").read_text(), re.DOTALL)
    (empty / "shown.ts").write_text(shown)
    strict = "--strict --skipLibCheck --target es2022 --module nodenext --types node"
    strict += " agent.ts shown.ts"
    compile_ts(*strict.split(), folder=empty)
    asked = json.dumps({"agent_error": {"version": 1, "retry": True}})
    line = json.dumps({"prompt": "What is the capital?"}) + "\n"
    client = (HERE / "guard_client.mjs", package, "1", asked, empty / "agent.js")
    turn = json.loads(node(*client, stdin=line))
    assert [one["sessionUpdate"] for one in turn["updates"]] == ["agent_retry", "agent_error"]
    assert turn["typed"]["retry_after_seconds"] == 20


def test_the_package_is_small_and_of_one_version(package: Path) -> None:
    for name, most in MAX_LINES.items():
        assert len((package / name).read_text().splitlines()) <= most, name
    version = json.loads((package / "package.json").read_text())["version"]
    assert f'"lastword-typescript/{version}"' in (package / "turns.ts").read_text()
    imports = re.findall(r'from "([^"]+)"', "".join(p.read_text() for p in package.glob("*.ts")))
    assert all(name.startswith("./") for name in imports)
