"""Turns that end wrongly, or do not end, in an agent whose process is well."""

from __future__ import annotations

from tests.kit.agents.acp_agent import CANCEL, ignore
from tests.kit.agents.modes import at_prompt, at_start

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tests.kit.agents.acp_agent import Agent


@at_start
def healthy(_agent: Agent) -> None:
    """Does everything right."""


@at_start
def shows_nothing(agent: Agent) -> None:
    """Ends every turn well, with nothing shown."""
    agent.serve = agent.end_turn  # type: ignore[method-assign]


@at_prompt
def http_429(agent: Agent, prompt: object) -> None:
    """Answers with an error that holds a provider's 429 and its retry-after."""
    data = {"statusCode": 429, "responseHeaders": {"retry-after": "20"}}
    error = {"code": -32603, "message": "429 Too Many Requests", "data": data}
    agent.answer(prompt, error=error)


@at_prompt
def string_code(agent: Agent, prompt: object) -> None:
    """Answers with an error whose code is a string."""
    agent.answer(prompt, error={"code": "ECONNRESET", "message": "read ECONNRESET"})


@at_prompt
def no_message(agent: Agent, prompt: object) -> None:
    """Answers with an error that has no message."""
    agent.answer(prompt, error={"code": -32603})


@at_prompt
def text_as_error(agent: Agent, prompt: object) -> None:
    """Answers with an error that is a string."""
    agent.answer(prompt, error="503 Service Unavailable")


@at_prompt
def error_after_text(agent: Agent, prompt: object) -> None:
    """Shows some text and a tool call, then answers with an error."""
    agent.say("I begin.")
    agent.update("tool_call", toolCallId="t1", title="edit", kind="edit", status="in_progress")
    agent.answer(prompt, error={"code": -32603, "message": "socket hang up"})


@at_prompt
def auth_error(agent: Agent, prompt: object) -> None:
    """Answers with -32000, which asks for a login."""
    agent.answer(prompt, error={"code": -32000, "message": "Authentication required"})


@at_prompt
def silent_success(agent: Agent, prompt: object) -> None:
    """Says end_turn with nothing shown."""
    agent.end_turn(prompt)


@at_prompt
def unknown_stop_reason(agent: Agent, prompt: object) -> None:
    """Ends with a stop reason that the protocol does not have."""
    agent.say("Half an answer.")
    agent.end_turn(prompt, "exploded")


@at_prompt
def null_result(agent: Agent, prompt: object) -> None:
    """Answers the prompt with a result of null."""
    agent.say("Half an answer.")
    agent.answer(prompt, result=None)


@at_prompt
def id_as_text(agent: Agent, prompt: object) -> None:
    """Answers well, with the id's text instead of its number."""
    agent.say("Here is the answer.")
    agent.wire.frame(id=str(prompt), result={"stopReason": "end_turn"})


@at_prompt
def id_null(agent: Agent, _prompt: object) -> None:
    """Answers with an error whose id is null."""
    agent.wire.frame(id=None, error={"code": -32603, "message": "503 Service Unavailable"})


@at_prompt
def foreign_id(agent: Agent, _prompt: object) -> None:
    """Answers somebody else's request and never ours."""
    agent.say("Half an answer.")
    agent.wire.frame(id=987654, result={"stopReason": "end_turn"})


@at_prompt
def twice(agent: Agent, prompt: object) -> None:
    """Answers well, then with an error, then well again."""
    agent.say("Here is the answer.")
    agent.end_turn(prompt)
    agent.answer(prompt, error={"code": -32603, "message": "and once more"})
    agent.end_turn(prompt)


@at_prompt
def error_twice(agent: Agent, prompt: object) -> None:
    """Answers with an error, then well, then with an error again."""
    error = {"code": -32603, "message": "503 Service Unavailable"}
    agent.answer(prompt, error=error)
    agent.end_turn(prompt)
    agent.answer(prompt, error=error)


@at_prompt
def talks_afterwards(agent: Agent, prompt: object) -> None:
    """Answers well, then reports usage and a title, as real agents do."""
    agent.say("Here is the answer.")
    agent.end_turn(prompt)
    agent.update("usage_update", used=10, size=100)
    agent.update("session_info_update", title="A title")


@at_prompt
def silence(_agent: Agent, _prompt: object) -> None:
    """Sends nothing at all, but confirms a cancel."""


@at_prompt
def silence_after_text(agent: Agent, _prompt: object) -> None:
    """Shows some text, then nothing more; confirms a cancel."""
    agent.say("Half an answer.")


@at_prompt
def silence_in_tool(agent: Agent, _prompt: object) -> None:
    """Starts a tool call, then nothing more; confirms a cancel."""
    agent.update("tool_call", toolCallId="t1", title="read", kind="read", status="in_progress")


@at_start
def ignores_cancel(agent: Agent) -> None:
    """Shows some text, then nothing more, and does not react to a cancel."""
    agent.on_fail = silence_after_text
    agent.notifications[CANCEL] = ignore


@at_prompt
def answer_on_go(agent: Agent, prompt: object) -> None:
    """Shows some text, waits to be told, then ends the turn well."""
    agent.say("I begin.")
    agent.when_told(lambda: agent.serve(prompt))


@at_prompt
def runaway(agent: Agent, _prompt: object) -> None:
    """Repeats one sentence for ever (200 times), and confirms a cancel."""
    for _ in range(200):
        agent.say("Let me look at that file once more.")


@at_start
def refuses_sessions(agent: Agent) -> None:
    """Answers `session/new` with an error that holds nothing a client could show."""
    error = {"code": "EFAIL", "message": "", "data": None}
    agent.requests["session/new"] = lambda new, _params: agent.answer(new, error=error)


@at_start
def silent_at_initialize(agent: Agent) -> None:
    """Does not answer `initialize`."""
    agent.requests["initialize"] = ignore
