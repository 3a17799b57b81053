"""A pasted error: the shape of its text, and the content of that shape.

Owns the shapes of text: JSON, an HTTP exchange as curl prints it, an event stream, tracebacks of
Python, Node and Java, JSON lines, prose. The noise of each (stack frames, request lines, log lines
that are not errors) is removed here, since it easily misleads; the rest goes to `gather`.
"""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

from lastword.core.classify.tracebacks import read_java_script, read_python
from lastword.core.redact.truncate import informative_lines

MAX_SCAN_CHARS = 262_144
_SHORT_LOG_LINES = 6

_ANSI = re.compile(r"\x1b\[[0-9;:?]{0,32}[A-Za-z]")
_STATUS_LINE = re.compile(r"^(?:< ?)?HTTP/\d(?:\.\d)? (\d{3})\b[ ]?([^\r\n]{0,200})", re.MULTILINE)
_HEADER = re.compile(r"(?:< ?)?([A-Za-z0-9!#$%&'*+.^_`|~-]{1,96}):[ \t]{0,4}(.{0,4096})")
_CURL_NOISE = ("* ", "> ", "< ", "{ [", "} [")
_DATA_LINE = re.compile(r"^data: ?(\{.*)$", re.MULTILINE)


class Reading(msgspec.Struct, frozen=True):
    """The shape of a text, and the value in it: a record, a decoded body, or text."""

    form: str
    value: Any


def read_pasted(text: str) -> Reading:
    """Return the shape of a text with its content. Never raises; text without a shape is prose."""
    plain = _ANSI.sub("", text.removeprefix("\ufeff")).strip()
    value = parse_json(plain)
    if isinstance(value, (dict, list)):
        return Reading(_form_of_json(value), value)
    if isinstance(value, str):
        plain = value.strip()
    start = plain[:MAX_SCAN_CHARS]
    http = _read_http(plain) if "HTTP/" in start else None
    if http is not None:
        return Reading("an HTTP response", http)
    stream = _read_events(start)
    if stream is not None:
        return Reading("an event stream", stream)
    python = read_python(plain)
    if python is not None:
        return Reading("a Python exception", python)
    java_script = read_java_script(start)
    if java_script is not None:
        return Reading("an exception with its stack", java_script)
    return _read_lines(plain)


def parse_json(text: str) -> Any:
    """Return the decoded value, or None if the text is not JSON or is nested too deeply."""
    if text[:1] not in {"{", "[", '"'}:
        return None
    try:
        return msgspec.json.decode(text.encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        pass
    try:
        return json.loads(text)  # NaN, and numbers too long for msgspec
    except (ValueError, RecursionError):
        return None


def _form_of_json(value: dict[Any, Any] | list[Any]) -> str:
    if isinstance(value, list):
        return "a JSON array"
    if "method" in value and "jsonrpc" in value:
        return "a JSON-RPC message"
    if "jsonrpc" in value or isinstance(value.get("code"), int):
        return "a JSON-RPC error"
    if {"status", "http_status", "status_code", "headers"} & value.keys():
        return "an HTTP response as JSON"
    return "a JSON body"


def _read_http(text: str) -> dict[str, Any] | None:
    """Return the last response in the output of `curl -i` or `curl -v`."""
    matches = list(_STATUS_LINE.finditer(text[:MAX_SCAN_CHARS]))
    if not matches:
        return None
    match = matches[-1]
    headers: dict[str, str] = {}
    lines = text[match.end() :].splitlines()[1:]
    body_at = len(lines)
    for number, line in enumerate(lines):
        header = _HEADER.match(line)
        if header is None:
            body_at = number
            break
        headers.setdefault(header.group(1).lower(), header.group(2).strip())
    body = "\n".join(line for line in lines[body_at:] if not line.startswith(_CURL_NOISE)).strip()
    return {
        "http_status": int(match.group(1)),
        "headers": headers,
        "body": parse_json(body) or _read_events(body[:MAX_SCAN_CHARS]) or body or None,
        "message": match.group(2).strip() if not body else None,
    }


def _read_events(text: str) -> Any:
    """Return the event that reports the failure: the last one with an error, else the last."""
    events = [parse_json(line.strip()) for line in _DATA_LINE.findall(text)]
    return _failing(events)


def _failing(values: list[Any]) -> dict[Any, Any] | None:
    objects = [value for value in values if isinstance(value, dict)]
    errors = [value for value in objects if value.get("error") or value.get("type") == "error"]
    return (errors or objects)[-1] if objects else None


def _read_lines(text: str) -> Reading:
    lines = text.splitlines()
    if len(lines) > 1:
        values = [parse_json(line.strip()) for line in lines[-1000:] if line.lstrip()[:1] == "{"]
        failing = _failing(values)
        if failing is not None:
            return Reading("JSON lines", failing)
    if len(lines) > _SHORT_LOG_LINES:
        informative = informative_lines(text)
        if informative:
            return Reading("the telling lines of a log", informative)
    return Reading("a text" if len(lines) > 1 else "a line of text", text)
