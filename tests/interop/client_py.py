"""A client on the official Python SDK that writes down everything it is given.

Owns: one session with the command after `--`, and one JSON line on stdout for each thing that
happened: `wire` is what passed over the pipes, `update` is what the SDK delivered to user code,
`log` is what the SDK itself complained about. Does not own: any judgement. It knows nothing of
lastword, and `agent_error` is foreign to its SDK. `client_ts.mjs` writes the same lines.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import sys
from contextlib import suppress
from typing import Any

from acp.client.connection import ClientSideConnection
from acp.connection import StreamDirection, StreamEvent
from acp.exceptions import RequestError
from acp.schema import (
    AllowedOutcome,
    ClientCapabilities,
    DeniedOutcome,
    Implementation,
    PermissionOption,
    RequestPermissionResponse,
    TextContentBlock,
)
from acp.transports import spawn_stdio_transport

READ_BYTES = 64 * 1024
READER_LIMIT_BYTES = 64 * 1024 * 1024
REPORTED_LINE_BYTES = 1024 * 1024
FUSE_EXIT = 3
LINGER_SECONDS = 0.2
"""After the last turn, for what still comes."""


def report(event: str, **fields: Any) -> None:
    print(json.dumps({"event": event, **fields}, default=str), flush=True)


class ReportingHandler(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        """Report one record, with its exception's class where it has one."""
        cause = record.exc_info[0].__name__ if record.exc_info and record.exc_info[0] else None
        report("log", level=record.levelname, text=record.getMessage(), cause=cause)


class Client:
    """User code as the SDK sees it: approves every permission, notes every update."""

    async def session_update(self, update: Any, **_: Any) -> None:
        body = update.model_dump(mode="json", by_alias=True, exclude_unset=True)
        report("update", kind=body.get("sessionUpdate"), update=body)

    async def request_permission(
        self, options: list[PermissionOption], **_: Any
    ) -> RequestPermissionResponse:
        for option in options:
            if option.kind == "allow_once":
                chosen = AllowedOutcome(outcome="selected", option_id=option.option_id)
                return RequestPermissionResponse(outcome=chosen)
        return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))


def observe_sent(event: StreamEvent) -> None:
    """Note each message that the SDK wrote; received ones are noted from the bytes."""
    if event.direction is StreamDirection.OUTGOING:
        report("wire", direction="out", message=event.message)


def report_line(line: bytes) -> None:
    """Note one line that came from the agent, parsed where it can be."""
    if len(line) > REPORTED_LINE_BYTES:
        report("wire", direction="in", bytes=len(line))
        return
    try:
        report("wire", direction="in", message=json.loads(line))
    except ValueError:
        report("wire", direction="in", raw=line.decode("utf-8", "backslashreplace"))


async def tee(source: asyncio.StreamReader, sink: asyncio.StreamReader) -> None:
    """Note whole lines on their way from the process to the SDK."""
    pending = bytearray()
    while chunk := await source.read(READ_BYTES):
        pending += chunk
        if b"\n" in chunk:
            *lines, rest = bytes(pending).split(b"\n")
            for line in lines:
                report_line(line)
            pending = bytearray(rest)
        sink.feed_data(chunk)
    if pending:
        report_line(bytes(pending))
    sink.feed_eof()


async def prompt(
    connection: ClientSideConnection, session_id: str, number: int, text: str, limit: float | None
) -> None:
    report("prompt", n=number)
    try:
        async with asyncio.timeout(limit):
            answer = await connection.prompt(
                session_id=session_id, prompt=[TextContentBlock(type="text", text=text)]
            )
    except TimeoutError:
        report("hang", n=number)
    except RequestError as error:
        report("error", n=number, code=error.code, message=str(error), data=error.data)
    except Exception as error:  # noqa: BLE001 - whatever the SDK raises is to be reported
        report("exception", n=number, cause=type(error).__name__, text=str(error))
    else:
        body = answer.model_dump(mode="json", by_alias=True, exclude_unset=True)
        report("answer", n=number, stop_reason=answer.stop_reason, result=body)


def capabilities(arguments: argparse.Namespace) -> ClientCapabilities:
    if arguments.meta is not None:
        return ClientCapabilities(field_meta=arguments.meta)
    if not arguments.agent_error:
        return ClientCapabilities()
    return ClientCapabilities(field_meta={"agent_error": {"version": 1}})


