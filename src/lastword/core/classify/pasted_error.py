"""A pasted error: the shape of its text, and its content.

Owns the shapes of text: JSON, an HTTP exchange as curl prints it, an event stream, tracebacks of
Python, Node and Java, JSON lines, acp.el's traffic, prose. The noise of each (stack frames, request
lines, log lines that are not errors) is removed here, since it easily misleads: `timeout.py` in a
path does not mean a timeout. The rest goes to `gather`.
"""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

from lastword.core.protocol.acp_el import read_traffic
from lastword.core.protocol.traces import read_trace_line
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
    traffic = _failing([_message(line) for line in read_traffic(plain)])
    if traffic is not None:
        return Reading("a traffic file of acp.el", traffic)
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
    lines = plain.splitlines()
    if len(lines) > 1:
        values = [parse_json(line.strip()) for line in lines[-1000:] if line.lstrip()[:1] == "{"]
        failing = _failing([_message(value) for value in values])
        if failing is not None:
            return Reading("JSON lines", failing)
    if len(lines) > _SHORT_LOG_LINES:
        informative = informative_lines(plain)
        if informative:
            return Reading("the telling lines of a log", informative)
    return Reading("a text" if len(lines) > 1 else "a line of text", plain)


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


def _message(value: Any) -> Any:
    """Return the message that a line of a trace records; a client's errors are not the agent's."""
    line = read_trace_line(value)
    if line is None or "frame" not in line:
        return value
    return None if line.get("from") == "client" else line["frame"]


# --- tracebacks, read as a record: `exception_class`, `message`, `code`, `cause_chain` ------------

MAX_LINES = 4000
MAX_MESSAGE_LINES = 40
MAX_CAUSES = 8

_TRACEBACK = "Traceback (most recent call last)"
_DIRECT_CAUSE = "The above exception was the direct cause of the following exception"
_CONTEXT = "During handling of the above exception, another exception occurred"
_GROUP_MARK = re.compile(r"^ {0,64}(?:[|+] |\+-\+-{4,40} [\d.]{1,8} -{4,40}|\+-{4,60})")
_GROUPS = ("ExceptionGroup", "BaseExceptionGroup")

_NAME = r"[A-Za-z_$][\w$]{0,80}(?:\.[A-Za-z_$][\w$]{0,80}){0,8}"
_ENDS_LIKE_ONE = r"(?:Error|Exception|Exit|Interrupt|Timeout|Warning|Fault|Failure|Cancelled|Group)"
_CLASS_LINE = re.compile(rf"({_NAME})(?: \[(\w{{1,64}})\])?(?:: (.*)|:?)$", re.ASCII)
_TITLE = re.compile(
    rf"(?:Uncaught |Unhandled |Exception in thread \"[^\"]{{0,80}}\" )?(?:exception )?"
    rf"({_NAME})(?: \[(\w{{1,64}})\])?(?:: (.*)|:?)$",
    re.ASCII | re.IGNORECASE,
)
_FRAME = re.compile(
    r"^\s{1,32}at .{0,400}(?::\d{1,7}:\d{1,7}\)?|<anonymous>\)?|\.\w{2,5}:\d+\))\s{0,4}\{?$"
)
_CAUSE = re.compile(
    rf"^\s{{0,32}}(?:\[cause\]: |Caused by: )(?:({_NAME})(?: \[(\w{{1,64}})\])?: )?(.*)$", re.ASCII
)
_PYTHON_ONLY = re.compile(
    r"(?:Key|Index|Attribute|Name|Import|ModuleNotFound|ZeroDivision|Recursion|NotImplemented"
    r"|UnboundLocal|Lookup|Memory|FileNotFound|Permission|OS|Assertion|Value|Runtime"
    r"|ConnectionReset|ConnectionRefused|BrokenPipe|Unicode\w{6})Error"
)


