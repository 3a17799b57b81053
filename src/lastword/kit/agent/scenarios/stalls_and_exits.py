"""Scenarios of silence, floods and exits, which affect the turn's timers or the whole process."""

from __future__ import annotations

from lastword.core.failure.taxonomy import Action, Phase, RetrySafety
from lastword.kit.agent.scenario import ExpectedFailure, Scenario, script, turn
from lastword.kit.agent.scenarios.kinds import T
from lastword.kit.agent.scenarios.progress import COMPLETED, EDIT, LOOK, PERMISSION, RUN, TERMINAL
from lastword.kit.agent.script import Repeat, Step

WELL = (Step(say="Here is the answer."), Step(result="end_turn"))
NOTHING_MORE = Step(say="From here on nothing comes. ")
SILENCE = Step(silence=True)
KILLED = Step(kill="SIGKILL")
DEBUG = "DEBUG provider.stream: chunk without data, trying again"
FLOOD = Step(repeat=Repeat(steps=(Step(stderr="\n".join([DEBUG] * 1000)),)))
NEW_SESSION = "open a new session, and say that the agent has forgotten this one"

OFFERED = RetrySafety.OFFER_CONTINUE
CONFIRM = RetrySafety.ASK


STALLED = ExpectedFailure(type=T.AGENT_STALLED, phase=Phase.MID_OUTPUT, retry_safety=OFFERED)


STALLS = (
    Scenario(
        name="agent_stalled",
        sees="text, then silence, until the turn is ended after 2 s",
        script=turn(NOTHING_MORE, SILENCE),
        failure=STALLED,
    ),
    Scenario(
        name="never_answered",
        sees="nothing at all, until the turn is ended after 2 s",
        script=turn(SILENCE),
        failure=ExpectedFailure(type=T.AGENT_STALLED),
    ),
    Scenario(
        name="stalled_tool",
        sees="a tool call that never ends; tools are given more time, 3 s here",
        script=turn(LOOK, RUN, SILENCE),
        failure=ExpectedFailure(
            type=T.AGENT_STALLED, phase=Phase.TOOL_RUNNING, retry_safety=CONFIRM
        ),
        then="end the spinner of the tool call",
    ),
    Scenario(
        name="runaway",
        sees="one sentence again and again; ended after 50 repetitions",
        script=turn(Step(repeat=Repeat(steps=(Step(say="Let me look at that once more. "),)))),
        failure=ExpectedFailure(
            type=T.AGENT_STALLED,
            retryable=False,
            phase=Phase.MID_OUTPUT,
            reason="runaway",
            action=Action.REPHRASE,
        ),
    ),
    Scenario(
        name="cancel_ignored",
        sees="a turn that ignores the user's cancel, and is cancelled all the same after 1 s",
        script=script(
            (Step(say="This turn ignores your cancel."), SILENCE),
            on_cancel="ignore",
            run={"first-update-timeout": 60, "idle-timeout": 60},
        ),
        failure=ExpectedFailure(type=T.CANCELLED),
        then="show that it was cancelled as soon as the user says so",
    ),
    Scenario(
        name="late_frames",
        sees="silence, the failure, and nothing of what the agent still says after it",
        script=script(
            (
                NOTHING_MORE,
                Step(wait=3.5),
                Step(say="This comes too late."),
                Step(result="end_turn"),
            ),
            on_cancel="ignore",
        ),
        failure=STALLED,
    ),
    Scenario(
        name="silent_success",
        sees="the agent says that it is done and has shown nothing: reported as a failure",
        script=turn(Step(result="end_turn")),
        failure=ExpectedFailure(type=T.UNKNOWN, reason="silent_success"),
    ),
    Scenario(
        name="stderr_overflow",
        sees="stderr is flooded without end until the turn is stopped",
        script=turn(Step(say="Look at stderr. "), FLOOD),
        failure=ExpectedFailure(
            type=T.STDERR_OVERFLOW, phase=Phase.MID_OUTPUT, retry_safety=OFFERED
        ),
    ),
    Scenario(
        name="hang",
        sees="text, then the whole process hangs and reads nothing",
        script=turn(Step(say="From here on nothing moves."), Step(hang=True)),
        failure=STALLED,
    ),
)