async def converse(connection: Any, arguments: argparse.Namespace, turn: Any = prompt) -> None:
    """Initialize, open a session, prompt in sequence; `turn` runs each prompt."""
    stage = "initialize"
    try:
        async with asyncio.timeout(arguments.turn_timeout):
            await connection.initialize(
                protocol_version=1,
                client_capabilities=capabilities(arguments),
                client_info=Implementation(name=arguments.name, version="1.0.0"),
            )
            stage = "session/new"
            session = await connection.new_session(cwd=arguments.cwd, mcp_servers=[])
    except RequestError as error:
        report("failed", stage=stage, code=error.code, message=str(error), data=error.data)
        return
    except Exception as error:  # noqa: BLE001 - whatever the SDK raises is to be reported
        report("failed", stage=stage, cause=type(error).__name__, text=str(error))
        return
    for number, text in enumerate(arguments.prompt):
        await turn(connection, session.session_id, number, text, arguments.turn_timeout)
        if arguments.told:
            await asyncio.to_thread(sys.stdin.readline)
    if arguments.probe:
        await probe(connection, arguments)
    await asyncio.sleep(LINGER_SECONDS)


async def probe(connection: ClientSideConnection, arguments: argparse.Namespace) -> None:
    """After everything else: does the connection still carry a new session and a turn of it?"""
    try:
        async with asyncio.timeout(arguments.turn_timeout):
            session = await connection.new_session(cwd=arguments.cwd, mcp_servers=[])
    except Exception as error:  # noqa: BLE001 - whatever the SDK raises is to be reported
        report("failed", stage="probe", cause=type(error).__name__, text=str(error))
        return
    number, limit = len(arguments.prompt), arguments.turn_timeout
    await prompt(connection, session.session_id, number, "hello", limit)


async def run(arguments: argparse.Namespace) -> int:
    """The whole session under the fuse; the SDK's own shutdown ends the child."""
    status = 0
    stderr = asyncio.subprocess.PIPE if arguments.undrained_stderr else None
    async with spawn_stdio_transport(
        *arguments.command, env=dict(os.environ), cwd=arguments.cwd, stderr=stderr
    ) as (stdout, stdin, _process):
        reader = asyncio.StreamReader(limit=READER_LIMIT_BYTES)
        copying = asyncio.create_task(tee(stdout, reader))
        connection = ClientSideConnection(Client(), stdin, reader, observers=[observe_sent])  # type: ignore[arg-type]
        try:
            async with asyncio.timeout(arguments.timeout):
                await converse(connection, arguments)
        except TimeoutError:
            report("fuse")
            status = FUSE_EXIT
        with suppress(Exception):
            await connection.close()
    with suppress(TimeoutError):
        await asyncio.wait_for(asyncio.shield(copying), 1)
    copying.cancel()
    return status


def parse(argv: list[str], name: str = "interop-py") -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agent-error", action="store_true", help="advertise agent_error")
    parser.add_argument("--meta", type=json.loads, help="_meta of its capabilities, as JSON")
    parser.add_argument("--protocol", choices=["1"], help="the only version of this SDK")
    parser.add_argument("--name", default=name, help="clientInfo.name")
    parser.add_argument("--cwd", default=".", help="the session's working directory")
    parser.add_argument("--prompt", action="append", help="text of a turn; may be repeated")
    parser.add_argument(
        "--told", action="store_true", help="wait after each turn for a line on stdin"
    )
    parser.add_argument("--turn-timeout", type=float, help="fuse for each turn, seconds")
    parser.add_argument("--probe", action="store_true", help="end with a turn in a new session")
    parser.add_argument(
        "--undrained-stderr", action="store_true", help="the SDK's default: a pipe nobody reads"
    )
    parser.add_argument("--timeout", type=float, default=900, help="fuse for all turns, seconds")
    at = argv.index("--") if "--" in argv else len(argv)
    arguments = parser.parse_args(argv[:at])
    arguments.command = argv[at + 1 :]
    arguments.cwd = os.path.abspath(arguments.cwd)
    arguments.prompt = arguments.prompt or ["What is the answer?"]
    if not arguments.command:
        parser.error("give the agent's command after --")
    return arguments


def main() -> int:
    logging.basicConfig(handlers=[ReportingHandler()], level=logging.WARNING)
    return asyncio.run(run(parse(sys.argv[1:])))


if __name__ == "__main__":
    sys.exit(main())
