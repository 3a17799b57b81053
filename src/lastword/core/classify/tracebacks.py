"""Tracebacks of Python, Node and Java as text: the exception, its message, and its causes.

Stack frames and source lines are left out: `timeout.py` in a path does not mean a timeout. The
result is a record as `gather` reads it (`exception_class`, `message`, `code`, `cause_chain`).
"""

from __future__ import annotations

import re
from typing import Any

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
        return _lone_line(text)
    lines = text.splitlines()[-MAX_LINES:]
    if any("Exception Group Traceback" in line for line in lines):
        lines = [_GROUP_MARK.sub("", line, count=1) for line in lines]
    chain: list[dict[str, Any]] = []
    linked = grouped = False
    for block in _blocks(lines):
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


def _blocks(lines: list[str]) -> list[list[str]]:
    """Return the lines after each `Traceback` line, up to the next one."""
    blocks: list[list[str]] = []
    for line in lines:
        if _TRACEBACK in line:
            blocks.append([])
        elif blocks:
            blocks[-1].append(line)
    return blocks


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


def _lone_line(text: str) -> dict[str, Any] | None:
    """Read `openai.RateLimitError: Error code: 429 - ...`, as found in a log or a `repr`."""
    first, _, rest = text.partition("\n")
    match = _CLASS_LINE.match(first[:2000]) if not first.startswith("Error:") else None
    if match is None or not re.search(rf"{_ENDS_LIKE_ONE}$", match.group(1)):
        return None
    if "." not in match.group(1) and not _PYTHON_ONLY.fullmatch(match.group(1)):
        return None
    message = f"{first[match.start(3) :] if match.group(3) else ''}\n{rest}".strip()
    return _record({"class": _dotted(match.group(1)), "message": message}, [])


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
