"""A client without an SDK, as strict as the strictest: it writes down what it is given.

Owns: one session with the command after `--`, and one JSON line on stdout for each thing that
happened, as `client_py.py` writes them. What is no JSON-RPC message in UTF-8 closes the connection;
an answer counts only under the very id that was sent; an error that is not of the standard's shape
is dropped. Clients in the field do each of these.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from typing import Any

from lastword.kit.peer import Frame, PeerEvent, StrictClient

STOP_REASONS = {"end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"}
CLOSE_GRACE_SECONDS = 2.0
FOR_EVER_SECONDS = 3600.0


def report(event: str, **fields: Any) -> None:
    print(json.dumps({"event": event, **fields}), flush=True)


class RequestError(Exception):
    """The agent answered with an error."""


class Dead(Exception):  # noqa: N818 (a state, as the client sees it)
    """There is no connection any more."""


class Connection(StrictClient):
    """The agent's process; what is no message is the end of the connection."""

    replies = False
    max_line_bytes = sys.maxsize

    def __init__(self, command: list[str]) -> None:
        super().__init__(command)
        self._looked_at = 0
        self._idle: Frame | None = None

    def ask(self, method: str, params: Frame, limit: float | None) -> Any:
        """The result of a request.

        Raises:
            RequestError: the agent's error.
            Dead: the connection is gone.
            TimeoutError: no answer came.
        """
        deadline = time.monotonic() + (limit or FOR_EVER_SECONDS)
        request_id = self.request(method, params)
        if not self.stdin_open:
            raise Dead("the agent reads no more")
        while True:
            event = self._next(deadline)
            if event.answers(request_id) and is_standard(event.frame):
                if "error" in event.frame:
                    raise RequestError(event.frame["error"])
                return event.frame["result"]

    def _next(self, deadline: float) -> PeerEvent:
        if not self.wait(self._has_come, deadline - time.monotonic()):
            raise Dead("the agent closed its stdout") if not self.stdout.open else TimeoutError
        event = self.events[self._looked_at]
        # At a line that is no message it stays: the connection is gone for good.
        if event.frame is None or event.frame.get("jsonrpc") != "2.0":
            raise Dead(f"{event.problem}: {event.raw[:80]!r}")
        self._looked_at += 1
        if event.frame.get("method") == "session/update":
            update = event.frame["params"]["update"]
            report("update", kind=update["sessionUpdate"], update=update)
            if update.get("state") == "idle":
                self._idle = update
        return event

    def _has_come(self) -> bool:
        while self._looked_at < len(self.events) and self.events[self._looked_at].sent:
            self._looked_at += 1
        return self._looked_at < len(self.events)

    def until_idle(self, limit: float | None) -> Frame:
        """Version 2: the update that ends the session's turn, whenever it came.

        Raises:
            Dead: the connection is gone.
            TimeoutError: no such update came.
        """
        deadline = time.monotonic() + (limit or FOR_EVER_SECONDS)
        while self._idle is None:
            self._next(deadline)
        idle, self._idle = self._idle, None
        return idle


def is_standard(answer: Frame) -> bool:
    """Has an answer a result, or an error with a code and a message?"""
    if "error" not in answer:
        return "result" in answer
    error = answer["error"]
    return (
        isinstance(error, dict)
        and type(error.get("code")) is int
        and isinstance(error.get("message"), str)
    )


def prompt(
    connection: Connection, session: str, number: int, text: str, arguments: argparse.Namespace
) -> None:
    report("prompt", n=number)
    limit = arguments.turn_timeout
    params = {"sessionId": session, "prompt": [{"type": "text", "text": text}]}
    stop_reasons = STOP_REASONS
    try:
        result = connection.ask("session/prompt", params, limit)
        if arguments.protocol > 1:
            result = connection.until_idle(limit)
            stop_reasons = STOP_REASONS | {"error"}
    except TimeoutError:
        report("hang", n=number)
    except RequestError as failure:
        error = failure.args[0]
        report("error", n=number, **error)
    except Dead as error:
        report("exception", n=number, cause="Dead", text=str(error))
    else:
        stop_reason = result.get("stopReason") if isinstance(result, dict) else None
        if stop_reason in stop_reasons:
            report("answer", n=number, stop_reason=stop_reason, result=result)
        else:
            report("exception", n=number, cause="ValidationError", text=f"{stop_reason!r}")


def introduction(arguments: argparse.Namespace) -> Frame:
    """The params of `initialize`, which are named otherwise in each version."""
    info = {"name": arguments.name, "version": "1.0.0"}
    capabilities = {} if arguments.meta is None else {"_meta": arguments.meta}
    if arguments.protocol > 1:
        return {"protocolVersion": 2, "info": info, "capabilities": capabilities}
    return {"protocolVersion": 1, "clientInfo": info, "clientCapabilities": capabilities}


def converse(connection: Connection, arguments: argparse.Namespace) -> None:
    """Initialize, open a session, prompt in sequence; and once more in a new session."""
    limit = arguments.turn_timeout
    opening = {"cwd": arguments.cwd, "mcpServers": []}
    stage = "initialize"
    try:
        connection.ask("initialize", introduction(arguments), limit)
        stage = "session/new"
        session = connection.ask("session/new", opening, limit)["sessionId"]
        for number, text in enumerate(arguments.prompt):
            prompt(connection, session, number, text, arguments)
        stage = "probe"
        session = connection.ask("session/new", opening, limit)["sessionId"]
        prompt(connection, session, len(arguments.prompt), "hello", arguments)
    except (RequestError, Dead, TimeoutError) as error:
        report("failed", stage=stage, cause=type(error).__name__, text=str(error))


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--name", default="interop-raw")
    parser.add_argument("--meta", type=json.loads, help="_meta of its capabilities, as JSON")
    parser.add_argument("--protocol", type=int, choices=(1, 2), default=1)
    parser.add_argument("--cwd", default=".")
    parser.add_argument("--prompt", action="append", default=[])
    parser.add_argument("--timeout", help="taken and not used: each turn has its own")
    parser.add_argument("--turn-timeout", type=float, default=FOR_EVER_SECONDS)
    parser.add_argument("--probe", action="store_true", help="taken: it always does")
    parser.add_argument("--undrained-stderr", action="store_true", help="taken: it never reads it")
    at = argv.index("--")
    arguments = parser.parse_args(argv[:at])
    arguments.cwd = os.path.abspath(arguments.cwd)
    connection = Connection(argv[at + 1 :])
    # Nobody reads an agent's stderr, as in many a client.
    connection.stderr.reading = False
    converse(connection, arguments)
    connection.close_stdin()
    if not connection.wait_for_exit(CLOSE_GRACE_SECONDS):
        os.kill(connection.pid, signal.SIGKILL)
        connection.wait_for_exit(CLOSE_GRACE_SECONDS)
    connection.release()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
