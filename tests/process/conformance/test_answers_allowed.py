"""No check holds against an agent what JSON-RPC or ACP allows it, or what another check is for."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import pytest

from lastword.kit.check.checks import CHECKS, CheckVerdict, Finding
from lastword.kit.check.hooks import Hooks
from lastword.kit.check.probes import Played
from lastword.kit.check.run import PLAYS, CheckSettings, failing_acts, findings
from lastword.kit.check.stage import Transcript, WaitLimits
from lastword.kit.peer import PeerEvent
from tests.kit.patience import FUSE_SECONDS

IN_FRONT = (sys.executable, "-m", "lastword", "run", "--")
ODD = (sys.executable, "-S", "-E", str(Path(__file__).with_name("odd_agent.py")))
LIMITS = WaitLimits(exit_seconds=FUSE_SECONDS)
FEW = ("strangers", "early", "junk:text", "junk:scalars", "junk:utf8")
PASS, FAIL = CheckVerdict.PASS, CheckVerdict.FAIL


def check_odd_agent(  # noqa: PLR0913 - the options of its callers
    mode: str,
    *names: str,
    folder: Path | None = None,
    acts: tuple[str, ...] = FEW,
    front: tuple[str, ...] = (),
    limits: WaitLimits = LIMITS,
    plays: int = 1,
) -> dict[str, Finding]:
    """Run these checks on the odd agent in this mode, and return their findings by name."""
    line = (*front, *ODD, mode, *([str(folder)] if folder else []))
    rows = [CHECKS[name] for name in names]
    # Of those that look at every act a few are enough.
    rows = [dataclasses.replace(r, acts=acts) if len(r.acts) > len(FEW) else r for r in rows]
    settings = CheckSettings(line, Hooks(), limits, plays=plays)
    return {row.name: f for row, f in findings(settings, rows)}


OF_ERRORS = ("before-initialize", "one-answer", "junk-text", "junk-utf8", "error-shape", "stdout")


@pytest.mark.parametrize(
    ("mode", "acts", "names"),
    [
        ("keeps-early", FEW, OF_ERRORS),  # its errors have `null` as their data, too
        ("batches", ("junk:scalars",), ("junk-scalars", "error-shape", "stdout")),
    ],
)
def test_a_liberty_that_json_rpc_allows_is_not_a_fault(
    mode: str, acts: tuple[str, ...], names: tuple[str, ...]
) -> None:
    told = check_odd_agent(mode, *names, acts=acts)
    assert {name: f.verdict for name, f in told.items()} == dict.fromkeys(names, PASS), told


KEEPER = (sys.executable, "-m", "tests.process.conformance.keeper")


def keeper(name: str, *words: str, act: str, protocol: int = 1) -> Finding:
    """What a check finds in one act of the agent that keeps its sessions."""
    row = dataclasses.replace(CHECKS[name], acts=(act,))
    settings = CheckSettings((*KEEPER, *words), Hooks(protocol=protocol), LIMITS)
    ((_, finding),) = findings(settings, [row])
    return finding


def test_the_history_of_a_loaded_session_is_not_late_content_of_its_last_turn() -> None:
    told = keeper("late-content", act="load")
    assert told.verdict is PASS, told


def test_an_agent_that_echoes_any_version_does_not_speak_version_2() -> None:
    told = keeper("initialize", "echoes", act="healthy", protocol=2)
    assert told.verdict is CheckVerdict.NOT_APPLICABLE, told
    assert "repeats any requested protocol version" in told.evidence


def test_an_agent_of_version_2_without_a_name_is_checked_too() -> None:
    told = keeper("initialize", "second-version", "nameless", act="junk:blank", protocol=2)
    assert told.verdict is PASS, told


def test_an_unrequested_array_is_not_a_message() -> None:
    script = 'printf \'%s\\n\' \'[{"jsonrpc":"2.0","id":null,"error":{}}]\''
    rows = [dataclasses.replace(CHECKS["stdout"], acts=("junk:text",))]
    settings = CheckSettings(("sh", "-c", script), Hooks(), LIMITS, plays=1)
    ((_, told),) = findings(settings, rows)
    assert told.verdict is FAIL
    assert "it is not an object" in told.evidence


# --- what is seen without a provider


NATURAL = ("cancel", "prompt-after-cancel", "exit-in-turn")


def verdicts(told: dict[str, Finding]) -> dict[str, CheckVerdict]:
    return {name: finding.verdict for name, finding in told.items()}


@pytest.mark.parametrize(
    ("mode", "verdict", "limits"),
    [("turns", PASS, LIMITS), ("turns-deaf", FAIL, WaitLimits(exit_seconds=2.0))],
)
def test_a_long_turn_is_cancelled_and_left_without_a_provider(
    mode: str, verdict: CheckVerdict, limits: WaitLimits
) -> None:
    told = check_odd_agent(mode, *NATURAL, limits=limits)
    found = {"cancel": verdict, "exit-in-turn": verdict, "prompt-after-cancel": PASS}
    assert verdicts(told) == found, told
    assert ("answered with 'end_turn'" in told["cancel"].evidence) is (mode == "turns-deaf")


OF_QUESTIONS = ("cancel-in-question", "open-tools", "two-questions")


def test_a_turn_too_short_to_cancel_or_without_permissions_is_not_a_fault() -> None:
    told = check_odd_agent("plain", *NATURAL, "cancel-in-question", "two-questions")
    assert {f.verdict for f in told.values()} == {CheckVerdict.UNREACHED}, told
    assert "end too soon" in told["cancel"].evidence
    for name in ("cancel-in-question", "two-questions"):
        assert "requested no permission" in told[name].evidence


@pytest.mark.parametrize(
    ("mode", "front", "cancelled", "tools"),
    [
        ("asks", (), PASS, CheckVerdict.WARN),
        ("asks-and-ends", (), FAIL, CheckVerdict.WARN),
        ("asks-and-ends", IN_FRONT, PASS, PASS),
    ],
    ids=["alone", "deaf", "behind-the-sidecar"],
)
def test_a_question_is_cancelled_and_two_are_answered_in_reverse_order(
    mode: str, front: tuple[str, ...], cancelled: CheckVerdict, tools: CheckVerdict
) -> None:
    told = check_odd_agent(mode, *OF_QUESTIONS, acts=("cancel_in_question",), front=front)
    expected = dict(zip(OF_QUESTIONS, (cancelled, tools, PASS), strict=True))
    assert verdicts(told) == expected, told
    assert told["two-questions"].evidence == "answered in reverse order"


def test_an_agent_that_asks_its_questions_in_sequence_gets_a_warning() -> None:
    waited_in_vain = WaitLimits(answer_seconds=10.0)
    told = check_odd_agent("asks-in-turn", "two-questions", limits=waited_in_vain)["two-questions"]
    assert told.verdict is CheckVerdict.WARN, told
    assert len(told.frames) == 2


SESSIONLESS = ("exit", "exit-status", "nothing-left", "bad-params", "junk-text", "framing")


def test_checks_that_need_no_session_run_where_none_opens() -> None:
    told = check_odd_agent("wants-login", *SESSIONLESS, "opens-session")
    expected = dict.fromkeys(SESSIONLESS, PASS) | {"opens-session": CheckVerdict.UNREACHED}
    assert verdicts(told) == expected, told


# --- verdicts that hang on no race


def test_a_late_death_is_found_and_its_line_named() -> None:
    told = check_odd_agent("dies-late", "junk-scalars", plays=PLAYS)["junk-scalars"]
    assert told.verdict is FAIL
    assert "'null\\n': it exited with status 1" in told.evidence
    assert "times" not in told.evidence


def test_a_failure_that_does_not_recur_is_a_warning(tmp_path: Path) -> None:
    told = check_odd_agent("dies-once", "junk-text", folder=tmp_path, plays=PLAYS)["junk-text"]
    assert told.verdict is CheckVerdict.WARN
    assert told.evidence.startswith("1 of 5 times: after a line that is not JSON")
    assert (tmp_path / "plays").read_text() == "x" * 5


def test_only_the_failed_act_of_a_check_is_played_again(tmp_path: Path) -> None:
    acts = ("junk:text", "strangers")
    row = dataclasses.replace(CHECKS["stdout"], acts=(*acts, "early"))
    settings = CheckSettings((*ODD, "prints-often", str(tmp_path)), Hooks(), LIMITS)
    ((_, told),) = findings(settings, [row])
    assert told.verdict is FAIL
    assert told.evidence.startswith("3 of 5 times: a line on stdout")
    assert (tmp_path / "plays").read_text() == "x" * 5


def test_an_act_that_was_completed_is_played_again_before_one_that_was_not() -> None:
    def played(name: str, *, unreached: str = "") -> Played:
        noise = PeerEvent(0.0, sent=False, raw=b"Welcome!", problem="it is not JSON")
        return Played(Transcript(name, [noise]), unreached=unreached)

    acts = {name: played(name, unreached="no provider") for name in ("fail:cut", "tool")}
    acts |= {name: played(name) for name in ("healthy", "early")}
    row = dataclasses.replace(CHECKS["stdout"], acts=tuple(acts))
    assert failing_acts(row, acts) == ("healthy",)
