"""Each check finds the fault that it is for, and finds nothing in an agent that has none."""

from __future__ import annotations

import copy
import dataclasses
import json
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from lastword.kit.check.checks import CHECKS, CheckVerdict, Finding
from lastword.kit.check.hooks import Hooks
from lastword.kit.check.run import CheckRun, CheckSettings, findings
from lastword.kit.check.stage import WaitLimits
from lastword.kit.peer import PeerEvent, read
from tests.kit.agents import MISBEHAVING_AGENT
from tests.kit.gateway.serving import until
from tests.kit.patience import FUSE_SECONDS
from tests.kit.rows import every
from tests.process.conformance.meddler import IN, MODES, OUT, Meddler

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lastword.kit.check.probes import Played

MEDDLER = (sys.executable, "-m", "tests.process.conformance.meddler")
HEALTHY = (sys.executable, "-m", "lastword", "agent", "healthy")
KEEPER = (sys.executable, "-m", "tests.process.conformance.keeper")
NOT_ADVERTISED = {"session-list", "session-load", "session-close"}
"""Checks of what the scripted agent does not advertise."""

WORDS = "Please play this: /scenario {name}"
DRIVEN = Hooks(scenario_prompts=WORDS)
BARE = Hooks(prompt="fail")
"""The misbehaving agents misbehave at this word."""

WITH_KEY = Hooks(scenario_prompts=WORDS, provider_env=("FOO_KEY={key}",))
WORKERS = 6
LIMITS = WaitLimits(exit_seconds=FUSE_SECONDS)
SOON = WaitLimits(answer_seconds=10.0, turn_seconds=10.0, exit_seconds=3.0)
IN_VAIN = {
    *("reads-blocks", "mixes-up-answers", "deaf-after-cancel", "deaf-after-idle-cancel"),
    *("floods-stderr", "id-null", "foreign-id", "stops-reading", "grandchild-holds-stdout"),
}
"""Modes whose agent is waited for in vain: for a shorter time, which is long for all else."""

STAYING = {"stays", "stays-in-turn"}
"""Modes whose agent does not leave."""

AUTH = ("fail:unauthorized",)
BOTH = ("fail:unauthorized", "fail:rate_limited")

