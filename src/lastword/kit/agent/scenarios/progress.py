"""Scenarios of one failure at every stage of a turn, which changes the effect of a retry."""

from __future__ import annotations

from lastword.core.failure.taxonomy import ErrorType, Phase, RetrySafety
from lastword.kit.agent.scenario import ExpectedFailure, Scenario, turn
from lastword.kit.agent.scenarios.kinds import OVERLOADED, THROTTLED
from lastword.kit.agent.script import ClientRequest, Fail, Step, Tool

T = ErrorType
LOOK = Step(say="Let me look at the parser first. ")
READ = Step(tool=Tool(title="Read parser.py", kind="read"))
EDIT = Step(tool=Tool(title="Edit parser.py", kind="edit"))
RUN = Step(tool=Tool(title="Run the tests", kind="execute"))
COMPLETED = Step(tool=Tool(status="completed"))
PERMISSION = ClientRequest(
    method="session/request_permission",
    params={
        "title": "Run the tests",
        "toolCall": {"toolCallId": "call_1", "title": "Run the tests"},
        "options": [{"optionId": "allow", "name": "Allow", "kind": "allow_once"}],
    },
    wait=False,
)
TERMINAL = ClientRequest(
    method="terminal/create", params={"command": "make", "args": ["test"]}, wait=False
)


def _after(
    name: str,
    sees: str,
    *steps: Step,
    failure: ExpectedFailure,
    then: str = "",
) -> Scenario:
    return Scenario(name=name, sees=sees, script=turn(*steps), failure=failure, then=then)


def _unavailable(phase: Phase, retry_safety: RetrySafety) -> ExpectedFailure:
    return ExpectedFailure(type=T.PROVIDER_UNAVAILABLE, phase=phase, retry_safety=retry_safety)


FAILS = Step(fail=OVERLOADED)

SCENARIOS = (
    _after(
        "after_thought",
        "529 after some reasoning: nothing was done, but something was shown",
        Step(think="The parser may read too far."),
        FAILS,
        failure=_unavailable(Phase.BEFORE_OUTPUT, RetrySafety.OFFER_CONTINUE),
    ),
    _after(
        "after_text",
        "429 after some text: retryable, but only to be offered",
        LOOK,
        Step(fail=THROTTLED),
        failure=ExpectedFailure(
            type=T.RATE_LIMIT,
            wait_seconds=20,
            phase=Phase.MID_OUTPUT,
            retry_safety=RetrySafety.OFFER_CONTINUE,
        ),
        then="keep the text",
    ),
    _after(
        "after_read_tool",
        "529 after a file was read",
        READ,
        COMPLETED,
        FAILS,
        failure=_unavailable(Phase.AFTER_TOOL, RetrySafety.ASK),
    ),
    _after(
        "after_tool",
        "529 after a file was edited: retryable, but only if the user agrees",
        EDIT,
        COMPLETED,
        FAILS,
        failure=_unavailable(Phase.AFTER_TOOL, RetrySafety.ASK),
        then="say that files may have changed",
    ),
    _after(
        "tool_open",
        "529 while a tool call is in progress: it is closed as failed first",
        LOOK,
        RUN,
        FAILS,
        failure=_unavailable(Phase.TOOL_RUNNING, RetrySafety.ASK),
        then="end the spinner of the tool call",
    ),
    _after(
        "permission_open",
        "529 while a permission dialog is open",
        LOOK,
        Step(ask=PERMISSION),
        FAILS,
        failure=_unavailable(Phase.MID_OUTPUT, RetrySafety.OFFER_CONTINUE),
        then="close the dialog: its answer is no longer needed",
    ),
    _after(
        "terminal_open",
        "529 while a terminal runs that the agent requested",
        LOOK,
        Step(ask=TERMINAL),
        FAILS,
        failure=_unavailable(Phase.AFTER_TOOL, RetrySafety.ASK),
        then="the terminal may still run: let the user see and stop it",
    ),
    _after(
        "stream_cut",
        "the model's stream breaks off within a sentence",
        LOOK,
        Step(say="The function rea"),
        Step(fail=Fail(exception="TypeError: terminated; other side closed (UND_ERR_SOCKET)")),
        failure=ExpectedFailure(
            type=T.NETWORK, phase=Phase.MID_OUTPUT, retry_safety=RetrySafety.OFFER_CONTINUE
        ),
        then="mark the text as cut",
    ),
    _after(
        "auth_after_tool",
        "401 after a file was edited: the login ran out in mid-turn",
        EDIT,
        COMPLETED,
        Step(fail=Fail(http=401, message="Your login has expired.", code="token_expired")),
        failure=ExpectedFailure(type=T.AUTH, phase=Phase.AFTER_TOOL),
        then="never resend automatically after the login: tools have run",
    ),
)
