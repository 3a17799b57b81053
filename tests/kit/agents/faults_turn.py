"""Agents whose turns end wrongly, late, twice or not at all, while their process is well."""

from __future__ import annotations

import os
import signal
import socket
import subprocess

from lastword.kit.agent.plain import write_all
from tests.kit.agents.acp_agent import CANCEL, answers, at_prompt, at_start, ignore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tests.kit.agents.acp_agent import Agent


@at_start
def healthy(_agent: Agent) -> None:
    """Does everything right."""


_LIMITED = {"statusCode": 429, "responseHeaders": {"retry-after": "20"}}

answers(
    "http-429",
    "Answers with an error that holds a provider's 429 and its retry-after.",
    error={"code": -32603, "message": "429 Too Many Requests", "data": _LIMITED},
)
answers(
    "string-code",
    "Answers with an error whose code is a string.",
    error={"code": "ECONNRESET", "message": "read ECONNRESET"},
)
answers("no-message", "Answers with an error that has no message.", error={"code": -32603})
answers("text-as-error", "Answers with an error that is a text.", error="503 Service Unavailable")
answers(
    "auth-error",
    "Answers with -32000, which asks for a login.",
    error={"code": -32000, "message": "Authentication required"},
)
answers("null-result", "Answers with a result of null.", "Half an answer.", result=None)


@at_prompt
def error_after_text(agent: Agent, prompt: object) -> None:
    """Shows some text and a tool call, then answers with an error."""
    agent.say("I begin.")
    agent.update("tool_call", toolCallId="t1", title="edit", kind="edit", status="in_progress")
    agent.answer(prompt, error={"code": -32603, "message": "socket hang up"})


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
def silence(_agent: Agent, _prompt: object) -> None:
    """Sends nothing at all, but confirms a cancel."""


@at_prompt
def silence_after_text(agent: Agent, _prompt: object) -> None:
    """Shows some text, then nothing more; confirms a cancel."""
    agent.say("Half an answer.")


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


# --- asks, answers and tells too late, twice, or in the wrong order


@at_prompt
def permission(agent: Agent, prompt: object) -> None:
    """Asks for a permission, and ends the turn well when it has it."""
    agent.await_answer(ask_permission(agent))
    agent.serve(prompt)


def ask_permission(agent: Agent) -> int:
    option = {"optionId": "yes", "name": "Yes", "kind": "allow_once"}
    return agent.ask("session/request_permission", toolCall={"toolCallId": "t1"}, options=[option])


@at_start
def ignores_cancel_and_sigterm(agent: Agent) -> None:
    """Shows some text, then nothing more, and reacts neither to a cancel nor to SIGTERM."""
    ignores_cancel(agent)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


# --- silent for one reason each; the modes' first argument is a port on loopback

REQUEST = b"x" * 40_000


def _connect(agent: Agent) -> socket.socket:
    return socket.create_connection(("127.0.0.1", int(agent.arguments[0])))


@at_prompt
def waits_for_provider(agent: Agent, prompt: object) -> None:
    """Sends 40 KB, and ends the turn well once there is an answer."""
    with _connect(agent) as provider:
        provider.sendall(REQUEST)
        agent.say(provider.recv(4096).decode())
    agent.end_turn(prompt)


@at_prompt
def runs_child(_agent: Agent, _prompt: object) -> None:
    """Runs a program that takes long, in a shell, with a secret as its argument."""
    subprocess.run(["sh", "-c", "sleep 600; : sk-secret"], check=False, stdin=subprocess.DEVNULL)


# --- writes the key which it was given where others read it


@at_prompt
def leaks_the_key(agent: Agent, prompt: object) -> None:
    """Answers with an error that holds the key it was given, in message and data."""
    key = os.environ["FOO_API_KEY"]
    data = {"request": {"headers": {"x-test": key}}, "text": f"key={key}"}
    agent.answer(prompt, error={"code": -32603, "message": f"Bad key {key}.", "data": data})


@at_prompt
def leaks_the_key_and_dies(agent: Agent, _prompt: object) -> None:
    """Writes the key that it was given to stderr, and dies."""
    write_all(2, f"Error: provider refused {os.environ['FOO_API_KEY']}\n".encode())
    os._exit(1)


@at_prompt
def floods_with_the_key_and_dies(agent: Agent, _prompt: object) -> None:
    """Writes the key that it was given to stderr some thousand times, and dies."""
    for _ in range(500):
        write_all(2, f"{os.environ['FOO_API_KEY']}\n".encode() * 10)
    os._exit(1)


@at_prompt
def leaks_the_key_and_says_nothing(agent: Agent, prompt: object) -> None:
    """Writes the key that it was given to stderr, and says end_turn with nothing shown."""
    write_all(2, f"401 Unauthorized: {os.environ['FOO_API_KEY']}\n".encode())
    agent.end_turn(prompt)
