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
import queue
import subprocess
import sys
import threading
import time
from typing import Any, NoReturn

STOP_REASONS = {"end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"}
CLOSE_GRACE_SECONDS = 2.0
FOR_EVER_SECONDS = 3600.0

Frame = dict[str, Any]


def report(event: str, **fields: Any) -> None:
    """Write one line."""
    print(json.dumps({"event": event, **fields}), flush=True)


class RequestError(Exception):
    """The agent answered with an error."""


class Dead(Exception):  # noqa: N818 (a state, as the client sees it)
    """There is no connection any more."""


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def strict(line: bytes) -> Frame:
    """The message that a line is.

    Raises:
        ValueError: it is none.
    """
    message = json.loads(line.decode(), parse_constant=_no_constant)
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        raise ValueError("no JSON-RPC message")
    return message


class Connection:
    """The agent's pipes."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._stdin, self._stdout = process.stdin, process.stdout
        self._frames: queue.Queue[Frame | str] = queue.Queue()
        self._dead: str | None = None
        self._idle: Frame | None = None
        self._next_id = 0
        threading.Thread(target=self._read, daemon=True).start()

    def request(self, method: str, params: Frame, limit: float | None) -> Any:
        """The result of a request.

        Raises:
            RequestError: the agent's error.
            Dead: the connection is gone.
            TimeoutError: no answer came.
        """
        request_id, self._next_id = self._next_id, self._next_id + 1
        message = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}
        try:
            self._stdin.write(json.dumps(message).encode() + b"\n")
            self._stdin.flush()
        except OSError as error:
            raise Dead(str(error)) from error
        deadline = time.monotonic() + (limit or FOR_EVER_SECONDS)
        while True:
            answer = self._next(deadline)
            if "method" in answer or type(answer.get("id")) is not int:
                continue
            if answer["id"] == request_id and is_standard(answer):
                if "error" in answer:
                    raise RequestError(answer["error"])
                return answer["result"]

    def _next(self, deadline: float) -> Frame:
        if self._dead is not None and self._frames.empty():
            raise Dead(self._dead)
        try:
            frame = self._frames.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            raise TimeoutError from None
        if isinstance(frame, str):
            self._dead = frame
            raise Dead(frame)
        if frame.get("method") == "session/update":
            update = frame["params"]["update"]
            report("update", kind=update["sessionUpdate"], update=update)
            if update.get("state") == "idle":
                self._idle = update
        return frame

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

    def _read(self) -> None:
        for line in self._stdout:
            try:
                self._frames.put(strict(line))
            except (ValueError, RecursionError) as error:
                self._frames.put(f"{type(error).__name__}: {str(error)[:80]}")
                return
        self._frames.put("the agent closed its stdout")


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
    """Run one turn and report how it ended."""
    report("prompt", n=number)
    limit = arguments.turn_timeout
    params = {"sessionId": session, "prompt": [{"type": "text", "text": text}]}
    stop_reasons = STOP_REASONS
    try:
        result = connection.request("session/prompt", params, limit)
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
        connection.request("initialize", introduction(arguments), limit)
        stage = "session/new"
        session = connection.request("session/new", opening, limit)["sessionId"]
        for number, text in enumerate(arguments.prompt):
            prompt(connection, session, number, text, arguments)
        stage = "probe"
        session = connection.request("session/new", opening, limit)["sessionId"]
        prompt(connection, session, len(arguments.prompt), "hello", arguments)
    except (RequestError, Dead, TimeoutError) as error:
        report("failed", stage=stage, cause=type(error).__name__, text=str(error))


def main(argv: list[str]) -> int:
    """Run one session."""
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
    pipe = subprocess.PIPE
    with subprocess.Popen(argv[at + 1 :], stdin=pipe, stdout=pipe, stderr=pipe) as process:
        connection = Connection(process)
        converse(connection, arguments)
        assert process.stdin is not None
        try:
            process.stdin.close()
        except OSError:
            report("log", text="the agent reads no more")
        try:
            process.wait(CLOSE_GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
        report("ended", returncode=process.wait())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
