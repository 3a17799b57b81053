"""Evidence collected piece by piece from decoded bodies, nested JSON strings and prose.

Owns the bounds: how many values, how deep, how much text. Knows which keys of a body hold a
machine-readable word, a message, a status, headers or a wait; does not know what any word means.
"""

from __future__ import annotations

import json
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

from lastword.core.classify.evidence import Evidence, ProcessEvidence
from lastword.core.classify.extract import identifiers, pairs, status_in, traceback_class
from lastword.core.classify.markup import readable
from lastword.core.classify.text import MAX_TOKEN_CHARS, as_int, as_text, fold, normalise
from lastword.core.redact.truncate import clip

if TYPE_CHECKING:
    from collections.abc import Mapping

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
"""Those of them whose word names the failure best."""

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
"""Keys whose value is the request's own, or the model's: never evidence, whatever its text."""

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


def plain_key(key: object) -> str:
    """Return a key regardless of spelling, without the class-name suffixes `normalise` drops."""
    text = as_text(key)[:MAX_TOKEN_CHARS].lower()
    return text if text.isalnum() else "".join(filter(str.isalnum, text))


class Collector:
    """Collects the pieces of one failure and freezes them into an `Evidence`."""

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
        """Add a machine-readable word."""
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
        try:
            if isinstance(headers, (list, tuple)):
                items = [pair for entry in headers[:MAX_HEADERS] if (pair := _header_pair(entry))]
            else:
                items = list(islice(cast("Mapping[Any, Any]", headers).items(), MAX_HEADERS))
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
        if start >= 0 and nested < MAX_NESTED_JSON and self._add_json(text, start, depth, nested):
            return
        self.add_class(traceback_class(clipped))
        self._add_pairs(clipped)

    def _add_json(self, text: str, start: int, depth: int, nested: int) -> bool:
        try:
            value, _ = _decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            return False
        self.walk(value, depth=depth + 1, nested=nested + 1)
        return isinstance(value, dict) and bool(value)

    def _add_pairs(self, text: str) -> None:
        for name, value in pairs(text):
            self._add_scalar(plain_key(name), value, in_prose=True)

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
            self._add_string(key, clip_bytes(value), depth, nested)
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

    def _add_spoken_headers(self) -> None:
        """Add what a header says about the failure, as a word like any other."""
        for name in _SPOKEN_HEADERS:
            if name in self.headers:
                self.add_token(_aws_name(self.headers[name]))

    def freeze(self, agent: str | None = None) -> Evidence:
        """Return the pieces as one immutable value."""
        self._add_spoken_headers()
        if not self._texts:  # no message under a known name: any prose is better than none
            for other in self._other_texts:
                self.add_text(other)
        text = clip("\n".join(self._texts))
        stated = self.statuses[0] if self.statuses else None
        return Evidence(
            classes=tuple(self.classes),
            modules=tuple(self.modules),
            text=text,
            folded=fold(text),
            tokens=tuple(self.tokens),
            words=identifiers(text),
            raw_code=self._informative_code(),
            status=stated if stated is not None else status_in(text),
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

    def _informative_code(self) -> str | None:
        generic = {"error", "none", "unknown", "invalidrequest", "apierror", "result"}
        for code in (*self.named_codes, *self.codes):
            is_word = code and " " not in code and not code.lstrip("+-").isdigit()
            if is_word and normalise(code) not in generic:
                return code
        return None


def _aws_name(text: str) -> str:
    """Return the name of the error in `com.amazon.x#ValidationException:http://...`."""
    return text[:512].rpartition("#")[2].partition(":")[0].strip()


def _header_pair(entry: object) -> tuple[Any, Any] | None:
    """Return a list's header, `["name", "value"]` or (as in HAR) `{"name": ..., "value": ...}`."""
    if isinstance(entry, dict):
        return entry.get("name"), entry.get("value")
    if isinstance(entry, (list, tuple)) and len(entry) == 2:  # noqa: PLR2004
        return entry[0], entry[1]
    return None


def clip_bytes(value: bytes) -> str:
    """Return bytes as text, cut before decoding; invalid UTF-8 is marked."""
    return clip(value[:MAX_JSON_CHARS].decode("utf-8", "replace"))
