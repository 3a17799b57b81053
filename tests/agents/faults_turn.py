"""Turns that end wrongly, or do not end, in an agent whose process is well."""

from __future__ import annotations

import os

from modes import at_prompt, at_start

TYPE_CHECKING = False
if TYPE_CHECKING:
    from acp_agent import Agent


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
    agent.send(id=prompt, error=error)


@at_prompt
def empty_error(agent: Agent, prompt: object) -> None:
    """Answers with an error that says nothing, its data null."""
    agent.send(id=prompt, error={"code": -32603, "message": "", "data": None})


@at_prompt
def error_after_text(agent: Agent, prompt: object) -> None:
    """Shows some text and a tool call, then answers with an error."""
    agent.text("I begin.")
    agent.update("tool_call", toolCallId="t1", title="edit", kind="edit", status="in_progress")
    agent.send(id=prompt, error={"code": -32603, "message": "socket hang up"})


@at_prompt
def auth_error(agent: Agent, prompt: object) -> None:
    """Answers with -32000, which asks for a login."""
    agent.send(id=prompt, error={"code": -32000, "message": "Authentication required"})


@at_prompt
def silent_success(agent: Agent, prompt: object) -> None:
    """Says end_turn with nothing shown."""
    agent.end_turn(prompt)


@at_prompt
def unknown_stop_reason(agent: Agent, prompt: object) -> None:
    """Ends with a stop reason that is none of the protocol's."""
    agent.text("Half an answer.")
    agent.end_turn(prompt, "exploded")


@at_prompt
def null_result(agent: Agent, prompt: object) -> None:
    """Answers the prompt with a result of null."""
    agent.text("Half an answer.")
    agent.send(id=prompt, result=None)


@at_prompt
def id_as_text(agent: Agent, prompt: object) -> None:
    """Answers well, with the id's text instead of its number."""
    agent.text("Here is the answer.")
    agent.send(id=str(prompt), result={"stopReason": "end_turn"})


@at_prompt
def id_null(agent: Agent, _prompt: object) -> None:
    """Answers with an error whose id is null."""
    agent.send(id=None, error={"code": -32603, "message": "503 Service Unavailable"})


@at_prompt
def foreign_id(agent: Agent, _prompt: object) -> None:
    """Answers somebody else's request and never ours."""
    agent.text("Half an answer.")
    agent.send(id=987654, result={"stopReason": "end_turn"})


@at_prompt
def twice(agent: Agent, prompt: object) -> None:
    """Answers well, then with an error, then well again."""
    agent.text("Here is the answer.")
    agent.end_turn(prompt)
    agent.send(id=prompt, error={"code": -32603, "message": "and once more"})
    agent.end_turn(prompt)


@at_prompt
def error_twice(agent: Agent, prompt: object) -> None:
    """Answers with an error, then well, then with an error again."""
    error = {"code": -32603, "message": "503 Service Unavailable"}
    agent.send(id=prompt, error=error)
    agent.end_turn(prompt)
    agent.send(id=prompt, error=error)


@at_prompt
def talks_afterwards(agent: Agent, prompt: object) -> None:
    """Answers well, then reports usage and a title, as real agents do."""
    agent.text("Here is the answer.")
    agent.end_turn(prompt)
    agent.update("usage_update", used=10, size=100)
    agent.update("session_info_update", title="A title")


@at_prompt
def silence(_agent: Agent, _prompt: object) -> None:
    """Sends nothing at all, but confirms a cancel."""


@at_prompt
def silence_after_text(agent: Agent, _prompt: object) -> None:
    """Shows some text, then nothing more; confirms a cancel."""
    agent.text("Half an answer.")


@at_prompt
def silence_in_tool(agent: Agent, _prompt: object) -> None:
    """Starts a tool call, then nothing more; confirms a cancel."""
    agent.update("tool_call", toolCallId="t1", title="read", kind="read", status="in_progress")


@at_start
def ignores_cancel(agent: Agent) -> None:
    """Shows some text, then nothing more, and does not react to a cancel."""
    agent.on_fail = silence_after_text
    agent.on_cancel = lambda _agent: None


