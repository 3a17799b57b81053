"""`lastword explain`: what an error means, whether and when to retry, and the evidence for it.

Owns the command line, the meaning of an argument that is not a file, and the exit status: 0 if
every error was answered, 1 if a line of `--jsonl` was not a JSON object, 2 for invalid arguments.
"""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec

from lastword.cli import envelope
from lastword.cli.explain_page import (
    Case,
    Explanation,
    case_of_exit,
    case_of_response,
    case_of_text,
    explain,
    explain_lines,
    shown,
)
from lastword.cli.page import has_colours, terminal_columns
from lastword.cli.parser import CommandParser, add_arguments
from lastword.cli.words import refuse
from lastword.cli.words import shown as shown_word
from lastword.core.classify.evidence import Evidence, Verdict
from lastword.core.classify.gather import signal_number
from lastword.core.failure.taxonomy import DEFAULTS, ErrorType, RetrySafety
from lastword.core.timeline.entry import Kind
from lastword.errors import StoreError
from lastword.platform.files import decoded
from lastword.record import reader
from lastword.record.paths import named_folder, state_folder, store_path

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


_AGENT_LOST = {"type": "agent_crash", "retryable": True, "action": "retry"}
"""What a gateway answers for turns of an agent that ended with it, whose entry does not say so."""

_FACTS = frozenset(Verdict.__struct_fields__)


def case_of_name(name: str, environment: Mapping[str, str]) -> Case | None:
    """Return the case of a status, a type, an incident or a sentence; `None` if it is unknown.

    Args:
        name: The argument, which is not a file's path.
        environment: The variables that say where the record of incidents is.
    """
    if name.isascii() and name.isdigit():
        status = int(name) if len(name) == 3 else 0  # noqa: PLR2004 - digits of a status
        return case_of_response(status, {}, None) if 100 <= status <= 599 else None  # noqa: PLR2004
    if name.startswith("-") and name[1:].isascii() and name[1:].isdigit():
        name = f'{{"code": {name}}}'  # of JSON-RPC
    word = name.strip().lower().replace("-", "_").replace(" ", "_")
    if word in {*ErrorType}:
        kind = ErrorType(word)
        usual = DEFAULTS[kind]
        verdict = Verdict(type=kind, rule="type", retryable=usual.retryable, origin=usual.origin)
        form = "the name of a type: this is what holds for most errors of it"
        return Case(form=form, value=kind.value, evidence=Evidence(), verdict=verdict)
    if incident := _of_incident(name.strip(), environment):
        return incident
    case = case_of_text(name)
    is_sentence = " " in name.strip()
    return case if is_sentence or case.verdict.type is not ErrorType.UNKNOWN else None


def _of_incident(incident: str, environment: Mapping[str, str]) -> Case | None:
    folder = environment.get("LASTWORD_RECORD")
    path = store_path(named_folder(folder) if folder else state_folder(environment))
    facts: Mapping[str, Any] | None = None
    try:
        with reader.reading(path) as record:
            part = reader.find_whole(record, incident)
            for each in reader.entries_of(record, part) if part else ():
                entry = each.entry
                if entry.facts.get("incident_id") == incident:
                    facts = entry.facts if entry.kind == Kind.ERROR else _AGENT_LOST | entry.facts
                    break
    except StoreError:
        return None  # `lastword log` says what is wrong with it
    if facts is None:
        return None
    members = {"rule": "record", "retryable": False}
    members |= {name: value for name, value in facts.items() if name in _FACTS}
    try:
        verdict = msgspec.convert(members, Verdict, strict=False)
        safety = msgspec.convert(facts.get("retry_safety"), RetrySafety | None)
    except msgspec.ValidationError:
        return None  # a newer lastword wrote it
    form = f"an incident in the record; `lastword log {incident}` shows its turn"
    return Case(form=form, value=facts, evidence=Evidence(), verdict=verdict, retry_safety=safety)


MAX_INPUT_BYTES = 8 * 1024 * 1024
_HALF = MAX_INPUT_BYTES // 2

_ABOUT = """\
Explains an error: its type, whether and when to retry, whether a retry is safe,
whose fault it was, what to do, and the evidence. Reads JSON, a JSON-RPC error,
an HTTP response, a traceback, a log line, or how a process ended. Uses no
network and no model.
"""

_EPILOG = """\
examples:
  some-agent 2>&1 | lastword explain
  curl -i https://api.example/v1/... | lastword explain
  lastword explain crash.log --exit-code 137
  lastword explain 429
  lastword explain rate_limit
  lastword explain --status 429 --header 'Retry-After: 20' body.json

exit status: 0, 1 if a line of --jsonl is not a JSON object, 2 for invalid
arguments.
"""


class UnusableInputError(Exception):
    """The arguments or the input cannot be used; the text says why."""


def main(arguments: Sequence[str]) -> int:
    """Explain an error, or a file of errors; return the exit status."""
    options = parser().read(arguments)
    try:
        _check(options)
        explained = _open(options.file) if options.jsonl else explain(_case(options))
    except (UnusableInputError, OSError) as error:
        problem = str(error)
        if isinstance(error, OSError):
            reason = (error.strerror or "cannot be read").lower()
            problem = f"{error.filename or 'the input'}: {reason}"
        return refuse("explain", problem)
    if not isinstance(explained, Explanation):
        with explained:
            return explain_lines(explained, sys.stdout)
    if options.json:
        envelope.write(explained.as_json())
    else:
        text = shown(explained, columns=terminal_columns(), colours=has_colours())
        sys.stdout.write(text)
    return 0