def _crash(**members: object) -> ExpectedFailure:
    return ExpectedFailure(type=T.AGENT_CRASH, **members)  # type: ignore[arg-type]


SCENARIOS = (
    Scenario(
        name="agent_crash",
        sees="the agent's process is killed (SIGKILL) at once",
        script=turn(KILLED),
        failure=_crash(reason="killed"),
    ),
    Scenario(
        name="crash_after_text",
        sees="some text and an open tool call, then the agent is killed",
        script=turn(LOOK, RUN, KILLED),
        failure=_crash(phase=Phase.TOOL_RUNNING, retry_safety=CONFIRM, reason="killed"),
        then="end the spinner of the tool call",
    ),
    Scenario(
        name="crash_after_edit",
        sees="a file is edited, then the agent is killed",
        script=turn(EDIT, COMPLETED, KILLED),
        failure=_crash(phase=Phase.AFTER_TOOL, retry_safety=CONFIRM, reason="killed"),
        then="say that files may have changed",
    ),
    Scenario(
        name="crash_with_dialog",
        sees="a permission dialog, then the agent is killed; the dialog is withdrawn",
        script=turn(LOOK, Step(ask=PERMISSION), KILLED),
        failure=_crash(phase=Phase.MID_OUTPUT, retry_safety=OFFERED, reason="killed"),
        then="close the dialog ($/cancel_request): a late Allow must reach nobody",
    ),
    Scenario(
        name="crash_with_terminal",
        sees="a terminal is requested, then the agent is killed; the terminal is released",
        script=turn(LOOK, Step(ask=TERMINAL), KILLED),
        failure=_crash(phase=Phase.AFTER_TOOL, retry_safety=CONFIRM, reason="killed"),
    ),
    Scenario(
        name="crash_out_of_memory",
        sees="the process aborts because its memory is used up",
        script=turn(
            LOOK,
            Step(stderr="FATAL ERROR: Reached heap limit - JavaScript heap out of memory"),
            Step(kill="SIGABRT"),
        ),
        failure=_crash(phase=Phase.MID_OUTPUT, retry_safety=OFFERED, reason="oom"),
    ),
    Scenario(
        name="crash_traceback",
        sees="an exception ends the process, and would do so again",
        script=turn(
            LOOK,
            Step(
                stderr="Traceback (most recent call last):\n"
                "  File \"agent.py\", line 7, in main\nKeyError: 'model'"
            ),
            Step(exit=1),
        ),
        failure=_crash(retryable=False, phase=Phase.MID_OUTPUT, reason="uncaught_exception"),
    ),
    Scenario(
        name="exits_well",
        sees="the process exits with status 0 in mid-turn",
        script=turn(LOOK, Step(exit=0)),
        failure=_crash(phase=Phase.MID_OUTPUT, retry_safety=OFFERED, reason="premature_exit"),
    ),
    Scenario(
        name="restarted",
        sees="the first turn kills the agent; it is started again, and the next one goes well",
        script=script((KILLED,), WELL),
        failure=_crash(reason="killed"),
        then="the session lives on: just send the next prompt",
    ),
    Scenario(
        name="restarted_by_load",
        sees="as above, from an agent that restores sessions by session/load",
        script=script((KILLED,), WELL, sessions="load"),
        failure=_crash(reason="killed"),
        then="the history is not repeated: just send the next prompt",
    ),
    Scenario(
        name="context_lost",
        sees="the first turn kills the agent, and the session cannot be restored",
        script=script((KILLED,), WELL, sessions="lost"),
        failure=_crash(reason="killed"),
        then=f"at the next prompt (reason context_lost) {NEW_SESSION}",
    ),
    Scenario(
        name="crash_loop",
        sees="the first turn kills the agent, and every start after it fails",
        script=script((KILLED,), starts=((), (Step(stderr="no model configured"), Step(exit=3)))),
        failure=_crash(reason="killed"),
        then="at the next prompts (reason crash_loop) offer the settings, not another try",
    ),
    Scenario(
        name="fails_to_start",
        sees="the agent exits at its start: initialize is answered with the failure",
        script=script(WELL, starts=((Step(stderr="fatal: no model configured"), Step(exit=3)),)),
        failure=_crash(retryable=False, phase=Phase.STARTUP, reason="exit_status"),
        then="say so where the agent is chosen, with what it said",
    ),
)