@at_start
def late_frames(agent: Agent) -> None:
    """Ignores a cancel; when told to go on, sends more text, asks for a file and answers."""
    ignores_cancel(agent)
    agent.on_go = _finish_late


def _finish_late(agent: Agent) -> None:
    prompt = agent.open_prompt
    agent.text("This comes too late.")
    agent.ask("fs/write_text_file", path="file", content="late")
    agent.end_turn(prompt)


@at_prompt
def error_on_go(agent: Agent, _prompt: object) -> None:
    """Waits to be told, then answers with an error, a cancel in between or not."""
    agent.on_cancel = lambda _agent: None
    agent.on_go = _error_on_go


def _error_on_go(agent: Agent) -> None:
    agent.send(id=agent.open_prompt, error={"code": -32603, "message": "aborted"})


@at_prompt
def answer_on_go(agent: Agent, _prompt: object) -> None:
    """Shows some text, waits to be told, then ends the turn well."""
    agent.text("I begin.")
    agent.on_go = lambda agent: agent.serve(agent.open_prompt)


@at_prompt
def permission(agent: Agent, prompt: object) -> None:
    """Asks for a permission, and ends the turn well when it has it."""
    agent.await_answer(_ask_permission(agent))
    agent.serve(prompt)


@at_prompt
def permission_then_silence(agent: Agent, _prompt: object) -> None:
    """Asks for a permission, and does nothing more when it has it; confirms a cancel."""
    agent.await_answer(_ask_permission(agent))


@at_prompt
def permission_then_dies(agent: Agent, _prompt: object) -> None:
    """Asks for a permission and dies before it is given."""
    _ask_permission(agent)
    os._exit(1)


def _ask_permission(agent: Agent) -> str:
    option = {"optionId": "yes", "name": "Yes", "kind": "allow_once"}
    return agent.ask("session/request_permission", toolCall={"toolCallId": "t1"}, options=[option])


@at_prompt
def runaway(agent: Agent, _prompt: object) -> None:
    """Repeats one sentence for ever (200 times), and confirms a cancel."""
    for _ in range(200):
        agent.text("Let me look at that file once more.")


@at_prompt
def leaks_the_key(agent: Agent, prompt: object) -> None:
    """Answers with an error that holds the key it was given, in message and data."""
    key = os.environ["FOO_API_KEY"]
    data = {"request": {"headers": {"x-test": key}}, "text": f"key={key}"}
    agent.send(id=prompt, error={"code": -32603, "message": f"Bad key {key}.", "data": data})


@at_prompt
def leaks_the_key_and_dies(agent: Agent, _prompt: object) -> None:
    """Writes the key that it was given to stderr, and dies."""
    agent.write(f"Error: provider refused {os.environ['FOO_API_KEY']}\n".encode(), fd=2)
    os._exit(1)


@at_prompt
def floods_with_the_key_and_dies(agent: Agent, _prompt: object) -> None:
    """Writes the key that it was given to stderr some thousand times, and dies."""
    for _ in range(500):
        agent.write(f"{os.environ['FOO_API_KEY']}\n".encode() * 10, fd=2)
    os._exit(1)


@at_prompt
def leaks_the_key_and_says_nothing(agent: Agent, prompt: object) -> None:
    """Writes the key that it was given to stderr, and says end_turn with nothing shown."""
    agent.write(f"401 Unauthorized: {os.environ['FOO_API_KEY']}\n".encode(), fd=2)
    agent.end_turn(prompt)


@at_start
def refuses_sessions(agent: Agent) -> None:
    """Answers `session/new` with an error that holds nothing a client could show."""
    while (message := agent.receive()) is not None:
        if message.get("method") == "session/new":
            error = {"code": "EFAIL", "message": "", "data": None}
            agent.send(id=message["id"], error=error)
        elif message.get("method") == "initialize":
            agent.send(id=message["id"], result={"protocolVersion": 1})
