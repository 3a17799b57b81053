"""Evidence gathered by duck-typing from a failure of any shape.

Shapes: an exception, an HTTP response object, a JSON-RPC error, a decoded body, a JSON record that
describes a failure, a string. No provider package is imported (one of them downloads a price list
on import), no method that could do I/O is called, and no exception from an attribute escapes.

Owns the bounds: how many values, how deep, how much text. Knows which keys of a body hold a
machine-readable word, a message, a status, headers or a wait; does not know what any word means.
Every pattern is linear, and runs on clipped text only.
"""

from __future__ import annotations

import json
import re
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

from lastword.core.classify.evidence import Evidence, ProcessEvidence
from lastword.core.classify.process import SIGNALS
from lastword.core.classify.text import MAX_TOKEN_CHARS, as_int, as_text, fold, normalise, plain_key
from lastword.core.classify.tokens import PROVIDER_PACKAGES
from lastword.core.classify.waits import parse_wait
from lastword.core.redact.truncate import clip

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_CHAIN = 8
MAX_FRAMES = 256
"""Frames of a traceback whose package is looked up."""
_STATUS_ATTRIBUTES = ("status_code", "status", "http_status", "api_error_status", "code")
_FAKES_STATUS = "aiohttp.http_exceptions"
"""Its exceptions carry a 400 of aiohttp's own making where an answer was cut or was not HTTP."""

_BODY_ATTRIBUTES = ("body", "details", "data", "response", "error")
_CAUSE_ATTRIBUTES = ("lastError", "last_error", "reason", "cause", "__cause__")
_TOKEN_ATTRIBUTES = ("code", "type", "status", "errno", "error_code", "reason")