FAULTS: list[tuple[str, str, tuple[str, ...]]] = [
    ("version-as-text", "initialize", ()),
    ("parrots-version", "future-version", ()),
    ("dies-of-hurry", "before-initialize", ()),
    ("ids-as-text", "ids", ("strangers",)),
    ("internal-for-unknown", "unknown-method", ()),
    ("answers-notifications", "unknown-notification", ()),
    ("swallows-bad-prompts", "bad-params", ()),
    ("reads-blocks", "framing", ()),
    ("dies-of-text", "junk-text", ()),
    ("dies-of-scalars", "junk-scalars", ()),
    ("dies-of-blank", "junk-blank", ()),
    ("dies-of-utf8", "junk-utf8", ()),
    ("prints", "stdout", ("healthy",)),
    ("data-null", "error-shape", AUTH),
    ("no-message", "error-shape", AUTH),
    ("code-as-text", "error-shape", AUTH),
    ("twice", "one-answer", ("healthy",)),
    ("never-ends", "one-answer", ("healthy",)),
    ("leaks", "secrets", ("healthy",)),
    ("leaks-on-stderr", "secrets", ("healthy",)),
    ("stays", "exit", ()),
    ("stays-in-turn", "exit-in-turn", ()),
    ("exit-3", "exit-status", ()),
    ("leaves-child", "nothing-left", ("healthy",)),
    ("floods-stderr", "unread-stderr", ()),
    ("floods-stderr", "stderr-amount", ("healthy",)),
    ("stop-exploded", "healthy-turn", ()),
    ("opens-none", "opens-session", ()),
    ("silent", "healthy-turn", ()),
    ("lists-everywhere", "healthy-turn", ()),
    ("one-session", "sessions", ()),
    ("wrong-session", "sessions", ()),
    ("mixes-up-answers", "two-questions", ()),
    ("loses-second-request", "two-questions", ()),
    ("one-id-for-all-requests", "two-questions", ()),
    ("late-text", "late-content", ("healthy",)),
    ("cancelled-as-done", "cancel", ()),
    ("never-ends", "cancel", ()),
    ("cancelled-as-done", "cancel-in-question", ()),
    ("cancelled-as-done", "cancel-while-silent", ()),
    ("deaf-after-cancel", "prompt-after-cancel", ()),
    ("deaf-after-idle-cancel", "idle-cancel", ()),
    ("open-tool", "open-tools", ("healthy",)),
    ("failures-hang", "failing-turn-ends", AUTH),
    ("silent", "failing-turn-told", AUTH),
    ("prose", "failing-turn-no-prose", AUTH),
    ("wrong-type", "failing-turn-typed", AUTH),
    ("no-payload", "failing-turn-typed", AUTH),
    ("taken-code", "failing-turn-code", AUTH),
    ("refuses", "no-refusal", AUTH),
    ("forgets-after-failure", "session-goes-on", AUTH),
    ("no-types", "advertisement", ()),
    ("typed-twice", "typed-update", AUTH),
    ("no-payload", "typed-update", AUTH),
    ("update-differs", "update-and-answer", AUTH),
    ("no-payload", "payload-in-time", AUTH),
    ("told-again", "nothing-after", AUTH),
    ("always-typed", "not-negotiated", ()),
    ("always-typed", "malformed-advertisement", ()),
    ("no-payload", "rung-of-older-clients", ()),
    ("titled-carrier", "carrier", ()),
    ("result-unasked", "consent", AUTH),
    ("consent-ignored", "consent-kept", ()),
    ("retries-unasked", "retries-asked-for", AUTH),
    ("cancel-as-failure", "cancel-is-no-failure", ()),
    ("no-retryable", "payload-required", AUTH),
    ("null-member", "payload-no-null", AUTH),
    ("bracket", "payload-message", AUTH),
    ("long-message", "payload-message", AUTH),
    ("detail-as-text", "payload-detail", AUTH),
    ("large", "payload-detail", AUTH),
    ("half-seconds", "payload-waits", AUTH),
    ("no-stop-reason", "payload-stop-reason", AUTH),
    ("strange-type", "payload-type", AUTH),
    ("strange-origin", "payload-closed-sets", AUTH),
    ("unreadable", "payload-read", AUTH),
    ("data-as-text", "error-data", AUTH),
    ("no-kind", "error-members", AUTH),
    ("login-for-all", "login-code", BOTH),
    ("codes-swapped", "resend-code", BOTH),
    ("large", "frame-size", AUTH),
    ("taken-words", "taken-words", AUTH),
    ("root-member", "standard-updates", ("plain",)),
    ("nothing", "agent-killed", ()),
    ("nameless", "agent-info", ()),
    ("null-for-unknown-method", "unadvertised-method", ()),
    ("swallows-unknown-methods", "unadvertised-method", ()),
    ("asks-for-files", "unoffered-calls", ("healthy",)),
    ("ids-of-32-bits", "large-ids", ()),
    ("ids-by-the-second", "session-burst", ()),
    ("content-in-a-list", "schema", ("healthy",)),
    ("lists-as-object", "session-list", ()),
    ("loads-without-replay", "session-load", ()),
    ("replays-on-resume", "session-resume", ()),
    ("forgets-on-close", "session-close", ()),
]
"""A mode of `meddler.py`, the check that finds it, and the acts that are enough for it."""

ALIVE = {
    *("leaks", "leaves-child", "floods-stderr", "one-session", "ids-by-the-second"),
    *("lists-as-object", "loads-without-replay", "replays-on-resume"),
}
"""Modes that do more than change a frame, or whose agent would be asked otherwise then."""

REPLAYED = [row for row in FAULTS if row[0] in {*OUT} - {*IN} - ALIVE]
"""What is looked for in the acts that an agent that is well has played."""

OF_SESSIONS = ("session-list", "session-load", "session-resume", "session-close")
"""Checks of what an agent has to advertise first; the scripted agent advertises only some of it."""

SHOULD = {"exit-status", "stderr-amount", "late-content", "failing-turn-typed", "agent-info"}
"""Checks of what only should be: they warn."""


def find(
    command: tuple[str, ...],
    check: str,
    acts: tuple[str, ...] = (),
    hooks: Hooks = DRIVEN,
    limits: WaitLimits = LIMITS,
) -> Finding:
    row = CHECKS[check]
    row = dataclasses.replace(row, acts=acts or row.acts)
    with CheckRun(CheckSettings(command, hooks, limits, plays=1), [row]) as run:
        return run.finding(row)


