"""Scenarios whose turns end well, which a client must not show as failures."""

from __future__ import annotations

from lastword.core.failure.taxonomy import ErrorType
from lastword.kit.agent.scenario import ExpectedFailure, Scenario, script, turn
from lastword.kit.agent.script import Repeat, RetryStep, Step, Tool

END = Step(result="end_turn")
DONE = (Step(say="One check is missing."), END)
SLOW_WORDS = ("Every", "half", "second", "a", "word", "comes.")

SCENARIOS = (
    Scenario(
        name="healthy",
        sees="text, then the end of the turn",
        script=turn(Step(say="The parser reads past the end of its input. "), *DONE),
    ),
    Scenario(
        name="healthy_tool",
        sees="a tool call that reads a file, text, the end",
        script=turn(
            Step(tool=Tool(title="Read parser.py", kind="read")),
            Step(tool=Tool(status="completed")),
            *DONE,
        ),
    ),
    Scenario(
        name="slow",
        sees="a word every half second, for three seconds",
        script=turn(
            *(part for word in SLOW_WORDS for part in (Step(say=f"{word} "), Step(wait=0.5))), END
        ),
        then="show each word as it comes; a second prompt meanwhile overlaps with this one",
    ),
    Scenario(
        name="retried",
        sees="two failed model calls, each announced with its wait (agent_retry), then text",
        script=turn(
            Step(retry=RetryStep(attempt=2, wait=1)),
            Step(retry=RetryStep(attempt=3, wait=1, http=503, message="Service Unavailable")),
            Step(say="It took 3 attempts."),
            END,
        ),
        then="show a countdown in the running turn; no error, no Retry button",
    ),
    Scenario(
        name="permission",
        sees="a permission dialog; the turn ends once it is answered",
        script=turn(Step(ask_permission="Run the tests"), *DONE),
        then="stop every timeout while the dialog is open",
    ),
    Scenario(
        name="two_questions",
        sees="two permission dialogs at once; once both are answered, text that says how",
        script=turn(Step(ask_permissions=("Run the tests", "Edit parser.py")), END),
        then="show both, one beside or after the other, and send each answer under its own id",
    ),
    Scenario(
        name="max_tokens",
        sees="text, then the stop reason max_tokens",
        script=turn(Step(say="It goes on and"), Step(result="max_tokens")),
        then='say that the answer was cut, and offer "Continue"; this is not an error',
    ),
    Scenario(
        name="refusal",
        sees="text, then the stop reason refusal",
        script=turn(Step(say="I can't help with that."), Step(result="refusal")),
        then="keep all that was shown; the next prompt may leave this turn out",
    ),
    Scenario(
        name="cancelled",
        sees="text, then a turn that goes on until the user cancels it: no error",
        script=turn(
            Step(say="This turn goes on until you cancel it."),
            Step(repeat=Repeat(steps=(Step(wait=0.5), Step(think=".")))),
        ),
        failure=ExpectedFailure(type=ErrorType.CANCELLED),
        then="show that it was cancelled; no error, nothing to press",
    ),
    Scenario(
        name="talks_afterwards",
        sees="a good turn, then a title and usage after its end",
        script=turn(
            Step(say="Here is the answer."),
            END,
            Step(update={"sessionUpdate": "session_info_update", "title": "The parser"}),
            Step(update={"sessionUpdate": "usage_update", "used": 10, "size": 100}),
        ),
        then="accept late updates of the session, without opening a turn for them",
    ),
    Scenario(
        name="works_on",
        sees="a good turn, and a second later more text without a turn",
        script=turn(
            Step(say="The build runs in the background."),
            END,
            Step(wait=1),
            Step(say="The build has passed."),
        ),
        then="show the late text, and that the agent works on, without a turn that never ends",
    ),
    Scenario(
        name="silence_warned",
        sees="a long silence that lastword announces (session.notices), then text",
        script=script(
            (Step(wait=1.5), *DONE),
            run={"warn-after": 1, "first-update-timeout": 9, "idle-timeout": 9},
        ),
        then="show the notice in the running turn; it is not a failure",
    ),
)
