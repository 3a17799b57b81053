"""Evidence gathered by duck-typing from a failure of any shape.

Shapes: an exception, an HTTP response object, a JSON-RPC error, a decoded body, a JSON record that
describes a failure, a string. No provider package is imported (one of them downloads a price list
on import), no method that could do I/O is called, and no exception from an attribute escapes.
"""

from __future__ import annotations

from typing import Any

from lastword.core.classify.collect import Collector
from lastword.core.classify.evidence import Evidence, ProcessEvidence
from lastword.core.classify.moments import parse_wait
from lastword.core.classify.process import SIGNALS
from lastword.core.classify.text import as_int
from lastword.core.classify.tokens import PROVIDER_PACKAGES
from lastword.core.redact.truncate import clip

MAX_CHAIN = 8
MAX_FRAMES = 256
"""Frames of a traceback that are asked for their package."""
_STATUS_ATTRIBUTES = ("status_code", "status", "http_status", "api_error_status", "code")
_FAKES_STATUS = "aiohttp.http_exceptions"
"""Its exceptions carry a 400 of aiohttp's own making where an answer was cut or was not HTTP."""

_BODY_ATTRIBUTES = ("body", "details", "data", "response", "error")
_CAUSE_ATTRIBUTES = ("lastError", "last_error", "reason", "cause", "__cause__")
_TOKEN_ATTRIBUTES = ("code", "type", "status", "errno", "error_code", "reason")


def from_any(error: object, agent: str | None = None) -> Evidence:
    """Return the evidence in a failure of any shape."""
    collector = Collector()
    if isinstance(error, BaseException):
        _add_chain(collector, error)
    elif isinstance(error, dict):
        _add_dict(collector, error)
    elif isinstance(error, (str, bytes)):
        text = error if isinstance(error, str) else error[:65_536].decode("utf-8", "replace")
        collector.add_text(text)
    elif error is not None:
        _add_object(collector, error)
    return collector.freeze(agent)


def from_rpc_error(error: object, agent: str | None = None) -> Evidence:
    """Return the evidence in the decoded `error` of a JSON-RPC response, whatever it holds."""
    collector = Collector()
    _add_rpc(collector, error)
    return collector.freeze(agent)


def from_text(text: str) -> Evidence:
    """Return the evidence in prose: a message, a log line, the tail of stderr."""
    collector = Collector()
    collector.add_text(text)
    return collector.freeze()


def from_record(record: dict[Any, Any]) -> Evidence:
    """Return the evidence in a failure described as JSON, every field of it optional."""
    collector = Collector()
    _add_record(collector, record)
    return collector.freeze()


def attribute(value: object, name: str) -> Any:
    """Return an attribute, or None if it is missing or its property raises."""
    try:
        return getattr(value, name, None)
    except BaseException:  # noqa: BLE001 - foreign code may raise anything, SystemExit too
        return None


def _add_dict(collector: Collector, error: dict[Any, Any]) -> None:
    if "exception_class" in error or "http_status" in error or "process" in error:
        _add_record(collector, error)
    elif "jsonrpc" in error and "error" in error:
        _add_rpc(collector, error["error"])
    elif (as_int(error.get("code")) or 0) < 0:  # a bare JSON-RPC error object
        _add_rpc(collector, error)
    else:
        collector.walk(error)


def _add_rpc(collector: Collector, error: object) -> None:
    if not isinstance(error, dict):
        collector.walk(error, key="error")
        return
    code = as_int(error.get("code"))
    collector.rpc_code = code
    # A 500 without data is what a library calls any exception, and no provider's status.
    if (code is None or code >= 0) and not (code == 500 and error.get("data") is None):  # noqa: PLR2004
        collector.add_status(code)
        collector.add_token(error.get("code"))
    rest = {name: value for name, value in error.items() if name != "code"}
    collector.walk(rest)


def _add_record(collector: Collector, record: dict[Any, Any]) -> None:
    """Add a failure described as JSON: status, headers, body, class, message, causes, process."""
    name = record.get("exception_class")
    collector.add_class(name if isinstance(name, str) else "")
    collector.raiser = "agent"
    collector.add_status(record.get("http_status"))
    collector.add_token(record.get("code"))
    collector.add_headers(record.get("headers"))
    phase = record.get("phase")
    collector.sdk_phase = phase if isinstance(phase, str) else None
    body = record.get("body")
    if isinstance(body, dict) and "jsonrpc" in body and "error" in body:
        _add_rpc(collector, body["error"])
    else:
        collector.walk(body)
    collector.walk(record.get("message"))
    _add_record_causes(collector, record.get("cause_chain"))
    attributes = record.get("attrs")
    if isinstance(attributes, dict):
        collector.wait_seconds = parse_wait(attributes.get("retry_after"))
        collector.walk(attributes)
    process = record.get("process")
    if isinstance(process, dict):
        collector.process = _process_of(process)