def found_in(look: Callable[..., Finding], rows: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Return each row with what was found for it: most of their time is waiting."""
    with ThreadPoolExecutor(WORKERS) as pool:
        return [*zip(rows, pool.map(lambda row: look(*row), rows), strict=True)]


def _limits(mode: str) -> WaitLimits:
    if mode in STAYING:
        return WaitLimits(exit_seconds=3.0)
    return SOON if mode in IN_VAIN else LIMITS


def not_passed(found: dict[str, Finding]) -> dict[str, Finding]:
    return {name: each for name, each in found.items() if each.verdict is not CheckVerdict.PASS}


def meddled(mode: str, agent: tuple[str, ...] = HEALTHY) -> tuple[str, ...]:
    return (*MEDDLER, mode, "--", *agent)


def _meddled_finding(mode: str, check: str, acts: tuple[str, ...]) -> Finding:
    hooks = WITH_KEY if mode.startswith("leaks") else DRIVEN
    base = KEEPER if check in OF_SESSIONS else HEALTHY
    return find(meddled(mode, base), check, acts, hooks, _limits(mode))


def test_the_check_finds_the_fault() -> None:
    looked_for = [row for row in FAULTS if row not in REPLAYED]
    looked_for.sort(key=lambda row: row[0] not in IN_VAIN)  # what takes longest begins first
    missed = [
        (row, found)
        for row, found in found_in(_meddled_finding, looked_for)
        if found.verdict is not (CheckVerdict.WARN if row[1] in SHOULD else CheckVerdict.FAIL)
        or not found.evidence
    ]
    assert not missed


class WellPlayed:
    """All acts of an agent that is well, and what all checks find in them."""

    def __init__(self) -> None:
        rows = list(CHECKS.values())
        with CheckRun(CheckSettings(HEALTHY, WITH_KEY, LIMITS), rows) as run:
            self.found = {row.name: run.finding(row) for row in run.in_order(rows)}
            self.acts = {name: act.result() for name, act in run._acts.items()}


@pytest.fixture(scope="module")
def well() -> WellPlayed:
    return WellPlayed()


def meddled_with(played: Played, mode: str) -> Played:
    """The same act, as it had passed if this mode stood between."""
    told = copy.deepcopy(played.transcript)
    meddler, events, places = Meddler(mode), [], {}
    became: dict[int, PeerEvent | None] = {}
    for number, event in enumerate(told.events):
        places[number] = len(events)
        frame, new = event.frame or {}, [event]
        if event.sent and "id" in frame and "method" in frame:
            meddler.asked[frame["id"]] = frame
        elif not event.sent and frame:
            outs = OUT[mode](meddler, frame)
            lines = [out if isinstance(out, bytes) else json.dumps(out).encode() for out in outs]
            new = [PeerEvent(event.at, False, line, *read(line)) for line in lines]
        became[id(event)] = next((one for one in new if one.frame), None)
        events += new

    def now(noted: Any) -> Any:
        if isinstance(noted, list | tuple):
            return type(noted)(map(now, noted))
        return became[id(noted)] if isinstance(noted, PeerEvent) else noted

    told.notes = {name: now(noted) for name, noted in told.notes.items()}
    if told.notes.get("initialized"):
        told.notes["initialize"] = told.notes["initialized"].frame.get("result")
    for turn in told.turns:
        turn.begin = places[turn.begin]
        later = (event for event in events[turn.begin :] if event.answers(turn.request_id))
        turn.answer = next(later, None)
    told.events = events
    return dataclasses.replace(played, transcript=told)


@every("mode, check, acts", REPLAYED)
def test_the_check_finds_the_fault_in_a_healthy_agents_altered_messages(
    well: WellPlayed, mode: str, check: str, acts: tuple[str, ...]
) -> None:
    row = dataclasses.replace(CHECKS[check], acts=acts or CHECKS[check].acts)
    before = row.find({act: well.acts[act] for act in row.acts}).verdict
    assert before in {CheckVerdict.PASS, CheckVerdict.UNREACHED}
    found = row.find({act: meddled_with(well.acts[act], mode) for act in row.acts})
    assert found.verdict is (CheckVerdict.WARN if check in SHOULD else CheckVerdict.FAIL), found
    assert found.evidence


def test_every_check_has_a_fault_that_it_finds_and_every_mode_is_used() -> None:
    assert {check for _, check, _ in FAULTS} == set(CHECKS)
    assert {mode for mode, _, _ in FAULTS} == MODES


def test_an_agent_that_keeps_every_promise_passes_every_check(well: WellPlayed) -> None:
    wrong = not_passed(well.found)
    assert set(wrong) == NOT_ADVERTISED, wrong
    assert {f.verdict for f in wrong.values()} == {CheckVerdict.NOT_APPLICABLE}


SAME_IN_2 = {
    *("junk:text", "junk:scalars", "junk:blank", "junk:utf8", "framing", "crash"),
    *("fail:empty", "fail:cut_in_tool", "fail:cut", "fail:context_overflow", "fail:bad_gateway"),
    *("large_ids", "burst"),
}
"""Acts to which it is nothing which version an agent speaks."""


def test_an_agent_of_version_2_passes_every_check_in_version_2() -> None:
    hooks = dataclasses.replace(WITH_KEY, protocol=2)
    acts = {row.name: tuple(a for a in row.acts if a not in SAME_IN_2) for row in CHECKS.values()}
    rows = [dataclasses.replace(CHECKS[name], acts=left) for name, left in acts.items() if left]
    found = findings(CheckSettings(HEALTHY, hooks, LIMITS), rows)
    wrong = not_passed({row.name: each for row, each in found})
    assert set(wrong) == {"session-load", "consent"}, wrong
    assert {f.verdict for f in wrong.values()} == {CheckVerdict.NOT_APPLICABLE}


@pytest.mark.parametrize(
    ("mode", "future"),
    [("second-version", CheckVerdict.PASS), ("second-version-alone", CheckVerdict.NOT_APPLICABLE)],
)
def test_an_agent_of_version_2_alone_is_not_applicable_rather_than_failing(
    mode: str, future: CheckVerdict
) -> None:
    settings = CheckSettings((*KEEPER, mode), DRIVEN, LIMITS)
    names = ("initialize", "future-version", "junk-text")
    found = {row.name: f for row, f in findings(settings, [CHECKS[name] for name in names])}
    assert found.pop("future-version").verdict is future
    assert {f.verdict for f in found.values()} == {CheckVerdict.NOT_APPLICABLE}, found
    assert {f.evidence for f in found.values()} == {
        "the agent only speaks protocol version 2; check it with --protocol 2"
    }


def test_an_agent_of_version_1_is_not_applicable_with_protocol_2() -> None:
    found = find(KEEPER, "healthy-turn", (), dataclasses.replace(DRIVEN, protocol=2))
    assert found.verdict is CheckVerdict.NOT_APPLICABLE
    assert found.evidence == "the agent speaks protocol version 1; check it without --protocol 2"


def test_an_agent_that_advertises_every_method_of_sessions_passes_their_checks() -> None:
    rows = [CHECKS[name] for name in (*OF_SESSIONS, "session-burst", "large-ids")]
    of_sessions = tuple(row.acts[0] for row in rows)
    rows.append(dataclasses.replace(CHECKS["schema"], acts=of_sessions))
    found = findings(CheckSettings(KEEPER, DRIVEN, LIMITS), rows)
    assert not_passed({row.name: each for row, each in found}) == {}


def test_sessions_that_end_with_the_process_are_a_warning() -> None:
    forgetful = ("sh", "-c", 'rm -f "$HOME/keeper.json"; exec "$@"', "sh", *KEEPER)
    for name in ("session-load", "session-resume"):
        found = find(forgetful, name)
        assert found.verdict is CheckVerdict.WARN, found
        assert "after a restart the session is lost" in found.evidence


def test_a_working_method_that_is_not_advertised_is_a_warning() -> None:
    script = 'exec "$@" | sed -u s/loadSession/x/'
    found = find(("sh", "-c", script, "sh", *KEEPER), "unadvertised-method")
    assert found.verdict is CheckVerdict.WARN, found
    assert found.evidence == "session/load works, and is not advertised"


def test_every_check_survives_members_of_the_wrong_type(well: WellPlayed) -> None:
    acts = {name: meddled_with(act, "lists-everywhere") for name, act in well.acts.items()}
    verdicts = {row.name: row.find(acts).verdict for row in CHECKS.values()}
    assert verdicts["healthy-turn"] is CheckVerdict.FAIL
    assert verdicts["error-shape"] is CheckVerdict.FAIL
    assert verdicts["payload-type"] is CheckVerdict.FAIL


UNREADABLE = {
    b"Welcome to the agent!": "it is not JSON",
    b'{"jsonrpc":"2.0","method":"\xff\xfe"}': "it is not UTF-8",
    '{"jsonrpc":"2.0","method":"x"}'.encode("utf-16"): "it is not UTF-8",
    b'\xef\xbb\xbf{"jsonrpc":"2.0","method":"x"}': "it is not JSON",
    b'{"jsonrpc":"2.0","method":"x","params":{"rate":NaN}}': "it is not JSON",
    b'{"method":"x"}': 'it has no "jsonrpc": "2.0"',
    b'{"jsonrpc":"2.0","id":1}': "it is neither request nor answer",
    b'{"jsonrpc":"2.0","method":"x"}': "",
}


def test_a_line_that_is_not_a_message_is_described() -> None:
    assert {line: read(line)[1] for line in UNREADABLE} == UNREADABLE


MISBEHAVING = [
    ("null-result", "healthy-turn"),
    ("id-null", "one-answer"),
    ("foreign-id", "ids"),
    ("stops-reading", "one-answer"),
    ("grandchild-holds-stdout", "one-answer"),
]
"""A misbehaving agent that does what no `meddler.py` does, and a check that tells on it."""


def _misbehaving_finding(mode: str, check: str) -> Finding:
    return find((*MISBEHAVING_AGENT, mode), check, ("healthy",), BARE, _limits(mode))


def test_a_misbehaving_agent_fails_its_checks() -> None:
    found = found_in(_misbehaving_finding, MISBEHAVING)
    assert [each for each in found if each[1].verdict is not CheckVerdict.FAIL] == []


def test_no_process_of_a_checked_agent_is_left(tmp_path: Path) -> None:
    sleep = shutil.which("sleep")
    assert sleep
    mark = tmp_path / f"sleeper-{tmp_path.name}"
    mark.symlink_to(sleep)
    script = f"trap '' TERM; {mark} 600 & cat >/dev/null; {mark} 600"
    find(("sh", "-c", script), "initialize", limits=WaitLimits(2.0, 2.0, 2.0))

    def none_is_left() -> bool:
        alive = [entry for entry in Path("/proc").iterdir() if entry.name.isdigit()]
        return not [entry for entry in alive if str(mark).encode() in _command_line(entry)]

    until("none of them is left", none_is_left)


def _command_line(entry: Path) -> bytes:
    try:
        return (entry / "cmdline").read_bytes()
    except OSError:
        return b""


# --- behind the sidecar

IN_FRONT = "`lastword run --` in front corrects it"
RUN = (sys.executable, "-m", "lastword", "run", "--")
BARE_AGENT = (sys.executable, "-m", "lastword", "agent", "--bare", "healthy")

MENDED = (
    *("ids-as-text", "dies-of-scalars", "prints", "code-as-text", "twice", "stays-in-turn"),
    *("floods-stderr", "cancelled-as-done", "silent", "no-payload"),
)
"""One of each kind of what is mended."""

SAID = [row for row in FAULTS if row[0] in MENDED and CHECKS[row[1]].in_front == IN_FRONT]


def _found_behind(mode: str, check: str, acts: tuple[str, ...]) -> Finding:
    return find((*RUN, *meddled(mode, BARE_AGENT)), check, acts)


def test_a_fault_that_the_sidecar_is_said_to_mend_is_gone_behind_it() -> None:
    assert {mode for mode, *_ in SAID} == {*MENDED}
    found = found_in(_found_behind, SAID)
    assert [each for each in found if each[1].verdict is not CheckVerdict.PASS] == []


def test_an_agent_behind_the_sidecar_passes_the_checks_for_an_intermediary() -> None:
    assert find((*RUN, *meddled("nothing")), "agent-killed").verdict is CheckVerdict.PASS
    assert find(BARE_AGENT, "agent-killed").verdict is CheckVerdict.NOT_APPLICABLE


def test_a_wrapper_such_as_npx_is_no_intermediary() -> None:
    agent = (sys.executable, "-m", "lastword", "agent", "healthy")
    found = find(("sh", "-c", '"$@"; exit', "sh", *agent), "agent-killed")
    assert (found.verdict, found.evidence) == (
        CheckVerdict.NOT_APPLICABLE,
        "nothing stands in front of the agent's process",
    )