def from_any(error: object, agent: str | None = None) -> Evidence:
    collector = Collector()
    if isinstance(error, BaseException):
        _add_chain(collector, error)
    elif isinstance(error, dict):
        if "exception_class" in error or "http_status" in error or "process" in error:
            _add_record(collector, error)
        elif "jsonrpc" in error and "error" in error:
            _add_rpc(collector, error["error"])
        elif (as_int(error.get("code")) or 0) < 0:  # a bare JSON-RPC error object
            _add_rpc(collector, error)
        else:
            collector.walk(error)
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
    causes = record.get("cause_chain")
    for cause in causes[:MAX_CHAIN] if isinstance(causes, list) else ():
        if isinstance(cause, dict):
            name = cause.get("class")
            collector.add_class(name if isinstance(name, str) else "")
            collector.add_token(cause.get("code"))
            collector.walk(cause.get("message"))
    attributes = record.get("attrs")
    if isinstance(attributes, dict):
        collector.wait_seconds = parse_wait(attributes.get("retry_after"))
        collector.walk(attributes)
    process = record.get("process")
    if isinstance(process, dict):
        tail = process.get("stderr_tail")
        collector.process = ProcessEvidence(
            exit_code=as_int(process.get("returncode", process.get("exit_code"))),
            exit_signal=signal_number(process.get("signal", process.get("exit_signal"))),
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
    frame, packages = error.__traceback__, set()
    for _ in range(MAX_FRAMES):
        if frame is None:
            break
        module = frame.tb_frame.f_globals.get("__name__")
        packages.add(module.partition(".")[0] if isinstance(module, str) else "")
        frame = frame.tb_next
    if packages:  # an exception that was only created, never raised, has no frames
        collector.raiser = "provider" if packages & PROVIDER_PACKAGES else "agent"
    visited: set[int] = set()
    current: BaseException | None = error
    for _ in range(MAX_CHAIN):
        if current is None or id(current) in visited:
            return
        visited.add(id(current))
        kind = type(current)
        collector.add_class(f"{kind.__module__}.{kind.__qualname__}")
        try:
            text = str(current)
        except BaseException:  # noqa: BLE001 - as for `attribute`
            text = ""
        _add_object(collector, current)
        collector.add_text(text)
        if isinstance(current, OSError) and current.strerror and not text:
            collector.add_text(current.strerror)
        for name in ("returncode", "exit_code"):
            code = attribute(current, name)
            if isinstance(code, int) and not isinstance(code, bool):
                tail = attribute(current, "stderr")
                if isinstance(tail, bytes):
                    tail = tail[-65_536:].decode("utf-8", "replace")
                collector.process = ProcessEvidence(
                    exit_code=code, stderr_tail=clip(tail) if isinstance(tail, str) else ""
                )
                break
        current = _next_in_chain(current)


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
            # gRPC's method has no I/O to do: it returns an enum member already received.
            owner = str(attribute(attribute(value, "__self__"), "__module__"))
            try:
                value = attribute(value(), "name") if "grpc" in owner else None
            except BaseException:  # noqa: BLE001 - as for `attribute`
                value = None
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


# --- the pieces: decoded bodies, nested JSON strings and prose ------------------------------------

MAX_VALUES = 600
MAX_DEPTH = 12
MAX_NESTED_JSON = 4
MAX_JSON_CHARS = 65_536
MAX_TEXTS = 24
MAX_TOKENS = 96
MAX_HEADERS = 128
MIN_STATUS, MAX_STATUS = 400, 599


def _keys(block: str) -> frozenset[str]:
    return frozenset(block.split())


TOKEN_KEYS = _keys("""
    code type status reason kind category subtype errorkind errorcode errortype errorinfo
    codexerrorinfo innercode quotaid blockreason promptblockreason finishreason stopreason
    limitsource ratelimittype terminalreason errno syscall providererrorcode""")
"""Keys, lower-case alphanumerics, whose value is a word made for machines."""

CODE_KEYS = frozenset({"code", "errorcode"})
"""The token keys whose word names the failure best."""

TEXT_KEYS = _keys("""
    message msg error errors detail details description errordescription errormessage title text
    result raw statusmsg statusmessage reasonphrase explanation cause data body responsebody
    externalmodelerror additionaldetails stderr remedyhint
    summary info hint failure errormsg errmsg reasontext fault faultstring errortext errordetail
    errordetails errorreason usermessage displaymessage localizedmessage developermessage
    internalmessage exceptionmessage exception statustext failurereason failuremessage problem
    remediation retmsg respmsg resultmsg innererror innermessage note warning alert notice""")
"""Keys whose string value is prose about the failure."""

ECHO_KEYS = _keys("""
    prompt input inputs content contents messages request requestbody flaggedinput instructions
    system tools arguments completion output choices url uri path model""")
"""Keys whose value belongs to the request or the model, and is never evidence."""

CLASS_KEYS = frozenset({"errorname", "name", "exceptionclass"})
"""Keys whose value is an exception's class name."""

STATUS_KEYS = _keys("""
    status statuscode httpstatus httpstatuscode httpcode code errorcode apierrorstatus
    responsestatus upstreamstatus errorstatus""")
"""Keys whose value may be an HTTP status."""

_NAMESPACES = frozenset({"api", "llm", "model", "provider"})
"""Before the dot in a code whose last word is the failure: `provider.connection_error`."""

_SPOKEN_HEADERS = ("x-amzn-errortype", "x-amzn-error-type")
"""Headers that name the failure, where a body does not."""

_MEANINGFUL_NULLS = frozenset({"errorstatus"})
"""Keys whose null is evidence (`quirks.agents` gives its meaning, as `key: null`)."""

HEADER_KEYS = frozenset({"headers", "responseheaders", "httpheaders"})

_decoder = json.JSONDecoder()


class Collector:
    """The pieces of one failure, which `freeze` turns into an `Evidence`."""

    def __init__(self) -> None:
        self.classes: list[str] = []
        self.modules: list[str] = []
        self.tokens: dict[str, None] = {}
        self.codes: list[str] = []
        self.named_codes: list[str] = []
        self.statuses: list[int] = []
        self.headers: dict[str, str] = {}
        self.fields: dict[str, str | float] = {}
        self.wait_seconds: float | None = None
        self.sdk_phase: str | None = None
        self.rpc_code: int | None = None
        self.process: ProcessEvidence | None = None
        self.raiser: str | None = None
        self._texts: dict[str, None] = {}
        self._other_texts: list[str] = []
        self._values_left = MAX_VALUES

    def add_class(self, name: str) -> None:
        """Add an exception's (dotted) class name."""
        if len(self.classes) < MAX_TEXTS and name:
            module, _, last = name[:256].rpartition(".")
            self.classes.append(last)
            self.modules.append(module)

    def add_status(self, value: object) -> None:
        """Add a number if it is an HTTP error status; only the first one counts."""
        status = as_int(value)
        if status is not None and MIN_STATUS <= status <= MAX_STATUS:
            self.statuses.append(status)

    def add_token(self, value: object) -> None:
        text = as_text(value).strip()
        if "#" in text or ":http" in text:
            text = _aws_name(text)
        if not text or len(text) > MAX_TOKEN_CHARS or len(self.tokens) >= MAX_TOKENS:
            return
        self.tokens.setdefault(normalise(text))
        namespace, _, name = text.rpartition(".")
        if namespace.lower() in _NAMESPACES:
            self.tokens.setdefault(normalise(name))
        if not text.isdigit():
            self.codes.append(text)

    def add_headers(self, headers: object) -> None:
        """Add response headers from any mapping; only the first of each name counts."""
        items: list[tuple[Any, Any]] = []
        try:
            if isinstance(headers, (list, tuple)):
                for entry in headers[:MAX_HEADERS]:
                    if isinstance(entry, dict):  # as in HAR
                        items.append((entry.get("name"), entry.get("value")))
                    elif isinstance(entry, (list, tuple)) and len(entry) == 2:  # noqa: PLR2004
                        items.append((entry[0], entry[1]))
            else:
                items += islice(cast("Mapping[Any, Any]", headers).items(), MAX_HEADERS)
        except BaseException:  # noqa: BLE001 - not a mapping, or one whose methods raise anything
            return
        for name, value in items:
            text = value.decode("latin-1") if isinstance(value, bytes) else as_text(value)
            key = name.decode("latin-1") if isinstance(name, bytes) else as_text(name)
            self.headers.setdefault(key[:MAX_TOKEN_CHARS].lower(), text[:512].strip())

    def add_text(self, text: str, *, depth: int = 0, nested: int = 0) -> None:
        """Add prose, with any JSON or `key: value` pairs in it."""
        if not text or len(self._texts) >= MAX_TEXTS:
            return
        clipped = clip(readable(text))
        if not clipped or clipped in self._texts:
            return
        self._texts[clipped] = None
        start = text.find("{") if len(text) <= MAX_JSON_CHARS else -1
        if start >= 0 and nested < MAX_NESTED_JSON:
            try:
                value, _ = _decoder.raw_decode(text, start)
            except (ValueError, RecursionError):
                pass
            else:
                self.walk(value, depth=depth + 1, nested=nested + 1)
                if value:
                    return
        if _TRACEBACK in clipped:
            # A traceback ends with the exception's class.
            lines = reversed(clipped.splitlines()[-40:])
            last = next(filter(None, (re.match(_LAST_LINE, line) for line in lines)), None)
            if last is not None:
                self.add_class(last[1] if "." in last[1] else f"builtins.{last[1]}")
        if ":" in clipped or "=" in clipped:
            for name, scalar in _PAIR.findall(clipped):
                self._add_scalar(plain_key(name), scalar, in_prose=True)

    def walk(self, value: Any, *, depth: int = 0, nested: int = 0, key: str = "") -> None:
        """Add a decoded JSON value: words, messages, statuses, headers and scalar fields."""
        self._values_left -= 1
        if self._values_left < 0 or depth > MAX_DEPTH:
            return
        if isinstance(value, dict):
            for name, child in value.items():
                if self._values_left < 0:
                    return
                plain = plain_key(name)
                if plain in HEADER_KEYS:
                    self.add_headers(child)
                    continue
                if key == "codexerrorinfo":
                    self.add_token(name)
                self.walk(child, depth=depth + 1, nested=nested, key=plain)
        elif isinstance(value, (list, tuple)):
            for child in value:
                if self._values_left < 0:
                    return
                self.walk(child, depth=depth + 1, nested=nested, key=key)
        elif isinstance(value, bytes):
            text = clip(value[:MAX_JSON_CHARS].decode("utf-8", "replace"))
            self._add_string(key, text, depth, nested)
        elif isinstance(value, str):
            self._add_string(key, value, depth, nested)
        else:
            self._add_scalar(key, value)

    def _add_string(self, key: str, value: str, depth: int, nested: int) -> None:
        is_prose = len(value) > MAX_TOKEN_CHARS or " " in value
        if not is_prose or key in TOKEN_KEYS:
            self._add_scalar(key, value)
        if not key or key in TEXT_KEYS or value[:1] in {"{", "["}:
            if key and not is_prose:
                self.add_token(value)
            self.add_text(value, depth=depth, nested=nested)
        elif is_prose and key not in ECHO_KEYS and len(self._other_texts) < MAX_TEXTS:
            self._other_texts.append(value)

    def _add_scalar(self, key: str, value: object, *, in_prose: bool = False) -> None:
        if value is None and key in _MEANINGFUL_NULLS:
            self.tokens.setdefault(f"{key}null")
        if key in STATUS_KEYS and not in_prose:
            self.add_status(value)
        if key in CLASS_KEYS:
            self.add_class(as_text(value))
        elif key in TOKEN_KEYS:
            self.add_token(value)
            if key in CODE_KEYS and len(code := as_text(value).strip()) <= MAX_TOKEN_CHARS:
                # A longer one is not a code, and may be a secret, which must not be cut.
                self.named_codes.append(code)
        if key not in self.fields and len(self.fields) < MAX_HEADERS:
            if isinstance(value, bool):
                self.fields[key] = str(value).lower()
            elif isinstance(value, (int, float)) and as_text(value):
                self.fields[key] = float(value)
            elif isinstance(value, str):
                self.fields[key] = value[:256]

    def freeze(self, agent: str | None = None) -> Evidence:
        for name in _SPOKEN_HEADERS:
            if name in self.headers:
                self.add_token(_aws_name(self.headers[name]))
        if not self._texts:  # no message under a known name: any prose is better than none
            for other in self._other_texts:
                self.add_text(other)
        text = clip("\n".join(self._texts))
        stated = status = self.statuses[0] if self.statuses else None
        if stated is None and (match := _STATUS.search(text)):
            status = int(next(filter(None, match.groups())))
        generic = {"error", "none", "unknown", "invalidrequest", "apierror", "result"}
        informative = (
            code
            for code in (*self.named_codes, *self.codes)
            if code and " " not in code and not code.lstrip("+-").isdigit()
            if normalise(code) not in generic
        )
        return Evidence(
            classes=tuple(self.classes),
            modules=tuple(self.modules),
            text=text,
            folded=fold(text),
            tokens=tuple(self.tokens),
            words=identifiers(text),
            raw_code=next(informative, None),
            status=status,
            status_stated=stated is not None,
            rpc_code=self.rpc_code,
            headers=self.headers,
            fields=self.fields,
            wait_seconds=self.wait_seconds,
            sdk_phase=self.sdk_phase,
            process=self.process,
            raiser=self.raiser,
            agent=agent,
        )


def _aws_name(text: str) -> str:
    """Return the name of the error in `com.amazon.x#ValidationException:http://...`."""
    return text[:512].rpartition("#")[2].partition(":")[0].strip()


# --- what prose states plainly: a status, names, `key: value` pairs -------------------------------

MAX_WORDS = 96
_TRACEBACK = "Traceback (most recent call last)"

_STATUS = re.compile(
    r"""
    (?:status(?:[ _]?code)?|error[ _]?code|code|http(?:/\d(?:\.\d)?)?|api[ ]error|error|response
       |exception|returned|failed) \W{1,4} (?:\w{2,8}\W{1,2})?? ([45]\d\d) (?!\w|[.,]\d)
    | \b request: [ ] ([45]\d\d) (?=[ ][A-Za-z])
    | ^\W{0,3} ([45]\d\d) (?=[ ]?[-:<{("'|] | ,[ ]message= | [ ][A-Za-z]{2} | \W*$)
    | [\[(] ([45]\d\d) [\])]
    | [ ]\|[ ] ([45]\d\d) :[ ]
    | \b ([45]\d\d) [ ]\W?(?:status|too[ ]many[ ]requests|bad[ ]request|unauthorized
        |forbidden|not[ ]found|internal[ ]server|bad[ ]gateway|service[ ]unavailable|gateway[ ]time)
    """,
    re.VERBOSE | re.IGNORECASE | re.MULTILINE | re.ASCII,
)
"""An HTTP error status, in any of the ways in which SDKs write it into prose."""

_PAIR = re.compile(
    r"\b([A-Za-z_][\w-]{1,40})[\"'\\]{0,6}\s{0,3}[:=]\s{0,8}[\"'\\]{0,6}([A-Za-z0-9_.+-]{1,80}+)(?![\w+-])",
    re.ASCII,
)
"""`key: value`, `"key": "value"` and `key=value`, as in broken JSON and reprs."""

_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_-]{2,79}")
_LAST_LINE = r"^([A-Za-z_][\w.]{2,120}(?:Error|Exception|Exit|Interrupt|Timeout))(?::|$)"
"""Compiled when first needed: few failures hold a traceback."""