def _add_record_causes(collector: Collector, causes: object) -> None:
    if not isinstance(causes, list):
        return
    for cause in causes[:MAX_CHAIN]:
        if isinstance(cause, dict):
            name = cause.get("class")
            collector.add_class(name if isinstance(name, str) else "")
            collector.add_token(cause.get("code"))
            collector.walk(cause.get("message"))


def _process_of(process: dict[Any, Any]) -> ProcessEvidence:
    signal = process.get("signal", process.get("exit_signal"))
    tail = process.get("stderr_tail")
    return ProcessEvidence(
        exit_code=as_int(process.get("returncode", process.get("exit_code"))),
        exit_signal=signal_number(signal),
        stderr_tail=clip(tail) if isinstance(tail, str) else "",
        alive=process.get("alive") is True,
    )


def signal_number(signal: object) -> int | None:
    """Return a signal's number, given the number or a name such as `SIGKILL`."""
    if isinstance(signal, str):
        for number, name in SIGNALS.items():
            if name == signal.upper():
                return number
    return as_int(signal)


def _add_chain(collector: Collector, error: BaseException) -> None:
    collector.raiser = _raiser_of(error)
    visited: set[int] = set()
    current: BaseException | None = error
    for _ in range(MAX_CHAIN):
        if current is None or id(current) in visited:
            return
        visited.add(id(current))
        _add_exception(collector, current)
        current = _next_in_chain(current)


def _raiser_of(error: BaseException) -> str | None:
    """Return who raised an exception, or None if it was created but never raised."""
    frame, packages = error.__traceback__, set()
    for _ in range(MAX_FRAMES):
        if frame is None:
            break
        module = frame.tb_frame.f_globals.get("__name__")
        packages.add(module.partition(".")[0] if isinstance(module, str) else "")
        frame = frame.tb_next
    if not packages:
        return None
    return "provider" if packages & PROVIDER_PACKAGES else "agent"


def _next_in_chain(error: BaseException) -> BaseException | None:
    inner = attribute(error, "exceptions")
    if isinstance(inner, (list, tuple)) and inner and isinstance(inner[0], BaseException):
        return inner[0]
    last_attempt = attribute(error, "last_attempt")
    if last_attempt is not None:
        outcome = attribute(last_attempt, "_exception")
        if isinstance(outcome, BaseException):
            return outcome
    for name in _CAUSE_ATTRIBUTES:
        cause = attribute(error, name)
        if isinstance(cause, BaseException):
            return cause
    return None


def _add_exception(collector: Collector, error: BaseException) -> None:
    kind = type(error)
    collector.add_class(f"{kind.__module__}.{kind.__qualname__}")
    try:
        text = str(error)
    except BaseException:  # noqa: BLE001 - as for `attribute`
        text = ""
    _add_object(collector, error)
    collector.add_text(text)
    if isinstance(error, OSError) and error.strerror and not text:
        collector.add_text(error.strerror)
    _add_process_attributes(collector, error)


def _add_object(collector: Collector, error: object) -> None:
    response = attribute(error, "response")
    for name in _STATUS_ATTRIBUTES if type(error).__module__ != _FAKES_STATUS else ():
        collector.add_status(attribute(error, name))
    if response is not None and not isinstance(response, dict):
        collector.add_status(attribute(response, "status_code"))
        collector.add_status(attribute(response, "status"))
    for name in _TOKEN_ATTRIBUTES:
        value = attribute(error, name)
        if name == "code" and callable(value):
            value = _grpc_code(value)
        if isinstance(value, (str, int)):
            collector.add_token(value)
    for holder in (error, response):
        collector.add_headers(attribute(holder, "headers"))
    collector.add_headers(attribute(error, "litellm_response_headers"))
    for name in _BODY_ATTRIBUTES:
        value = attribute(error, name)
        if isinstance(value, (dict, list, str, bytes)):
            collector.walk(value, key="body")
    content = attribute(response, "_content")
    if isinstance(content, bytes):
        collector.walk(content, key="body")
    if collector.wait_seconds is None:
        collector.wait_seconds = parse_wait(attribute(error, "retry_after"))
    request_id = attribute(error, "request_id")
    if isinstance(request_id, str):
        collector.fields.setdefault("requestid", request_id[:128])


def _grpc_code(method: Any) -> object:
    """Return the name of a gRPC status: `exc.code()` is an enum member already received."""
    if "grpc" not in str(attribute(attribute(method, "__self__"), "__module__")):
        return None
    try:
        return attribute(method(), "name")
    except BaseException:  # noqa: BLE001 - as for `attribute`
        return None


def _add_process_attributes(collector: Collector, error: BaseException) -> None:
    for name in ("returncode", "exit_code"):
        code = attribute(error, name)
        if isinstance(code, int) and not isinstance(code, bool):
            tail = attribute(error, "stderr")
            if isinstance(tail, bytes):
                tail = tail[-65_536:].decode("utf-8", "replace")
            collector.process = ProcessEvidence(
                exit_code=code, stderr_tail=clip(tail) if isinstance(tail, str) else ""
            )
            return