def _exit_status(text: str) -> int:
    """Return an exit status.

    Raises:
        argparse.ArgumentTypeError: It is not one.
    """
    with suppress(ValueError):
        code = int(text, 16 if text.lower().startswith(("0x", "-0x")) else 10)
        # Windows' have 32 bits, which some programs print with a sign.
        windows = 0x40000000 <= code <= 0xFFFFFFFF or -(1 << 31) <= code < -(1 << 16)  # noqa: PLR2004
        if windows or -64 <= code <= 255:  # noqa: PLR2004
            return code
    raise argparse.ArgumentTypeError(
        f"cannot be {text!r}: it takes 0 to 255, -N for signal N, or a status of Windows such as "
        "0xC0000005"
    )


_FILE = """\
file FILE
    a file with the error; or a status, an error type, an incident, or the error's own words; - is
    standard input (default: standard input)
"""
_RESPONSE = """\
--status N  the status, from 100 to 599
--header 'NAME: VALUE'  a header; can be repeated
--body TEXT  the body (default: the content of FILE)
"""
_ENDING = """\
--exit-code N  the exit status, from 0 to 255, or -N; on Windows also 0xC0000005
--exit-signal SIGNAL  the signal that ended it, such as SIGKILL or 9
"""
_OUTPUT = """\
--json  print the result as JSON, with rule and evidence
--jsonl  read one error per line of FILE, and print one JSON object for each
"""


def parser() -> CommandParser:
    made = CommandParser("explain", usage="[options] [FILE]", about=_ABOUT, ends=_EPILOG)
    add_arguments(made, _FILE, file={"nargs": "?"})
    response = made.add_argument_group("an HTTP response, instead of a file")
    add_arguments(response, _RESPONSE, status={"type": int}, header={"action": "append"})
    ending = made.add_argument_group("a process that exited; FILE has its last output")
    add_arguments(ending, _ENDING, exit_code={"type": _exit_status})
    add_arguments(made.add_argument_group("output"), _OUTPUT)
    return made


def _check(options: argparse.Namespace) -> None:
    """Check which options go together, which argparse cannot."""
    response = options.status is not None or options.header or options.body is not None
    ending = options.exit_code is not None or options.exit_signal is not None
    if options.jsonl and (response or ending):
        raise UnusableInputError(
            "--jsonl reads every error from the file; leave the other options out"
        )
    if response and ending:
        raise UnusableInputError("an error is an HTTP response or the end of a process, not both")
    if options.body is not None and options.file is not None:
        raise UnusableInputError("give the body either as --body or as FILE")
    if options.status is not None and not 100 <= options.status <= 599:  # noqa: PLR2004
        raise UnusableInputError(
            f"--status cannot be {options.status}: it takes a number from 100 to 599"
        )


def _case(options: argparse.Namespace) -> Case:
    if options.exit_code is not None or options.exit_signal is not None:
        tail = _read(options.file) if options.file or not _is_terminal() else b""
        return case_of_exit(options.exit_code, _signal(options.exit_signal), decoded(tail))
    if options.status is not None or options.header or options.body is not None:
        body = options.body
        if options.file is not None:
            body = decoded(_read(options.file))
        headers = {}
        for line in options.header or ():
            name, colon, value = line.partition(":")
            if not colon or not name.strip():
                raise UnusableInputError(
                    "a header is written 'Name: value', such as 'Retry-After: 20'"
                )
            headers[name.strip()] = value.strip()
        return case_of_response(options.status, headers, body)
    is_file = options.file in {None, "-"} or os.path.lexists(options.file)
    if not is_file and (os.sep not in options.file or " " in options.file):
        # An argument may contain bytes that are not text.
        named = case_of_name(options.file.encode(errors="replace").decode(), os.environ)
        if named is None:
            raise UnusableInputError(
                f"there is no file {shown_word(options.file)}, and it is not an error that "
                "lastword knows: explain takes a FILE, a status such as 429, a type such as "
                "rate_limit, an incident, or what the error said, in quotes"
            )
        return named
    data = _read(options.file)
    if not data.strip():
        raise UnusableInputError("there is nothing to explain: the input is empty")
    return case_of_text(decoded(data))


def _signal(name: str | None) -> int | None:
    if name is None:
        return None
    number = signal_number(
        name if name.lstrip("-").isdigit() else f"SIG{name.upper().removeprefix('SIG')}"
    )
    if number is None or not 0 < abs(number) < 65:  # noqa: PLR2004 - Linux has 64 signals
        raise UnusableInputError(f"there is no signal {name!r}; say SIGKILL or 9, for example")
    return abs(number)


def _is_terminal() -> bool:
    return sys.stdin is None or sys.stdin.closed or sys.stdin.isatty()


def _open(path: str | None) -> BinaryIO:
    if path is not None and path != "-":
        return open(path, "rb")
    if _is_terminal():
        raise UnusableInputError(
            "give a FILE, pipe the error into standard input, or describe it with --status, "
            "--exit-code and so on; see --help"
        )
    return sys.stdin.buffer


def _read(path: str | None) -> bytes:
    """Return the input, or the beginning and the end of a very long one."""
    with _open(path) as file:
        data = file.read(MAX_INPUT_BYTES + 1)
        if len(data) <= MAX_INPUT_BYTES:
            return data
        head, tail = data[:_HALF], data[_HALF:]
        while more := file.read(_HALF):
            tail = (tail + more)[-_HALF:]
    return head + b"\n...\n" + tail