def identifiers(text: str) -> tuple[str, ...]:
    """Return the identifiers in prose: snake_case, CamelCase and CAPITALS words, normalised."""
    words: dict[str, None] = {}
    for name in _IDENTIFIER.findall(text):
        if name[1:].lower() != name[1:] or "_" in name or "-" in name.rstrip("-"):
            words.setdefault(normalise(name))
            if len(words) >= MAX_WORDS:
                break
    return tuple(words)


# --- markup: the visible text of a page, with which gateways and firewalls answer -----------------

MAX_PAGE_CHARS = 65_536
_TAIL_CHARS = 4_096

_PAGE = r"<!doctype html|<(?:html|head|title|meta|body|h1|center|script|style|hr)\b[^<>]{0,500}>"
_TAG = r"<(?:!--|!\[|[!/]?[a-z])[^<>]*>"
_CUT_TAG = r"<[!/]?[a-z][^<>]*$"
_UNSEEN = ("script", "style", "svg")
_ENTITIES = {
    "&nbsp;": " ",
    "&lt;": "<",
    "&gt;": ">",
    "&quot;": '"',
    "&#39;": "'",
    "&#x27;": "'",
    "&amp;": "&",
}


def readable(text: str) -> str:
    """Return the text of a page, one line for each element; any other text unchanged.

    `<meta http-equiv="Content-Type">` names no error, so only the title and the visible text are
    evidence.
    """
    if "<" not in text or not _pattern(_PAGE).search(text[:MAX_PAGE_CHARS]):
        return text
    page = clip(text, MAX_PAGE_CHARS, _TAIL_CHARS)
    for name in _UNSEEN:
        lower, at = page.lower(), 0
        if len(lower) != len(page):
            break  # the lower case of some letter is two characters
        pieces: list[str] = []
        while (start := lower.find(f"<{name}", at)) >= 0:
            pieces.append(page[at:start])
            at = lower.find(f"</{name}", start)
            if at < 0:  # an unclosed element extends to the end
                at = len(page)
        page = "".join((*pieces, page[at:]))
    page = _pattern(_CUT_TAG).sub("", _pattern(_TAG).sub("\n", page))
    for entity, char in _ENTITIES.items():
        page = page.replace(entity, char)
    lines = (" ".join(line.split()) for line in page.replace("\\n", "\n").splitlines())
    return "\n".join(line for line in lines if line)


@cache
def _pattern(source: str) -> re.Pattern[str]:
    """Compile on first use: few failures hold a page."""
    return re.compile(source, re.IGNORECASE)