def read_python(text: str) -> dict[str, Any] | None:
    """Read the last exception of Python tracebacks, with its direct causes, or of a lone line."""
    if _TRACEBACK not in text:
        # `openai.RateLimitError: Error code: 429 - ...`, as found in a log or a `repr`.
        first, _, rest = text.partition("\n")
        match = _CLASS_LINE.match(first[:2000]) if not first.startswith("Error:") else None
        if match is None or not re.search(rf"{_ENDS_LIKE_ONE}$", match[1]):
            return None
        if "." not in match[1] and not _PYTHON_ONLY.fullmatch(match[1]):
            return None
        message = f"{first[match.start(3) :] if match[3] else ''}\n{rest}".strip()
        return _record({"class": _dotted(match[1]), "message": message}, [])
    lines = text.splitlines()[-MAX_LINES:]
    if any("Exception Group Traceback" in line for line in lines):
        lines = [_GROUP_MARK.sub("", line, count=1) for line in lines]
    blocks: list[list[str]] = []  # the lines after each `Traceback` line, up to the next one
    for line in lines:
        if _TRACEBACK in line:
            blocks.append([])
        elif blocks:
            blocks[-1].append(line)
    chain: list[dict[str, Any]] = []
    linked = grouped = False
    for block in blocks:
        raised = _raised(block)
        if raised is not None:
            if linked:
                chain = [raised, *chain]
            elif not grouped:  # only the first member of a group counts
                chain = [raised]
            grouped = grouped or (len(chain) > 0 and chain[0]["class"] in _GROUPS)
            if grouped and raised["class"] not in _GROUPS and chain[0]["class"] in _GROUPS:
                chain = [raised]
        linked = any(_DIRECT_CAUSE in line for line in block)
    return _record(chain[0], chain[1:]) if chain else None


def _raised(block: list[str]) -> dict[str, Any] | None:
    """Return the class and the message at the end of a block's frames."""
    for number, line in enumerate(block):
        if not line or line[0] in " \t":
            continue
        match = _CLASS_LINE.match(line)
        if match is None:
            return None
        message = [match.group(3) or ""]
        for more in block[number + 1 : number + MAX_MESSAGE_LINES]:
            if more.startswith((_DIRECT_CAUSE, _CONTEXT)):
                break
            message.append(more)
        return {"class": _dotted(match.group(1)), "message": "\n".join(message).strip()}
    return None


def _dotted(name: str) -> str:
    """Return a dotted name, adding the module that Python omits for its own classes."""
    return name if "." in name or name in _GROUPS else f"builtins.{name}"


def read_java_script(text: str) -> dict[str, Any] | None:
    """Read the exception above the first stack frame of Node (or Java), with its causes."""
    lines = text.splitlines()[:MAX_LINES]
    first = next((n for n, line in enumerate(lines) if _FRAME.match(line)), None)
    if first is None:
        return None
    top, title = None, first
    for title in range(first - 1, max(-1, first - MAX_MESSAGE_LINES), -1):
        top = _TITLE.match(lines[title].strip()[:4000]) if lines[title].strip() else None
        if top is not None and re.search(rf"{_ENDS_LIKE_ONE}$", top.group(1)):
            break
        top = None
    if top is None:
        return None
    causes: list[dict[str, Any]] = []
    message_lines = [lines[title].strip()[top.start(3) :] if top.group(3) else ""]
    for line in lines[title + 1 :]:
        cause = _CAUSE.match(line)
        if cause is not None and len(causes) < MAX_CAUSES:
            name, code, message = cause.groups()
            causes.append({"class": name or "", "message": message, "code": code})
        elif (
            not _FRAME.match(line) and len(message_lines) < MAX_MESSAGE_LINES and line.strip(" {}^")
        ):
            message_lines.append(line.strip())
    record = _record({"class": top.group(1), "message": "\n".join(message_lines).strip()}, causes)
    return record | ({"code": top.group(2)} if top.group(2) else {})


def _record(top: dict[str, Any], causes: list[dict[str, Any]]) -> dict[str, Any]:
    record: dict[str, Any] = {"exception_class": top["class"], "message": top["message"]}
    return record | ({"cause_chain": causes[:MAX_CAUSES]} if causes else {})
